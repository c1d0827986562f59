//! What fails: error edges, retries, limits.

use expect_test::expect;
use serde_json::json;

use crate::story::story;

fn graph(get: &str) -> String {
    format!(
        r#"
version: "1.0"
server: {{name: s, version: "1"}}
tools:
  - name: t
    description: d
    inputSchema: {{type: object}}
    outputSchema: {{type: object}}
    nodes:
      - {{id: entry, type: entry, next: get}}
      - {{id: get, type: mcp, server: echo, tool: get, args: {{}}, next: exit{get}}}
      - {{id: mend, type: transform, transform: {{expr: '{{"mended": $.get.error.message, "by": $.get.error.node}}'}}, next: exit}}
      - {{id: exit, type: exit}}
"#
    )
}

#[test]
fn a_failure_ends_the_run_and_says_where() {
    story(
        &graph(""),
        json!({}),
        "get! no such file",
        expect![[r#"
        entry = {}
          echo.get {}
        get ! tool-error no such file
        failed {"node":"get","code":"tool-error","message":"no such file"}
    "#]],
    );
}

#[test]
fn a_failure_takes_its_error_edge() {
    story(
        &graph(", onError: mend"),
        json!({}),
        "get! no such file",
        expect![[r#"
        entry = {}
          echo.get {}
        get ! tool-error no such file
        mend = {"mended":"no such file","by":"get"}
        exit = {"mended":"no such file","by":"get"}
        success {"mended":"no such file","by":"get"}
    "#]],
    );
}

#[test]
fn a_failure_is_tried_again_with_growing_waits() {
    let graph = graph(", retry: {max: 3, backoff: 100ms, factor: 2}");
    story(
        &graph,
        json!({}),
        "get! one\nget! two\nget: {\"ok\": true}",
        expect![[r#"
        entry = {}
          echo.get {}
          get retry 1 after 100 ms
          echo.get {}
          get retry 2 after 200 ms
          echo.get {}
        get = {"ok":true}
        exit = {"ok":true}
        success {"ok":true}
    "#]],
    );
    story(
        &graph,
        json!({}),
        "get! one\nget! two\nget! three\nget! four",
        expect![[r#"
        entry = {}
          echo.get {}
          get retry 1 after 100 ms
          echo.get {}
          get retry 2 after 200 ms
          echo.get {}
          get retry 3 after 400 ms
          echo.get {}
        get ! tool-error four
        failed {"node":"get","code":"tool-error","message":"four"}
    "#]],
    );
}

#[test]
fn an_expression_that_fails_names_its_node() {
    let graph = graph("").replace("args: {}", "args: {x: {expr: '$error(\"boom\")'}}");
    story(
        &graph,
        json!({}),
        "",
        expect![[r#"
        entry = {}
        get ! expression-error boom
        failed {"node":"get","code":"expression-error","message":"boom","detail":"$error(\"boom\")"}
    "#]],
    );
}

#[test]
fn the_number_of_nodes_is_limited() {
    let graph = r#"
version: "1.0"
server: {name: s, version: "1"}
executionLimits: {maxNodeExecutions: 5}
tools:
  - name: t
    description: d
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: again}
      - {id: again, type: transform, transform: {expr: '$executionCount("again")'}, next: which}
      - id: which
        type: switch
        conditions: [{rule: {"<": [{var: again}, 9]}, next: again}]
        next: exit
      - {id: exit, type: exit}
"#;
    story(
        graph,
        json!({}),
        "",
        expect![[r#"
            entry = {}
            again = 0
            which = "again"
            again = 1
            which = "again"
            failed {"node":"again","code":"limit-nodes","message":"the run has executed 5 nodes, and `maxNodeExecutions` is 5","detail":"fix a loop that does not end, or raise `executionLimits`"}
        "#]],
    );
}

#[test]
fn the_time_of_a_run_is_limited() {
    let graph = graph(", next2: x")
        .replace(", next2: x", "")
        .replace("tools:\n", "executionLimits: {maxExecutionTimeMs: 10}\ntools:\n");
    story(
        &graph,
        json!({}),
        "get: {}",
        expect![[r#"
            entry = {}
              echo.get {}
            get = {}
            failed {"node":"exit","code":"limit-time","message":"the run has taken 10 ms, and `maxExecutionTimeMs` is 10","detail":"use `--trace` to see which node takes so long, or raise `executionLimits`"}
        "#]],
    );
}
