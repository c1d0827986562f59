//! The commands of a workflow, and their digest.

use std::path::{Component, Path};

use indexmap::IndexMap;
use portolan_core::graph::{Builtin, CheckBy, KeyResultCheck, Kind, Node, Server, Transport, Workflow};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// A command of a workflow, and its position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrustedCommand {
    /// The flow: the workflow's own, or one of its subflows.
    pub flow: String,
    /// The node.
    pub node: String,
    /// The check.
    pub check: String,
    /// The program, then its arguments.
    pub argv: Vec<String>,
    /// The timeout in seconds.
    pub timeout_seconds: u64,
}

/// Returns every command that `workflow` may run by itself, including subflows, sorted by position. Checks that the
/// project attaches to it are allowed separately.
pub fn commands(workflow: &Workflow) -> Vec<TrustedCommand> {
    let mut commands = Vec::new();
    for (flow_id, flow) in workflow.flows() {
        let servers = flow.settings.servers.iter();
        commands.extend(servers.filter(|server| !server.disabled).filter_map(server_command));
        for (node_id, step) in &flow.steps {
            for (check, by) in checks(&step.node) {
                if let CheckBy::Run { argv, timeout_seconds } = by {
                    commands.push(TrustedCommand {
                        flow: flow_id.to_string(),
                        node: node_id.to_string(),
                        check: check.to_owned(),
                        argv: argv.clone(),
                        timeout_seconds: *timeout_seconds,
                    });
                }
            }
        }
    }
    // Sorted by position, so that moving a node within its file changes nothing.
    commands.sort();
    // Every function of a file has the same servers.
    commands.dedup();
    commands
}

/// Returns the checks that are performed before a node is left, and the key results of a state that need no judgement.
fn checks(node: &Node) -> impl Iterator<Item = (&str, &CheckBy)> {
    let state = match &node.kind {
        Kind::State(state) => Some(state),
        _ => None,
    };
    let results = state.into_iter().flat_map(|state| &state.key_results).filter_map(|result| match &result.by {
        KeyResultCheck::Check(by) if !result.attached => Some((result.name.value.as_str(), by)),
        KeyResultCheck::Check(_) | KeyResultCheck::Expr(_) | KeyResultCheck::Judge => None,
    });
    node.accept.iter().filter(|check| !check.attached).map(|check| (check.id.as_str(), &check.by)).chain(results)
}

/// Returns the command of a server that a definition declares, or `None` if it needs no trust. It has no node: trusting
/// a file trusts its servers for all its functions.
fn server_command(server: &Server) -> Option<TrustedCommand> {
    Some(TrustedCommand {
        flow: String::new(),
        node: String::new(),
        check: server.name.clone(),
        argv: argv(&server.transport)?,
        timeout_seconds: 0,
    })
}

/// Returns the commands of the servers of a file that `portolan gate` stands before, in the order of their names.
pub fn server_commands<'s>(servers: impl Iterator<Item = &'s Server>) -> Vec<TrustedCommand> {
    let mut commands: Vec<TrustedCommand> = servers.filter_map(server_command).collect();
    commands.sort();
    commands
}

fn argv(transport: &Transport) -> Option<Vec<String>> {
    let pairs = |map: &IndexMap<String, String>| map.iter().map(|(name, value)| format!("{name}={value}")).collect();
    match transport {
        Transport::Stdio { command, args, cwd, env } => {
            let mut argv: Vec<String> = pairs(env);
            argv.extend(cwd.iter().map(|cwd| format!("--chdir={cwd}")));
            if !argv.is_empty() {
                argv.insert(0, "env".to_owned());
            }
            argv.push(command.clone());
            argv.extend(args.iter().cloned());
            Some(argv)
        }
        Transport::Http { url, headers, .. } | Transport::Sse { url, headers } => {
            let headers: Vec<String> = pairs(headers);
            Some(std::iter::once(url.clone()).chain(headers).collect())
        }
        Transport::Builtin(Builtin::Filesystem { root }) => (!stays_below(root))
            .then(|| vec!["portolan".to_owned(), "builtin".to_owned(), "filesystem".to_owned(), root.clone()]),
        Transport::Builtin(Builtin::Echo) => None,
    }
}

/// Checks whether the path of a folder stays below the definition's own folder. There, a server reads nothing that the
/// agent could not read, and needs no trust. Symlinks are not resolved here; the started server is confined to the
/// folder.
pub(crate) fn stays_below(root: &str) -> bool {
    // The value of a variable is not known here.
    let fixed = !root.contains("${");
    fixed && Path::new(root).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Returns the digest of every command that `workflow` may run, or `None` if it runs none, so that there is nothing to
/// trust.
///
/// It depends on each command's position, program, arguments and timeout, and on nothing else of the definition.
pub fn commands_digest(workflow: &Workflow) -> Option<Digest> {
    let commands = commands(workflow);
    (!commands.is_empty()).then(|| digest_of(&commands))
}

/// Returns the digest of commands, with their positions and timeouts.
pub fn digest_of(commands: &[TrustedCommand]) -> Digest {
    let texts = commands.iter().flat_map(|command| {
        let place = [command.flow.clone(), command.node.clone(), command.check.clone()];
        let numbers = [command.timeout_seconds.to_string(), command.argv.len().to_string()];
        place.into_iter().chain(numbers).chain(command.argv.iter().cloned())
    });
    let texts: Vec<String> = texts.collect();
    Digest::of_parts(std::iter::once("portolan commands 1").chain(texts.iter().map(String::as_str)).map(str::as_bytes))
}
