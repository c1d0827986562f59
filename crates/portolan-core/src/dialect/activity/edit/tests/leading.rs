//! Edges from activity to activity.

use expect_test::expect;
use serde_json::json;

use super::{TODAY, check, check_first, check_in};
use crate::dialect::{self, Strictness};
use crate::graph::Edge;
use crate::source::Source;

#[test]
fn ways_lead_from_activity_to_activity() {
    check(
        json!({ "is": "connect", "from": "file", "to": "read" }),
        expect![[r#"
        a.yaml:25
        +    transitions:
        +      - to: read
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "read", "to": "write" }),
        expect![[r#"
            `read` already has a transition that is always open: to `file`
            help: change the target of that transition, or give it a condition in the text (`when`) first
        "#]],
    );
    check(
        json!({ "is": "connect", "from": "read.sure", "to": "write", "on": "yes" }),
        expect![[r#"
        a.yaml:16
        -          - { id: yes, label: Yes }
        +          - { id: yes, label: Yes, effect: { transitionTo: write } }
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "file", "to": "read", "on": "odd" }),
        expect![[r#"
        transitions between activities depend on conditions, not on outcomes
        help: connect them without an outcome, and give the transition a condition
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "read", "to": "read.skim" }),
        expect![[r#"
        `read.skim` is not an activity, and transitions lead to activities
        help: name an activity: if no transition leaves one, the work is done
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "read.skim", "to": "file" }),
        expect![[r#"
            `read.skim` leads to the next item of its list, and cannot lead elsewhere
            help: put a checkpoint after it, whose answers lead to any activity; or a loop, which repeats its steps; or give its activity a transition with a condition in the text
        "#]],
    );
    check_first(
        json!({ "is": "connect", "from": "tell", "to": "try" }),
        expect![[r#"
        b.yaml:17
        +    transitions:
        +      - to: try
    "#]],
    );
}

/// Returns the index of the edge from a node to another.
fn edge(from: &str, to: &str) -> usize {
    let (graph, _) = dialect::parse(&Source::new("a.yaml", TODAY), Strictness::Strict).first();
    let edges = graph.expect("it can be drawn").edges;
    let is_it = |edge: &Edge| edge.from.value.as_str() == from && edge.to.value.as_str() == to;
    edges.iter().position(is_it).expect("there is one")
}

#[test]
fn an_edge_is_led_elsewhere_where_it_is_written() {
    let to = |from: &str, old: &str, to: &str| json!({ "is": "reconnect", "edge": edge(from, old), "to": to });
    check(
        to("start", "read", "write"),
        expect![[r#"
        a.yaml:4
        -initialActivity: read
        +initialActivity: write
    "#]],
    );
    check(
        to("read.leave", "write", "read"),
        expect![[r#"
        a.yaml:21
        -      - { to: write, when: urgent } # now
        +      - { to: read, when: urgent } # now
    "#]],
    );
    check(
        to("read.leave", "file", "write"),
        expect![[r#"
        a.yaml:22
        -      - to: file
        +      - to: write
    "#]],
    );
    check(
        to("read.sure", "file", "write"),
        expect![[r#"
        a.yaml:17
        -          - { id: no, label: No, effect: { transitionTo: file } }
        +          - { id: no, label: No, effect: { transitionTo: write } }
    "#]],
    );
    check(
        to("write.skim", "file", "read"),
        expect![[r#"
        a.yaml:23
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        +  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: read }] }
    "#]],
    );
    check(
        to("file", "done", "read"),
        expect![[r#"
        a.yaml:25
        +    transitions:
        +      - to: read
    "#]],
    );
    check(
        to("read.skim.when", "read.skim", "read"),
        expect![[r#"
        `read.skim` comes after `read.skim.when` because of their order in the list
        help: add the step elsewhere and remove this one, or edit the text
    "#]],
    );
}

#[test]
fn an_edge_is_taken_away_where_it_is_written() {
    let off = |from: &str, to: &str| json!({ "is": "disconnect", "edge": edge(from, to) });
    check(
        off("read.leave", "write"),
        expect![[r#"
        a.yaml:21
        -      - { to: write, when: urgent } # now
    "#]],
    );
    check(
        off("read.sure", "file"),
        expect![[r#"
        a.yaml:17
        -          - { id: no, label: No, effect: { transitionTo: file } }
        +          - { id: no, label: No }
    "#]],
    );
    check(
        off("write.skim", "file"),
        expect![[r#"
        a.yaml:23
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        +  - { id: write, steps: [{ id: skim, kind: step }] }
    "#]],
    );
    check(
        off("file", "done"),
        expect![[r#"
        no transition is written there: without one, the work is done
        help: connect the activity with another one
    "#]],
    );
    check(
        off("start", "read"),
        expect![[r#"
        this format cannot express that the work begins nowhere
        help: edit the text
    "#]],
    );
    check(
        json!({ "is": "outcome", "edge": edge("file", "done"), "on": "odd" }),
        expect![[r#"
        transitions between activities depend on conditions, and answers lead to the activity that they name
        help: edit the condition, or the answers of the checkpoint
    "#]],
    );
}

#[test]
fn an_answer_is_led_elsewhere_without_those_beside_it() {
    let text = "id: c
version: 1.0.0
title: C
activities:
  - id: find
    steps:
      - { id: name, kind: step }
      - id: sure
        kind: checkpoint
        message: Is it?
        options:
          - { id: yes, label: Yes }
          - { id: no, label: No } # again
    transitions: [{ to: mend }]
  - id: mend
";
    let (graph, _) = dialect::parse(&Source::new("c.yaml", text), Strictness::Strict).first();
    let edges = graph.expect("it can be drawn").edges;
    let of_answer = |edge: &Edge| edge.on.outcome().is_some_and(|on| on.as_str() == "no");
    let nth = edges.iter().position(of_answer).expect("each answer has an edge");
    check_in(
        &[("c.yaml", text)],
        json!({ "is": "reconnect", "edge": nth, "to": "find" }),
        expect![[r#"
            c.yaml:13
            -          - { id: no, label: No } # again
            +          - { id: no, label: No, effect: { transitionTo: find } } # again
        "#]],
    );
}
