//! Input that nobody should send: each is answered with an error, and the server goes on as before.

use serde_json::{Value, json};

use crate::support::{Project, Wire};

fn is_well(wire: &mut Wire) {
    assert_eq!(wire.request("ping", json!({}))["result"], json!({}));
}

/// Sends a line that is no message, and takes the error that it is answered with.
fn error_of(wire: &mut Wire, line: &[u8]) -> Value {
    wire.line(line);
    let answer = wire.next().expect("an answer");
    assert!(answer["error"]["message"].is_string(), "{answer}");
    is_well(wire);
    answer
}

#[test]
fn a_line_that_is_no_message_is_answered() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    for (line, code) in [
        ("no json", -32700),
        (r#"{"jsonrpc":"2.0","id":9,"method":"ping""#, -32700),
        ("\u{0}\u{1}", -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#, -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#, -32600),
    ] {
        let answer = error_of(&mut wire, line.as_bytes());
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer.get("id"), None, "{line}: {answer}");
    }
    assert_eq!(error_of(&mut wire, b"\xff\xfe{}")["error"]["code"], -32700);
    for line in ["", "  ", "\r"] {
        wire.line(line.as_bytes());
        is_well(&mut wire);
    }
    wire.line(b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":\"mark\",\"method\":\"ping\"}\r");
    assert_eq!(wire.next().expect("an answer")["id"], "mark");
}

#[test]
fn a_request_of_the_wrong_shape_is_answered_by_its_id() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    for (params, code) in [
        (json!({}), -32602),
        (json!({ "name": 5 }), -32602),
        (json!({ "name": "Current", "arguments": [] }), -32602),
        (json!({ "name": "Current", "arguments": "run" }), -32602),
        (json!([1]), -32600),
        (json!(7), -32600),
    ] {
        wire.send(&json!({ "jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": params }));
        let answer = wire.next().expect("an answer");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("mine"), &json!(code)), "{params}: {answer}");
    }
    let long = "x".repeat(100_000);
    wire.send(&json!({ "jsonrpc": "2.0", "id": long, "method": "ping" }));
    assert_eq!(wire.next().expect("an answer")["id"], long);
}

#[test]
fn what_is_nested_too_deep_is_not_read() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        let params = format!(r#"{{"name":"Current","arguments":{{"run":{deep}}}}}"#);
        let line = format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{params}}}"#);
        assert_eq!(error_of(&mut wire, line.as_bytes())["id"], "deep");
    }
    assert_eq!(error_of(&mut wire, "[".repeat(1_000_000).as_bytes())["error"]["code"], -32600);
}

