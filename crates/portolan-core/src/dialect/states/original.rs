//! The differences to fsm-agent-flow: what it would read differently, and what its own files mean differently here.

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, clip, list};
use crate::source::{Tree, TreeKind};

const FILE: [&str; 5] = ["version", "objective", "states", "transitions", "graph_layout"];
const STATE: [&str; 7] =
    ["objective", "key_results", "tools", "max_retries", "is_initial", "is_final", "execute_module"];
const KEY_RESULT: [&str; 3] = ["name", "description", "check"];

/// The tools that need no server here.
const OURS: [&str; 2] = ["shared_get", "shared_set"];

/// Returns warnings about the parts of a file that fsm-agent-flow, version 2.0, reads differently.
pub(super) fn beyond(tree: &Tree) -> Vec<Diagnostic> {
    let mut found = CompatibilityCheck::default();
    found.fields(tree, &FILE);
    for entry in tree.get("states").and_then(Tree::entries).into_iter().flatten() {
        found.state(&entry.key.value, &entry.value);
    }
    for entry in tree.get("transitions").and_then(Tree::entries).into_iter().flatten() {
        if entry.value.get("choose").is_some_and(|choose| choose.entries().is_some()) {
            let what =
                format!("it would not compute the transition of `{}` but look for a branch", clip(&entry.key.value));
            found.warn(what, &entry.value);
        }
    }
    if !found.own.is_empty() {
        let own: Vec<&str> = found.own.iter().map(String::as_str).collect();
        found.warn(format!("it ignores what it does not know: {}", list(&own)), tree);
    }
    found.warnings
}

/// Returns warnings about the parts of a file of fsm-agent-flow, version 2.0, that are read differently here.
pub(super) fn unlike(tree: &Tree) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let mut warn = |message: String, at: &Tree, help: &'static str| {
        warnings.push(Diagnostic::warning("unlike-original", message).at(at.head()).help(help));
    };
    for entry in tree.get("states").and_then(Tree::entries).into_iter().flatten() {
        let (name, state) = (clip(&entry.key.value), &entry.value);
        for result in items(state, "key_results") {
            if result.get("check").is_none_or(|check| matches!(check.kind, TreeKind::Null)) {
                let of = clip(result.get("name").and_then(Tree::as_str).unwrap_or_default());
                let message = format!("`{of}` of `{name}` counts as met in fsm-agent-flow; here a model judges it");
                warn(message, result, "write a `check` where no model is needed");
            }
        }
        for tool in items(state, "tools") {
            let named = tool.as_str().filter(|tool| !tool.contains(['/', ':']));
            if let Some(tool_name) = named.filter(|tool| !OURS.contains(tool)) {
                let message = format!(
                    "the tool `{}` of `{name}` is a function of the program in fsm-agent-flow",
                    clip(tool_name)
                );
                warn(
                    message,
                    tool,
                    "name a server's tool as `server/tool`, or register a function of that name in Rust",
                );
            }
        }
    }
    warnings
}

fn items<'t>(state: &'t Tree, key: &str) -> &'t [Tree] {
    match state.get(key).map(|items| &items.kind) {
        Some(TreeKind::Array(items)) => items,
        _ => &[],
    }
}

#[derive(Default)]
struct CompatibilityCheck {
    own: BTreeSet<String>,
    warnings: Vec<Diagnostic>,
}

impl CompatibilityCheck {
    fn warn(&mut self, message: String, at: &Tree) {
        let fault = Diagnostic::warning("beyond-original", format!("fsm-agent-flow: {message}")).at(at.head());
        self.warnings.push(fault.help("run it with Portolan, or write it with the fields of the original"));
    }

    fn fields(&mut self, tree: &Tree, known: &[&str]) {
        let own = tree.entries().into_iter().flatten().map(|entry| entry.key.value.as_str());
        self.own.extend(own.filter(|name| !known.contains(name)).map(clip));
    }

    fn state(&mut self, name: &str, state: &Tree) {
        self.fields(state, &STATE);
        if state.get("objective").is_none() {
            self.warn(format!("the state `{}` has no objective, which is required", clip(name)), state);
        }
        for result in items(state, "key_results") {
            self.fields(result, &KEY_RESULT);
            let of = result.get("name").and_then(Tree::as_str).unwrap_or_default();
            if result.get("description").is_none() {
                self.warn(
                    format!("the key result `{}` of `{}` has no description, which is required", clip(of), clip(name)),
                    result,
                );
            }
            match result.get("check").map(|check| &check.kind) {
                Some(TreeKind::String(_)) => {}
                Some(TreeKind::Object(_)) => {
                    self.warn(
                        format!("the check of `{}` of `{}` is not Python, and would fail", clip(of), clip(name)),
                        result,
                    );
                }
                _ => self.warn(
                    format!("`{}` of `{}` would count as met, because nothing judges it", clip(of), clip(name)),
                    result,
                ),
            }
        }
    }
}
