use expect_test::expect;
use serde_json::json;

use super::{LONG, SHORT, check};

#[test]
fn what_led_to_a_node_leads_on() {
    check(
        SHORT,
        "t",
        &[json!({ "is": "delete", "nodes": ["shape"] })],
        expect![[r#"
        -            next: shape
        -      - { id: shape, type: transform, transform: { expr: $.list }, next: exit }
        +            next: exit
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "delete", "nodes": ["which", "shape"] })],
        expect![[r#"
        -        next: which   # onwards
        -      - id: which
        -        type: switch
        -        conditions:
        -          - rule: { ">": [{ var: list.count }, 3] }   # many
        -            next: shape
        -        next: exit
        -      - { id: shape, type: transform, transform: { expr: $.list }, next: exit }
        +        next: exit   # onwards
    "#]],
    );
    check(
        LONG,
        "survey",
        &[json!({ "is": "delete", "nodes": ["sizes", "none_there"] })],
        expect![[r#"
        -        onError: none_there
        -          - { rule: { "==": [{ var: list.0 }, ""] }, next: none_there }   # nothing
        -      - { id: both, type: parallel, branches: [sizes, names], join: together }
        -      - id: sizes
        -        type: forEach
        -        items: { expr: $.list }
        -        tool: size_of   # of this file
        -        args: { path: { expr: '$.entry.folder & "/" & $item' } }
        -      - { id: none_there, type: transform, transform: { expr: '{ "count": 0 }' }, next: exit }
        +          - { rule: { "==": [{ var: list.0 }, ""] }, next: exit }   # nothing
        +      - { id: both, type: parallel, branches: [names], join: together }
    "#]],
    );
    check(
        LONG,
        "survey",
        &[json!({ "is": "delete", "nodes": ["sizes", "names"] })],
        expect![[r#"
        -      - { id: both, type: parallel, branches: [sizes, names], join: together }
        -      - id: sizes
        -        type: forEach
        -        items: { expr: $.list }
        -        tool: size_of   # of this file
        -        args: { path: { expr: '$.entry.folder & "/" & $item' } }
        -        next: together
        -      - id: names
        -        transform:
        -          expr: |
        -            { "names": $.list, "seen": $executionCount("names") }
        -        next: together
        +      - { id: both, type: parallel, branches: [together], join: together }
    "#]],
    );
    check(
        LONG,
        "survey",
        &[json!({ "is": "delete", "nodes": ["together"] })],
        expect![[r#"
        -        next: both
        -      - { id: both, type: parallel, branches: [sizes, names], join: together }
        -        next: together
        -        next: together
        -      - { id: together, type: join, strategy: all, next: shape }
        +        next: shape
        +        next: shape
        +        next: shape
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "delete", "nodes": ["exit"] })],
        expect![[r#"
        refused: a tool needs an exit, and none would be left
        help: keep the exit, and change the edges to or from it
    "#]],
    );
}

#[test]
fn a_copy_has_no_edges() {
    check(
        SHORT,
        "t",
        &[json!({ "is": "duplicate", "node": "which" })],
        expect![[r#"
        +      - id: which_2
        +        conditions: []
    "#]],
    );
    check(
        LONG,
        "survey",
        &[json!({ "is": "duplicate", "node": "both" })],
        expect![[r#"
        +      - id: both_2
        +        type: parallel
        +        branches:
        +          - together_2
        +        join: together_2
        +      - id: together_2
        +        type: join
        +        strategy: all
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "duplicate", "node": "entry" })],
        expect![[r#"
        refused: `entry` must be the only one of its kind
        help: duplicate another node; a join is copied with its `parallel`
    "#]],
    );
}
