mod gone;
mod names;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::dialect::editing::tests::{difference, tried};

const SHORT: &str = r#"objective: a short article
states:
  # The beginning.
  research: { objective: three facts }   # not more
  write:
    objective: the article
    prompt: { expr: "'Facts: ' & research" }   # all of them
    is_final: true
transitions:
  research: write   # always
"#;

const LONG: &str = include_str!("../../../../../tests/cases/edit/states.yaml");
const JSON: &str = include_str!("../../../../../tests/cases/edit/states.json");

fn check(text: &str, operations: &[Value], expected: Expect) {
    let name = if text.starts_with('{') { "a.json" } else { "a.yaml" };
    let after = tried(name, "", text, operations);
    expected.assert_eq(&if after.starts_with("refused") { after } else { difference(text, &after) });
}

/// Returns the index of the edge from one state to another.
fn edge(text: &str, from: &str, to: &str) -> usize {
    let name = if text.starts_with('{') { "a.json" } else { "a.yaml" };
    let source = crate::source::Source::new(name, text);
    let graph = crate::dialect::parse(&source, crate::dialect::Strictness::Strict).first().0.expect("it can be drawn");
    let is_it = |edge: &crate::graph::Edge| edge.from.value.as_str() == from && edge.to.value.as_str() == to;
    graph.edges.iter().position(is_it).unwrap_or_else(|| panic!("{from} leads to {to}"))
}

