//! Whoever else writes, and whenever the process dies: nothing is lost, and nothing is half written.

use serde_json::{Value, json};

use super::{FILE, client, project, says, text};
use crate::support::{Chance, Project};

#[test]
fn of_two_writers_none_loses_a_tool() {
    let project = project();
    let mut wires = [client(&project), client(&project)];
    for round in 0..10 {
        let ids: Vec<u64> = wires
            .iter_mut()
            .enumerate()
            .map(|(writer, wire)| {
                wire.ask_tool("addGraphTool", &json!({ "tool": says(&format!("t{writer}_{round}"), "x") }))
            })
            .collect();
        for (wire, id) in wires.iter_mut().zip(ids) {
            let answer = wire.answer(id, "addGraphTool").expect("an answer");
            assert_eq!(answer.value["success"], true, "{:#}", answer.value);
        }
    }
    let listed = wires[0].done("listGraphTools", &json!({}));
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(21), "{listed:#}");
    assert!(text(&project).starts_with(&FILE[..FILE.len() - "# the end\n".len()]));
    project.run(&["check", "g.yaml"]);
}

#[test]
fn of_two_calls_of_one_client_none_is_lost() {
    let project = project();
    let mut wire = client(&project);
    let ids: Vec<u64> =
        (0..10).map(|nth| wire.ask_tool("addGraphTool", &json!({ "tool": says(&format!("t{nth}"), "x") }))).collect();
    for id in ids {
        assert_eq!(wire.answer(id, "addGraphTool").expect("an answer").value["success"], true);
    }
    assert_eq!(wire.done("listGraphTools", &json!({}))["items"].as_array().map(Vec::len), Some(11));
}

/// The description of the tool as the file has it: a number.
fn described(project: &Project) -> u64 {
    let text = text(project);
    let rest = text.split("Says version ").nth(1).unwrap_or_else(|| panic!("no version in {text}"));
    rest.lines()
        .next()
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or_else(|| panic!("half a version: {text}"))
}

#[test]
fn a_file_survives_the_server() {
    let project = project();
    let mut chance = Chance::of(21);
    let version = |number: u64| -> Value {
        let mut tool = says("counted", "x");
        tool["description"] = json!(format!("Says version {number}"));
        json!({ "toolName": "counted", "tool": tool })
    };
    client(&project).done("addGraphTool", &json!({ "tool": version(0)["tool"] }));
    let mut last = 0;
    for _ in 0..12 {
        let mut wire = client(&project);
        for _ in 0..chance.below(3) {
            last += 1;
            wire.done("updateGraphTool", &version(last));
        }
        let id = wire.ask_tool("updateGraphTool", &version(last + 1));
        for _ in 0..chance.below(3_000_000) {
            std::hint::spin_loop();
        }
        wire.kill();
        let acknowledged = wire.answer(id, "updateGraphTool").is_some();
        let found = described(&project);
        assert!(
            found == last + 1 || found == last && !acknowledged,
            "{found} after {last}, acknowledged: {acknowledged}"
        );
        last = found;
        project.run(&["check", "g.yaml"]);
    }
    let mut wire = client(&project);
    wire.done("deleteGraphTool", &json!({ "toolName": "counted" }));
    assert_eq!(text(&project), FILE);
}
