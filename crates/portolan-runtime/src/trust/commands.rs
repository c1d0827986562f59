//! The commands of a workflow, and digests of them.

use std::fmt;

use portolan_core::graph::{CheckBy, Workflow};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256, in lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest::from_hash(Sha256::new().chain_update(bytes))
    }

    /// The digest of several texts, each with its length, so that no two lists are taken for each other.
    pub(super) fn of_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Digest {
        let hash = parts
            .into_iter()
            .fold(Sha256::new(), |hash, part| hash.chain_update((part.len() as u64).to_le_bytes()).chain_update(part));
        Digest::from_hash(hash)
    }

    fn from_hash(hash: Sha256) -> Digest {
        Digest(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What reads entries relies on it: a digest is part of a file's name.
impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Digest, &'static str> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 64 && text.bytes().all(is_digit) {
            true => Ok(Digest(text)),
            false => Err("a digest has 64 lower-case hexadecimal digits"),
        }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A command that a workflow names, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Command {
    /// The flow: the workflow's own, or one of its subflows.
    pub flow: String,
    /// The node.
    pub node: String,
    /// The check.
    pub check: String,
    /// The program, then its arguments.
    pub argv: Vec<String>,
    /// After how many seconds it is stopped.
    pub timeout_seconds: u64,
}

/// Every command that `workflow` may run, subflows included, in order of its place.
pub fn commands(workflow: &Workflow) -> Vec<Command> {
    let mut commands = Vec::new();
    for (flow_id, flow) in workflow.flows() {
        for (node_id, step) in &flow.steps {
            for check in &step.node.accept {
                if let CheckBy::Run { argv, timeout_seconds } = &check.by {
                    commands.push(Command {
                        flow: flow_id.to_string(),
                        node: node_id.to_string(),
                        check: check.id.to_string(),
                        argv: argv.clone(),
                        timeout_seconds: *timeout_seconds,
                    });
                }
            }
        }
    }
    // By place, so that moving a node about in its file changes nothing.
    commands.sort();
    commands
}

/// The digest of every command that `workflow` may run; nothing when it runs none, for then there is nothing to trust.
///
/// It depends on each command's place, program, arguments and time limit, and on nothing else of the definition.
pub fn commands_digest(workflow: &Workflow) -> Option<Digest> {
    let commands = commands(workflow);
    (!commands.is_empty()).then(|| {
        let texts = commands.iter().flat_map(|command| {
            let place = [command.flow.clone(), command.node.clone(), command.check.clone()];
            let numbers = [command.timeout_seconds.to_string(), command.argv.len().to_string()];
            place.into_iter().chain(numbers).chain(command.argv.iter().cloned())
        });
        let texts: Vec<String> = texts.collect();
        Digest::of_parts(
            std::iter::once("portolan commands 1").chain(texts.iter().map(String::as_str)).map(str::as_bytes),
        )
    })
}