#[test]
fn a_state_is_added_behind_one() {
    let added = json!({ "is": "add", "kind": "state", "id": "check", "after": "research", "values": { "objective": "it is true" } });
    expect![[r#"
        objective: a short article
        states:
          # The beginning.
          research: { objective: three facts }   # not more
          check:
            objective: it is true
          write:
            objective: the article
            prompt: { expr: "'Facts: ' & research" }   # all of them
            is_final: true
        transitions:
          research: check   # always
          check: write
    "#]]
    .assert_eq(&tried("a.yaml", "", SHORT, &[added]));
}

#[test]
fn a_state_is_added_elsewhere() {
    check(
        SHORT,
        &[json!({ "is": "add", "kind": "run", "id": "last", "after": "write" })],
        expect![[r#"
        +  last:
        +    run: ""
        +  write: last
    "#]],
    );
    let first = json!({ "is": "add", "kind": "ask", "edge": edge(SHORT, "start", "research") });
    expect![[r#"
        objective: a short article
        states:
          # The beginning.
          research: { objective: three facts }   # not more
          write:
            objective: the article
            prompt: { expr: "'Facts: ' & research" }   # all of them
            is_final: true
          ask:
            ask: ""
            is_initial: true
        transitions:
          research: write   # always
          ask: research
    "#]]
    .assert_eq(&tried("a.yaml", "", SHORT, &[first]));
    check(
        SHORT,
        &[json!({ "is": "add", "kind": "parallel", "edge": edge(SHORT, "research", "write") })],
        expect![[r#"
            -  research: write   # always
            +  parallel:
            +    parallel:
            +      - parallel_join
            +    join: parallel_join
            +  parallel_join:
            +    join: all
            +  research: parallel   # always
            +  parallel_join: write
        "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "add", "kind": "state", "after": "research", "on": "good" })],
        expect![[r#"
        -  research: write   # always
        +  state:
        +    objective: ""
        +  research:   # always
        +    good: state
        +    default: write
        +  state: write
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "add", "kind": "state", "after": "research", "on": "failed" })],
        expect![[r#"
        -  research: { objective: three facts }   # not more
        +  research: { objective: three facts, on_failure: { go_to: state } }   # not more
        +  state:
        +    objective: ""
        +  state: write
    "#]],
    );
}

#[test]
fn a_state_is_added_where_there_are_branches() {
    check(
        LONG,
        &[json!({ "is": "add", "kind": "state", "after": "gather" })],
        expect![[r#"
        -  gather: { parallel: [facts, pictures], join: together }
        +  gather: { parallel: [facts, pictures, state], join: together }
        +  state:
        +    objective: ""
        +  state: together
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "add", "kind": "call", "edge": edge(LONG, "enough", "done") })],
        expect![[r#"
        -    good: done   # it is
        +  call:
        +    call:
        +      server: files
        +      tool: ""
        +    good: call   # it is
        +  call: done
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "add", "kind": "state", "after": "judge" })],
        expect![[r#"
        refused: an expression chooses the target there
        help: change `choose`, and the states in its `to`
    "#]],
    );
    check(
        JSON,
        &[json!({ "is": "add", "kind": "transform", "edge": edge(JSON, "start", "observe") })],
        expect![[r#"
        -      ],
        -    "sum_up": { "transform": { "cat": [{ "var": "observe" }, " and ", { "var": "act.result" }] } }
        -    "sum_up": null
        +      ]
        +    "sum_up": { "transform": { "cat": [{ "var": "observe" }, " and ", { "var": "act.result" }] } },
        +    "transform": {
        +      "transform": "{}",
        +    }
        +    "sum_up": null,
        +    "transform": "observe"
    "#]],
    );
}

#[test]
fn states_are_connected() {
    check(
        SHORT,
        &[json!({ "is": "connect", "from": "research", "to": "research", "on": "again" })],
        expect![[r#"
        -  research: write   # always
        +  research:   # always
        +    again: research
        +    default: write
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "connect", "from": "write", "to": "research" })],
        expect![[r#"
        -    is_final: true
        +  write: research
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "connect", "from": "research", "to": "end", "on": "nothing" })],
        expect![[r#"
        -  research: write   # always
        +  research:   # always
        +    nothing: null
        +    default: write
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "connect", "from": "research", "to": "research" })],
        expect![[r#"
        refused: `research` already leads to `write`
        help: reconnect that edge, or name the branch that the new one is taken on
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "connect", "from": "research", "to": "write", "on": "failed" })],
        expect![[r#"
        -  research: { objective: three facts }   # not more
        +  research: { objective: three facts, on_failure: { go_to: write } }   # not more
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "connect", "from": "gather", "to": "count" })],
        expect![[r#"
        -  gather: { parallel: [facts, pictures], join: together }
        +  gather: { parallel: [facts, pictures, count], join: together }
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "connect", "from": "enough", "to": "count", "on": "stop it" })],
        expect![[r#"
        +    stop it: count
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "connect", "from": "enough", "to": "count", "on": "perhaps" })],
        expect![[r#"
        refused: `perhaps` is not an answer to the question `enough`
        help: add it to the answers of the question first
    "#]],
    );
}

#[test]
fn edges_are_taken_away_and_moved() {
    check(
        SHORT,
        &[json!({ "is": "disconnect", "edge": edge(SHORT, "research", "write") })],
        expect![[r#"
        -  research: write   # always
        +  {}   # always
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "disconnect", "edge": edge(SHORT, "write", "end") })],
        expect![[r#"
        refused: a run ends at `write`, because no edge leads on from there
        help: connect it to another state
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "reconnect", "edge": edge(SHORT, "start", "research"), "to": "write" })],
        expect![[r#"
            +    is_initial: true
        "#]],
    );
    check(
        LONG,
        &[json!({ "is": "reconnect", "edge": edge(LONG, "enough", "done"), "to": "end" })],
        expect![[r#"
        -    good: done   # it is
        +    good: null   # it is
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "reconnect", "edge": edge(LONG, "judge", "count"), "to": "done" })],
        expect![[r#"
        refused: an expression chooses the target there
        help: change `choose`, and the states in its `to`
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "outcome", "edge": edge(LONG, "write", "judge"), "on": "ready" })],
        expect![[r#"
        -  write: judge   # always
        +  write:   # always
        +    ready: judge
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "outcome", "edge": edge(LONG, "enough", "done"), "on": "stop it" })],
        expect![[r#"
        -    good: done   # it is
        +    stop it: done   # it is
    "#]],
    );
    // Both answers lead to the same state: one of them gets a branch of its own.
    let both = SHORT.replace("objective: three facts", "ask: Well?, options: [yes, no]");
    check(
        &both,
        &[json!({ "is": "reconnect", "edge": edge(&both, "research", "write"), "to": "end" })],
        expect![[r#"
        -  research: write   # always
        +  research:   # always
        +    "yes": null
        +    default: write
    "#]],
    );
    check(
        &both,
        &[json!({ "is": "disconnect", "edge": edge(&both, "research", "write") })],
        expect![[r#"
        refused: several answers to the question `research` share this edge
        help: give the answer a branch of its own first: reconnect its edge
    "#]],
    );
}

#[test]
fn a_state_becomes_a_branch() {
    let wrap = |node: &str| json!({ "is": "wrap", "node": node, "kind": "parallel", "id": "both" });
    check(
        SHORT,
        &[wrap("research")],
        expect![[r#"
            -  research: write   # always
            +  both:
            +    parallel:
            +      - research
            +    join: both_join
            +    is_initial: true
            +  both_join:
            +    join: all
            +  research: both_join   # always
            +  both_join: write
        "#]],
    );
    check(
        SHORT,
        &[wrap("write")],
        expect![[r#"
        -  research: write   # always
        +  both:
        +    parallel:
        +      - write
        +    join: both_join
        +  both_join:
        +    join: all
        +  research: both   # always
        +  write: both_join
    "#]],
    );
    check(
        SHORT,
        &[wrap("write"), wrap("both")],
        expect![[r#"
        refused: `both` cannot be a branch: it leads on in several ways
        help: wrap a state with one transition
    "#]],
    );
}

#[test]
fn a_state_that_leads_to_itself_is_a_branch_of_each_pass() {
    let text = SHORT.replace("research: write", "research: research");
    let wrap = json!({ "is": "wrap", "node": "research", "kind": "parallel", "id": "both" });
    check(
        &text,
        &[wrap],
        expect![[r#"
        -  research: research   # always
        +  both:
        +    parallel:
        +      - research
        +    join: both_join
        +    is_initial: true
        +  both_join:
        +    join: all
        +  research: both_join   # always
        +  both_join: both
    "#]],
    );
}
