//! What an earlier run was answered with is answered again, and runs are saved as tests.

use std::fs;

use serde_json::{Value, json};

use super::Studio;
use crate::support::{Project, SUM};

/// A graph that calls one after the other, at once, and for each of three.
const CALLS: &str = r#"version: "1.0"
server: {name: t, version: "1"}
tools:
  - name: calls
    description: Calls in turn, at once and for each
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: first}
      - {id: first, type: mcp, server: echo, tool: echo, args: {v: 1}, next: split}
      - {id: split, type: parallel, branches: [left, right], join: meet}
      - {id: left, type: mcp, server: echo, tool: echo, args: {}, next: meet}
      - {id: right, type: mcp, server: echo, tool: echo, args: {}, next: meet}
      - {id: meet, type: join, next: each}
      - {id: each, type: forEach, items: {expr: "[1..3]"}, tool: one, args: {n: {expr: $item}}, concurrency: 2, next: result}
      - {id: result, type: transform, transform: {expr: '{"first": $.first.v, "each": $.each.n}'}, next: exit}
      - {id: exit, type: exit}
  - name: one
    description: One of them
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: call}
      - {id: call, type: mcp, server: echo, tool: echo, args: {n: {expr: $.entry.n}}, next: exit}
      - {id: exit, type: exit}
"#;

fn answers() -> Value {
    json!({
        "first": { "v": 7 }, "left": {}, "right": { "error": "it is away", "more": 1 },
        "call": { "each": [{ "n": 10 }, { "n": 20 }, { "n": 30 }] },
    })
}

impl Studio {
    /// The handle of a run that was tried to its end.
    fn tried(&self, id: &str, wanted: &Value) -> String {
        let run = self.begun(id, wanted);
        assert_eq!(self.at_rest(&run)["driven"]["phase"], "finished");
        run
    }

    fn saved(&self, run: &str, name: &str) -> Value {
        self.post(&format!("/runs/{run}/test"), &json!({ "name": name })).json()
    }
}

fn passes(project: &Project, file: &str) -> String {
    let output = project.command(&["test", file]).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    told
}

#[test]
fn an_earlier_run_is_answered_again() {
    let project = Project::small();
    project.write(".flow/workflows/calls.yaml", CALLS);
    project.write(".flow/workflows/sums.yaml", SUM);
    let studio = Studio::of(&project, &[]);
    let first = studio.tried("calls", &json!({ "root": "calls", "answers": answers() }));
    let result = json!({ "first": 7, "each": [10, 20, 30] });
    assert_eq!(studio.outputs(&first)["result"], result);
    let again = studio.tried("calls", &json!({ "root": "calls", "recorded": first }));
    assert_eq!(studio.outputs(&again)["result"], result);
    // What is written goes before what was recorded.
    let other = json!({ "root": "calls", "recorded": first, "answers": { "first": { "v": 8 } } });
    assert_eq!(studio.outputs(&studio.tried("calls", &other))["result"]["first"], 8);
    let foreign = json!({ "input": { "a": 1, "b": 2 }, "recorded": first });
    assert_eq!(studio.post("/definitions/sums/try", &foreign).refusal(), "422 other_workflow");
}

#[test]
fn a_run_is_saved_as_a_test_that_passes() {
    let project = Project::small();
    project.write(".flow/workflows/calls.yaml", CALLS);
    let studio = Studio::of(&project, &[]);
    let run = studio.tried("calls", &json!({ "root": "calls", "answers": answers() }));
    let saved = studio.saved(&run, "for each of three");
    assert_eq!(
        (&saved["file"], &saved["created"]),
        (&json!(".flow/workflows/calls.test.yaml"), &json!(true)),
        "{saved}"
    );
    let file = project.path().join(".flow/workflows/calls.test.yaml");
    let text = fs::read_to_string(&file).expect("it is there");
    assert_eq!(saved["text"], text);
    assert!(text.contains(r#"      "one.call": {"each":[{"n":10},{"n":20},{"n":30}]}"#), "{text}");
    passes(&project, ".flow/workflows/calls.test.yaml");
    // One more, in the text as somebody has written it meanwhile.
    let written = text.replace("tests:\n", "\n# By hand.\ntests: # in their order\n");
    fs::write(&file, &written).expect("it is written");
    let taken = studio.post(&format!("/runs/{run}/test"), &json!({ "name": "for each of three" }));
    assert_eq!(taken.refusal(), "422 taken");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), written);
    let saved = studio.saved(&run, "once more");
    assert_eq!(saved["created"], false);
    let after = fs::read_to_string(&file).expect("it is there");
    assert!(after.starts_with(&written), "{after}");
    assert!(passes(&project, ".flow/workflows/calls.test.yaml").contains("once more"));
    assert_eq!(studio.post(&format!("/runs/{run}/test"), &json!({ "name": " " })).refusal(), "422 bad_name");
    assert_eq!(
        studio.get("/definitions").json()["definitions"]
            .as_array()
            .map_or(0, |all| { all.iter().filter(|line| line["source"] == "project").count() }),
        2
    );
    // The definition is another one now.
    project.write(".flow/workflows/calls.yaml", CALLS.replace("$.first.v", "$.first.v + 1"));
    assert_eq!(studio.post(&format!("/runs/{run}/test"), &json!({ "name": "later" })).refusal(), "422 no_definition");
}

