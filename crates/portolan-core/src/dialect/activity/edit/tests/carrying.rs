//! Moving steps, and putting them into loops.

use expect_test::expect;
use serde_json::json;

use super::{check, check_first, check_in};

#[test]
fn a_step_is_put_into_a_loop() {
    check(
        json!({ "is": "wrap", "node": "write.skim", "kind": "loop", "id": "each", "values": { "over": "items" } }),
        expect![[r#"
            a.yaml:23
            -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
            +  - { id: write, steps: [{ id: each, kind: loop, loopType: forEach, over: items, steps: [{ id: skim, kind: step }] }], transitions: [{ to: file }] }
            at write.each
        "#]],
    );
    check(
        json!({ "is": "wrap", "node": "read.digest", "kind": "loop", "values": { "over": "items" } }),
        expect![[r#"
            a.yaml:18
            -      - technique: some::digest
            -        kind: technique
            +      - id: loop
            +        kind: loop
            +        loopType: forEach
            +        over: items
            +        steps:
            +          - technique: some::digest
            +            kind: technique
            at read.loop
        "#]],
    );
    check_first(
        json!({ "is": "wrap", "node": "try.count", "kind": "loop" }),
        expect![[r#"
        b.yaml:10
        -      - id: count
        +      - id: loop
        +        kind: loop
        +        loopType: forEach
        +        over: them
        +        steps:
        +          - id: count
        at try.loop
    "#]],
    );
    check_first(
        json!({ "is": "wrap", "node": "try.make", "kind": "loop" }),
        expect![[r#"
        a loop beside the steps names `try.make`
        help: remove it from that loop first
    "#]],
    );
    check(
        json!({ "is": "wrap", "node": "read.skim", "kind": "loop" }),
        expect![[r#"
        a comment of `read.skim` would be lost
        help: cut its text, and paste it where it belongs
    "#]],
    );
    check(
        json!({ "is": "wrap", "node": "read", "kind": "loop" }),
        expect![[r#"
        `read` is an activity, and those follow their transitions
        help: change the transitions that lead to it
    "#]],
    );
    check(
        json!({ "is": "wrap", "node": "read.digest", "kind": "step" }),
        expect![[r#"
        no node can be put into one of the kind `step`
        help: use `loop`
    "#]],
    );
}

#[test]
fn a_loop_goes_through_what_it_is_told_to() {
    let wrap =
        |values: serde_json::Value| json!({ "is": "wrap", "node": "write.skim", "kind": "loop", "values": values });
    check(
        wrap(json!({ "over": "parts" })),
        expect![[r#"
            a.yaml:23
            -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
            +  - { id: write, steps: [{ id: loop, kind: loop, loopType: forEach, over: parts, steps: [{ id: skim, kind: step }] }], transitions: [{ to: file }] }
            at write.loop
        "#]],
    );
    check(
        wrap(json!({ "loopType": "while", "condition": "left > 0" })),
        expect![[r#"
            a.yaml:23
            -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
            +  - { id: write, steps: [{ id: loop, kind: loop, loopType: while, condition: left > 0, steps: [{ id: skim, kind: step }] }], transitions: [{ to: file }] }
            at write.loop
        "#]],
    );
    let files = [(
        "a.yaml",
        "id: a\nversion: 1.0.0\ntitle: A\nactivities:\n  - { id: one, steps: [{ id: go, kind: step }] }\n",
    )];
    check_in(
        &files,
        json!({ "is": "wrap", "node": "one.go", "kind": "loop" }),
        expect![[r#"
        there is no variable with an array that the loop could go through
        help: declare one with the type `array`, or name in `over` what holds one
    "#]],
    );
    check_in(
        &files,
        json!({ "is": "add", "kind": "loop", "after": "one.go" }),
        expect![[r#"
        there is no variable with an array that the loop could go through
        help: declare one with the type `array`, or name in `over` what holds one
    "#]],
    );
}

#[test]
fn a_step_is_moved_within_its_activity() {
    check(
        json!({ "is": "move", "node": "read.digest", "after": "read" }),
        expect![[r#"
        a.yaml:11
        -      - { id: skim, kind: step, when: urgent } # once
        -      - id: sure
        -        kind: checkpoint
        -        message: Is it?
        -        options:
        -          - { id: yes, label: Yes }
        -          - { id: no, label: No, effect: { transitionTo: file } }
        -      - technique: some::digest
        -        kind: technique
        +      - technique: some::digest
        +        kind: technique
        +      - { id: skim, kind: step, when: urgent } # once
        +      - id: sure
        +        kind: checkpoint
        +        message: Is it?
        +        options:
        +          - { id: yes, label: Yes }
        +          - { id: no, label: No, effect: { transitionTo: file } }
        at read.digest
    "#]],
    );
    check(
        json!({ "is": "move", "node": "read.skim", "after": "read.digest" }),
        expect![[r#"
        a.yaml:11
        -      - { id: skim, kind: step, when: urgent } # once
        -      - id: sure
        -        kind: checkpoint
        -        message: Is it?
        -        options:
        -          - { id: yes, label: Yes }
        -          - { id: no, label: No, effect: { transitionTo: file } }
        -      - technique: some::digest
        -        kind: technique
        +      - id: sure
        +        kind: checkpoint
        +        message: Is it?
        +        options:
        +          - { id: yes, label: Yes }
        +          - { id: no, label: No, effect: { transitionTo: file } }
        +      - technique: some::digest
        +        kind: technique
        +      - { id: skim, kind: step, when: urgent } # once
        at read.skim
    "#]],
    );
}

#[test]
fn a_step_is_moved_to_another_activity() {
    check(
        json!({ "is": "move", "node": "read.digest", "after": "write.skim" }),
        expect![[r#"
        a.yaml:18
        -      - technique: some::digest
        -        kind: technique
        -    transitions:
        -      - { to: write, when: urgent } # now
        -      - to: file
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        +    transitions:
        +      - { to: write, when: urgent } # now
        +      - to: file
        +  - { id: write, steps: [{ id: skim, kind: step }, { technique: "some::digest", kind: technique }], transitions: [{ to: file }] }
        at write.digest
    "#]],
    );
    check(
        json!({ "is": "move", "node": "read.digest", "after": "file" }),
        expect![[r#"
        a.yaml:18
        -      - technique: some::digest
        -        kind: technique
        -    transitions:
        -      - { to: write, when: urgent } # now
        -      - to: file
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        -  - id: file
        +    transitions:
        +      - { to: write, when: urgent } # now
        +      - to: file
        +  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        +  - id: file
        +    steps:
        +      - technique: some::digest
        +        kind: technique
        at file.digest
    "#]],
    );
}

#[test]
fn a_step_is_moved_where_its_name_is_free() {
    check(
        json!({ "is": "move", "node": "write.skim", "after": "read" }),
        expect![[r#"
        there is already a step `skim`
        help: give it another identifier
    "#]],
    );
    check(
        json!({ "is": "move", "node": "read.sure", "after": "read.digest" }),
        expect![[r#"
        a.yaml:12
        -      - id: sure
        -        kind: checkpoint
        -        message: Is it?
        -        options:
        -          - { id: yes, label: Yes }
        -          - { id: no, label: No, effect: { transitionTo: file } }
        -      - technique: some::digest
        -        kind: technique
        +      - technique: some::digest
        +        kind: technique
        +      - id: sure
        +        kind: checkpoint
        +        message: Is it?
        +        options:
        +          - { id: yes, label: Yes }
        +          - { id: no, label: No, effect: { transitionTo: file } }
        at read.sure
    "#]],
    );
    check(
        json!({ "is": "move", "node": "read.skim", "after": "end" }),
        expect![[r#"
        there is no node `end` in the definition
        help: read the definition again
    "#]],
    );
    check_first(
        json!({ "is": "move", "node": "try.count", "after": "try.make" }),
        expect![[r#"
        b.yaml:9
        -      - id: use # it
        -      - id: count
        +      - id: count
        +      - id: use # it
        at try.count
    "#]],
    );
    check_first(
        json!({ "is": "move", "node": "try.count", "after": "tell" }),
        expect![[r#"
        b.yaml:10
        -      - id: count
        -    loops:
        -      - { id: each, type: forEach, over: them, steps: [make, use] }
        -    checkpoints:
        -      - { id: good, message: Good?, after: count, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }
        -    transitions: [{ to: tell }]
        -  - id: tell
        +    loops:
        +      - { id: each, type: forEach, over: them, steps: [make, use] }
        +    checkpoints:
        +      - { id: good, message: Good?, after: use, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }
        +    transitions: [{ to: tell }]
        +  - id: tell
        +    steps:
        +      - id: count
        at tell.count
    "#]],
    );
}

#[test]
fn a_step_is_moved_to_another_file() {
    let main = "id: a\nversion: 1.0.0\ntitle: A\ninitialActivity: read\n";
    let read = "id: read\nsteps:\n  - id: skim\n    kind: step\n    name: Skim\n  - id: note\n    kind: step\ntransitions:\n  - to: write\n";
    let write = "id: write\nsteps:\n  - id: draft # first\n    kind: step\n";
    let files = [("workflow.yaml", main), ("activities/01-read.yaml", read), ("activities/02-write.yaml", write)];
    check_in(
        &files,
        json!({ "is": "move", "node": "read.skim", "after": "write.draft" }),
        expect![[r#"
        activities/01-read.yaml:3
        -  - id: skim
        -    kind: step
        -    name: Skim
        activities/02-write.yaml:5
        +  - id: skim
        +    kind: step
        +    name: Skim
        at write.skim
    "#]],
    );
    check_in(
        &files,
        json!({ "is": "move", "node": "write.draft", "after": "read.note" }),
        expect![[r#"
        a comment of `write.draft` would be lost
        help: cut its text, and paste it where it belongs
    "#]],
    );
}

#[test]
fn a_comment_above_a_step_stays_with_it() {
    let main = "id: a\nversion: 1.0.0\ntitle: A\nactivities:\n  - id: read\n    steps:\n      - { id: skim, kind: step }\n      # Then rest.\n      - { id: rest, kind: step }\n  - id: write\n";
    check_in(
        &[("a.yaml", main)],
        json!({ "is": "move", "node": "read.rest", "after": "write" }),
        expect![[r#"
            a comment of `read.rest` would be lost
            help: cut its text, and paste it where it belongs
        "#]],
    );
    check_in(
        &[("a.yaml", main)],
        json!({ "is": "wrap", "node": "read.rest", "kind": "loop", "values": { "over": "items" } }),
        expect![[r#"
            a.yaml:9
            -      - { id: rest, kind: step }
            +      - id: loop
            +        kind: loop
            +        loopType: forEach
            +        over: items
            +        steps:
            +          - id: rest
            +            kind: step
            at read.loop
        "#]],
    );
}

#[test]
fn an_address_is_no_comment() {
    let main = "id: a\nversion: 1.0.0\ntitle: A\nactivities:\n  - id: read\n    steps:\n      - { id: skim, kind: step }\n      - { id: page, kind: step, name: \"https://example.org/a#b\" }\n  - id: write\n";
    let moved = json!({ "is": "move", "node": "read.page", "after": "write" });
    check_in(
        &[("a.yaml", main)],
        moved,
        expect![[r#"
        a.yaml:8
        -      - { id: page, kind: step, name: "https://example.org/a#b" }
        -  - id: write
        +  - id: write
        +    steps:
        +      - id: page
        +        kind: step
        +        name: https://example.org/a#b
        at write.page
    "#]],
    );
}
