//! Definitions are tried out from the page: with answers that are written down, node by node.

use serde_json::{Value, json};

use super::Studio;
use crate::support::{Project, SUM};

fn sums() -> Project {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    project
}

/// What is asked for by default: the sum of two numbers, as it is written down.
fn wanted(more: &Value) -> Value {
    let mut wanted = json!({ "input": { "a": 2, "b": 40 }, "answers": { "add": { "sum": 42 } } });
    if let (Some(fields), Some(more)) = (wanted.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
    wanted
}

impl Studio {
    pub(super) fn begun(&self, id: &str, wanted: &Value) -> String {
        let answer = self.post(&format!("/definitions/{id}/try"), wanted);
        let told = answer.json();
        told["run"].as_str().unwrap_or_else(|| panic!("it begins: {told}")).to_owned()
    }

    /// The run once it rests: it waits before a node, or nobody drives it any more. Each look waits for the answer of the one
    /// before, so that nothing is looked at more often than it can be told.
    pub(super) fn at_rest(&self, run: &str) -> Value {
        for _look in 0..100_000 {
            let told = self.get(&format!("/runs/{run}")).json();
            let phase = told["driven"]["phase"].as_str().unwrap_or_default();
            let waits = phase == "paused" && !told["driven"]["before"].is_null();
            if waits || ["finished", "stopped"].contains(&phase) {
                return told;
            }
        }
        panic!("`{run}` does not come to rest");
    }

    pub(super) fn control(&self, run: &str, what: &Value) -> Value {
        self.post(&format!("/runs/{run}/control"), what).json()
    }

    pub(super) fn outputs(&self, run: &str) -> Value {
        let head = self.get(&format!("/runs/{run}")).json()["head"].clone();
        self.get(&format!("/runs/{run}/at/{head}")).json()["values"][0]["value"].clone()
    }
}

#[test]
fn the_answers_of_a_run_are_told_as_they_would_be_written_down() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM.replace("server: {", "redact: [token]\nserver: {"));
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("sums", &wanted(&json!({ "answers": { "add": { "sum": 42, "token": "sesame" } } })));
    studio.at_rest(&run);
    let told = studio.get(&format!("/runs/{run}/answers")).json();
    assert_eq!(told, json!({ "answers": { "sum.add": { "sum": 42, "token": "[redacted]" } }, "redacted": true }));
    // What was told is taken again.
    let again = studio.begun("sums", &wanted(&json!({ "answers": told["answers"] })));
    assert_eq!(studio.at_rest(&again)["status"], json!("success"));
}

#[test]
fn a_graph_is_run_with_answers_that_are_written_down() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("sums", &wanted(&json!({})));
    let told = studio.at_rest(&run);
    assert_eq!((&told["status"], &told["driven"]["phase"]), (&json!("success"), &json!("finished")));
    assert_eq!(studio.outputs(&run)["big"], json!({ "sum": 42, "size": "big" }));
    let visits = studio.get(&format!("/runs/{run}/nodes/add")).json();
    assert_eq!(visits["visits"][0]["input"], json!({ "a": 2, "b": 40 }));
    assert_eq!(visits["visits"][0]["output"], json!({ "sum": 42 }));
}

#[test]
fn a_breakpoint_is_hit_and_the_run_goes_on_from_there() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("sums", &wanted(&json!({ "breakpoints": ["large"] })));
    let told = studio.at_rest(&run);
    assert_eq!((&told["driven"]["phase"], &told["driven"]["before"]), (&json!("paused"), &json!("large")));
    assert_eq!(studio.outputs(&run)["add"], json!({ "sum": 42 }));
    assert!(studio.outputs(&run)["big"].is_null(), "it was not executed");
    let stepped = studio.control(&run, &json!({ "do": "step" }));
    assert_eq!((&stepped["phase"], &stepped["before"]), (&json!("paused"), &json!("big")));
    let gone = studio.control(&run, &json!({ "do": "resume", "breakpoints": [] }));
    assert_ne!(gone["phase"], "paused");
    assert_eq!(studio.at_rest(&run)["status"], "success");
}

#[test]
fn a_run_is_stepped_through_from_its_first_node() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("sums", &wanted(&json!({ "paused": true })));
    let mut before = vec![studio.at_rest(&run)["driven"]["before"].clone()];
    loop {
        let told = studio.control(&run, &json!({ "do": "step" }));
        if told["phase"] != "paused" {
            break;
        }
        before.push(told["before"].clone());
    }
    assert_eq!(before, ["entry", "add", "large", "big", "exit"]);
    assert_eq!(studio.at_rest(&run)["status"], "success");
}

