//! Entry, calls, transforms, switches, exit.

use expect_test::expect;
use serde_json::json;

use crate::story::story;

const COUNT: &str = r#"
version: "1.0"
server: {name: files, version: "1.0.0"}
tools:
  - name: count_files
    description: Counts files
    inputSchema: {type: object, properties: {directory: {type: string}}, required: [directory]}
    outputSchema: {type: object, properties: {count: {type: number}}, required: [count]}
    nodes:
      - {id: entry, type: entry, next: list}
      - {id: list, type: mcp, server: filesystem, tool: list_directory, args: {path: {expr: $.entry.directory}}, next: count}
      - {id: count, type: transform, transform: {expr: '{"count": $count($split($.list.content, "\n"))}'}, next: exit}
      - {id: exit, type: exit}
"#;

#[test]
fn from_entry_to_exit() {
    story(
        COUNT,
        json!({"directory": "/data"}),
        r#"list: {"content": "a\nb\nc"}"#,
        expect![[r#"
        entry = {"directory":"/data"}
          filesystem.list_directory {"path":"/data"}
        list = {"content":"a\nb\nc"}
        count = {"count":3}
        exit = {"count":3}
        success {"count":3}
    "#]],
    );
}

#[test]
fn the_input_is_held_against_its_schema() {
    story(
        COUNT,
        json!({"directory": 7}),
        "",
        expect![[r#"
            refused bad_input: the input is not valid for `count_files`: `/directory` must be a string, but is `7`; see the `inputSchema` of `count_files`
        "#]],
    );
}

#[test]
fn the_output_is_held_against_its_schema() {
    let wrong = COUNT.replace("{\"count\": $count", "{\"number\": $count");
    story(
        &wrong,
        json!({"directory": "/"}),
        r#"list: {"content": ""}"#,
        expect![[r#"
        entry = {"directory":"/"}
          filesystem.list_directory {"path":"/"}
        list = {"content":""}
        count = {"number":1}
        exit ! bad-output the output does not match `outputSchema`: it has no `count`
        failed {"node":"exit","code":"bad-output","message":"the output does not match `outputSchema`: it has no `count`"}
    "#]],
    );
}

#[test]
fn a_switch_takes_the_first_way_that_holds() {
    let graph = r#"
version: "1.0"
server: {name: s, version: "1"}
tools:
  - name: size
    description: d
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: which}
      - id: which
        type: switch
        conditions:
          - {rule: {">": [{var: entry.n}, 100]}, next: big}
          - {rule: {">": [{var: $.entry.n}, 10]}, next: middle}
        next: small
      - {id: big, type: transform, transform: {expr: '{"size": "big", "way": $.which}'}, next: exit}
      - {id: middle, type: transform, transform: {expr: '{"size": "middle", "way": $previousNode()}'}, next: exit}
      - {id: small, type: transform, transform: {expr: '{"size": "small"}'}, next: exit}
      - {id: exit, type: exit}
"#;
    story(
        graph,
        json!({"n": 1000}),
        "",
        expect![[r#"
        entry = {"n":1000}
        which = "big"
        big = {"size":"big","way":"big"}
        exit = {"size":"big","way":"big"}
        success {"size":"big","way":"big"}
    "#]],
    );
    story(
        graph,
        json!({"n": 50}),
        "",
        expect![[r#"
        entry = {"n":50}
        which = "middle"
        middle = {"size":"middle","way":"middle"}
        exit = {"size":"middle","way":"middle"}
        success {"size":"middle","way":"middle"}
    "#]],
    );
    story(
        graph,
        json!({"n": 1}),
        "",
        expect![[r#"
        entry = {"n":1}
        which = "small"
        small = {"size":"small"}
        exit = {"size":"small"}
        success {"size":"small"}
    "#]],
    );
}

#[test]
fn what_a_tool_answers_is_reshaped_on_the_spot() {
    let graph = r#"
version: "1.0"
server: {name: s, version: "1"}
tools:
  - name: t
    description: d
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: get}
      - {id: get, type: mcp, server: echo, tool: echo, args: {a: 1}, postTransform: {expr: '{"got": $output.a, "own": $.get.a}'}, next: exit}
      - {id: exit, type: exit}
"#;
    story(
        graph,
        json!({}),
        "",
        expect![[r#"
        entry = {}
          echo.echo {"a":1}
        get = {"got":1,"own":1}
        exit = {"got":1,"own":1}
        success {"got":1,"own":1}
    "#]],
    );
}
