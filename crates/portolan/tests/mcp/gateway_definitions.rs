//! Guards and filters that a definition carries, before the tools of other servers: in force while a run of it is open,
//! or while one of its nodes is.

use serde_json::{Value, json};

use super::gateway::{begun, call, client, made, says, text, usual};
use crate::support::{Project, Wire};

/// A workflow of two tasks. `FLOW` and `CHANGE` stand for further fields of the flow and of the second task.
const TWO_STEPS: &str = r#"{ FLOW "nodes": { "start": { "type": "start" },
  "look": { "type": "task", "instructions": "Read the rows." },
  "change": { "type": "task", "instructions": "Write the rows.", CHANGE "stage": "write" },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "look" }, { "from": "look", "to": "change" }, { "from": "change", "to": "done" }] }
"#;

fn two_steps(project: &Project, flow: &str, change: &str) {
    let field = |name: &str, text: &str| if text.is_empty() { String::new() } else { format!("\"{name}\": {text},") };
    let text = TWO_STEPS.replace("FLOW", &field("guards", flow)).replace("CHANGE", &field("guards", change));
    project.write(".flow/workflows/review.json", &text);
}

/// Whether a call of `write` with this amount is made.
fn writes(wire: &mut Wire, amount: u32) -> bool {
    call(wire, "write", json!({ "amount": amount }))["isError"] == false
}

fn next(wire: &mut Wire, now: &Value) -> Value {
    wire.done("Next", &now["actions"]["required"][0]["arguments"])
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_guard_of_a_flow_is_in_force_while_a_run_is_open() {
    let project = usual();
    let most = |amount: u32| {
        format!(
            r#"[{{ "id": "large", "tools": ["mcp:db/write"], "when": "arguments.amount > {amount}", "reason": "too much" }}]"#
        )
    };
    two_steps(&project, &most(100), "");
    let clash =
        "guards:\n  - {id: large, tools: ['mcp:db/write'], when: arguments.amount > 500, reason: far too much}\n";
    project.write(".portolan/plugins.yaml", clash);
    let mut wire = client(&project, &[]);
    assert!(writes(&mut wire, 101), "no run of it is open");
    let now = begun(&mut wire);
    assert!(writes(&mut wire, 100));
    let refused = call(&mut wire, "write", json!({ "amount": 101 }));
    let lines: Vec<&str> = text(&refused).lines().take(2).collect();
    assert_eq!(
        lines,
        ["Refused: too much", "- the workflow `review` defines what the guard `large` covers"],
        "{refused:#}"
    );
    let data = &refused["structuredContent"];
    assert_eq!(data["error"]["guards"], json!(["large"]));
    assert_eq!(data["situations"][0]["situation"]["work"]["id"], "look", "{data:#}");
    // Guards of one name both apply, and the message says which they are.
    let both = call(&mut wire, "write", json!({ "amount": 501 }));
    let said = text(&both);
    assert!(said.starts_with("Refused: far too much; too much\n- `.portolan/plugins.yaml` defines"), "{said}");
    assert!(said.contains("- the workflow `review` defines what the guard `large` covers"), "{said}");
    // The run keeps the definition that it began with.
    two_steps(&project, &most(10), "");
    assert!(writes(&mut wire, 99));
    let now = next(&mut wire, &now);
    assert!(!writes(&mut wire, 101), "it is in force at each step");
    next(&mut wire, &now);
    assert!(writes(&mut wire, 101), "the run is over");
    let places: Vec<Value> = project.run(&["gate", "log"])["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .filter(|entry| entry["type"] == "flow.guard.block")
        .map(|entry| entry["data"]["definedAt"].clone())
        .collect();
    assert_eq!(places, [json!("review"), json!(null), json!("review"), json!("review")]);
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_guard_of_a_node_is_in_force_at_its_step() {
    let project = usual();
    let guards = r#"[{ "id": "small", "tools": ["mcp:db/write"], "when": "arguments.amount > 10", "reason": "too much" },
        { "id": "money", "tools": ["mcp:db/write"], "total": { "argument": "amount", "most": 30 }, "reason": "30 in all" },
        { "id": "thrice", "tools": ["mcp:db/query"], "total": { "most": 2, "per": "step" }, "reason": "two are enough" }]"#;
    two_steps(
        &project,
        r#"[{ "id": "often", "tools": ["mcp:db/query"], "when": "calls.run >= 5", "reason": "often" }]"#,
        guards,
    );
    let mut wire = client(&project, &[]);
    let queries = |wire: &mut Wire, wanted: usize| {
        (0..wanted).filter(|_| call(wire, "query", json!({}))["isError"] == false).count()
    };
    let now = begun(&mut wire);
    assert!(writes(&mut wire, 11));
    assert_eq!(queries(&mut wire, 4), 4);
    next(&mut wire, &now);
    let refused = call(&mut wire, "write", json!({ "amount": 11 }));
    let said = "Refused: too much\n- `change` of the workflow `review` defines what the guard `small` covers";
    assert!(text(&refused).starts_with(said), "{refused}");
    assert!(writes(&mut wire, 10));
    let refused = call(&mut wire, "write", json!({ "amount": 10 }));
    assert!(text(&refused).starts_with("Refused: 30 in all (21 of 30 `amount` were used before)\n"), "{refused}");
    assert_eq!(queries(&mut wire, 1), 1);
    let refused = call(&mut wire, "query", json!({}));
    assert!(text(&refused).starts_with("Refused: often\n"), "{refused}");
    assert_eq!(made(&project), ["write", "query", "query", "query", "query", "write", "query"]);
}

/// A run with two branches. The writes of one of them have limits.
const FORKED: &str = r#"{ "nodes": { "start": { "type": "start" },
  "split": { "type": "fork", "join": "merge" },
  "logs": { "type": "task", "instructions": "Read the logs.", "guards": [
    { "id": "one-writes", "tools": ["mcp:db/write"], "exclusive": true, "reason": "one branch at a time writes" },
    { "id": "few", "tools": ["mcp:db/write"], "total": { "most": 2, "per": "step" }, "reason": "two writes" }] },
  "metrics": { "type": "task", "instructions": "Read the metrics." },
  "merge": { "type": "join", "fork": "split" },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "split" }, { "from": "split", "to": "metrics" }, { "from": "split", "to": "logs" },
  { "from": "logs", "to": "merge", "on": "passed" }, { "from": "metrics", "to": "merge", "on": "passed" },
  { "from": "merge", "to": "done", "on": "passed" }] }
