//! Subflows run workflows that exist, are sound, and do not run themselves.

use super::Code;
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Kind};
use crate::validate::map::Map;
use crate::validate::{Library, MAX_SUBFLOW_DEPTH};

pub(super) const CODES: &[Code] = &[
    Code {
        code: "unknown-subflow",
        what: "A subflow names a workflow that is not known.",
        fix: "Correct the name, or put the workflow where this one was read from.",
    },
    Code {
        code: "subflow-cycle",
        what: "A workflow runs itself, directly or through others, or runs others more than 16 levels deep.",
        fix: "Break the circle: repeat with a `failed` edge, or put the shared part into a workflow that neither runs.",
    },
    Code {
        code: "broken-subflow",
        what: "A subflow runs a workflow that has faults of its own.",
        fix: "Check that workflow by itself and mend it.",
    },
];

pub(in crate::validate) fn check<'g>(graph: &'g Graph, library: Library<'g>, faults: &mut Vec<Diagnostic>) {
    let mut path = vec![graph.id.value.as_str()];
    for node in &graph.nodes {
        let Kind::Subflow { workflow } = &node.kind else { continue };
        let name = workflow.value.as_str();
        let fault = match library(name) {
            None => Diagnostic::error(
                "unknown-subflow",
                format!("`{}` runs the workflow `{name}`, which is not known", node.id),
            )
            .help("check the folder that holds both: `portolan check DIR`")
            .repaired("it is walked as a task"),
            Some(other) => match trouble(other, library, &mut path) {
                None => continue,
                Some(Trouble::Cycle(round)) => {
                    Diagnostic::error("subflow-cycle", format!("`{}` leads back into itself: {round}", node.id))
                        .help("break the circle: a workflow cannot run inside itself")
                }
                Some(Trouble::Broken(which, first)) => Diagnostic::error(
                    "broken-subflow",
                    format!("`{}` runs `{which}`, which has faults: {first}", node.id),
                )
                .help(format!("check `{which}` by itself and mend it")),
            },
        };
        faults.push(fault.at(workflow.span));
    }
}

enum Trouble {
    Cycle(String),
    Broken(String, String),
}

/// What is wrong with a workflow that is run from `path`: the first trouble is enough, it is reported where it stands.
fn trouble<'g>(graph: &'g Graph, library: Library<'g>, path: &mut Vec<&'g str>) -> Option<Trouble> {
    let id = graph.id.value.as_str();
    if path.contains(&id) || path.len() >= MAX_SUBFLOW_DEPTH {
        let round: Vec<String> = path.iter().chain([&id]).map(|name| format!("`{name}`")).collect();
        return Some(Trouble::Cycle(round.join(" → ")));
    }
    let map = Map::of(graph);
    let mut faults = Vec::new();
    for rule in super::RULES {
        (rule.check)(&map, &mut faults);
    }
    if let Some(first) = faults.iter().find(|fault| fault.is_error() && fault.repair.is_none()) {
        return Some(Trouble::Broken(id.to_owned(), first.message.clone()));
    }
    path.push(id);
    let found = graph.nodes.iter().find_map(|node| match &node.kind {
        Kind::Subflow { workflow } => trouble(library(&workflow.value)?, library, path),
        _ => None,
    });
    path.pop();
    found
}
