//! What each node of a function did, in the order in which they were done: the history of a run, with times.
//!
//! A pure fold over the journal. A run that is watched while it goes is told the same rows, with finer times.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::Redaction;
use crate::graph::{Kind, Workflow};
use crate::run::{Change, Event, Fault, FramePath, Place, Run};
use crate::value::{NodeId, Timestamp};

/// One node that was executed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceRow {
    /// Its number in the run, from 0.
    pub index: u64,
    /// The way to the node: `each/2/fetch`.
    pub at: String,
    /// The node.
    pub node: NodeId,
    /// The word for its kind.
    pub kind: &'static str,
    /// When it began, in microseconds after the run did.
    pub start_us: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// How many times a call was made before it settled, after the first.
    #[serde(skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// What it was given: the arguments of a call, the items of a `forEach`, the input of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What it evaluates, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// What it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The way to a node: the frames around it, then its own name.
pub fn way(path: &FramePath, node: &NodeId) -> String {
    if path.0.is_empty() { node.to_string() } else { format!("{}/{node}", path.text()) }
}

/// What a node of a kind evaluates, as written; nothing for those that evaluate nothing.
pub fn expression(kind: &Kind) -> Option<String> {
    let texts: Vec<String> = kind.expressions().map(|expr| expr.text()).collect();
    (!texts.is_empty()).then(|| texts.join(" | "))
}

/// The rows of a journal. Values are masked as `hidden` says.
pub fn trace<'r>(
    workflow: &Workflow,
    records: impl IntoIterator<Item = (&'r Event, &'r [Change])>,
    hidden: &Redaction,
) -> Vec<TraceRow> {
    let mut told = Told { workflow, hidden, run: None, since: None, entered: BTreeMap::new(), rows: Vec::new() };
    for (event, changes) in records {
        for change in changes {
            told.take(event.at, change);
        }
    }
    told.rows
}

struct Told<'t> {
    workflow: &'t Workflow,
    hidden: &'t Redaction,
    run: Option<Run>,
    since: Option<Timestamp>,
    /// When each frame came to the node at which it is.
    entered: BTreeMap<FramePath, Timestamp>,
    rows: Vec<TraceRow>,
}

impl Told<'_> {
    fn take(&mut self, at: Timestamp, change: &Change) {
        self.since.get_or_insert(at);
        match change {
            Change::Executed { frame, node, output, fault } => {
                self.rows.extend(self.row(at, (frame, node), output.as_ref(), fault.as_ref()));
                self.entered.remove(frame);
            }
            Change::Moved { frame, place: Place::Passing { .. }, .. } => {
                self.entered.insert(frame.clone(), at);
            }
            Change::Moved { frame, place: Place::Within { node, .. }, .. } => {
                self.entered.insert(frame.join(node), at);
            }
            Change::Branched { frame, branch, .. } => {
                self.entered.entry(frame.join(branch)).or_insert(at);
            }
            Change::ItemBegun { frame, index, .. } => {
                self.entered.insert(frame.join(&NodeId::from(index.to_string())), at);
            }
            _ => {}
        }
        match &mut self.run {
            Some(run) => run.apply(change),
            None => self.run = Run::fold(std::slice::from_ref(change)),
        }
    }

    fn row(
        &self,
        at: Timestamp,
        (path, node): (&FramePath, &NodeId),
        output: Option<&Arc<Value>>,
        fault: Option<&Fault>,
    ) -> Option<TraceRow> {
        let frame = self.run.as_ref()?.frame(path)?;
        let kind = &self.workflow.flow(&frame.flow).step(node).node.kind;
        let (input, retries) = given(&frame.place);
        let began = self.entered.get(path).copied().unwrap_or(at);
        Some(TraceRow {
            index: self.rows.len() as u64,
            at: way(path, node),
            node: node.clone(),
            kind: kind.word(),
            start_us: micros(self.since.unwrap_or(began), began),
            took_us: micros(began, at),
            retries,
            input: input.map(|input| self.hidden.value(&input)),
            expression: expression(kind).map(|text| self.hidden.text(&text)),
            output: output.map(|output| self.hidden.value(output)),
            error: fault.map(|fault| self.hidden.fault(fault)),
        })
    }
}

fn micros(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0).saturating_mul(1_000)
}

/// What the node at a place was given, and how often a call was made again.
fn given(place: &Place) -> (Option<Value>, u32) {
    match place {
        Place::Calling { arguments, retries, .. } => (Some(Value::clone(arguments)), *retries),
        Place::Each { items, .. } => (Some(Value::Array(items.to_vec())), 0),
        Place::Within { frame, .. } => (frame.data.as_ref().map(|data| Value::clone(&data.input)), 0),
        _ => (None, 0),
    }
}

/// What the nodes of each frame have come to, the root first: what an expression sees when the run is paused.
pub fn context(workflow: &Workflow, run: &Run, hidden: &Redaction) -> Vec<(String, Value)> {
    let mut told = Vec::new();
    let mut waiting = vec![(FramePath::default(), &run.root)];
    while let Some((path, frame)) = waiting.pop() {
        if let Some(data) = &frame.data {
            let nodes = workflow.flow(&frame.flow).steps.keys();
            let outputs =
                nodes.filter_map(|node| Some((node.to_string(), Value::clone(data.outputs.latest(node.as_str())?))));
            told.push((path.text(), hidden.value(&Value::Object(outputs.collect()))));
        }
        waiting.extend(frame.inner().map(|(name, inner)| (path.join(name), inner)));
    }
    told
}
