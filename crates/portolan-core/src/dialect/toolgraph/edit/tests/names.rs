use expect_test::expect;
use serde_json::json;

use super::{BESIDE, LONG, SHORT, check, tried};

#[test]
fn a_node_is_renamed_wherever_it_is_named() {
    check(
        LONG,
        "survey",
        &[json!({ "is": "rename", "node": "list", "to": "look up" })],
        expect![[r#"
        -      - { id: entry, type: entry, next: list }   # the arguments
        -      - id: list
        -          - rule: { ">": [{ var: "$count(list)" }, 100] }
        -          - { rule: { "==": [{ var: list.0 }, ""] }, next: none_there }   # nothing
        -        items: { expr: $.list }
        -            { "names": $.list, "seen": $executionCount("names") }
        -        transform: { expr: '{ "count": $count($.list) }' }   # no names
        +      - { id: entry, type: entry, next: look up }   # the arguments
        +      - id: look up
        +          - rule: { ">": [{ var: $count(`look up`) }, 100] }
        +          - { rule: { "==": [{ var: look up.0 }, ""] }, next: none_there }   # nothing
        +        items: { expr: $.`look up` }
        +            { "names": $.`look up`, "seen": $executionCount("names") }
        +        transform: { expr: '{ "count": $count($.`look up`) }' }   # no names
    "#]],
    );
    check(
        LONG,
        "survey",
        &[json!({ "is": "rename", "node": "names", "to": "titles" })],
        expect![[r#"
        -      - { id: both, type: parallel, branches: [sizes, names], join: together }
        -      - id: names
        -            { "names": $.list, "seen": $executionCount("names") }
        -        transform: { expr: '{ "sizes": $.together.sizes, "names": $.together.names.names }' }
        +      - { id: both, type: parallel, branches: [sizes, titles], join: together }
        +      - id: titles
        +            { "names": $.list, "seen": $executionCount("titles") }
        +        transform: { expr: '{ "sizes": $.together.sizes, "names": $.together.titles.names }' }
    "#]],
    );
    check(
        LONG,
        "size_of",
        &[json!({ "is": "rename", "node": "info", "to": "facts" })],
        expect![[r#"
        -      - { id: entry, type: entry, next: info }
        -      - id: info
        -        prompt: { expr: "'The file: ' & info.content" }
        +      - { id: entry, type: entry, next: facts }
        +      - id: facts
        +        prompt: { expr: "'The file: ' & facts.content" }
    "#]],
    );
    check(
        BESIDE,
        "count",
        &[json!({ "is": "rename", "node": "entry_count", "to": "begin" })],
        expect![[r#"
        -    entryNode: entry_count
        -  - id: entry_count
        -      same: "$.entry_count.directory"
        +    entryNode: begin
        +  - id: begin
        +      same: $.begin.directory
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "rename", "node": "shape", "to": "list" })],
        expect![[r#"
            refused: the node `list` already exists
            help: give it another identifier
        "#]],
    );
}

#[test]
fn what_may_name_it_is_not_guessed_at() {
    for expr in ["$lookup($, 'list')", "$keys($)[$ = 'list']", "$map($, function($v) { $v.list })", "$eval('list')"] {
        let text = SHORT.replace("expr: $.list", &format!("expr: \"{expr}\""));
        let after = tried("a.yaml", "t", &text, &[json!({ "is": "rename", "node": "list", "to": "look" })]);
        assert!(after.contains("`tools.t.nodes.shape.transform.expr`"), "{expr}: {after}");
    }
    for expr in ["a.list", "'a list'", "$map(a, function($v) { $v.list })", "a[kind = 'list']", "$list", "{'list': 1}"]
    {
        let text = SHORT.replace("expr: $.list", &format!("expr: \"{expr}\""));
        let after = tried("a.yaml", "t", &text, &[json!({ "is": "rename", "node": "list", "to": "look" })]);
        assert!(after.contains(&format!("expr: \"{expr}\"")), "{expr}: {after}");
    }
}
