//! Random graphs of tool calls, and random workflows of agents' states: calls and functions that succeed with one of
//! several results or fail, choices by these results, questions, and ways back.
//!
//! Each choice reads the result of the call before it and nothing else, so that results of different choices do not
//! depend on each other: the analysis takes each of them to be free.

use std::sync::Arc;

use portolan_core::engine::{Effect, EffectKind};
use portolan_core::run::{Completion, EffectResult, Event, Fault, Reply};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::draw::Draw;
use crate::generate::Files;
use crate::walk::by_engine;

/// The results of a call that the choices of a graph can tell apart, and another one.
const RESULTS: [u64; 3] = [0, 1, 2];
/// The names of branches that a function's output may be, and another one.
const BRANCHES: [&str; 3] = ["x", "y", "z"];
/// The output of a function that meets no key result.
const BAD: &str = "bad";
/// How many parts a workflow may have: each is one node, or a call with its choice.
const MOST_PARTS: usize = 4;

/// Random graphs of tool calls, in a file with a second one that some of them call.
pub(crate) fn calls() -> impl Strategy<Value = Files> {
    prop::collection::vec(any::<u8>(), 0..120).prop_map(|bytes| {
        let mut draw = Draw::from(&bytes);
        let tools: Vec<Value> = ["all", "part"].into_iter().map(|name| tool(name, &mut draw)).collect();
        let server = json!({ "name": "random", "version": "1.0.0" });
        let servers = json!({ "s": { "command": "server" } });
        Files(vec![json!({ "version": "1.0", "server": server, "mcpServers": servers, "tools": tools })])
    })
}

fn tool(name: &str, draw: &mut Draw<'_>) -> Value {
    let parts = 1 + draw.below(MOST_PARTS);
    let call = |at: usize| json!({ "id": format!("p{at}"), "type": "mcp", "server": "s", "tool": "t", "args": {} });
    let mut nodes = vec![json!({ "id": "in", "type": "entry", "next": "p0" })];
    for at in 0..parts {
        let on = |draw: &mut Draw<'_>| target(at, parts, draw);
        let mut node = match draw.below(4) {
            0 if name == "all" => json!({ "id": format!("p{at}"), "type": "call", "tool": "part", "args": {} }),
            _ => call(at),
        };
        let chooses = node["type"] == "mcp" && draw.one_in(2);
        node["next"] = if chooses { json!(format!("s{at}")) } else { json!(on(draw)) };
        if draw.one_in(3) {
            node["onError"] = json!(on(draw));
        }
        if node["type"] == "mcp" && draw.one_in(4) {
            node["retry"] = json!({ "max": 1, "backoff": "1ms" });
            node["idempotent"] = json!(true);
        }
        nodes.push(node);
        if chooses {
            nodes.push(choice(at, parts, draw));
        }
    }
    nodes.push(json!({ "id": "out", "type": "exit" }));
    json!({ "name": name, "description": "Random", "inputSchema": { "type": "object" }, "outputSchema": {}, "nodes": nodes })
}

/// A choice by the result of the call before it, or by what is always so or never.
fn choice(at: usize, parts: usize, draw: &mut Draw<'_>) -> Value {
    let mut conditions = Vec::new();
    for result in 0..1 + draw.below(2) as u64 {
        let rule = match draw.below(6) {
            0 => json!({ "==": [1, 2] }),
            _ => json!({ "==": [{ "var": format!("p{at}.x") }, result] }),
        };
        conditions.push(json!({ "rule": rule, "next": target(at, parts, draw) }));
    }
    let mut node = json!({ "id": format!("s{at}"), "type": "switch", "conditions": conditions });
    if !draw.one_in(4) {
        node["next"] = json!(target(at, parts, draw));
    }
    node
}

fn target(at: usize, parts: usize, draw: &mut Draw<'_>) -> String {
    next(at, parts, draw).map_or_else(|| "out".to_owned(), |to| format!("p{to}"))
}

/// A later part, the end, or sometimes an earlier part.
fn next(at: usize, parts: usize, draw: &mut Draw<'_>) -> Option<usize> {
    let to = if draw.one_in(4) { draw.below(at + 1) } else { at + 1 + draw.below(2) };
    (to < parts).then_some(to)
}

/// Random workflows of states in which functions work.
pub(crate) fn states() -> impl Strategy<Value = Files> {
    prop::collection::vec(any::<u8>(), 0..100).prop_map(|bytes| Files(vec![workflow(&mut Draw::from(&bytes))]))
}

fn workflow(draw: &mut Draw<'_>) -> Value {
    let count = 1 + draw.below(MOST_PARTS);
    let (mut states, mut transitions) = (Map::new(), Map::new());
    for at in 0..count {
        let to = |draw: &mut Draw<'_>| json!(next(at, count, draw).map(|to| format!("s{to}")));
        let good = json!({ "name": "good", "description": "Is good", "check": format!("output != '{BAD}'") });
        let mut state = match draw.below(4) {
            0 => json!({ "ask": "Which?", "options": { "x": "So", "y": "So" } }),
            _ => json!({ "objective": "Work", "execute": "work", "max_retries": 0, "key_results": [good] }),
        };
        let works = state["execute"] == "work";
        if works && draw.one_in(3) {
            state["on_failure"] = json!({ "go_to": format!("s{}", draw.below(count)) });
        }
        let way = if state.get("ask").is_some() || works && draw.one_in(2) {
            let mut branches = json!({ "x": to(draw), "y": to(draw) });
            if works && !draw.one_in(4) {
                branches["default"] = to(draw);
            }
            branches
        } else {
            to(draw)
        };
        states.insert(format!("s{at}"), state);
        transitions.insert(format!("s{at}"), way);
    }
    json!({ "objective": "Random", "states": states, "transitions": transitions })
}

/// What may come of what the engine waits for.
pub(crate) fn results(effect: &Effect) -> Vec<Event> {
    let results: Vec<EffectResult> = match &effect.what {
        EffectKind::Call(_) => {
            let outputs = RESULTS.iter().map(|result| Reply::Output(Some(Arc::new(json!({ "x": result })))));
            let message = "it failed".to_owned();
            let fault = Fault { node: "n".to_owned(), code: "failed".to_owned(), message, detail: String::new() };
            outputs.chain([Reply::Failed(fault)]).map(EffectResult::Reply).collect()
        }
        EffectKind::Work(_) => {
            let output = |name: &&str| Completion::Output { output: Arc::new(json!(name)), writes: None };
            BRANCHES.iter().chain(&[BAD]).map(output).map(EffectResult::Completion).collect()
        }
        _ => vec![EffectResult::Due],
    };
    let event =
        |result| Event { at: effect.not_before.unwrap_or_default(), ..by_engine(effect.id.clone().settled(result, 0)) };
    results.into_iter().map(event).collect()
}