#[test]
fn a_run_that_was_stopped_is_forked_and_tried_again_elsewhere() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("sums", &wanted(&json!({ "breakpoints": ["large"] })));
    studio.at_rest(&run);
    assert_eq!(studio.control(&run, &json!({ "do": "stop" }))["phase"], "stopped");
    let again = studio.control(&run, &json!({ "do": "pause" }));
    assert_eq!(again["error"]["code"], "out_of_place");
    let other = studio.post("/runs/abcdefgh/control", &json!({ "do": "pause" }));
    assert_eq!(other.refusal(), "404 unknown_run");
}

#[test]
fn what_is_wrong_is_said_before_anything_begins() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let refused = |wanted: Value| studio.post("/definitions/sums/try", &wanted).refusal();
    assert_eq!(refused(wanted(&json!({ "input": { "a": "two" } }))), "422 bad_input");
    assert_eq!(refused(wanted(&json!({ "breakpoints": ["nothing"] }))), "422 unknown_step");
    assert_eq!(refused(wanted(&json!({ "answers": { "nothing": 1 } }))), "422 invalid_definition");
    assert_eq!(refused(wanted(&json!({ "root": "nothing" }))), "422 unknown_tool");
    assert_eq!(studio.get("/runs").json()["runs"], json!([]));
}

#[test]
fn a_workflow_that_agents_are_led_through_begins() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("small", &json!({ "description": "make it so" }));
    let told = studio.get(&format!("/runs/{run}")).json();
    assert_eq!((&told["workflow"], &told["status"]), (&json!("small"), &json!("working")));
    assert_eq!(told["driven"], Value::Null);
}

#[test]
fn a_value_is_changed_while_the_run_waits() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("sums", &wanted(&json!({ "breakpoints": ["large"] })));
    studio.at_rest(&run);
    let told = studio.control(&run, &json!({ "set": { "values": { "add": { "sum": 3 } } } }));
    assert_eq!((&told["phase"], &told["before"]), (&json!("paused"), &json!("large")));
    assert_eq!(studio.outputs(&run)["add"], json!({ "sum": 3 }));
    for refused in [json!({ "small": 1 }), json!({ "nothing": 1 })] {
        let answer = studio.post(&format!("/runs/{run}/control"), &json!({ "set": { "values": refused } }));
        assert_eq!(answer.refusal(), "422 bad_outputs");
    }
    studio.control(&run, &json!({ "do": "resume" }));
    assert_eq!(studio.at_rest(&run)["status"], "success");
    assert_eq!(studio.outputs(&run)["small"], json!({ "sum": 3, "size": "small" }));
    let over = studio.post(&format!("/runs/{run}/control"), &json!({ "set": { "values": { "add": 1 } } }));
    assert_eq!(over.refusal(), "422 out_of_place");
    // Another process has it from the journal.
    drop(studio);
    let studio = Studio::of(&project, &[]);
    let visit = studio.get(&format!("/runs/{run}/nodes/add")).json()["visits"][0].clone();
    assert_eq!((&visit["output"], &visit["altered"][0]["value"]), (&json!({ "sum": 42 }), &json!({ "sum": 3 })));
    assert_eq!(
        (&visit["altered"][0]["by"]["is"], &visit["altered"][0]["by"]["via"]),
        (&json!("person"), &json!("studio"))
    );
    let records = studio.get(&format!("/runs/{run}/records")).json()["records"].clone();
    let texts: Vec<&str> =
        records.as_array().expect("a list").iter().filter_map(|told| told["text"].as_str()).collect();
    assert!(
        texts.iter().any(|text| text.ends_with("(studio) changed `add` → the output of `add` was replaced")),
        "{texts:?}"
    );
    let head = studio.get(&format!("/runs/{run}")).json()["head"].clone();
    assert_eq!(studio.get(&format!("/runs/{run}/at/{head}")).json()["overlay"]["nodes"]["add"]["altered"], true);
}

#[test]
fn a_fork_with_another_output_ends_otherwise() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("sums", &wanted(&json!({ "breakpoints": ["large"] })));
    let seq = studio.at_rest(&run)["head"].clone();
    studio.control(&run, &json!({ "do": "resume", "breakpoints": [] }));
    assert_eq!(studio.at_rest(&run)["status"], "success");
    let forked = studio.post(&format!("/runs/{run}/fork"), &json!({ "seq": seq, "set": { "add": { "sum": 3 } } }));
    let fork = forked.json()["run"].as_str().expect("a run").to_owned();
    assert_eq!(studio.get(&format!("/runs/{fork}")).json()["driven"]["phase"], "stopped");
    studio.control(&fork, &json!({ "do": "resume" }));
    assert_eq!(studio.at_rest(&fork)["status"], "success");
    assert_eq!(studio.outputs(&fork)["small"], json!({ "sum": 3, "size": "small" }));
    assert_eq!(studio.outputs(&run)["big"], json!({ "sum": 42, "size": "big" }));
}

