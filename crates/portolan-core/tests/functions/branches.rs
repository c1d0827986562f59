//! Parallel branches.

use expect_test::expect;
use serde_json::json;

use crate::story::story;

fn graph(strategy: &str) -> String {
    format!(
        r#"
version: "1.0"
server: {{name: s, version: "1"}}
tools:
  - name: both
    description: d
    inputSchema: {{type: object}}
    outputSchema: {{type: object}}
    nodes:
      - {{id: entry, type: entry, next: split}}
      - {{id: split, type: parallel, branches: [left, right], join: meet}}
      - {{id: left, type: mcp, server: echo, tool: echo, args: {{side: left, n: {{expr: $.entry.n}}}}, next: left_more}}
      - {{id: left_more, type: transform, transform: {{expr: '{{"l": $.left.side, "sees": $exists($.right)}}'}}, next: meet}}
      - {{id: right, type: mcp, server: echo, tool: echo, args: {{side: right}}, next: meet}}
      - {{id: meet, type: join, strategy: {strategy}, next: result}}
      - {{id: result, type: transform, transform: {{expr: '{{"meet": $.meet, "left": $.left, "right": $.right.side}}'}}, next: exit}}
      - {{id: exit, type: exit}}
"#
    )
}

#[test]
fn branches_meet() {
    story(
        &graph("all"),
        json!({"n": 1}),
        "",
        expect![[r#"
        entry = {"n":1}
        split = undefined
          echo.echo {"side":"left","n":1}
        left/left = {"side":"left","n":1}
        left/left_more = {"l":"left","sees":false}
          echo.echo {"side":"right"}
        right/right = {"side":"right"}
        meet = {"left":{"l":"left","sees":false},"right":{"side":"right"}}
        result = {"meet":{"left":{"l":"left","sees":false},"right":{"side":"right"}},"left":{"side":"left","n":1},"right":"right"}
        exit = {"meet":{"left":{"l":"left","sees":false},"right":{"side":"right"}},"left":{"side":"left","n":1},"right":"right"}
        success {"meet":{"left":{"l":"left","sees":false},"right":{"side":"right"}},"left":{"side":"left","n":1},"right":"right"}
    "#]],
    );
}

#[test]
fn one_failure_fails_all() {
    story(
        &graph("all"),
        json!({"n": 1}),
        "right! broken",
        expect![[r#"
        entry = {"n":1}
        split = undefined
          echo.echo {"side":"left","n":1}
        left/left = {"side":"left","n":1}
        left/left_more = {"l":"left","sees":false}
          echo.echo {"side":"right"}
        right/right ! tool-error broken
        meet ! tool-error broken
        failed {"node":"right","code":"tool-error","message":"broken"}
    "#]],
    );
}

/// Branches of branches: `left` opens two of its own, and goes on where they meet.
fn nested(inner: &str, more: &str) -> String {
    format!(
        r#"
version: "1.0"
server: {{name: s, version: "1"}}
tools:
  - name: both
    description: d
    inputSchema: {{type: object}}
    outputSchema: {{type: object}}
    nodes:
      - {{id: entry, type: entry, next: split}}
      - {{id: split, type: parallel, branches: [left, right], join: meet}}
      - {{id: left, type: transform, transform: {{expr: '{{"side": "left"}}'}}, next: again}}
      - {{id: again, type: parallel, branches: [a, b], join: near{more}}}
      - {{id: a, type: mcp, server: echo, tool: echo, args: {{at: a, saw: {{expr: $.left.side}}}}, next: near}}
      - {{id: b, type: mcp, server: echo, tool: echo, args: {{at: b, n: {{expr: $.entry.n}}}}, next: near}}
      - {{id: near, type: join, strategy: {inner}, next: left_more}}
      - {{id: left_more, type: transform, transform: {{expr: '{{"near": $.near, "a": $.a.at, "right": $exists($.right)}}'}}, next: meet}}
      - {{id: right, type: mcp, server: echo, tool: echo, args: {{at: right}}, next: meet}}
      - {{id: meet, type: join, next: result}}
      - {{id: result, type: transform, transform: {{expr: '{{"meet": $.meet, "b": $.b.at}}'}}, next: exit}}
      - {{id: exit, type: exit}}
"#
    )
}

#[test]
fn branches_open_branches() {
    story(
        &nested("all", ""),
        json!({"n": 1}),
        "",
        expect![[r#"
        entry = {"n":1}
        split = undefined
        left/left = {"side":"left"}
        left/again = undefined
          echo.echo {"at":"a","saw":"left"}
        left/a/a = {"at":"a","saw":"left"}
          echo.echo {"at":"b","n":1}
        left/b/b = {"at":"b","n":1}
        left/near = {"a":{"at":"a","saw":"left"},"b":{"at":"b","n":1}}
        left/left_more = {"near":{"a":{"at":"a","saw":"left"},"b":{"at":"b","n":1}},"a":"a","right":false}
          echo.echo {"at":"right"}
        right/right = {"at":"right"}
        meet = {"left":{"near":{"a":{"at":"a","saw":"left"},"b":{"at":"b","n":1}},"a":"a","right":false},"right":{"at":"right"}}
        result = {"meet":{"left":{"near":{"a":{"at":"a","saw":"left"},"b":{"at":"b","n":1}},"a":"a","right":false},"right":{"at":"right"}},"b":"b"}
        exit = {"meet":{"left":{"near":{"a":{"at":"a","saw":"left"},"b":{"at":"b","n":1}},"a":"a","right":false},"right":{"at":"right"}},"b":"b"}
        success {"meet":{"left":{"near":{"a":{"at":"a","saw":"left"},"b":{"at":"b","n":1}},"a":"a","right":false},"right":{"at":"right"}},"b":"b"}
    "#]],
    );
    story(
        &nested("any", ""),
        json!({"n": 1}),
        "a! broken",
        expect![[r#"
        entry = {"n":1}
        split = undefined
        left/left = {"side":"left"}
        left/again = undefined
          echo.echo {"at":"a","saw":"left"}
        left/a/a ! tool-error broken
          echo.echo {"at":"b","n":1}
        left/b/b = {"at":"b","n":1}
        left/near = {"b":{"at":"b","n":1}}
        left/left_more = {"near":{"b":{"at":"b","n":1}},"right":false}
          echo.echo {"at":"right"}
        right/right = {"at":"right"}
        meet = {"left":{"near":{"b":{"at":"b","n":1}},"right":false},"right":{"at":"right"}}
        result = {"meet":{"left":{"near":{"b":{"at":"b","n":1}},"right":false},"right":{"at":"right"}},"b":"b"}
        exit = {"meet":{"left":{"near":{"b":{"at":"b","n":1}},"right":false},"right":{"at":"right"}},"b":"b"}
        success {"meet":{"left":{"near":{"b":{"at":"b","n":1}},"right":false},"right":{"at":"right"}},"b":"b"}
    "#]],
    );
}

#[test]
fn what_fails_in_a_branch_of_a_branch_fails_all_unless_its_fork_leads_on() {
    story(
        &nested("all", ""),
        json!({"n": 1}),
        "b! broken",
        expect![[r#"
        entry = {"n":1}
        split = undefined
        left/left = {"side":"left"}
        left/again = undefined
          echo.echo {"at":"a","saw":"left"}
        left/a/a = {"at":"a","saw":"left"}
          echo.echo {"at":"b","n":1}
        left/b/b ! tool-error broken
        left/near ! tool-error broken
        meet ! tool-error broken
        failed {"node":"b","code":"tool-error","message":"broken"}
    "#]],
    );
    // Whether `a` had come to an end by then is chance, and nothing is to depend on it.
    let caught = nested("all", ", onError: left_more").replace(r#", "a": $.a.at"#, "");
    story(
        &caught,
        json!({"n": 1}),
        "b! broken",
        expect![[r#"
            entry = {"n":1}
            split = undefined
            left/left = {"side":"left"}
            left/again = undefined
              echo.echo {"at":"a","saw":"left"}
            left/a/a = {"at":"a","saw":"left"}
              echo.echo {"at":"b","n":1}
            left/b/b ! tool-error broken
            left/near ! tool-error broken
            left/left_more = {"near":{"error":{"node":"b","code":"tool-error","message":"broken"}},"right":false}
              echo.echo {"at":"right"}
            right/right = {"at":"right"}
            meet = {"left":{"near":{"error":{"node":"b","code":"tool-error","message":"broken"}},"right":false},"right":{"at":"right"}}
            result = {"meet":{"left":{"near":{"error":{"node":"b","code":"tool-error","message":"broken"}},"right":false},"right":{"at":"right"}}}
            exit = {"meet":{"left":{"near":{"error":{"node":"b","code":"tool-error","message":"broken"}},"right":false},"right":{"at":"right"}}}
            success {"meet":{"left":{"near":{"error":{"node":"b","code":"tool-error","message":"broken"}},"right":false},"right":{"at":"right"}}}
        "#]],
    );
}
