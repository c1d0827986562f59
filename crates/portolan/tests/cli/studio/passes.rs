//! Each pass of a loop and each item of a list can be told apart, although they share their drawn nodes.

use portolan_runtime::service::Request;
use serde_json::{Value, json};

use super::Studio;
use crate::calls::Calls;
use crate::support::{Project, address, reported};

const DIVIDED: &str = r#"version: "1.0"
server: { name: divided, version: "1" }
tools:
  - name: divided
    description: Divides 12 by each of some numbers
    inputSchema: { type: object, properties: { by: { type: array } } }
    nodes:
      - { id: entry, type: entry, next: each }
      - { id: each, type: forEach, items: { expr: $.entry.by }, tool: twelfth, args: { by: { expr: $item } }, concurrency: 1, next: exit }
      - { id: exit, type: exit }
  - name: twelfth
    description: Divides 12 by a number
    inputSchema: { type: object, properties: { by: { type: number } } }
    nodes:
      - { id: entry, type: entry, next: divide }
      - { id: divide, type: transform, transform: { expr: '$.entry.by = 0 ? $error("nothing divides by 0") : 12 / $.entry.by' }, next: exit }
      - { id: exit, type: exit }
"#;

const ROUNDS: &str = r#"{ "id": "rounds", "version": "1.0.0", "title": "Rounds", "activities": [
  { "id": "rounds", "name": "Rounds", "steps": [
    { "id": "round", "kind": "loop", "name": "Round", "loopType": "forEach", "over": "names", "variable": "name", "steps": [
      { "id": "greet", "kind": "step", "name": "Greet {name}", "accept": [{ "id": "there", "file": "ready.txt" }] }
    ] } ] } ],
  "variables": [{ "name": "names", "type": "array", "default": ["ada", "grace", "edith"] }]
}
"#;

fn strip(studio: &Studio, run: &str, seq: u64, node: &str) -> Value {
    studio.get(&format!("/runs/{run}/at/{seq}")).json()["overlay"]["nodes"][node]["strip"].clone()
}

fn head(studio: &Studio, run: &str) -> u64 {
    studio.get(&format!("/runs/{run}")).json()["head"].as_u64().expect("a number")
}

#[test]
fn the_item_that_failed_is_told_from_those_that_are_done_or_never_began() {
    let project = Project::small();
    project.write(".flow/workflows/divided.yaml", DIVIDED);
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("divided", &json!({ "root": "divided", "input": { "by": [3, 4, 0, 6] } }));
    assert_eq!(studio.at_rest(&run)["status"], "failure");
    let last = head(&studio, &run);
    let ended = [json!({ "state": "done" }), json!({ "state": "done" }), json!({ "state": "failed", "failed": true })];
    assert_eq!(strip(&studio, &run, last, "each"), json!({ "first": 1, "passes": ended }));
    let moments = (1..last).map(|seq| strip(&studio, &run, seq, "each")["passes"].clone());
    let under_way = json!([{ "state": "done" }, { "state": "here" }]);
    assert!(moments.into_iter().any(|passes| passes == under_way));
}

#[test]
fn of_many_items_the_last_ones_are_told() {
    let project = Project::small();
    project.write(".flow/workflows/divided.yaml", DIVIDED);
    let studio = Studio::of(&project, &[]);
    let run = studio.begun("divided", &json!({ "root": "divided", "input": { "by": vec![2; 100] } }));
    assert_eq!(studio.at_rest(&run)["status"], "success");
    let strip = strip(&studio, &run, head(&studio, &run), "each");
    assert_eq!((&strip["first"], strip["passes"].as_array().map(Vec::len)), (&json!(41), Some(60)));
}

#[test]
fn a_pass_in_which_a_check_failed_says_so_when_it_is_done() {
    let mut project = Project::small();
    project.write(".flow/workflows/rounds.json", ROUNDS);
    let run = project.run("rounds", "passed");
    let studio = Studio::of(&project, &[]);
    let first = strip(&studio, &run, head(&studio, &run), "rounds.round");
    assert_eq!(first["passes"], json!([{ "state": "here", "failed": true }]));
    project.write("ready.txt", "yes");
    let next = project.agent(async |service, me| {
        let view = service.view(&Request::of(address(&run)), me).await?;
        Calls::next(service, &reported(&view, "passed"), me).await
    });
    next.expect("it is accepted");
    let second = strip(&studio, &run, head(&studio, &run), "rounds.round");
    assert_eq!(second["passes"], json!([{ "state": "done", "failed": true }, { "state": "here" }]));
}
