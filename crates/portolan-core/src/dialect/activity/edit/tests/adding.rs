//! Adding and copying.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{check, check_first, check_in};

#[test]
fn a_loop_with_a_condition_goes_over_nothing() {
    check(
        json!({ "is": "add", "kind": "loop", "after": "file", "values": { "loopType": "while", "condition": "a" } }),
        expect![[r#"
            a.yaml:25
            +    steps:
            +      - id: loop
            +        kind: loop
            +        loopType: while
            +        condition: a
            +        steps:
            +          - id: step
            +            kind: step
            at file.loop
        "#]],
    );
}

#[test]
fn a_step_comes_behind_another_in_its_list() {
    check(
        json!({ "is": "add", "kind": "step", "after": "read.skim", "values": { "name": "Look" } }),
        expect![[r#"
        a.yaml:12
        +      - id: step
        +        kind: step
        +        name: Look
        at read.step
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "checkpoint", "id": "ask", "after": "write" }),
        expect![[r#"
        a.yaml:23
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        +  - { id: write, steps: [{ id: ask, kind: checkpoint, message: Should the work continue?, options: [{ id: "yes", label: "Yes" }, { id: "no", label: "No" }] }, { id: skim, kind: step }], transitions: [{ to: file }] }
        at write.ask
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "loop", "after": "file", "values": { "over": "items" } }),
        expect![[r#"
            a.yaml:25
            +    steps:
            +      - id: loop
            +        kind: loop
            +        loopType: forEach
            +        over: items
            +        steps:
            +          - id: step
            +            kind: step
            at file.loop
        "#]],
    );
    check(
        json!({ "is": "add", "kind": "technique", "after": "write.skim" }),
        expect![[r#"
        a.yaml:23
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        +  - { id: write, steps: [{ id: skim, kind: step }, { id: technique, kind: technique, technique: technique }], transitions: [{ to: file }] }
        at write.technique
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "step", "id": "sure", "after": "read.skim" }),
        expect![[r#"
        there is already a step `sure`
        help: give it another identifier
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "step", "after": "start" }),
        expect![[r#"
        a step must be in an activity, and `start` is in none
        help: add it after an activity or a step
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "step" }),
        expect![[r#"
        a step must be in an activity
        help: say what to add it after
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "step", "after": "read.skim.when" }),
        expect![[r#"
        `read.skim.when` is not written anywhere: it follows from other parts of the text
        help: edit the text
    "#]],
    );
    check_first(
        json!({ "is": "add", "kind": "step", "after": "try.use" }),
        expect![[r#"
        b.yaml:10
        -      - id: count
        -    loops:
        -      - { id: each, type: forEach, over: them, steps: [make, use] }
        +      - id: step
        +      - id: count
        +    loops:
        +      - { id: each, type: forEach, over: them, steps: [make, use, step] }
        at try.step
    "#]],
    );
    check_first(
        json!({ "is": "add", "kind": "step", "after": "try.good" }),
        expect![[r#"
        `try.good` is in a list of its own, beside the steps
        help: add it after a step, or edit the text
    "#]],
    );
}

#[test]
fn an_activity_comes_on_a_way() {
    check(
        json!({ "is": "add", "kind": "activity", "id": "check", "after": "read" }),
        expect![[r#"
        a.yaml:22
        +      - to: check
        +  - id: check
        +    transitions:
        at check
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "activity", "after": "start" }),
        expect![[r#"
        a.yaml:4
        -initialActivity: read
        -variables:
        -  - { name: urgent, type: boolean, default: false }
        -activities:
        +initialActivity: activity
        +variables:
        +  - { name: urgent, type: boolean, default: false }
        +activities:
        +  - id: activity
        +    transitions:
        +      - to: read
        at activity
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "activity", "after": "file" }),
        expect![[r#"
        a.yaml:25
        +    transitions:
        +      - to: activity
        +  - id: activity
        at activity
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "activity" }),
        expect![[r#"
        a.yaml:25
        +  - id: activity
        at activity
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "activity", "after": "read.skim" }),
        expect![[r#"
            `read.skim` leads to the next item of its list, and cannot lead elsewhere
            help: put a checkpoint after it, whose answers lead to any activity; or a loop, which repeats its steps; or give its activity a transition with a condition in the text
        "#]],
    );
}

#[test]
fn a_copy_has_names_of_its_own() {
    check(
        json!({ "is": "duplicate", "node": "read.digest" }),
        expect![[r#"
        a.yaml:20
        +      - id: digest_2
        +        technique: some::digest
        +        kind: technique
        at read.digest_2
    "#]],
    );
    check(
        json!({ "is": "duplicate", "node": "write" }),
        expect![[r#"
        a.yaml:24
        +  - id: write_2
        +    steps:
        +      - id: skim
        +        kind: step
        at write_2
    "#]],
    );
    check_first(
        json!({ "is": "duplicate", "node": "try.use" }),
        expect![[r#"
        b.yaml:10
        -      - id: count
        -    loops:
        -      - { id: each, type: forEach, over: them, steps: [make, use] }
        +      - id: use_2
        +      - id: count
        +    loops:
        +      - { id: each, type: forEach, over: them, steps: [make, use, use_2] }
        at try.use_2
    "#]],
    );
    check_first(
        json!({ "is": "duplicate", "node": "try.each" }),
        expect![[r#"
        `try.each` repeats steps that are defined beside it, and a step can be in only one loop
        help: define the steps inside the loop, and copy that
    "#]],
    );
}

#[test]
fn activities_in_files_are_edited_in_their_own() {
    let files = [
        ("c/workflow.yaml", "id: c\nversion: 1.0.0\ntitle: C\ninitialActivity: one # first\n"),
        ("c/activities/01-one.yaml", "id: one\nsteps:\n  - { id: go, kind: step } # on\ntransitions: [{ to: two }]\n"),
        ("c/activities/02-two.yaml", "# The second.\nid: two\n"),
    ];
    let check = |operation: Value, expected: Expect| check_in(&files, operation, expected);
    check(
        json!({ "is": "add", "kind": "step", "after": "one.go" }),
        expect![[r#"
        c/activities/01-one.yaml:4
        +  - id: step
        +    kind: step
        at one.step
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "step", "after": "two" }),
        expect![[r#"
        c/activities/02-two.yaml:3
        +steps:
        +  - id: step
        +    kind: step
        at two.step
    "#]],
    );
    check(
        json!({ "is": "connect", "from": "two", "to": "one" }),
        expect![[r#"
        c/activities/02-two.yaml:3
        +transitions:
        +  - to: one
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "one", "to": "first" }),
        expect![[r#"
        c/workflow.yaml:4
        -initialActivity: one # first
        +initialActivity: first # first
        c/activities/01-one.yaml:1
        -id: one
        +id: first
        at first
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "two", "to": "last" }),
        expect![[r#"
        c/activities/01-one.yaml:4
        -transitions: [{ to: two }]
        +transitions: [{ to: last }]
        c/activities/02-two.yaml:2
        -id: two
        +id: last
        at last
    "#]],
    );
}

#[test]
fn no_at_a_checkpoint_behind_a_step_leads_back() {
    check(
        json!({ "is": "add", "kind": "checkpoint", "id": "ask", "after": "read.skim" }),
        expect![[r#"
            a.yaml:12
            +      - id: ask
            +        kind: checkpoint
            +        message: Should the work continue?
            +        options:
            +          - id: "yes"
            +            label: "Yes"
            +          - id: "no"
            +            label: "No"
            +            effect:
            +              transitionTo: read
            at read.ask
        "#]],
    );
}

#[test]
fn a_checkpoint_asks_its_name_and_what_a_step_reports_is_declared() {
    let ask = |values: Value| json!({ "is": "add", "kind": "checkpoint", "after": "read.skim", "values": values });
    check(
        ask(json!({ "name": "Is it good?" })),
        expect![[r#"
        a.yaml:12
        +      - id: checkpoint
        +        kind: checkpoint
        +        message: Is it good?
        +        options:
        +          - id: "yes"
        +            label: "Yes"
        +          - id: "no"
        +            label: "No"
        +            effect:
        +              transitionTo: read
        +        name: Is it good?
        at read.checkpoint
    "#]],
    );
    check(
        ask(json!({ "name": "Sure", "message": "Is it good?" })),
        expect![[r#"
        a.yaml:12
        +      - id: checkpoint
        +        kind: checkpoint
        +        message: Is it good?
        +        options:
        +          - id: "yes"
        +            label: "Yes"
        +          - id: "no"
        +            label: "No"
        +            effect:
        +              transitionTo: read
        +        name: Sure
        at read.checkpoint
    "#]],
    );
    let values = json!({ "outputs": ["verdict", "urgent", "no name", "second"] });
    check(
        json!({ "is": "add", "kind": "step", "after": "read.skim", "values": values }),
        expect![[r#"
        a.yaml:7
        -activities:
        -  # First.
        -  - id: read
        -    steps:
        -      - { id: skim, kind: step, when: urgent } # once
        +  - name: verdict
        +    type: string
        +  - name: second
        +    type: string
        +activities:
        +  # First.
        +  - id: read
        +    steps:
        +      - { id: skim, kind: step, when: urgent } # once
        +      - id: step
        +        kind: step
        +        outputs:
        +          - verdict
        +          - urgent
        +          - no name
        +          - second
        at read.step
    "#]],
    );
}
