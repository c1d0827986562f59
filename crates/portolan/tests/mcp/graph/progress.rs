//! Progress, for clients that ask for it.

use serde_json::{Value, json};

use super::{client, project, tool};

#[test]
fn every_node_is_told_of_before_the_answer() {
    let nodes = [
        "id: shape, type: transform, transform: { expr: '{\"v\": 1}' }, next: ask",
        "id: ask, type: mcp, server: echo, tool: echo, args: { v: 1 }, next: exit",
    ];
    let project = project(&[tool("steps", "", &nodes)]);
    let (told, answer) = client(&project).watched("steps", json!({}));
    let said: Vec<(Value, Value)> =
        told.iter().map(|told| (told["progress"].clone(), told["message"].clone())).collect();
    let expected = ["entry (entry)", "shape (transform)", "ask (mcp)", "exit (exit)"];
    let counted = (1..).map(f64::from);
    assert_eq!(said, counted.zip(expected).map(|(n, text)| (json!(n), json!(text))).collect::<Vec<_>>());
    assert_eq!(answer["structuredContent"], json!({ "v": 1 }));
}

#[test]
fn a_long_loop_does_not_flood() {
    let nodes = [
        "id: add, type: transform, transform: { expr: '{\"i\": $executionCount(\"add\") + 1}' }, next: more",
        "id: more, type: switch, conditions: [{ rule: { '<': [{ var: $.add.i }, { var: $.entry.n }] }, next: add }], next: done",
        "id: done, type: transform, transform: { expr: $.add }, next: exit",
    ];
    let project = project(&[tool("counts", "", &nodes)]);
    let begun = std::time::Instant::now();
    let (told, answer) = client(&project).watched("counts", json!({ "n": 5_000 }));
    let most = 102 + (begun.elapsed().as_secs_f64() * 51.0) as usize;
    assert_eq!(answer["structuredContent"], json!({ "i": 5_000 }));
    assert!((50..=most).contains(&told.len()), "{} of at most {most}", told.len());
    let counts: Vec<f64> = told.iter().filter_map(|told| told["progress"].as_f64()).collect();
    assert!(counts.is_sorted_by(|one, next| one < next), "{counts:?}");
    // Entry, the passes of both nodes, the last two.
    assert_eq!(counts.last(), Some(&f64::from(1 + 2 * 5_000 + 2)));
}

#[test]
fn who_does_not_ask_is_told_nothing() {
    let project = project(&[tool("one", "", &[])]);
    let mut wire = client(&project);
    let id = wire.ask("tools/call", json!({ "name": "one", "arguments": {} }));
    assert_eq!(wire.next().expect("the server answers")["id"], id);
}
