//! Edges from activity to activity.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{TODAY, check, check_first, check_in};
use crate::dialect::editing::Forms;
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
            help: change the target of that transition, give it a condition first, or give the new one a condition
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
    edge_in(TODAY, from, to)
}

fn edge_in(text: &str, from: &str, to: &str) -> usize {
    let (graph, _) = dialect::parse(&Source::new("a.yaml", text), Strictness::Strict).first();
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

#[test]
fn a_transition_has_another_condition() {
    let on = |from: &str, to: &str, on: Option<&str>| json!({ "is": "outcome", "edge": edge(from, to), "on": on });
    check(
        on("read.leave", "write", Some("urgent == false")),
        expect![[r#"
        a.yaml:21
        -      - { to: write, when: urgent } # now
        +      - { to: write, when: urgent == false } # now
    "#]],
    );
    check(
        on("read.leave", "file", Some("!urgent")),
        expect![[r#"
        a.yaml:23
        +        when: "!urgent"
    "#]],
    );
    check(
        on("read.leave", "write", Some(r#"{ "type": "simple", "variable": "urgent", "operator": "exists" }"#)),
        expect![[r#"
        a.yaml:21
        -      - { to: write, when: urgent } # now
        +      - { to: write, condition: { type: simple, variable: urgent, operator: exists } } # now
    "#]],
    );
    check(
        on("read.leave", "write", None),
        expect![[r#"
        another edge is already always open: to `file`
        help: give that one a condition first
    "#]],
    );
    check(on("read.leave", "file", None), expect![""]);
    check(
        on("read.leave", "write", Some("urgent =")),
        expect![[r#"
        `=` is not allowed here
        help: write a comparison with `==`
    "#]],
    );
    check(
        on("read.leave", "write", Some("{ urgent")),
        expect![[r#"
        the condition is not valid JSON: key must be a string at line 1 column 3
        help: write it as `state == done`, or as a JSON object
    "#]],
    );
    check(
        on("file", "done", Some("urgent")),
        expect![[r#"
        no transition is written there: without one, the work is done
        help: connect the activity with another one, on a condition
    "#]],
    );
    check(
        on("start", "read", Some("urgent")),
        expect![[r#"
        this format cannot express that this edge depends on a condition
        help: edit the text
    "#]],
    );
    check(
        on("read.sure", "file", Some("urgent")),
        expect![[r#"
        the answers of a checkpoint lead on without a condition
        help: give another answer that leads elsewhere, or give the checkpoint itself a condition
    "#]],
    );
}

#[test]
fn a_new_transition_with_a_condition_comes_before_the_open_one() {
    check(
        json!({ "is": "connect", "from": "read", "to": "read", "on": "!urgent" }),
        expect![[r#"
        a.yaml:22
        +      - to: read
        +        when: "!urgent"
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "file", "to": "read", "on": "urgent" }),
        expect![[r#"
            a.yaml:25
            +    decisions:
            +      - id: next
            +        name: What follows
            +        branches:
            +          - id: read
            +            label: read
            +            when: urgent
            +            transitionTo: read
            +          - id: finished
            +            label: Finished
            +            isDefault: true
        "#]],
    );
    check(
        json!({ "is": "connect", "from": "file", "to": "read", "on": "urgent =" }),
        expect![[r#"
        `=` is not allowed here
        help: write a comparison with `==`
    "#]],
    );
    check_in(
        &[("a.yaml", DECIDED)],
        json!({ "is": "connect", "from": "try", "to": "try", "on": "good" }),
        expect![[r#"
            a.yaml:11
            +          - id: again_2
            +            label: Again
            +            when: good
            +            transitionTo: try
        "#]],
    );
}

#[test]
fn an_activity_leads_to_the_end_of_the_work() {
    let to_done = |from: &str| json!({ "is": "connect", "from": from, "to": "done" });
    // It does already, or leads elsewhere in any case.
    check(
        to_done("file"),
        expect![[r#"
        no transition leaves `file`, so the work ends there already
        help: connect it with an activity
    "#]],
    );
    check(
        to_done("write"),
        expect![[r#"
        `write` already has a transition that is always open: to `file`
        help: change the target of that transition, give it a condition first, or give the new one a condition
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "write", "to": "done", "on": "urgent" }),
        expect![[r#"
        a.yaml:23
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        +  - { id: write, steps: [{ id: skim, kind: step }], decisions: [{ id: next, name: What follows, branches: [{ id: finished, label: Finished, when: urgent }, { id: file, label: file, isDefault: true, transitionTo: file }] }] }
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "file", "to": "done", "on": "urgent" }),
        expect![[r#"
            no transition leaves `file`, so the work ends there already
            help: connect it with an activity
        "#]],
    );
    check_in(
        &[("a.yaml", DECIDED)],
        json!({ "is": "connect", "from": "try", "to": "done" }),
        expect![[r#"
        `try` already has a transition that is always open: to `tell`
        help: change the target of that transition, give it a condition first, or give the new one a condition
    "#]],
    );
    check_in(
        &[("a.yaml", &*LOST.replace("      # Once more.\n", ""))],
        to_done("try"),
        expect![[r#"
            a.yaml:8
            -    transitions:
            -      - { to: try, when: good }
            -      - { to: other, when: "!good" }
            +    decisions:
            +      - id: next
            +        name: What follows
            +        branches:
            +          - id: again
            +            label: Again
            +            when: good
            +            transitionTo: try
            +          - id: other
            +            label: Something else
            +            when: "!good"
            +            transitionTo: other
            +          - id: finished
            +            label: Finished
            +            isDefault: true
        "#]],
    );
    check_in(
        &[("a.yaml", LOST)],
        to_done("try.leave"),
        expect![[r#"
            a comment of the transitions would be lost, which become the branches of a decision
            help: write the `decisions` in the text
        "#]],
    );
    check_in(
        &[("a.yaml", DOUBTFUL)],
        to_done("try"),
        expect![[r#"
        `try` already has a transition that is always open: to `try`
        help: change the target of that transition, give it a condition first, or give the new one a condition
    "#]],
    );
}

#[test]
fn an_edge_is_led_to_the_end_of_the_work_where_a_branch_is_written() {
    let to_done =
        |text: &str, from: &str, to: &str| json!({ "is": "reconnect", "edge": edge_in(text, from, to), "to": "done" });
    check_in(
        &[("a.yaml", DECIDED)],
        to_done(DECIDED, "try.leave", "tell"),
        expect![[r#"
        a.yaml:11
        -          - { id: on, transitionTo: tell, isDefault: true }
        +          - { id: on, isDefault: true }
    "#]],
    );
    check_in(
        &[("a.yaml", LOST)],
        to_done(LOST, "try.leave", "other"),
        expect![[r#"
        only a branch of a decision can end the work, and the others lead to activities
        help: remove this edge, and connect the activity with the end
    "#]],
    );
    check_in(&[("a.yaml", LOST)], to_done(LOST, "other.look", "done"), expect![[""]]);
}

#[test]
fn the_end_of_the_work_hides_no_transition_behind_a_decision() {
    let text = LOST.replace("      # Once more.\n", "").replace(
        "    transitions:\n",
        "    decisions: [{ id: d, branches: [{ id: a, when: good, transitionTo: other }, { id: b, when: \"!good\", transitionTo: try }] }]\n    transitions:\n",
    );
    let to_done = json!({ "is": "connect", "from": "try", "to": "done" });
    check_in(
        &[("a.yaml", &text)],
        to_done,
        expect![[r#"
        the transitions of `try` would never be taken behind a default branch
        help: make them branches of the decision in the text
    "#]],
    );
}

/// If neither condition holds, nothing leads on.
const LOST: &str = "id: d
version: 1.0.0
title: D
variables: [{ name: good, type: boolean, default: false }]
activities:
  - id: try
    steps: [{ id: look }]
    transitions:
      # Once more.
      - { to: try, when: good }
      - { to: other, when: \"!good\" }
  - id: other
    name: Something else
    steps: [{ id: look }]
";

/// A default transition has a condition, too.
const DOUBTFUL: &str = "id: d
version: 1.0.0
title: D
variables: [{ name: good, type: boolean, default: false }]
activities:
  - id: try
    steps: [{ id: look }]
    transitions: [{ to: try, when: good, isDefault: true }]
";

const DECIDED: &str = "id: d
version: 1.0.0
title: D
variables: [{ name: good, type: boolean, default: false }]
activities:
  - id: try
    decisions:
      - id: which
        branches:
          - { id: again, transitionTo: try, condition: { type: simple, variable: good, operator: ==, value: false } }
          - { id: on, transitionTo: tell, isDefault: true }
    steps:
      - { id: make, kind: step }
  - { id: tell, steps: [{ id: it, kind: step }], transitions: [{ to: try, condition: good }, { to: last }] }
  - { id: last, transitions: [{ to: try, when: good }, { to: tell, when: '!good' }] }
";

#[test]
fn a_branch_of_a_decision_has_another_condition() {
    let on = |from: &str, to: &str, on: Option<&str>| {
        let edge = edge_in(DECIDED, from, to);
        json!({ "is": "outcome", "edge": edge, "on": on })
    };
    let check = |operation: Value, expected: Expect| check_in(&[("a.yaml", DECIDED)], operation, expected);
    check(
        on("try.leave", "try", Some("good == false")),
        expect![[r#"
        a.yaml:10
        -          - { id: again, transitionTo: try, condition: { type: simple, variable: good, operator: ==, value: false } }
        +          - { id: again, transitionTo: try, condition: good == false }
    "#]],
    );
    check(
        on("try.leave", "tell", Some("good")),
        expect![[r#"
        a.yaml:11
        -          - { id: on, transitionTo: tell, isDefault: true }
        +          - { id: on, transitionTo: tell, when: good }
    "#]],
    );
    check(
        on("try.leave", "try", None),
        expect![[r#"
        another edge is already always open: to `tell`
        help: give that one a condition first
    "#]],
    );
    check(
        on("tell.leave", "try", Some("!good")),
        expect![[r#"
        a.yaml:14
        -  - { id: tell, steps: [{ id: it, kind: step }], transitions: [{ to: try, condition: good }, { to: last }] }
        +  - { id: tell, steps: [{ id: it, kind: step }], transitions: [{ to: try, condition: "!good" }, { to: last }] }
    "#]],
    );
    check(
        on("last.leave", "try", None),
        expect![[r#"
        a.yaml:15
        -  - { id: last, transitions: [{ to: try, when: good }, { to: tell, when: '!good' }] }
        +  - { id: last, transitions: [{ to: try, isDefault: true }, { to: tell, when: '!good' }] }
    "#]],
    );
    check(
        on("last.leave", "tell", None),
        expect![[r#"
        a.yaml:15
        -  - { id: last, transitions: [{ to: try, when: good }, { to: tell, when: '!good' }] }
        +  - { id: last, transitions: [{ to: try, when: good }, { to: tell }] }
    "#]],
    );
}

#[test]
fn the_condition_of_an_edge_is_shown_as_it_is_written() {
    let source = Source::new("a.yaml", DECIDED);
    let (graph, _) = dialect::parse(&source, Strictness::Strict).first();
    let graph = graph.expect("it can be drawn");
    let forms = Forms::of(&super::super::super::DIALECT, &source, &graph).expect("it can be edited");
    let lines = graph
        .edges
        .iter()
        .filter_map(|edge| Some(format!("{} -> {}: {}\n", edge.from.value, edge.to.value, forms.condition(edge)?)));
    expect![[r#"
        try.leave -> try: {"type":"simple","variable":"good","operator":"==","value":false}
        try.leave -> tell: 
        tell.leave -> try: good
        tell.leave -> last: 
        last.leave -> try: good
        last.leave -> tell: !good
    "#]]
    .assert_eq(&lines.collect::<String>());
}
