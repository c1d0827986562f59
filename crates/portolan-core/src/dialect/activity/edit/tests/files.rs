use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::check_in;

const FOLDER: [(&str, &str); 3] = [
    (
        "c/workflow.yaml",
        "id: c\nversion: 1.0.0\ntitle: C\nmodes:\n  - { id: quick, activationVariable: quick, skipActivities: [two] }\n",
    ),
    ("c/activities/01-one.yaml", "id: one\nsteps:\n  - { id: go, kind: step } # on\ntransitions: [{ to: two }]\n"),
    (
        "c/activities/07-two.yaml",
        "# The second.\nid: two\nsteps: [{ id: do, kind: step }] # it\ntransitions: [{ to: one }]\n",
    ),
];

#[test]
fn an_activity_comes_as_a_file() {
    let check = |operation: Value, expected: Expect| check_in(&FOLDER, operation, expected);
    check(
        json!({ "is": "add", "kind": "activity" }),
        expect![[r#"
        new c/activities/08-activity.yaml:1
        +id: activity
        at activity
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "activity", "id": "look", "after": "one", "values": { "name": "Look" } }),
        expect![[r#"
            c/activities/01-one.yaml:4
            -transitions: [{ to: two }]
            +transitions: [{ to: look }]
            new c/activities/08-look.yaml:1
            +id: look
            +name: Look
            +transitions:
            +  - to: two
            at look
        "#]],
    );
    check(
        json!({ "is": "add", "kind": "activity", "id": "zero", "edge": 0 }),
        expect![[r#"
        c/workflow.yaml:6
        +initialActivity: zero
        new c/activities/08-zero.yaml:1
        +id: zero
        +transitions:
        +  - to: one
        at zero
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "activity", "id": "two" }),
        expect![[r#"
        there is already an activity `two`
        help: give it another identifier
    "#]],
    );
    check(
        json!({ "is": "add", "kind": "activity", "id": "../two" }),
        expect![[r#"
        `../two` cannot be the id of an activity
        help: an id has 1 to 200 bytes: letters, digits, `_` and `-`, not starting with `-`
    "#]],
    );
    check(
        json!({ "is": "duplicate", "node": "two" }),
        expect![[r#"
        new c/activities/08-two_2.yaml:1
        +# The second.
        +id: two_2
        +steps: [{ id: do, kind: step }] # it
        at two_2
    "#]],
    );
    let one = ("d/workflow.json", r#"{ "id": "d", "version": "1.0.0", "title": "D" }"#);
    let files = [one, ("d/activities/98-one.json", r#"{ "id": "one" }"#)];
    check_in(
        &files,
        json!({ "is": "add", "kind": "activity", "after": "one" }),
        expect![[r#"
        d/activities/98-one.json:1
        -{ "id": "one" }
        +{ "id": "one", "transitions": [{ "to": "activity" }] }
        new d/activities/99-activity.json:1
        +{
        +  "id": "activity"
        +}
        at activity
    "#]],
    );
    let files = [one, ("d/activities/99-one.json", r#"{ "id": "one" }"#)];
    check_in(
        &files,
        json!({ "is": "add", "kind": "activity" }),
        expect![[r#"
        `99-one.json` has the highest number that the file of an activity can have
        help: give the files before it lower numbers in their names
    "#]],
    );
}

#[test]
fn an_activity_goes_with_its_file() {
    let check = |operation: Value, expected: Expect| check_in(&FOLDER, operation, expected);
    check(
        json!({ "is": "delete", "nodes": ["two"] }),
        expect![[r#"
        c/workflow.yaml:5
        -  - { id: quick, activationVariable: quick, skipActivities: [two] }
        +  - { id: quick, activationVariable: quick }
        c/activities/01-one.yaml:4
        -transitions: [{ to: two }]
        c/activities/07-two.yaml is gone
    "#]],
    );
    check(
        json!({ "is": "delete", "nodes": ["one", "one.go"] }),
        expect![[r#"
        c/activities/01-one.yaml is gone
        c/activities/07-two.yaml:4
        -transitions: [{ to: one }]
    "#]],
    );
    check(
        json!({ "is": "delete", "nodes": ["one", "two"] }),
        expect![[r#"
        no activity would be left
        help: keep one: a workflow needs an activity
    "#]],
    );
    check(
        json!({ "is": "rename", "node": "two", "to": "last" }),
        expect![[r#"
        c/workflow.yaml:5
        -  - { id: quick, activationVariable: quick, skipActivities: [two] }
        +  - { id: quick, activationVariable: quick, skipActivities: [last] }
        c/activities/01-one.yaml:4
        -transitions: [{ to: two }]
        +transitions: [{ to: last }]
        c/activities/07-two.yaml:2
        -id: two
        +id: last
        at last
    "#]],
    );
    let looped = (
        "c/activities/09-each.yaml",
        "id: each\nsteps: [{ id: all, kind: loop, loopType: while, condition: { type: simple, variable: quick, operator: exists }, activities: [two] }]\n",
    );
    let files = [FOLDER[0], FOLDER[1], FOLDER[2], looped];
    check_in(
        &files,
        json!({ "is": "delete", "nodes": ["two"] }),
        expect![[r#"
        the loop `all` would have nothing to repeat
        help: remove the loop as well, or add another step to it first
    "#]],
    );
}

#[test]
fn past_an_activity_that_may_be_skipped_comes_what_comes_behind_it() {
    let files = [
        ("c/workflow.yaml", "id: c\nversion: 1.0.0\ntitle: C\n"),
        (
            "c/activities/01-one.yaml",
            "id: one\nsteps:\n  - { id: ask, kind: checkpoint, message: Both?, options: [{ id: no, label: No, effect: { skipActivities: [two] } }, { id: yes, label: Yes }] }\ntransitions: [{ to: two }]\n",
        ),
        ("c/activities/02-two.yaml", "id: two\nsteps: [{ id: do, kind: step }]\ntransitions: [{ to: three }]\n"),
        ("c/activities/03-three.yaml", "id: three\n"),
    ];
    let graph = crate::dialect::parse(&super::source(&files), crate::dialect::Strictness::Strict).first().0;
    let graph = graph.expect("it can be drawn");
    let skipped = |edge: &crate::graph::Edge| {
        edge.from.value.as_str() == "two" && edge.on.outcome().is_some_and(|on| on.as_str() == "skipped")
    };
    let edge = graph.edges.iter().position(skipped).expect("it may be skipped");
    check_in(
        &files,
        json!({ "is": "add", "kind": "activity", "id": "look", "edge": edge }),
        expect![[r#"
        c/activities/02-two.yaml:3
        -transitions: [{ to: three }]
        +transitions: [{ to: look }]
        new c/activities/04-look.yaml:1
        +id: look
        +transitions:
        +  - to: three
        at look
    "#]],
    );
}
