//! Expressions are evaluated while they are being written.

use serde_json::{Value, json};

use super::Studio;
use crate::support::{Project, SUM};

impl Studio {
    fn evaluated(&self, id: &str, (node, field, text): (&str, &str, &str), with: &Value) -> Value {
        let wanted = json!({ "node": node, "field": field, "text": text, "with": with });
        self.post(&format!("/definitions/{id}/evaluate"), &wanted).json()
    }
}

#[test]
fn a_field_is_evaluated_over_what_a_run_has_come_to() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    let studio = Studio::of(&project, &[]);
    let wanted = json!({ "input": { "a": 2, "b": 40, "key": "tell-nobody" }, "answers": { "add": { "sum": 42 } } });
    let run = studio.begun("sums", &wanted);
    let before = studio.at_rest(&run)["head"].as_u64().expect("a number");
    let of = |field, text| studio.evaluated("sums", ("big", field, text), &json!({ "run": run }));
    let told = of("transform.expr", "{\"twice\": $.add.sum * 2}");
    assert_eq!((&told["value"], &told["type"]), (&json!({ "twice": 84 }), &json!("object")), "{told}");
    let names: Vec<&str> = told["names"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    for name in ["entry", "add", "small"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(of("transform.expr", "$.nothing"), json!({ "names": told["names"], "type": "undefined" }));
    // What must not be shown is not, whatever an expression makes of it.
    assert_eq!(of("transform.expr", "$.entry.key")["value"], "[redacted]");
    assert_ne!(of("transform.expr", "$substring($.entry.key, 5)")["value"], "nobody");
    let wrong = of("transform.expr", "\"ä😀\" & $.add.sum )");
    assert_eq!((&wrong["error"]["from"], &wrong["error"]["to"]), (&json!(18), &json!(19)), "{wrong}");
    let broken = of("transform.expr", "$number(\"three\")");
    assert_eq!((&broken["error"]["from"], &broken["error"]["to"]), (&json!(0), &json!(16)), "{broken}");
    let early = studio.evaluated("sums", ("big", "transform.expr", "$.add"), &json!({ "run": run, "seq": 2 }));
    assert_eq!(early["type"], "undefined");
    assert_eq!(studio.get(&format!("/runs/{run}")).json()["head"], before, "nothing happens by it");
}

#[test]
fn a_field_is_evaluated_over_a_test_with_its_answers() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    project.write(
        ".flow/workflows/sums.test.yaml",
        "mock: {add: {sum: 1}}\n\
         tests:\n\
         - {name: large, input: {a: 400, b: 4}, mock: {add: {sum: 404}}, expect: 404}\n\
         - {name: it fails, input: {a: 1, b: 2}, mock: {add: {error: no such tool}}}\n\
         - {name: shared, input: {a: 1, b: 0}}\n",
    );
    let studio = Studio::of(&project, &[]);
    let listed = studio.get("/definitions/sums/tests").json();
    assert_eq!(listed, json!({ "tests": ["large", "it fails", "shared"] }));
    assert_eq!(studio.get("/definitions/small/tests").json(), json!({ "tests": [] }), "it has none");
    let of = |test, text| studio.evaluated("sums", ("big", "transform.expr", text), &json!({ "test": test }));
    // The output of a node that computes is there, too: the test runs.
    assert_eq!(of("large", "[$.entry.a, $.add.sum, $.large]")["value"], json!([400, 404, "big"]));
    assert_eq!(of("shared", "$.add.sum + $.entry.b")["value"], 1);
    // What came before a failure has values.
    assert_eq!(of("it fails", "$.entry.b")["value"], 2);
    assert_eq!(of("it fails", "$.add.error.message")["value"], "no such tool");
    let wanted = json!({ "node": "big", "field": "transform.expr", "text": "1", "with": { "test": "small" } });
    assert_eq!(studio.post("/definitions/sums/evaluate", &wanted).refusal(), "422 unknown_test");
    project.write(".flow/workflows/sums.test.yaml", "tests: 3\n");
    assert_eq!(studio.get("/definitions/sums/tests").refusal(), "422 invalid_definition");
    assert_eq!(studio.get("/runs?all=true").json()["runs"], json!([]), "no run is stored");
}

#[test]
fn a_field_is_evaluated_over_values_of_ones_own() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    let studio = Studio::of(&project, &[]);
    let with = json!({ "input": { "a": 2 }, "outputs": { "add": { "sum": 3 } } });
    let of = |node, field, text| studio.evaluated("sums", (node, field, text), &with);
    assert_eq!(of("large", "conditions.0.rule", r#"{">": [{"var": "add.sum"}, 2]}"#)["value"], true);
    assert_eq!(of("add", "args", r#"{"a": {"expr": "$.entry.a"}, "b": 1}"#)["value"], json!({ "a": 2, "b": 1 }));
    // The page's own text counts: a node that no file has yet.
    let text = SUM.replace("id: big", "id: huge");
    let wanted = json!({
        "files": [{ "name": "sums.yaml", "text": text }], "node": "huge", "field": "transform.expr", "text": "add.sum + 1",
        "with": with,
    });
    assert_eq!(studio.post("/definitions/sums/evaluate", &wanted).json()["value"], 4);
    assert_eq!(
        studio.evaluated("small", ("fix", "when", "state == done"), &json!({ "variables": { "state": "done" } }))["value"],
        true
    );
    // It is bounded as every expression is.
    let long = of("big", "transform.expr", "$sum([1..10000000].($ * $))");
    assert!(long["error"]["message"].is_string(), "{long}");
    let nobody = studio.post("/definitions/sums/evaluate", &json!({ "node": "a/b", "field": "x", "text": "1" }));
    assert_eq!(nobody.refusal(), "422 unknown_step");
}

#[test]
fn a_node_of_a_workflow_that_is_run_inside_sees_what_was_there() {
    let project = Project::small();
    project.write(".flow/workflows/outer.yaml", super::tries::OUTER);
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("outer", &json!({ "root": "outer", "input": { "n": 2 } }));
    studio.at_rest(&run);
    let told = studio.evaluated("outer", ("double/twice", "transform.expr", "entry.n + 100"), &json!({ "run": run }));
    assert_eq!(told["value"], 102, "{told}");
}
