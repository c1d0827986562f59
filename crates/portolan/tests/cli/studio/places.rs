//! What a person moves in a drawing is kept beside the project.

use serde_json::{Value, json};

use super::Studio;
use crate::support::{Project, SMALL, SUM};

/// Where a node stands in a drawing.
fn place(told: &Value, id: &str) -> (i64, i64) {
    let nodes = told["drawing"]["nodes"].as_array().expect("nodes");
    let node = nodes.iter().find(|node| node["id"] == id).unwrap_or_else(|| panic!("`{id}` is drawn"));
    (node["x"].as_i64().expect("a number"), node["y"].as_i64().expect("a number"))
}

fn kept(project: &Project) -> Option<String> {
    std::fs::read_to_string(project.path().join(".portolan/layout.json")).ok()
}

#[test]
fn what_is_moved_stands_there_until_all_is_laid_out_again() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let before = studio.get("/definitions/small").json();
    let moved = studio.put("/definitions/small/places", &json!({ "moves": { "work": [300, 10] } }));
    assert_eq!(moved.json(), json!({ "moved": { "work": [300, 10] } }));
    let after = studio.get("/definitions/small").json();
    let (from, to) = (place(&before, "work"), place(&after, "work"));
    assert_eq!((to.0 - from.0, to.1 - from.1), (300, 10));
    assert_eq!(place(&before, "start"), place(&after, "start"));
    // The text of the definition is as it was, and a text that is being written is drawn with it, too.
    assert_eq!(after["files"][0]["text"], SMALL);
    let checked =
        studio.post("/definitions/small/checks", &json!({ "files": [{ "name": "x", "text": SMALL }] })).json();
    assert_eq!(place(&checked, "work"), to);
    let text = kept(&project).expect("a file");
    assert!(text.contains("\".flow/workflows/small.json\""), "{text}");
    let again = studio.put("/definitions/small/places", &json!({ "moves": null }));
    assert_eq!(again.json(), json!({ "moved": {} }));
    assert_eq!(studio.get("/definitions/small").json()["drawing"], before["drawing"]);
    assert!(!kept(&project).expect("a file").contains("small"));
}

#[test]
fn a_run_is_drawn_as_its_definition_is() {
    let project = Project::small();
    project.write(".flow/workflows/sums.yaml", SUM);
    let studio = Studio::of(&project, &[]);
    let functions = studio.get("/definitions/sums").json();
    let root = functions["roots"][0]["id"].as_str().expect("a root");
    let node = functions["drawing"]["nodes"][1]["id"].as_str().expect("a node").to_owned();
    assert_eq!(
        studio.put("/definitions/sums/places", &json!({ "root": root, "moves": { &node: [120, 0] } })).status,
        200
    );
    let run = studio.post("/definitions/sums/try", &json!({ "input": { "a": 1, "b": 2 }, "paused": true })).json();
    let run = run["run"].as_str().unwrap_or_else(|| panic!("{run}"));
    let drawn = studio.post(&format!("/runs/{run}/drawing"), &json!({})).json();
    assert_eq!(place(&drawn, &node), place(&studio.get("/definitions/sums").json(), &node));
    assert_ne!(place(&drawn, &node), place(&functions, &node));
}

#[test]
fn what_cannot_be_read_hides_no_drawing_and_is_not_written_over() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let before = studio.get("/definitions/small").json();
    for text in ["{", "{\"form\":\"layout/9\",\"definitions\":{}}"] {
        project.write(".portolan/layout.json", text);
        let told = studio.get("/definitions/small").json();
        assert_eq!(told["drawing"], before["drawing"]);
        let problem = &told["problems"][0];
        assert_eq!((&problem["code"], &problem["severity"]), (&json!("broken_layout"), &json!("warning")));
        let refused = studio.put("/definitions/small/places", &json!({ "moves": { "work": [1, 1] } }));
        assert_eq!(refused.refusal(), "500 broken_layout");
        assert_eq!(kept(&project).as_deref(), Some(text));
    }
}

#[test]
fn not_everything_is_kept() {
    let project = Project::small();
    let studio = Studio::of(&project, &[]);
    let refused = |id: &str, wanted: Value| studio.put(&format!("/definitions/{id}/places"), &wanted).refusal();
    assert_eq!(refused("small", json!({ "moves": { "work": [100_001, 0] } })), "422 not_kept");
    let many: serde_json::Map<String, Value> = (0..2_001).map(|at| (format!("n{at}"), json!([1, 1]))).collect();
    assert_eq!(refused("small", json!({ "moves": many })), "422 not_kept");
    assert_eq!(refused("small", json!({ "root": "other", "moves": {} })), "422 unknown_root");
    assert_eq!(refused("bug-fix", json!({ "moves": { "start": [1, 1] } })), "422 not_yours");
    assert_eq!(refused("small", json!({ "moves": { "work": [0.5, 0] } })), "400 bad_request");
    assert_eq!(kept(&project), None);
    let showing = Studio::of(&project, &["--read-only"]);
    let refused = showing.put("/definitions/small/places", &json!({ "moves": { "work": [1, 1] } }));
    assert_eq!(refused.refusal(), "403 read_only");
}
