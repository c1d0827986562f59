//! Many calls at once: none sees another, and none holds up the others.

use serde_json::{Value, json};

use super::{client, project, tool};

#[test]
fn calls_in_flight_each_get_their_own_answer() {
    let relay = |server: &str| {
        let ask = format!(
            "id: ask, type: mcp, server: {server}, tool: echo, args: {{ v: {{ expr: $.entry.v }} }}, next: shape"
        );
        let shape = format!(
            "id: shape, type: transform, transform: {{ expr: '{{\"by\": \"{server}\", \"v\": $.ask.v}}' }}, next: exit"
        );
        tool(server, "", &[&ask, &shape])
    };
    // Two tools whose nodes have the same names.
    let project = project(&[relay("echo"), relay("apart")]);
    let mut wire = client(&project);
    for round in 0..4 {
        let asked: Vec<(u64, Value)> = (0..32)
            .map(|nth| {
                let (by, v) = (if nth % 2 == 0 { "echo" } else { "apart" }, json!(round * 100 + nth));
                let id = wire.ask("tools/call", json!({ "name": by, "arguments": { "v": v } }));
                (id, json!({ "by": by, "v": v }))
            })
            .collect();
        for (id, expected) in asked {
            let answer = wire.response(id).expect("an answer");
            assert_eq!(answer["result"]["structuredContent"], expected, "{answer}");
        }
    }
}

#[test]
fn many_first_calls_start_a_server_once() {
    let ask = "id: ask, type: mcp, server: bad, tool: echo, args: {}, next: exit";
    let project = project(&[tool("ask", "", &[ask])]);
    let mut wire = client(&project);
    let asked: Vec<u64> = (0..16).map(|_| wire.ask("tools/call", json!({ "name": "ask", "arguments": {} }))).collect();
    for id in asked {
        assert!(wire.response(id).expect("an answer")["result"]["structuredContent"].is_object());
    }
    wire.close();
    assert!(wire.ended().success());
    let starts = wire.overheard().iter().filter(|line| line.contains("initialize")).count();
    assert_eq!(starts, 1);
}

#[test]
fn an_endless_expression_holds_nobody_up() {
    let endless =
        "id: spin, type: transform, transform: { expr: '($f := function($n) { $f($n + 1) }; $f(0))' }, next: exit";
    let project = project(&[tool("spins", "", &[endless]), tool("one", "", &[])]);
    let mut wire = client(&project);
    let spinning: Vec<u64> =
        (0..2).map(|_| wire.ask("tools/call", json!({ "name": "spins", "arguments": {} }))).collect();
    let quick = wire.ask("tools/call", json!({ "name": "one", "arguments": { "v": 1 } }));
    assert_eq!(wire.next().expect("an answer")["id"], quick, "the quick one is answered first");
    for id in spinning {
        let answer = wire.response(id).expect("an answer");
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["structuredContent"]["error"]["node"], "spin", "{answer}");
    }
}