#[test]
fn a_breakpoint_waits_where_its_condition_holds() {
    let project = sums();
    let studio = Studio::of(&project, &[]);
    let tried = |sum: u32, when: &str| {
        let more = json!({
            "answers": { "add": { "sum": sum } },
            "breakpoints": [{ "node": "large", "when": when }],
        });
        let run = studio.begun("sums", &wanted(&more));
        studio.at_rest(&run)["driven"].clone()
    };
    let held = tried(42, "add.sum > 10");
    assert_eq!((&held["before"], &held["fault"]), (&json!("large"), &Value::Null));
    assert_eq!(held["breakpoints"], json!([{ "node": "large", "when": "add.sum > 10" }]));
    assert_eq!(tried(3, "add.sum > 10")["phase"], "finished");
    assert_eq!(tried(42, r#"{">": [{"var": "add.sum"}, 10]}"#)["before"], "large");
    assert_eq!(tried(3, r#"{">": [{"var": "add.sum"}, 10]}"#)["phase"], "finished");
    let unknown = tried(3, "$number(\"three\") > add.sum");
    assert_eq!(unknown["before"], "large");
    let why = unknown["fault"].as_str().expect("it says why");
    assert!(why.starts_with("the condition `$number(\"three\") > add.sum` has no value: "), "{why}");
    let faulty = json!({ "breakpoints": [{ "node": "large", "when": "add.sum >" }] });
    let answer = studio.post("/definitions/sums/try", &wanted(&faulty));
    assert_eq!(answer.refusal(), "422 bad_expression");
    let message = answer.json()["error"]["message"].clone();
    let message = message.as_str().unwrap_or_default();
    assert!(
        message.starts_with("the condition of the breakpoint at `large` cannot be read, at character "),
        "{message}"
    );
    let run = studio.begun("sums", &wanted(&json!({ "paused": true })));
    studio.at_rest(&run);
    let refused = studio.post(&format!("/runs/{run}/control"), &faulty);
    assert_eq!(refused.refusal(), "422 bad_expression");
}

/// A graph that has another one work on each of three numbers.
pub(super) const OUTER: &str = r#"version: "1.0"
server: {name: outer, version: "1"}
tools:
  - name: outer
    description: Doubles a number by another graph
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: double}
      - {id: double, type: call, tool: inner, args: {n: {expr: entry.n}}, next: sum}
      - {id: sum, type: transform, transform: {expr: '{"n": double.n + 1}'}, next: exit}
      - {id: exit, type: exit}
  - name: inner
    description: Doubles a number
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: twice}
      - {id: twice, type: transform, transform: {expr: '{"n": entry.n * 2}'}, next: exit}
      - {id: exit, type: exit}
"#;

#[test]
fn a_workflow_that_is_run_inside_is_stepped_over() {
    let project = Project::small();
    project.write(".flow/workflows/outer.yaml", OUTER);
    let studio = Studio::of(&project, &[]);
    let begun = |breakpoints: Value| {
        let wanted = json!({ "root": "outer", "input": { "n": 2 }, "breakpoints": breakpoints });
        let run = studio.begun("outer", &wanted);
        assert_eq!(studio.at_rest(&run)["driven"]["before"], "double");
        run
    };
    let run = begun(json!(["double"]));
    studio.control(&run, &json!({ "do": "over" }));
    assert_eq!(studio.at_rest(&run)["driven"]["before"], "sum");
    assert_eq!(studio.outputs(&run)["double"], json!({ "n": 4 }));
    // A breakpoint inside holds all the same, and is one of the node that the drawing calls so.
    let run = begun(json!(["double", "double/twice", "exit"]));
    studio.control(&run, &json!({ "do": "over" }));
    assert_eq!(studio.at_rest(&run)["driven"]["before"], "double/twice");
    // From inside, on to the next node inside and then to the one around.
    studio.control(&run, &json!({ "do": "over" }));
    assert_eq!(studio.at_rest(&run)["driven"]["before"], "double/exit");
    studio.control(&run, &json!({ "do": "over" }));
    assert_eq!(studio.at_rest(&run)["driven"]["before"], "sum");
    studio.control(&run, &json!({ "do": "resume" }));
    assert_eq!(studio.at_rest(&run)["driven"]["before"], "exit");
}
