//! Renaming, deleting, and setting fields.

use expect_test::expect;
use serde_json::json;

use super::{check, check_first};

#[test]
fn names_follow() {
    check(
        json!({ "is": "rename", "node": "file", "to": "put" }),
        expect![[r#"
        a.yaml:17
        -          - { id: no, label: No, effect: { transitionTo: file } }
        -      - technique: some::digest
        -        kind: technique
        -    transitions:
        -      - { to: write, when: urgent } # now
        -      - to: file
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        -  - id: file
        +          - { id: no, label: No, effect: { transitionTo: put } }
        +      - technique: some::digest
        +        kind: technique
        +    transitions:
        +      - { to: write, when: urgent } # now
        +      - to: put
        +  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: put }] }
        +  - id: put
        at put
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "write.skim", "to": "scan" }),
        expect![[r#"
        a.yaml:23
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        +  - { id: write, steps: [{ id: scan, kind: step }], transitions: [{ to: file }] }
        at write.scan
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "read.digest", "to": "read.sum" }),
        expect![[r#"
        a.yaml:20
        +        id: sum
        at read.sum
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "read.skim", "to": "sure" }),
        expect![[r#"
        there is already a step `sure`
        help: give it another identifier
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "read", "to": "a b" }),
        expect![[r#"
        `a b` cannot be the id of an activity
        help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "read.leave", "to": "out" }),
        expect![[r#"
        `read.leave` is not written anywhere: it follows from other parts of the text
        help: edit the text
    "#]],
    );
}

#[test]
fn names_follow_in_lists_beside_the_steps() {
    check_first(
        json!({ "is": "rename", "node": "try.use", "to": "run" }),
        expect![[r#"
        b.yaml:9
        -      - id: use # it
        -      - id: count
        -    loops:
        -      - { id: each, type: forEach, over: them, steps: [make, use] }
        +      - id: run # it
        +      - id: count
        +    loops:
        +      - { id: each, type: forEach, over: them, steps: [make, run] }
        at try.run
    "#]],
    );
    check_first(
        json!({ "is": "rename", "node": "try.count", "to": "sum" }),
        expect![[r#"
        b.yaml:10
        -      - id: count
        -    loops:
        -      - { id: each, type: forEach, over: them, steps: [make, use] }
        -    checkpoints:
        -      - { id: good, message: Good?, after: count, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }
        +      - id: sum
        +    loops:
        +      - { id: each, type: forEach, over: them, steps: [make, use] }
        +    checkpoints:
        +      - { id: good, message: Good?, after: sum, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }
        at try.sum
    "#]],
    );
    check_first(
        json!({ "is": "rename", "node": "tell", "to": "say" }),
        expect![[r#"
        b.yaml:14
        -      - { id: good, message: Good?, after: count, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }
        -    transitions: [{ to: tell }]
        -  - id: tell
        +      - { id: good, message: Good?, after: count, options: [{ id: yes, label: Yes, effect: { skipActivities: [say] } }] }
        +    transitions: [{ to: say }]
        +  - id: say
        at say
    "#]],
    );
}

#[test]
fn what_is_taken_away_is_named_nowhere() {
    check(
        json!({ "is": "delete", "nodes": ["read.skim", "read.digest"] }),
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
    "#]],
    );
    check(
        json!({ "is": "delete", "nodes": ["file"] }),
        expect![[r#"
        a.yaml:17
        -          - { id: no, label: No, effect: { transitionTo: file } }
        -      - technique: some::digest
        -        kind: technique
        -    transitions:
        -      - { to: write, when: urgent } # now
        -      - to: file
        -  - { id: write, steps: [{ id: skim, kind: step }], transitions: [{ to: file }] }
        -  - id: file
        +          - { id: no, label: No }
        +      - technique: some::digest
        +        kind: technique
        +    transitions:
        +      - { to: write, when: urgent } # now
        +  - { id: write, steps: [{ id: skim, kind: step }] }
    "#]],
    );
    check(
        json!({ "is": "delete", "nodes": ["read", "write", "file"] }),
        expect![[r#"
        no activity would be left
        help: keep one: a workflow needs an activity
    "#]],
    );
    check_first(
        json!({ "is": "delete", "nodes": ["try.use"] }),
        expect![[r#"
        b.yaml:9
        -      - id: use # it
        -      - id: count
        -    loops:
        -      - { id: each, type: forEach, over: them, steps: [make, use] }
        +      - id: count
        +    loops:
        +      - { id: each, type: forEach, over: them, steps: [make] }
    "#]],
    );
    check_first(
        json!({ "is": "delete", "nodes": ["try.make", "try.use"] }),
        expect![[r#"
        the loop `each` would have nothing to repeat
        help: remove the loop as well, or add another step to it first
    "#]],
    );
    check_first(
        json!({ "is": "delete", "nodes": ["try.count"] }),
        expect![[r#"
        b.yaml:10
        -      - id: count
        -    loops:
        -      - { id: each, type: forEach, over: them, steps: [make, use] }
        -    checkpoints:
        -      - { id: good, message: Good?, after: count, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }
        +    loops:
        +      - { id: each, type: forEach, over: them, steps: [make, use] }
        +    checkpoints:
        +      - { id: good, message: Good?, after: use, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }
    "#]],
    );
    check_first(
        json!({ "is": "delete", "nodes": ["tell"] }),
        expect![[r#"
        b.yaml:14
        -      - { id: good, message: Good?, after: count, options: [{ id: yes, label: Yes, effect: { skipActivities: [tell] } }] }
        -    transitions: [{ to: tell }]
        -  - id: tell
        +      - { id: good, message: Good?, after: count, options: [{ id: yes, label: Yes }] }
    "#]],
    );
}

#[test]
fn fields_are_set_as_the_text_calls_them() {
    check(
        json!({ "is": "set", "node": "read.digest", "field": "technique", "value": "x::y" }),
        expect![[r#"
        a.yaml:18
        -      - technique: some::digest
        +      - technique: x::y
        at read.digest
    "#]],
    );
    check(
        json!({ "is": "set", "node": "read.skim", "field": "id", "value": "x" }),
        expect![[r#"
        `id` identifies the node, and cannot be set like other fields
        help: rename the node, so references to it are updated
    "#]],
    );
    check(
        json!({ "is": "kind", "node": "read.skim", "kind": "action" }),
        expect![[r#"
        a.yaml:11
        -      - { id: skim, kind: step, when: urgent } # once
        +      - { id: skim, kind: action, when: urgent } # once
        at read.skim
    "#]],
    );
    check(
        json!({ "is": "kind", "node": "read.skim", "kind": "technique" }),
        expect![[r#"
        a node of the kind `technique` needs `technique`
        help: add a new node of that kind, and delete this one
    "#]],
    );
    check(
        json!({ "is": "kind", "node": "read.sure", "kind": "step" }),
        expect![[r#"
        `read.sure` is of the kind `checkpoint`, which cannot be changed to `step`
        help: add a new node of that kind, and delete this one
    "#]],
    );
    check_first(
        json!({ "is": "set", "node": "try.each", "field": "loopType", "value": "while" }),
        expect![[r#"
        b.yaml:12
        -      - { id: each, type: forEach, over: them, steps: [make, use] }
        +      - { id: each, type: while, over: them, steps: [make, use] }
        at try.each
    "#]],
    );
    check_first(
        json!({ "is": "set", "node": null, "field": "title", "value": "C" }),
        expect![[r#"
        b.yaml:3
        -name: B
        +name: C
    "#]],
    );
}
