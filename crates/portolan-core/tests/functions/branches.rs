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
