//! Checks that the servers whose tools are called exist. They are known only when a workflow is about to run: some come
//! from the definition, others from the user's own file.

use crate::diagnostic::{Code, Diagnostic, clip, list};
use crate::graph::{Graph, Kind, Node};
use crate::source::Span;

pub(super) const CODES: &[Code] = &[Code {
    code: "unknown-server",
    what: "A node calls a tool on a server that is not defined, or lets a model call it.",
    fix: "Define the server under `mcpServers`, or name a file that defines it with `--mcp`.",
}];

/// The number of faults after which no suggestions are searched: each suggestion looks at all servers.
const MAX_GUESSES: usize = 500;

/// Reports calls on servers that are not among `known`.
pub fn servers(graph: &Graph, known: &[&str]) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for (node, calls, name, span) in graph.nodes.iter().flat_map(called) {
        let unread = graph.settings.unread_servers.contains(name);
        if known.contains(&name) || unread {
            continue;
        }
        let help = match known {
            [] => "define it under `mcpServers`, or name a file that does with `--mcp`".to_owned(),
            known => format!("define it under `mcpServers` or in the file of `--mcp`; there are {}", list(known)),
        };
        let message = format!("`{}` {calls} a tool on the server `{}`, which is not defined", node.id, clip(name));
        let fault = Diagnostic::error("unknown-server", message).at(span).help(help);
        let guessed = faults.len() < MAX_GUESSES;
        faults.push(if guessed { fault.did_you_mean(name, known.iter().copied()) } else { fault });
    }
    faults
}

/// Returns the servers that a node names, each with what it does with their tools.
fn called(node: &Node) -> Vec<(&Node, &'static str, &str, Span)> {
    match &node.kind {
        Kind::Call(call) => vec![(node, "calls", call.server.value.as_str(), call.server.span)],
        Kind::State(state) => {
            let named = state.servers().map(|(server, span)| (node, "lets a model call", server, span));
            named.collect()
        }
        _ => Vec::new(),
    }
}
