//! Signs that an agent started a process, from its ancestors and its environment variables.

use std::fmt;

use portolan_runtime::process::lineage::{IS_TOLD, ProcessIdentity, name_of};

use super::hosts::Hosts;
use super::markers::{self, Marker, Variable};

/// The program names of agents.
const AGENTS: [&str; 6] = ["claude", "codex", "copilot", "cursor-agent", "gemini", "opencode"];
/// Interpreters. The script that one runs is the program's name.
const INTERPRETERS: [&str; 4] = ["node", "bun", "deno", "python3"];

/// A sign that the caller is an agent.
pub(super) enum Sign {
    /// A variable that a host sets for the processes that its agent starts.
    Marked(&'static Marker),
    /// An ancestor is a host of agents, or is named like an agent.
    Descends { name: String, pid: u32 },
    /// Between the host and the server is a program that the host did not start as its server.
    Between { name: String, pid: u32 },
    /// The process at the other end of standard input is not an ancestor of the server.
    Elsewhere,
    /// The operating system does not report the ancestors.
    Unknown,
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sign::Marked(marker) => write!(f, "`{}` is set, which {} does for its agent", marker.variable, marker.host),
            Sign::Descends { name, pid } => write!(f, "this was started from within `{name}` (process {pid})"),
            Sign::Between { name, pid } => {
                write!(f, "another program runs between `{name}` (process {pid}) and this server")
            }
            Sign::Elsewhere => f.write_str("the input of this server does not come from the program that started it"),
            Sign::Unknown => f.write_str("the system does not report what started this"),
        }
    }
}

/// Returns the sign that an agent started the first process of `chain`.
pub(super) fn agent(chain: Option<&[ProcessIdentity]>, hosts: &Hosts, variable: Variable<'_>) -> Option<Sign> {
    if let Some(marker) = markers::marker(variable) {
        return Some(Sign::Marked(marker));
    }
    let Some(chain) = chain else { return IS_TOLD.then_some(Sign::Unknown) };
    let (_, name, pid) = host_in(chain, hosts)?;
    Some(Sign::Descends { name, pid })
}

/// Returns the sign that the client of a server may be an agent's own program. The server is the first process of
/// `chain`. A host starts its servers directly, or through a shell that does nothing else. If an agent started the
/// server, the agent's shell is in between, or a process other than the host feeds its input. `is_fed_by` checks
/// whether one of the given processes is at the other end of that input.
pub(super) fn client(
    chain: Option<&[ProcessIdentity]>,
    hosts: &Hosts,
    variable: Variable<'_>,
    is_fed_by: impl Fn(&[u32]) -> Option<bool>,
) -> Option<Sign> {
    if let Some(marker) = markers::marker_of_shell(variable) {
        return Some(Sign::Marked(marker));
    }
    let Some(chain) = chain else { return IS_TOLD.then_some(Sign::Unknown) };
    let host = host_in(chain, hosts);
    if let Some((at, name, pid)) = &host {
        let (server, between) = (&chain[0], &chain[1..*at]);
        if !between.iter().all(|identity| only_starts(identity, server)) {
            return Some(Sign::Between { name: name.clone(), pid: *pid });
        }
    }
    let clients: Vec<u32> = match &host {
        Some((_, _, pid)) => vec![*pid],
        // A process that adopts orphans starts no server.
        None => {
            chain[1..].iter().filter(|identity| !identity.is_no_host()).map(|identity| identity.process.pid).collect()
        }
    };
    (is_fed_by(&clients) == Some(false)).then_some(Sign::Elsewhere)
}

/// Returns the nearest ancestor that is a host: its index, name and process ID.
fn host_in(chain: &[ProcessIdentity], hosts: &Hosts) -> Option<(usize, String, u32)> {
    chain.iter().enumerate().skip(1).find_map(|(at, identity)| {
        let name = hosts.known(&identity.process).map(|host| host.name).or_else(|| named_like_agent(identity))?;
        Some((at, name, identity.process.pid))
    })
}

fn named_like_agent(identity: &ProcessIdentity) -> Option<String> {
    let name = identity.name();
    let script = identity.words.get(1).filter(|_| INTERPRETERS.contains(&name)).map(|word| name_of(word));
    let script = script.map(|name| name.trim_end_matches(".js").trim_end_matches(".mjs"));
    let found = AGENTS.iter().find(|agent| **agent == name || Some(**agent) == script)?;
    Some((*found).to_owned())
}

/// Checks whether a process is a shell whose whole script is the server's command line.
fn only_starts(identity: &ProcessIdentity, server: &ProcessIdentity) -> bool {
    let Some([option, text]) = identity.words.get(1..) else { return false };
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if words.first() == Some(&"exec") {
        words.remove(0);
    }
    let is_same = words.first().map(|word| name_of(word)) == server.words.first().map(|word| name_of(word))
        && words.get(1..).is_some_and(|rest| rest.iter().copied().eq(server.words.iter().skip(1).map(String::as_str)));
    identity.is_shell() && matches!(option.as_str(), "-c" | "-lc") && is_same
}