/// A client cannot have the server take up the machine's memory, neither by length nor by number.
#[test]
fn a_huge_line_takes_no_memory() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"huge","method":"tools/call","params":{{"name":"Current","arguments":{arguments}}}}}"#
        )
    };
    let long = call(&format!(r#"{{"run":"{}"}}"#, "x".repeat(12_000_000)));
    assert_eq!(error_of(&mut wire, long.as_bytes())["error"]["code"], -32600);
    let broad = call(&format!(r#"{{"run":[{}0]}}"#, "0,".repeat(2_000_000)));
    assert_eq!(error_of(&mut wire, broad.as_bytes())["id"], "huge");
    let within = call(&format!(r#"{{"run":"{}"}}"#, "x".repeat(4_000_000)));
    wire.line(within.as_bytes());
    let answer = wire.next().expect("an answer");
    let answer = wire.read("Current", &answer);
    assert_eq!(answer.code(), "invalid_arguments");
    assert!(answer.value.to_string().len() < 1_000, "what was sent comes back: {}", answer.value);
    #[cfg(target_os = "linux")]
    assert!(peak_megabytes(wire.process()) < 100);
}

#[cfg(target_os = "linux")]
fn peak_megabytes(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<usize>().ok()).expect("a number") / 1024
}

#[test]
fn arguments_are_checked_all_at_once() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    assert_eq!(wire.request("tools/call", json!({ "name": "Current" }))["result"]["isError"], true);
    let wrong = json!({ "taskFilePath": 5, "reslt": "passed", "revision": -1, "note": [] });
    let error = wire.refused("Next", &wrong, "invalid_arguments");
    let message = error["message"].as_str().expect("a message");
    for part in
        ["`taskFilePath` must be", "`result` is missing", "`revision` must", "`note` must", "did you mean `result`"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    for (tool, arguments, code) in [
        ("Next", json!({}), "invalid_arguments"),
        ("Init", json!({}), "workflow_required"),
        ("Start", json!({}), "task_required"),
        ("Current", json!({ "run": "x", "taskFilePath": "y.json" }), "ambiguous_run"),
        ("Diagram", json!({}), "invalid_arguments"),
        ("ListWorkflows", json!({ "source": "everything" }), "invalid_arguments"),
        ("ListCatalog", json!({ "all": true }), "invalid_arguments"),
        ("CopyWorkflows", json!({ "workflowIds": "execute" }), "invalid_arguments"),
        ("CopyWorkflows", json!({ "workflowIds": vec!["x"; 2_000] }), "invalid_arguments"),
        ("CopyWorkflows", json!({ "force": "yes" }), "invalid_arguments"),
        ("Init", json!({ "workflowType": "quick-task", "description": "x".repeat(100_000) }), "too_large"),
        ("Init", json!({ "workflowType": "quick-task", "description": "x".repeat(300_000) }), "invalid_arguments"),
        ("next", json!({}), "unknown_tool"),
        ("constructor", json!({}), "unknown_tool"),
        ("", json!({}), "unknown_tool"),
    ] {
        wire.refused(tool, &arguments, code);
    }
}

#[test]
fn an_id_is_no_path() {
    let project = Project::new();
    project.write("outside.json", "{}");
    let mut wire = project.client(&[]);
    let huge = "x".repeat(200_000);
    for id in ["../../outside", "..", "/etc/passwd", "a/b", "a\\b", "\u{0}", ".hidden", "", "constructor", &huge] {
        let refused = wire.call("Init", &json!({ "workflowType": id }));
        let codes = ["bad_id", "unknown_workflow", "workflow_required"];
        assert!(codes.contains(&refused.code()), "{id:.20}: {:#}", refused.value);
        assert!(refused.value.to_string().len() < 2_000, "{id:.20}");
        assert!(wire.call("Diagram", &json!({ "workflowType": id })).is_error, "{id:.20}");
        assert!(wire.call("Current", &json!({ "run": id })).is_error, "{id:.20}");
        let copied = wire.done("CopyWorkflows", &json!({ "workflowIds": [id] }));
        assert_eq!(copied["copied"], json!([]), "{id:.20}");
        let step = wire.call("Init", &json!({ "workflowType": "quick-task", "stepId": id }));
        assert!(step.is_error || id.is_empty(), "{id:.20}: {:#}", step.value);
    }
    assert_eq!(std::fs::read_to_string(project.path().join("outside.json")).ok().as_deref(), Some("{}"));
}

#[test]
fn a_task_file_that_is_none_is_left_alone() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    for (name, text) in
        [("broken", "{\"id\": "), ("array", "[1, 2]"), ("number", "5"), ("empty", ""), ("half", "{\"metadata\": 3}")]
    {
        let path = project.task(name);
        std::fs::write(&path, text).expect("a file");
        for tool in ["Init", "Start", "Current", "Next"] {
            let mut arguments = json!({ "taskFilePath": path });
            if tool == "Init" {
                arguments["workflowType"] = json!("quick-task");
            }
            if tool == "Next" {
                arguments["result"] = json!("passed");
            }
            let answer = wire.call(tool, &arguments);
            assert!(answer.is_error, "{tool} {name}: {:#}", answer.value);
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), Some(text), "{tool} {name}");
        }
    }
    let folder = project.task("folder");
    std::fs::create_dir(&folder).expect("a folder");
    assert!(wire.call("Init", &json!({ "taskFilePath": folder, "workflowType": "quick-task" })).is_error);
    let nowhere = project.task("no/such/folder");
    assert!(wire.call("Current", &json!({ "taskFilePath": nowhere })).is_error);
}
