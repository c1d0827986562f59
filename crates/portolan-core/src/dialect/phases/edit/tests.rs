use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::dialect::editing::edit;
use crate::dialect::{self, Strictness};
use crate::source::Source;

const TEXT: &str = "# A flow.\nid: a\nfields:\n  branch: { type: string, until: plan } # claimed\nphases:\n  - id: plan   # first\n  # The work.\n  - id: make\n    prompt: Do it.\n  - { id: check, back: make }\n  - id: ship\n    after: check # then\n";

fn check(operation: Value, expected: Expect) {
    let source = Source::new("a.yaml", TEXT);
    let graph = dialect::parse(&source, Strictness::Strict).first().0.expect("it can be drawn");
    let operation = serde_json::from_value(operation).expect("an operation");
    let told = match edit(&super::super::DIALECT, &source, &graph, &operation) {
        Ok(edited) => edited.files[0].1.as_deref().unwrap_or_default().split_once("phases:\n").map_or_else(
            String::new,
            |(head, phases)| {
                let field = head.lines().nth(3).unwrap_or_default();
                format!("fields:\n{field}\nphases:\n{phases}")
            },
        ),
        Err(refused) => format!("{}\nhelp: {}\n", refused.message, refused.help),
    };
    expected.assert_eq(&told);
}

#[test]
fn a_phase_is_added() {
    check(
        json!({ "is": "add", "kind": "phase", "id": "review", "after": "check" }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
              - id: review
              - id: ship
                after: review # then
        "#]],
    );
    check(
        json!({ "is": "add", "kind": "phase", "after": "start", "values": { "title": "Begin" } }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: phase
                title: Begin
              - id: plan   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
              - id: ship
                after: check # then
        "#]],
    );
    check(
        json!({ "is": "add", "kind": "phase", "edge": 1 }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              - id: phase
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
              - id: ship
                after: check # then
        "#]],
    );
    check(
        json!({ "is": "add", "kind": "phase", "after": "done" }),
        expect![[r#"
        nothing can follow `done`: the work ends there
        help: put it after a phase
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "phase", "id": "no good" }),
        expect![[r#"
        `no good` cannot be the id of a phase
        help: an id has 1 to 100 ASCII letters, digits, `-`, `_` and `.`, starting with a letter or digit
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "phase", "edge": 3 }),
        expect![[r#"
        this format cannot express that something is added on the edge back to a phase
        help: edit the text
    "#]],
    );
}

#[test]
fn phases_are_led_elsewhere() {
    check(
        json!({ "is": "connect", "from": "ship", "to": "plan" }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
              - id: ship
                after: check # then
                back: plan
        "#]],
    );
    check(
        json!({ "is": "connect", "from": "check", "to": "plan", "on": "failed" }),
        expect![[r#"
        `check` already goes back to `make`
        help: change the target of that edge instead: a phase can have only one edge back
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "make", "to": "ship" }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
              - id: ship
                after: make # then
        "#]],
    );
    check(
        json!({ "is": "connect", "from": "plan", "to": "check" }),
        expect![[r#"
        `check` goes back to `make`, which does not come before it
        help: name an earlier phase
    "#]],
    );
}

#[test]
fn an_edge_is_led_elsewhere_or_taken_away() {
    check(
        json!({ "is": "reconnect", "edge": 3, "to": "plan" }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: plan }
              - id: ship
                after: check # then
        "#]],
    );
    check(
        json!({ "is": "reconnect", "edge": 0, "to": "ship" }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: ship
              - id: plan   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
        "#]],
    );
    check(
        json!({ "is": "disconnect", "edge": 3 }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check }
              - id: ship
                after: check # then
        "#]],
    );
    check(
        json!({ "is": "disconnect", "edge": 1 }),
        expect![[r#"
        this format cannot express that nothing follows a phase
        help: edit the text
    "#]],
    );
    check(
        json!({ "is": "outcome", "edge": 1, "on": "odd" }),
        expect![[r#"
        this format cannot express that the edge onward or back is taken on another outcome
        help: edit the text
    "#]],
    );
}

#[test]
fn a_phase_is_renamed_wherever_it_is_named() {
    check(
        json!({ "is": "rename", "node": "make", "to": "build" }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              # The work.
              - id: build
                prompt: Do it.
              - { id: check, back: build }
              - id: ship
                after: check # then
        "#]],
    );
    check(
        json!({ "is": "rename", "node": "plan", "to": "think" }),
        expect![[r#"
            fields:
              branch: { type: string, until: think } # claimed
            phases:
              - id: think   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
              - id: ship
                after: check # then
        "#]],
    );
    check(
        json!({ "is": "rename", "node": "plan", "to": "make" }),
        expect![[r#"
        the phase `make` already exists
        help: give it another identifier
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "done", "to": "end" }),
        expect![[r#"
        `done` is not written anywhere: it follows from other parts of the text
        help: edit the text
    "#]],
    );
}

#[test]
fn a_phase_goes_with_what_names_it() {
    check(
        json!({ "is": "delete", "nodes": ["make"] }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              - { id: check }
              - id: ship
                after: check # then
        "#]],
    );
    check(
        json!({ "is": "delete", "nodes": ["plan", "check"] }),
        expect![[r#"
            fields:
              branch: { type: string, until: make } # claimed
            phases:
              # The work.
              - id: make
                prompt: Do it.
              - id: ship
                after: make # then
        "#]],
    );
    check(
        json!({ "is": "delete", "nodes": ["plan", "make", "check", "ship"] }),
        expect![[r#"
        no phase would be left
        help: keep one: a workflow needs a phase
    "#]],
    );
    check(
        json!({ "is": "duplicate", "node": "check" }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
              - id: check_2
              - id: ship
                after: check_2 # then
        "#]],
    );
}

#[test]
fn what_a_phase_goes_by_is_renamed_and_not_set() {
    check(
        json!({ "is": "set", "node": "plan", "field": "id", "value": "x" }),
        expect![[r#"
        `id` identifies the node, and cannot be set like other fields
        help: rename the node, so references to it are updated
    "#]],
    );
    check(
        json!({ "is": "set", "node": "plan", "field": "title", "value": "Plan" }),
        expect![[r#"
            fields:
              branch: { type: string, until: plan } # claimed
            phases:
              - id: plan   # first
                title: Plan
              # The work.
              - id: make
                prompt: Do it.
              - { id: check, back: make }
              - id: ship
                after: check # then
        "#]],
    );
    check(
        json!({ "is": "kind", "node": "plan", "kind": "phase" }),
        expect![[r#"
        this format cannot express that a node is of another kind
        help: edit the text
    "#]],
    );
}
