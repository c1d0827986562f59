//! Cycles, and looking back.

use expect_test::expect;
use serde_json::json;

use crate::story::story;

#[test]
fn a_loop_sums() {
    let graph = r#"
version: "1.0"
server: {name: s, version: "1"}
tools:
  - name: sum_to_n
    description: d
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: add}
      - id: add
        type: transform
        transform: {expr: '$executionCount("add") = 0 ? {"i": 1, "sum": 1} : {"i": $.add.i + 1, "sum": $.add.sum + $.add.i + 1}'}
        next: more
      - id: more
        type: switch
        conditions: [{rule: {"<": [{var: $.add.i}, {var: $.entry.n}]}, next: add}]
        next: result
      - {id: result, type: transform, transform: {expr: '{"sum": $.add.sum, "first": $nodeExecution("add", 0).sum, "passes": $count($nodeExecutions("add"))}'}, next: exit}
      - {id: exit, type: exit}
"#;
    story(
        graph,
        json!({"n": 4}),
        "",
        expect![[r#"
        entry = {"n":4}
        add = {"i":1,"sum":1}
        more = "add"
        add = {"i":2,"sum":3}
        more = "add"
        add = {"i":3,"sum":6}
        more = "add"
        add = {"i":4,"sum":10}
        more = "result"
        result = {"sum":10,"first":1,"passes":4}
        exit = {"sum":10,"first":1,"passes":4}
        success {"sum":10,"first":1,"passes":4}
    "#]],
    );
}