#[test]
fn a_fork_is_given_the_answers_that_are_left() {
    let project = Project::small();
    project.write(".flow/workflows/calls.yaml", CALLS);
    let studio = Studio::of(&project, &[]);
    let wanted = json!({ "root": "calls", "answers": answers(), "breakpoints": ["each"] });
    let run = studio.begun("calls", &wanted);
    let seq = studio.at_rest(&run)["head"].clone();
    studio.control(&run, &json!({ "do": "resume", "breakpoints": [] }));
    studio.at_rest(&run);
    let forked = studio.post(&format!("/runs/{run}/fork"), &json!({ "seq": seq, "set": { "first": { "v": 9 } } }));
    let fork = forked.json()["run"].as_str().expect("a run").to_owned();
    studio.control(&fork, &json!({ "do": "resume" }));
    studio.at_rest(&fork);
    assert_eq!(studio.outputs(&fork)["result"], json!({ "first": 9, "each": [10, 20, 30] }));
}

#[test]
fn a_failure_and_an_answer_that_was_changed_are_saved_as_they_were() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    let studio = Studio::of(&project, &[]);
    let input = json!({ "a": 2, "b": 40 });
    let wanted = json!({ "input": input, "answers": { "add": { "error": "it is away" } } });
    let failed = studio.tried("sums", &wanted);
    assert!(studio.saved(&failed, "nobody adds")["created"].as_bool().expect("it is saved"));
    let wanted = json!({ "input": input, "answers": { "add": { "sum": 42 } }, "breakpoints": ["large"] });
    let run = studio.begun("sums", &wanted);
    studio.at_rest(&run);
    assert_eq!(studio.post(&format!("/runs/{run}/test"), &json!({ "name": "early" })).refusal(), "422 not_recorded");
    studio.control(&run, &json!({ "do": "resume", "set": { "values": { "add": { "sum": 3 } } } }));
    studio.at_rest(&run);
    let saved = studio.saved(&run, "a small sum");
    assert!(saved["text"].as_str().is_some_and(|text| text.contains("small")), "{saved}");
    passes(&project, ".flow/workflows/sums.test.yaml");
    // What is no answer of a call cannot be said.
    let wanted = json!({ "input": input, "answers": { "add": { "sum": 42 } }, "breakpoints": ["exit"] });
    let run = studio.begun("sums", &wanted);
    studio.at_rest(&run);
    studio.control(&run, &json!({ "do": "resume", "set": { "values": { "big": { "sum": 1 } } } }));
    studio.at_rest(&run);
    assert_eq!(studio.post(&format!("/runs/{run}/test"), &json!({ "name": "by hand" })).refusal(), "422 not_recorded");
}

#[test]
fn a_definition_says_what_a_run_is_given_and_which_answers_can_be_written() {
    let project = Project::small();
    project.write(".flow/workflows/calls.yaml", CALLS);
    project.write(".flow/workflows/sums.yaml", SUM);
    let studio = Studio::of(&project, &[]);
    let roots = |id: &str| studio.get(&format!("/definitions/{id}")).json()["roots"].clone();
    assert_eq!(roots("sums")[0]["input"]["required"], json!(["a", "b"]));
    assert_eq!(roots("sums")[0]["asks"], json!(["add"]));
    let calls = roots("calls");
    assert_eq!(calls[0]["asks"], json!(["first", "left", "right", "call"]));
    assert_eq!((&calls[1]["id"], &calls[1]["asks"]), (&json!("one"), &json!(["call"])));
    let led = roots("small");
    assert_eq!((&led[0]["input"], &led[0]["asks"]), (&Value::Null, &json!([])));
}
