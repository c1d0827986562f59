mod gone;
mod names;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::dialect::editing::tests::{difference, tried};

const SHORT: &str = r#"version: "1.0"
server: { name: s, version: "1" }
mcpServers: { files: { builtin: filesystem, root: . } }
tools:
  - name: t
    description: d
    inputSchema: { type: object }
    outputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: list }   # the arguments
      # What is there.
      - id: list
        type: mcp
        server: files
        tool: list_directory
        next: which   # onwards
      - id: which
        type: switch
        conditions:
          - rule: { ">": [{ var: list.count }, 3] }   # many
            next: shape
        next: exit
      - { id: shape, type: transform, transform: { expr: $.list }, next: exit }
      - { id: exit, type: exit }
"#;

const LONG: &str = include_str!("../../../../../tests/cases/edit/toolgraph.yaml");
const BESIDE: &str = include_str!("../../../../../tests/cases/edit/toolgraph-beside.yaml");

fn check(text: &str, graph: &str, operations: &[Value], expected: Expect) {
    let after = tried("a.yaml", graph, text, operations);
    expected.assert_eq(&if after.starts_with("refused") { after } else { difference(text, &after) });
}

#[test]
fn a_node_is_added_behind_one() {
    let added = json!({ "is": "add", "kind": "transform", "id": "trim", "after": "list", "values": { "transform.expr": "$.list" } });
    expect![[r#"
        version: "1.0"
        server: { name: s, version: "1" }
        mcpServers: { files: { builtin: filesystem, root: . } }
        tools:
          - name: t
            description: d
            inputSchema: { type: object }
            outputSchema: { type: object }
            nodes:
              - { id: entry, type: entry, next: list }   # the arguments
              # What is there.
              - id: list
                type: mcp
                server: files
                tool: list_directory
                next: trim   # onwards
              - id: trim
                type: transform
                transform:
                  expr: $.list
                next: which
              - id: which
                type: switch
                conditions:
                  - rule: { ">": [{ var: list.count }, 3] }   # many
                    next: shape
                next: exit
              - { id: shape, type: transform, transform: { expr: $.list }, next: exit }
              - { id: exit, type: exit }
    "#]]
    .assert_eq(&tried("a.yaml", "t", SHORT, &[added]));
}

#[test]
fn a_node_is_added_between_two_and_elsewhere() {
    // The edges, in order: entry, list, the condition, the default, shape.
    check(
        SHORT,
        "t",
        &[json!({ "is": "add", "kind": "mcp", "edge": 2 })],
        expect![[r#"
        -            next: shape
        +            next: mcp
        +      - id: mcp
        +        tool: ""
        +        next: shape
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "add", "kind": "parallel", "after": "shape" })],
        expect![[r#"
        -      - { id: shape, type: transform, transform: { expr: $.list }, next: exit }
        +      - { id: shape, type: transform, transform: { expr: $.list }, next: parallel }
        +      - id: parallel
        +        type: parallel
        +        branches:
        +          - parallel_join
        +        join: parallel_join
        +      - id: parallel_join
        +        type: join
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "add", "kind": "state", "after": "which", "on": "list.count = 0" })],
        expect![[r#"
            +          - rule:
            +              var: list.count = 0
            +            next: state
            +      - id: state
            +        type: state
            +        objective: ""
        "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "add", "kind": "transform", "after": "list", "on": "failed" })],
        expect![[r#"
        +        onError: transform
        +      - id: transform
        +        type: transform
        +        transform:
        +          expr: "{}"
        +        next: which
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "add", "kind": "transform", "after": "exit" })],
        expect![[r#"
        refused: a run ends at `exit`
        help: add the edge from a node before it
    "#]],
    );
    check(
        BESIDE,
        "count",
        &[json!({ "is": "add", "kind": "transform" })],
        expect![[r#"
        refused: a node beside the tools belongs to the tool that reaches it, and no tool would reach this one
        help: add it after a node, or between two
    "#]],
    );
}

#[test]
fn nodes_are_connected_where_the_field_is_free() {
    check(
        SHORT,
        "t",
        &[json!({ "is": "connect", "from": "list", "to": "exit", "on": "failed" })],
        expect![[r#"
        +        onError: exit
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "connect", "from": "which", "to": "list", "on": "list.more" })],
        expect![[r#"
        +          - rule:
        +              var: list.more
        +            next: list
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "connect", "from": "list", "to": "exit" })],
        expect![[r#"
        refused: `list` already leads to `which` there
        help: reconnect that edge, or put a `switch` or a `parallel` between them
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "connect", "from": "list", "to": "exit", "on": "good" })],
        expect![[r#"
        refused: `good` is not an outcome here: a node is either done or `failed`
        help: put a `switch`, whose edges have conditions, after the node
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "connect", "from": "which", "to": "list", "on": "list.(" })],
        expect![[r#"
            refused: `list.(` is neither a JSONata expression nor a rule of JSON Logic
            help: write a condition such as `$.list.count > 3`
        "#]],
    );
    let anew = [json!({ "is": "disconnect", "edge": 4 }), json!({ "is": "connect", "from": "shape", "to": "list" })];
    check(
        SHORT,
        "t",
        &anew,
        expect![[r#"
        -      - { id: shape, type: transform, transform: { expr: $.list }, next: exit }
        +      - { id: shape, type: transform, transform: { expr: $.list }, next: list }
    "#]],
    );
    check(
        LONG,
        "survey",
        &[json!({ "is": "connect", "from": "both", "to": "count" })],
        expect![[r#"
        -      - { id: both, type: parallel, branches: [sizes, names], join: together }
        +      - { id: both, type: parallel, branches: [sizes, names, count], join: together }
    "#]],
    );
    check(
        LONG,
        "survey",
        &[json!({ "is": "connect", "from": "together", "to": "none_there", "on": "failed" })],
        expect![[r#"
            -      - { id: both, type: parallel, branches: [sizes, names], join: together }
            +      - { id: both, type: parallel, branches: [sizes, names], join: together, onError: none_there }
        "#]],
    );
}

#[test]
fn an_edge_has_another_outcome() {
    let rule = r#"{ ">": [{ "var": "$.list.count" }, 4] }"#;
    check(
        SHORT,
        "t",
        &[json!({ "is": "outcome", "edge": 2, "on": rule })],
        expect![[r#"
        -          - rule: { ">": [{ var: list.count }, 3] }   # many
        +          - rule: { ">": [{ var: $.list.count }, 4] }   # many
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "outcome", "edge": 2, "on": r#"{ "odd": [1] }"# })],
        expect![[r#"
        refused: `odd` is not a JSON Logic operator
        help: the operators are `var`, `==`, `===`, `!=`, `!==`, `>`, `>=`, `<`, `<=`, `!`, `!!`, `and`, `or`, `if`, `?:`, `+`, `-`, `*`, `/`, `%`, `min`, `max`, `in`, `cat`, `substr`, `merge`, `log`, `missing`, `missing_some`, `map`, `filter`, `reduce`, `all`, `some`, `none`
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "outcome", "edge": 1, "on": "failed" })],
        expect![[r#"
        -        next: which   # onwards
        +        onError: which   # onwards
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "outcome", "edge": 2, "on": "list.count > 4" })],
        expect![[r#"
        -          - rule: { ">": [{ var: list.count }, 3] }   # many
        +          - rule: { var: list.count > 4 }   # many
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "outcome", "edge": 3, "on": "list.count > 4" })],
        expect![[r#"
        -        next: exit
        +          - rule:
        +              var: list.count > 4
        +            next: exit
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "outcome", "edge": 1, "on": "good" })],
        expect![[r#"
        refused: `good` is not an outcome here: a node is either done or `failed`
        help: put a `switch`, whose edges have conditions, after the node
    "#]],
    );
}

#[test]
fn fields_of_the_tool_and_of_the_file_are_set() {
    let set = |field: &str, value: &str| json!({ "is": "set", "node": null, "field": field, "value": value });
    check(
        LONG,
        "size_of",
        &[set("description", "Its size"), set("server.title", "Folders")],
        expect![[r#"
        -server: { name: folders, version: "1.0.0" }
        -    description: How large a file is
        +server: { name: folders, version: "1.0.0", title: Folders }
        +    description: Its size
    "#]],
    );
}

#[test]
fn an_object_of_fields_goes_with_its_last_one() {
    let set = |field: &str, value: Value| json!({ "is": "set", "node": "list", "field": field, "value": value });
    let retried = [set("retry.max", json!(3)), set("retry.backoff", json!("1s"))];
    check(
        SHORT,
        "t",
        &retried,
        expect![[r#"
        +        retry:
        +          max: 3
        +          backoff: "1s"
    "#]],
    );
    let cleared: Vec<Value> =
        retried.into_iter().chain([set("retry.backoff", Value::Null), set("retry.max", Value::Null)]).collect();
    check(SHORT, "t", &cleared, expect![""]);
}

#[test]
fn a_node_becomes_a_branch() {
    let wrap = |node: &str| json!({ "is": "wrap", "node": node, "kind": "parallel" });
    check(
        SHORT,
        "t",
        &[wrap("list")],
        expect![[r#"
        -      - { id: entry, type: entry, next: list }   # the arguments
        -        next: which   # onwards
        +      - { id: entry, type: entry, next: parallel }   # the arguments
        +      - id: parallel
        +        type: parallel
        +        branches:
        +          - list
        +        join: parallel_join
        +        next: parallel_join   # onwards
        +      - id: parallel_join
        +        type: join
        +        next: which
    "#]],
    );
    check(
        SHORT,
        "t",
        &[wrap("which")],
        expect![[r#"
        refused: `which` cannot be a branch
        help: wrap a node that computes or calls something
    "#]],
    );
    let fails = json!({ "is": "connect", "from": "list", "to": "exit", "on": "failed" });
    check(
        SHORT,
        "t",
        &[fails, wrap("list")],
        expect![[r#"
        refused: the edge of `list` on `failed` would leave its branch
        help: remove that edge first, and add it to the new node afterwards
    "#]],
    );
    check(
        SHORT,
        "t",
        &[json!({ "is": "wrap", "node": "list", "kind": "mcp" })],
        expect![[r#"
        refused: no node can be put into one of the kind `mcp`
        help: use `parallel`
    "#]],
    );
}

#[test]
fn a_node_that_leads_to_itself_is_a_branch_of_each_pass() {
    let text = SHORT.replace("next: which   # onwards", "next: list   # again");
    check(
        &text,
        "t",
        &[json!({ "is": "wrap", "node": "list", "kind": "parallel" })],
        expect![[r#"
        -      - { id: entry, type: entry, next: list }   # the arguments
        -        next: list   # again
        +      - { id: entry, type: entry, next: parallel }   # the arguments
        +      - id: parallel
        +        type: parallel
        +        branches:
        +          - list
        +        join: parallel_join
        +        next: parallel_join   # again
        +      - id: parallel_join
        +        type: join
        +        next: parallel
    "#]],
    );
}

#[test]
fn a_node_of_another_kind_keeps_only_the_fields_that_both_kinds_have() {
    let kind = |node: &str, kind: &str| json!({ "is": "kind", "node": node, "kind": kind });
    check(
        SHORT,
        "t",
        &[kind("list", "transform")],
        expect![[r#"
        -        type: mcp
        -        server: files
        -        tool: list_directory
        +        type: transform
        +        transform:
        +          expr: "{}"
    "#]],
    );
    check(
        SHORT,
        "t",
        &[kind("shape", "mcp")],
        expect![[r#"
        -      - { id: shape, type: transform, transform: { expr: $.list }, next: exit }
        +      - { id: shape, type: mcp, next: exit, server: files, tool: "" }
    "#]],
    );
    check(
        SHORT,
        "t",
        &[kind("shape", "switch")],
        expect![[r#"
        -      - { id: shape, type: transform, transform: { expr: $.list }, next: exit }
        +      - { id: shape, type: switch, next: exit, conditions: [] }
    "#]],
    );
    check(SHORT, "t", &[kind("shape", "transform")], expect![[r#""#]]);
}

#[test]
fn a_node_that_belongs_to_others_keeps_its_kind() {
    let kind = |node: &str, kind: &str| json!({ "is": "kind", "node": node, "kind": kind });
    check(
        SHORT,
        "t",
        &[kind("which", "transform")],
        expect![[r#"
        refused: the edges of `which` have conditions, which only a switch can have
        help: delete these edges first
    "#]],
    );
    check(
        SHORT,
        "t",
        &[kind("list", "parallel")],
        expect![[r#"
        refused: `list` cannot be changed to `parallel`
        help: add a new node of that kind, and delete this one
    "#]],
    );
    check(
        SHORT,
        "t",
        &[kind("entry", "transform")],
        expect![[r#"
        refused: `entry` cannot be changed to `transform`
        help: add a new node of that kind, and delete this one
    "#]],
    );
    check(
        SHORT,
        "t",
        &[kind("list", "exit")],
        expect![[r#"
        refused: a node of the kind `exit` cannot be added by itself
        help: Ends the run with the preceding output; a tool has exactly one.
    "#]],
    );
    check(
        SHORT,
        "t",
        &[kind("list", "nothing")],
        expect![[r#"
        refused: there is no node kind `nothing` in the definition
        help: read the definition again
    "#]],
    );
}
