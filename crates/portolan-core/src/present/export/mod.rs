//! Exports a workflow as a program for other systems. The definition becomes data: none of its texts becomes code.

mod rust;

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::picture::{label, lines};
use crate::graph::{Flow, Kind, Workflow};
use crate::value::NodeId;

pub use rust::{Crates, rust_project};

/// The program around the data.
const LANGGRAPH: &str = include_str!("langgraph.py");
/// The placeholder of the data in it.
const DATA: &str = "@@WORKFLOW@@";
/// LangGraph's own names: its ends, and the keys of its state.
const TAKEN: [&str; 8] = ["__start__", "__end__", "input", "run", "seen", "refused", "result", "output"];

/// Returns a Python module that builds a LangGraph graph: a node for each of the root flow, which asks `portolan` for
/// the run's position. `definition` is the path of the definition from the module; `None` for a workflow that Portolan
/// knows by name.
///
/// ```
/// # use portolan_core::{dialect, present, source::Source, validate};
/// # let source = Source::new("hello.json", r#"{
/// #   "nodes": { "start": {"type": "start"}, "run": {"type": "task"}, "done": {"type": "end", "result": "success"} },
/// #   "edges": [ {"from": "start", "to": "run"}, {"from": "run", "to": "done"} ]
/// # }"#);
/// # let (graph, _) = dialect::parse(&source, dialect::Strictness::Strict).first();
/// # let (workflow, _) = validate::validate(graph.as_ref().unwrap(), &|_| None, dialect::Strictness::Strict);
/// let module = present::langgraph(&workflow.unwrap(), Some("hello.json"));
/// assert!(module.contains("from langgraph.graph import"));
/// assert!(module.contains(r#"\"node\":\"run\",\"name\":\"run_2\""#)); // its state has a `run` already
/// ```
pub fn langgraph(workflow: &Workflow, definition: Option<&str>) -> String {
    let flow = workflow.root();
    let names = names(flow);
    let nodes: Vec<Value> = flow.steps.keys().map(|id| node(flow, id, &names[id])).collect();
    let runs_others = flow.steps.values().filter(|step| step.node.kind.runs().is_some());
    let data = json!({
        "id": workflow.id(),
        "definition": definition.unwrap_or(workflow.id().as_str()),
        "served": definition.is_some(),
        "led": flow.interface.is_none(),
        "start": flow.start,
        "runs_others": runs_others.map(|step| &step.node.id).collect::<Vec<_>>(),
        "nodes": nodes,
    });
    // A JSON string literal is also a Python string literal.
    LANGGRAPH.replacen(DATA, &Value::from(data.to_string()).to_string(), 1)
}

fn node(flow: &Flow, id: &NodeId, name: &str) -> Value {
    let mut ways: IndexMap<&str, Vec<String>> = IndexMap::new();
    for line in lines(flow).into_iter().filter(|line| line.from == id) {
        ways.entry(line.to.as_str()).or_default().extend(line.text);
    }
    let kind = &flow.steps[id].node.kind;
    let mut ways: Vec<Value> = ways.into_iter().map(|(to, labels)| json!([to, labels.join(", ")])).collect();
    if matches!(kind, Kind::End { .. }) {
        ways.push(json!([null, ""]));
    }
    json!({ "node": id, "name": name, "title": label(&flow.steps[id].node), "ways": ways })
}

/// Returns the name of each node: the definition's, as far as LangGraph accepts it.
fn names(flow: &Flow) -> IndexMap<NodeId, String> {
    let mut taken: BTreeSet<String> = TAKEN.iter().map(|name| (*name).to_owned()).collect();
    let name = |id: &NodeId| {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.');
        let plain: String = id.as_str().chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let mut name = plain.clone();
        for nth in 2.. {
            if !name.trim().is_empty() && taken.insert(name.clone()) {
                break;
            }
            name = format!("{plain}_{nth}");
        }
        (id.clone(), name)
    };
    flow.steps.keys().map(name).collect()
}
