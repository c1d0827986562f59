//! Functions that call functions: once, or for each item of an array.

use expect_test::expect;
use serde_json::json;

use crate::story::story;

fn graph(node: &str) -> String {
    format!(
        r#"
version: "1.0"
server: {{name: s, version: "1"}}
tools:
  - name: outer
    description: d
    inputSchema: {{type: object}}
    outputSchema: {{type: object}}
    nodes:
      - {{id: entry, type: entry, next: inner}}
      - {{id: inner, {node}, next: result}}
      - {{id: result, type: transform, transform: {{expr: '{{"inner": $.inner}}'}}, next: exit}}
      - {{id: exit, type: exit}}
  - name: double
    description: d
    inputSchema: {{type: object, properties: {{n: {{type: number}}}}, required: [n]}}
    outputSchema: {{type: object}}
    nodes:
      - {{id: entry, type: entry, next: call}}
      - {{id: call, type: mcp, server: echo, tool: echo, args: {{n: {{expr: $.entry.n * 2}}}}, next: exit}}
      - {{id: exit, type: exit}}
"#
    )
}

#[test]
fn a_function_calls_a_function() {
    story(
        &graph("type: call, tool: double, args: {n: {expr: $.entry.n}}"),
        json!({"n": 21}),
        "",
        expect![[r#"
        entry = {"n":21}
        inner/entry = {"n":21}
          echo.echo {"n":42}
        inner/call = {"n":42}
        inner/exit = {"n":42}
        inner = {"n":42}
        result = {"inner":{"n":42}}
        exit = {"inner":{"n":42}}
        success {"inner":{"n":42}}
    "#]],
    );
}

#[test]
fn a_fault_names_the_way_to_it() {
    story(
        &graph("type: call, tool: double, args: {n: {expr: $.entry.n}}"),
        json!({"n": 1}),
        "call! broken",
        expect![[r#"
            entry = {"n":1}
            inner/entry = {"n":1}
              echo.echo {"n":2}
            inner/call ! tool-error broken
            inner ! tool-error broken
            failed {"node":"inner/call","code":"tool-error","message":"broken"}
        "#]],
    );
    story(
        &graph("type: call, tool: double, args: {n: many}"),
        json!({"n": 1}),
        "",
        expect![[r#"
        entry = {"n":1}
        inner ! bad-input the input is not valid for `double`: `/n` must be a number, but is `"many"`
        failed {"node":"inner","code":"bad-input","message":"the input is not valid for `double`: `/n` must be a number, but is `\"many\"`"}
    "#]],
    );
}

#[test]
fn items_keep_their_order() {
    let each =
        "type: forEach, items: {expr: $.entry.xs}, tool: double, args: {n: {expr: $item + $index}}, concurrency: 2";
    story(
        &graph(each),
        json!({"xs": [1, 2, 3]}),
        "",
        expect![[r#"
        entry = {"xs":[1,2,3]}
        0/entry = {"n":1}
          echo.echo {"n":2}
        0/call = {"n":2}
        0/exit = {"n":2}
        1/entry = {"n":3}
          echo.echo {"n":6}
        1/call = {"n":6}
        1/exit = {"n":6}
        2/entry = {"n":5}
          echo.echo {"n":10}
        2/call = {"n":10}
        2/exit = {"n":10}
        inner = [{"n":2},{"n":6},{"n":10}]
        result = {"inner":[{"n":2},{"n":6},{"n":10}]}
        exit = {"inner":[{"n":2},{"n":6},{"n":10}]}
        success {"inner":[{"n":2},{"n":6},{"n":10}]}
    "#]],
    );
    story(
        &graph(each),
        json!({"xs": []}),
        "",
        expect![[r#"
        entry = {"xs":[]}
        inner = []
        result = {"inner":[]}
        exit = {"inner":[]}
        success {"inner":[]}
    "#]],
    );
}

#[test]
fn an_item_that_fails_fails_the_node() {
    let each = "type: forEach, items: {expr: $.entry.xs}, tool: double, onError: result, args: {n: {expr: $item}}";
    story(
        &graph(each),
        json!({"xs": [1, "two", 3]}),
        "",
        expect![[r#"
            entry = {"xs":[1,"two",3]}
            0/entry = {"n":1}
              echo.echo {"n":2}
            0/call = {"n":2}
            0/exit = {"n":2}
            inner ! bad-input the input is not valid for `double`: `/n` must be a number, but is `"two"`
            result = {"inner":{"error":{"node":"inner","code":"bad-input","message":"the input is not valid for `double`: `/n` must be a number, but is `\"two\"`"}}}
            exit = {"inner":{"error":{"node":"inner","code":"bad-input","message":"the input is not valid for `double`: `/n` must be a number, but is `\"two\"`"}}}
            success {"inner":{"error":{"node":"inner","code":"bad-input","message":"the input is not valid for `double`: `/n` must be a number, but is `\"two\"`"}}}
        "#]],
    );
}