"#;

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_tool_that_a_node_marks_exclusive_is_called_for_a_branch() {
    let project = usual();
    project.write(".flow/workflows/review.json", FORKED);
    let mut wire = client(&project, &[]);
    let now = begun(&mut wire);
    let made_for = |wire: &mut Wire, branch: &str| {
        let meta = json!({ "portolan/branch": branch });
        wire.request("tools/call", json!({ "name": "write", "arguments": {}, "_meta": meta }))["result"].clone()
    };
    let refused = call(&mut wire, "write", json!({}));
    let names = "name your branch in `_meta` as `portolan/branch`: `metrics` and `logs`";
    assert!(text(&refused).starts_with(&format!("Refused: one branch at a time writes ({names})")), "{refused}");
    assert_eq!(call(&mut wire, "query", json!({}))["isError"], false);
    assert_eq!(made_for(&mut wire, "traces")["isError"], true);
    // The rules of a branch are not those of the other one, and its step stays the same while that moves.
    assert_eq!(made_for(&mut wire, "logs")["isError"], false);
    for _ in 0..3 {
        assert_eq!(made_for(&mut wire, "metrics")["isError"], false);
    }
    assert_eq!(made_for(&mut wire, "logs")["isError"], false);
    let refused = made_for(&mut wire, "logs");
    assert!(
        text(&refused).starts_with("Refused: two writes (2 of 2 calls were used before at this step)"),
        "{refused}"
    );
    let metrics = now["actions"]["required"].as_array().expect("actions").iter();
    let metrics = metrics.map(|action| &action["arguments"]).find(|it| it.to_string().contains("metrics"));
    wire.done("Next", metrics.expect("the branch moves"));
    let refused = call(&mut wire, "write", json!({}));
    assert!(
        text(&refused).starts_with("Refused: two writes (2 of 2 calls were used before at this step)"),
        "{refused}"
    );
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_guard_of_a_node_asks_a_person() {
    let project = usual();
    let guards =
        r#"[{ "id": "confirmed", "tools": ["mcp:db/write"], "decision": "ask", "reason": "a person confirms" }]"#;
    two_steps(&project, "", guards);
    let mut wire = client(&project, &[]);
    let now = begun(&mut wire);
    assert!(writes(&mut wire, 1));
    next(&mut wire, &now);
    let refused = call(&mut wire, "write", json!({ "amount": 2 }));
    let said = text(&refused);
    assert!(said.starts_with("Refused: a person confirms\n- a person must allow it"), "{said}");
    let token = said.split("portolan gate allow ").nth(1).and_then(|rest| rest.get(..13)).expect("a token");
    let (said, code) = says(&project, &["gate", "allow", token, "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(writes(&mut wire, 2));
    assert!(!writes(&mut wire, 2), "it passes once");
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_definition_limits_the_sum_of_an_argument_and_of_the_rows_that_are_read() {
    let project = usual();
    let guards = r#"[
      { "id": "money", "tools": ["mcp:db/write"], "total": { "argument": "amount", "most": 100 }, "reason": "100 at most" },
      { "id": "rows", "tools": ["mcp:db/query", "mcp:db/fail"], "reason": "4 rows at most",
        "total": { "result": "$count(result[0].rows)", "most": 4 } }]"#;
    two_steps(&project, guards, "");
    let mut wire = client(&project, &[]);
    let reads = |wire: &mut Wire, tool: &str, rows: Value| call(wire, tool, json!({ "rows": rows, "note": "s3cret" }));
    assert_eq!(reads(&mut wire, "query", json!([1, 2, 3, 4, 5]))["isError"], false);
    let now = begun(&mut wire);
    assert!(writes(&mut wire, 60) && !writes(&mut wire, 41));
    next(&mut wire, &now);
    assert!(!writes(&mut wire, 41) && writes(&mut wire, 40));
    assert_eq!(reads(&mut wire, "query", json!([1, 2, 3]))["isError"], false);
    assert_eq!(reads(&mut wire, "query", json!([]))["isError"], false);
    let failed = reads(&mut wire, "fail", json!([1, 2, 3, 4]));
    assert!(failed["isError"] == true && !text(&failed).starts_with("Refused"), "an error has no rows: {failed}");
    assert_eq!(reads(&mut wire, "query", json!([1, 2]))["isError"], false, "there was one left");
    let refused = reads(&mut wire, "query", json!([]));
    let said = "Refused: 4 rows at most (5 of 4 `$count(result[0].rows)` were used before)\n";
    assert!(text(&refused).starts_with(said), "{refused}");
    let log = std::fs::read_to_string(project.path().join(".portolan/flow-events.jsonl")).expect("a log");
    assert!(log.contains(r#""resultAmounts":{"$count(result[0].rows)":3.0}"#) && !log.contains("s3cret"), "{log}");
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_node_filters_results() {
    let project = usual();
    let filters = r#""results": [{ "id": "short", "tools": ["mcp:db/query"], "maxBytes": 10 }],"#;
    project.write(".flow/workflows/review.json", &TWO_STEPS.replace("FLOW", "").replace("CHANGE", filters));
    let mut wire = client(&project, &[]);
    let cut = |wire: &mut Wire, tool: &str| text(&call(wire, tool, json!({ "sql": "select 1" }))).contains("[cut by");
    let now = begun(&mut wire);
    assert!(!cut(&mut wire, "query"));
    next(&mut wire, &now);
    assert!(cut(&mut wire, "query") && !cut(&mut wire, "write"));
}

/// Nobody begins a run whose rules nobody understands.
#[test]
fn a_definition_with_a_faulty_guard_is_not_run() {
    let project = usual();
    two_steps(&project, r#"[{ "id": "a", "tools": ["mcp:db/write"], "raeson": "no" }]"#, "");
    let mut wire = client(&project, &[]);
    let refused = wire.call("Init", &json!({ "workflowType": "review" }));
    assert!(refused.is_error && refused.value.to_string().contains("guard `a` has no `raeson`"), "{:#}", refused.value);
}
