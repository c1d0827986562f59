//! The words of pictures and lists for checked and believed nodes.

use super::picture::{LABEL, Look, cut, label, one_line};
use crate::graph::{CheckBy, DecidedBy, Flow, Node, NodeCheck, Verification};

/// The maximum length of the words for one check, in characters.
const LONGEST: usize = 96;

/// Returns the sign before a node's name in charts: whether a person is asked or something is checked. It needs no
/// colour.
pub(super) fn sign_of(node: &Node) -> Option<&'static str> {
    match node.verification() {
        _ if Look::of(&node.kind) == Look::Person => Some("✋"),
        Some(Verification::Checked) => Some("✓"),
        Some(Verification::Believed) => Some("○"),
        None => None,
    }
}

/// Returns the legend of the signs; `None` if no node has one.
pub(super) fn legend(flow: &Flow) -> Option<&'static str> {
    let is_marked = flow.steps.values().any(|step| step.node.verification().is_some());
    is_marked.then_some(LEGEND)
}

const LEGEND: &str = "✓ checked · ○ believed, not checked";

/// The maximum number of steps, and of checks per step, in a sentence.
const MOST: usize = 24;

/// Describes the same in sentences for screen readers: which steps are checked and by what, and which are believed.
pub(super) fn sentences(flow: &Flow) -> Option<String> {
    let of = |wanted: Verification, describe: &dyn Fn(&Node) -> String| {
        let nodes = flow.steps.values().map(|step| &step.node);
        let named: Vec<String> = nodes.filter(|node| node.verification() == Some(wanted)).map(describe).collect();
        (!named.is_empty()).then(|| listed(&named))
    };
    let checked = of(Verification::Checked, &|node| format!("{} by {}", label(node), names(&node.checks())));
    let believed = of(Verification::Believed, &|node| label(node));
    let checked = checked.map(|steps| format!("Checked: {steps}."));
    let believed = believed.map(|steps| format!("Believed: {steps}."));
    let sentences: Vec<String> = checked.into_iter().chain(believed).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Describes whether a node is checked, and by what.
pub(super) fn describe_verification(node: &Node) -> Option<String> {
    Some(match node.verification()? {
        Verification::Checked => format!("checked by {}", names(&node.checks())),
        Verification::Believed => "believed, not checked".to_owned(),
    })
}

/// Lists the names of checks.
fn names(checks: &[NodeCheck<'_>]) -> String {
    let names: Vec<String> = checks.iter().map(|check| cut(&one_line(check.id), LABEL)).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= MOST => format!("{} and {last}", first.join(", ")),
        several => format!("{} and {} more", several[..MOST].join(", "), several.len() - MOST),
    }
}

fn listed(steps: &[String]) -> String {
    let more = steps.len().saturating_sub(MOST);
    let named = steps[..steps.len() - more].join(", ");
    if more > 0 { format!("{named}, {more} more") } else { named }
}

/// Describes the subject of a check on one line, cut if it is long.
pub fn looks_at(check: &NodeCheck<'_>) -> String {
    let what = match check.by {
        DecidedBy::Check(CheckBy::Run { argv, .. }) => {
            argv.iter().map(|word| one_line(word)).collect::<Vec<_>>().join(" ")
        }
        DecidedBy::Check(CheckBy::File { path }) => format!("file {}", one_line(path)),
        DecidedBy::Check(CheckBy::Project { name }) => format!("the project's {}", one_line(name)),
        DecidedBy::Check(CheckBy::Gate { name }) => format!("gate {}", one_line(name)),
        DecidedBy::Check(CheckBy::Evidence(evidence)) => one_line(&evidence.description()),
        DecidedBy::Expr(expr) => one_line(&expr.text()),
        DecidedBy::Judge { wanted } if one_line(wanted).is_empty() => "a model judges".to_owned(),
        DecidedBy::Judge { wanted } => format!("a model judges: {}", one_line(wanted)),
    };
    cut(&what, LONGEST)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use expect_test::{Expect, expect};

    use crate::dialect::{self, Strictness};
    use crate::present::{DrawingInput, NodeOffsets, diagram_markdown, drawing, outline, svg};
    use crate::source::Source;
    use crate::validate;

    /// Compares the signs of the steps in each picture of a definition: the drawing, then the outline's last line.
    fn is(text: &str, expected: Expect) {
        let mut graphs = dialect::parse(&Source::new("w.yaml", text), Strictness::Strict).graphs;
        let graph = graphs.remove(0);
        let (workflow, faults) = validate::validate(&graph, &|_| None, Strictness::Strict);
        let workflow = workflow.unwrap_or_else(|| panic!("{faults:?}"));
        let (none, moved) = (BTreeSet::new(), NodeOffsets::new());
        let what = DrawingInput {
            graph: &graph,
            workflow: Some(&workflow),
            find: &|_| None,
            folded: &none,
            opened: &none,
            moved: &moved,
        };
        let drawing = drawing(&what);
        let marked = drawing.nodes.iter().filter_map(|node| {
            let checks = node.checked_by.iter().map(|check| format!("\n  {}: {}", check.id, check.what));
            Some(format!("{} {}{}\n", node.id, node.verification?.word(), checks.collect::<String>()))
        });
        let marked: String = marked.collect();
        let legend = ["believed, not checked</text>", "○ believed"];
        let (picture, page) = (svg(&drawing), diagram_markdown(&workflow, None));
        assert_eq!(picture.contains(legend[0]), !marked.is_empty(), "{picture}");
        assert_eq!(page.contains(legend[1]), !marked.is_empty(), "{page}");
        let outline = outline(&workflow);
        let counted = outline.lines().last().filter(|_| !marked.is_empty()).unwrap_or("nothing is marked");
        expected.assert_eq(&format!("{marked}{counted}\n"));
    }

    #[test]
    fn tasks_and_gates_are_checked_or_believed() {
        is(
            "nodes:
  start: { type: start, name: Start }
  plan: { type: task, name: Plan }
  verify: { type: gate, name: Verify, maxRetries: 1, accept: [{ check: tests }, { id: notes, file: notes.md }] }
  done: { type: end, result: success }
edges:
  - { from: start, to: plan }
  - { from: plan, to: verify }
  - { from: verify, to: done, on: passed }
  - { from: verify, to: plan, on: failed }
",
            expect![[r#"
                plan believed
                verify checked
                  tests: the project's tests
                  notes: file notes.md
                Checked: 1 of 2 steps. Believed: plan.
            "#]],
        );
    }

    #[test]
    fn steps_of_activities_are() {
        is(
            "id: w
version: 1.0.0
title: W
activities:
  - id: work
    version: 1.0.0
    name: Work
    steps:
      - { id: build, kind: action, description: Build it., accept: [tests-touched] }
      - { id: tell, kind: action, description: Tell. }
",
            expect![[r#"
                work.build checked
                  tests-touched: since the step began, a test was added or changed
                work.tell believed
                Checked: 1 of 2 steps. Believed: work.tell.
            "#]],
        );
    }

    #[test]
    fn phases_are() {
        is(
            "phases:
  - { id: look, title: Look, prompt: Look. }
  - { id: build, title: Build, prompt: Build., back: look, accept: [treeIsSettled] }
",
            expect![[r#"
                look believed
                build checked
                  treeIsSettled: gate treeIsSettled
                Checked: 1 of 2 steps. Believed: look.
            "#]],
        );
    }

    #[test]
    fn states_are_checked_by_the_key_results_that_they_need() {
        is(
            "objective: O
states:
  build:
    objective: Build it
    is_initial: true
    key_results:
      - { name: tests, run: [cargo, test] }
      - { name: long, check: len(output) > 3 }
      - { name: polite, description: It is polite }
      - { name: short, description: It is short, required: false }
  tell: { objective: Tell, is_final: true }
transitions: { build: tell }
",
            expect![[r#"
                build checked
                  tests: cargo test
                  long: len(output) > 3
                  polite: a model judges: It is polite
                tell believed
                Checked: 1 of 2 steps. Believed: tell.
            "#]],
        );
    }

    #[test]
    fn nobody_claims_anything_where_only_tools_are_called() {
        is(
            "version: \"1.0\"
server: { name: s, version: \"1.0.0\" }
mcpServers: { files: { builtin: filesystem, root: . } }
tools:
  - name: list
    description: Lists
    inputSchema: { type: object, properties: { folder: { type: string } } }
    nodes:
      - { id: entry, type: entry, next: list }
      - { id: list, type: mcp, server: files, tool: list_directory, args: { path: { expr: $.entry.folder } }, next: exit }
      - { id: exit, type: exit }
",
            expect![[r#"
                nothing is marked
            "#]],
        );
    }
}
