//! What the processes that something descends from, and its variables, tell of who started it.

use std::fmt;

use super::hosts::Hosts;
use super::markers::{self, Marker, Variable};
use crate::process::lineage::{IS_TOLD, ProcessIdentity, name_of};

/// The programs of agents, by the names that they are started with.
const AGENTS: [&str; 6] = ["claude", "codex", "copilot", "cursor-agent", "gemini", "opencode"];
/// What runs a program that is a script.
const INTERPRETERS: [&str; 4] = ["node", "bun", "deno", "python3"];

/// What tells that an agent is asking.
pub(super) enum Sign {
    /// A variable that hosts give to what their agents start.
    Marked(&'static Marker),
    /// A process whose hook was run.
    Descends { name: String, pid: u32 },
    /// A client that the host did not start itself.
    Between { name: String, pid: u32 },
    /// A client at the other end of standard input that is none of those which this process descends from.
    Elsewhere,
    /// The system does not say from what this process descends.
    Unknown,
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sign::Marked(marker) => write!(f, "`{}` is set, as {} sets it for its agent", marker.variable, marker.host),
            Sign::Descends { name, pid } => write!(f, "this was started from within `{name}` (process {pid})"),
            Sign::Between { name, pid } => {
                write!(f, "between `{name}` (process {pid}) and this server there is another program")
            }
            Sign::Elsewhere => f.write_str("what this server reads does not come from the program that started it"),
            Sign::Unknown => f.write_str("the system does not tell what started this"),
        }
    }
}

/// What tells that an agent started the first of these processes.
pub(super) fn agent(chain: Option<&[ProcessIdentity]>, hosts: &Hosts, variable: Variable<'_>) -> Option<Sign> {
    if let Some(marker) = markers::marker(variable) {
        return Some(Sign::Marked(marker));
    }
    let Some(chain) = chain else { return IS_TOLD.then_some(Sign::Unknown) };
    let (_, name, pid) = host_in(chain, hosts)?;
    Some(Sign::Descends { name, pid })
}

/// What tells that the client of a server, the first of these processes, may be an agent's own. A host starts its servers
/// itself, or through a shell that does nothing else; what an agent starts has the agent's shell in between, or something
/// else than the host at the other end of its input. `is_fed_by` tells whether one of some processes is there.
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
        if !between.iter().all(|seen| only_starts(seen, server)) {
            return Some(Sign::Between { name: name.clone(), pid: *pid });
        }
    }
    let clients: Vec<u32> = match &host {
        Some((_, _, pid)) => vec![*pid],
        // What takes up orphans starts no server.
        None => chain[1..].iter().filter(|seen| !seen.is_no_host()).map(|seen| seen.process.pid).collect(),
    };
    (is_fed_by(&clients) == Some(false)).then_some(Sign::Elsewhere)
}

/// The nearest ancestor that is a host: where it is, its name, and its number.
fn host_in(chain: &[ProcessIdentity], hosts: &Hosts) -> Option<(usize, String, u32)> {
    chain.iter().enumerate().skip(1).find_map(|(at, seen)| {
        let name = hosts.known(&seen.process).map(|host| host.name).or_else(|| named_like_agent(seen))?;
        Some((at, name, seen.process.pid))
    })
}

fn named_like_agent(seen: &ProcessIdentity) -> Option<String> {
    let name = seen.name();
    let script = seen.words.get(1).filter(|_| INTERPRETERS.contains(&name)).map(|word| name_of(word));
    let script = script.map(|name| name.trim_end_matches(".js").trim_end_matches(".mjs"));
    let found = AGENTS.iter().find(|agent| **agent == name || Some(**agent) == script)?;
    Some((*found).to_owned())
}

/// Whether a process is a shell whose whole text is the command line of the server.
fn only_starts(seen: &ProcessIdentity, server: &ProcessIdentity) -> bool {
    let Some([option, text]) = seen.words.get(1..) else { return false };
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if words.first() == Some(&"exec") {
        words.remove(0);
    }
    let is_same = words.first().map(|word| name_of(word)) == server.words.first().map(|word| name_of(word))
        && words.get(1..).is_some_and(|rest| rest.iter().copied().eq(server.words.iter().skip(1).map(String::as_str)));
    seen.is_shell() && matches!(option.as_str(), "-c" | "-lc") && is_same
}
