//! Workflows in a few lines. A line is an edge, `a -> b` or `a -failed-> b`, or says more of a node, `check: gate
//! retries 1`. A node is what its name says (`start`, `fork…` with `join…`, `done…`, `failed…`, `ask…`), else a task.

use serde_json::{Map, Value, json};

/// The Navigator file of a workflow.
pub(crate) fn flow(id: &str, text: &str) -> String {
    let mut nodes = Map::new();
    let mut edges: Vec<Value> = Vec::new();
    // Checks are JSON, which may hold semicolons of its own.
    let parts = text.lines().flat_map(|line| line.split(if line.contains("accept ") { '\n' } else { ';' }));
    for line in parts.map(str::trim).filter(|line| !line.is_empty()) {
        if let Some((from, to)) = line.split_once("-> ") {
            let (from, on) = match from.split_once(" -") {
                Some((from, on)) if !on.is_empty() => (from.trim(), Some(on.trim())),
                Some((from, _)) => (from.trim(), None),
                None => (from.trim(), None),
            };
            for to in to.split(',').map(str::trim) {
                add(&mut nodes, from);
                add(&mut nodes, to);
                let mut edge = json!({ "from": from, "to": to });
                if let Some(on) = on {
                    edge["on"] = json!(on);
                }
                edges.push(edge);
            }
        } else {
            let (name, words) = line.split_once(": ").expect("a line is an edge or says more of a node");
            add(&mut nodes, name);
            more(&mut nodes[name], words);
        }
    }
    json!({ "id": id, "name": id, "description": "a test", "nodes": nodes, "edges": edges }).to_string()
}

fn add(nodes: &mut Map<String, Value>, name: &str) {
    if !nodes.contains_key(name) {
        nodes.insert(name.to_owned(), node(name));
    }
}

fn node(name: &str) -> Value {
    let paired = |own: &str, other: &str| name.replacen(own, other, 1);
    if name == "start" {
        json!({ "type": "start", "name": "Start" })
    } else if name.starts_with("fork") {
        json!({ "type": "fork", "name": name, "join": paired("fork", "join") })
    } else if name.starts_with("join") {
        json!({ "type": "join", "name": name, "fork": paired("join", "fork") })
    } else if name.starts_with("done") {
        json!({ "type": "end", "name": name, "result": "success" })
    } else if name.starts_with("failed") {
        json!({ "type": "end", "name": name, "result": "failure" })
    } else if name.starts_with("ask") {
        json!({ "type": "end", "name": name, "result": "blocked", "escalation": "hitl" })
    } else {
        json!({ "type": "task", "name": name })
    }
}

/// `gate`, `retries N`, `any-pass`, `at-most N`, `runs ID`, `result WORD`, `outputs A B`, and last `accept JSON`.
fn more(node: &mut Value, words: &str) {
    let (words, accept) = words.split_once("accept ").map_or((words, None), |(words, json)| (words, Some(json)));
    let mut words = words.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut next = || words.next().expect("the word takes another").to_owned();
        match word {
            "gate" => node["type"] = json!("gate"),
            "retries" => node["maxRetries"] = json!(next().parse::<u32>().expect("a number")),
            "at-most" => node["maxConcurrency"] = json!(next().parse::<u32>().expect("a number")),
            "any-pass" => node["strategy"] = json!("any-pass"),
            "result" => node["result"] = json!(next()),
            "outputs" => node["outputs"] = json!(words.by_ref().collect::<Vec<_>>()),
            "runs" => {
                node["type"] = json!("subflow");
                node["workflow"] = json!(next());
            }
            other => panic!("`{other}` says nothing of a node"),
        }
    }
    if let Some(accept) = accept {
        node["accept"] = serde_json::from_str(accept).expect("checks are JSON");
    }
}
