//! The executed nodes of a function in the order in which they began: the history of a run, with times.
//!
//! A pure fold over the journal. An observer of a running run gets the same rows, with finer times.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Redaction;
use crate::graph::{Kind, Workflow};
use crate::run::{BranchState, Change, Event, Fault, FramePath, Place, Run};
use crate::value::{NodeId, Timestamp};

/// A node that was executed, or that was under way when it was abandoned.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceRow {
    /// Its number among the rows, which are in the order in which nodes began, from 0.
    pub index: u64,
    /// The path to the node: `each/2/fetch`.
    pub at: String,
    /// The node.
    pub node: NodeId,
    /// The name of its kind in a graph file.
    pub kind: &'static str,
    /// When it began, in microseconds after the run began.
    pub start_us: u64,
    /// Its duration, in microseconds.
    pub took_us: u64,
    /// The number of calls after the first, before it settled.
    #[serde(skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Its input: the arguments of a call, the items of a `forEach`, the input of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The expression that it evaluates, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// Its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The reason that it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// Its state if it was not done: [`CANCELLED`] or [`UNDER_WAY`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub became: Option<&'static str>,
}

/// A node that was under way when its branch, its loop or the whole run ended.
pub const CANCELLED: &str = "cancelled";
/// A node that is under way, as far as is known.
pub const UNDER_WAY: &str = "under way";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Returns the path to a node: the frames around it, then its own name.
pub fn way(path: &FramePath, node: &NodeId) -> String {
    if path.0.is_empty() { node.to_string() } else { format!("{}/{node}", path.text()) }
}

/// Returns the name of a node kind in graph files.
pub fn function_word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Start => "entry",
        Kind::End { .. } => "exit",
        Kind::Fork { .. } => "parallel",
        Kind::Subflow { .. } => "call",
        kind => kind.word(),
    }
}

/// Returns the expressions that a kind of node evaluates, as written; `None` if there are none.
pub fn expression(kind: &Kind) -> Option<String> {
    let texts: Vec<String> = kind.expressions().map(|expr| expr.text()).collect();
    (!texts.is_empty()).then(|| texts.join(" | "))
}

/// Returns the rows of a journal. `hidden` masks values.
pub fn trace<'r>(
    workflow: &Workflow,
    records: impl IntoIterator<Item = (&'r Event, &'r [Change])>,
    hidden: &Redaction,
) -> Vec<TraceRow> {
    let mut builder =
        TraceBuilder { workflow, hidden, run: None, since: None, entered: BTreeMap::new(), begun: 0, rows: Vec::new() };
    let mut last = None;
    for (event, changes) in records {
        last = Some(event.at);
        for change in changes {
            builder.take(event.at, change);
        }
    }
    if let Some(at) = last {
        builder.lose(at, &FramePath::default(), UNDER_WAY);
    }
    let mut rows = builder.rows;
    rows.sort_by_key(|(begun, _)| *begun);
    let rows = rows.into_iter().zip(0..);
    rows.map(|((_, row), index)| TraceRow { index, ..row }).collect()
}

struct TraceBuilder<'t> {
    workflow: &'t Workflow,
    hidden: &'t Redaction,
    run: Option<Run>,
    since: Option<Timestamp>,
    /// When each frame came to its current node, and its turn among all that began.
    entered: BTreeMap<FramePath, (Timestamp, u64)>,
    begun: u64,
    /// The finished nodes, with their turn among all that began.
    rows: Vec<(u64, TraceRow)>,
}

impl TraceBuilder<'_> {
    fn take(&mut self, at: Timestamp, change: &Change) {
        self.since.get_or_insert(at);
        match change {
            Change::Executed { frame, node, output, fault } => {
                self.row(at, frame, Some(node), |row, hidden| TraceRow {
                    output: output.as_ref().map(|output| hidden.value(output)),
                    error: fault.as_ref().map(|fault| hidden.fault(fault)),
                    ..row
                });
                self.entered.remove(frame);
            }
            Change::Moved { frame, place, .. } => self.moved(at, frame, place),
            Change::Branched { frame, branch, state: BranchState::Open(_) } => {
                let entered = self.begins(at);
                self.entered.entry(frame.join(branch)).or_insert(entered);
            }
            Change::Branched { frame, branch, state: BranchState::Cancelled } => {
                self.lose(at, &frame.join(branch), CANCELLED);
            }
            Change::ItemBegun { frame, index, .. } => self.enters(at, frame.join(&NodeId::from(index.to_string()))),
            _ => {}
        }
        match &mut self.run {
            Some(run) => run.apply(change),
            None => self.run = Run::fold(std::slice::from_ref(change)),
        }
    }

    fn moved(&mut self, at: Timestamp, path: &FramePath, place: &Place) {
        let here = self.run.as_ref().and_then(|run| run.frame(path)).map(|frame| frame.place.node());
        // A repeated call, or a loop that begins, belongs to the same visit of its node.
        if here != Some(place.node()) || place.is_over() {
            self.lose(at, path, CANCELLED);
        }
        match place {
            Place::Passing { .. } => self.enters(at, path.clone()),
            Place::Within { node, .. } => self.enters(at, path.join(node)),
            _ => {}
        }
    }

    fn begins(&mut self, at: Timestamp) -> (Timestamp, u64) {
        self.begun += 1;
        (at, self.begun)
    }

    fn enters(&mut self, at: Timestamp, path: FramePath) {
        let entered = self.begins(at);
        self.entered.insert(path, entered);
    }

    /// Ends the nodes that are under way in a frame and inside it, for which nothing waits any more.
    fn lose(&mut self, at: Timestamp, path: &FramePath, became: &'static str) {
        let inside = self.entered.range(path.clone()..).map(|(inner, _)| inner);
        let lost: Vec<FramePath> = inside.take_while(|inner| inner.0.starts_with(&path.0)).cloned().collect();
        for inner in lost {
            let place = self.run.as_ref().and_then(|run| run.frame(&inner)).map(|frame| &frame.place);
            // At other places nothing had begun.
            if matches!(place, Some(Place::Calling { .. } | Place::Each { .. } | Place::Within { .. })) {
                self.row(at, &inner, None, |row, _| TraceRow { became: Some(became), ..row });
            }
            self.entered.remove(&inner);
        }
    }

    /// Adds a row for a node of a frame: its current one, or the join of its branches.
    fn row(
        &mut self,
        at: Timestamp,
        path: &FramePath,
        node: Option<&NodeId>,
        with: impl FnOnce(TraceRow, &Redaction) -> TraceRow,
    ) {
        let began = self.entered.get(path).copied();
        let (began, turn) = began.unwrap_or_else(|| self.begins(at));
        let Some(frame) = self.run.as_ref().and_then(|run| run.frame(path)) else { return };
        let node = node.unwrap_or_else(|| frame.place.node());
        // A run that was migrated to another definition may have passed nodes that are not in it.
        let flow = self.workflow.find(frame.flow.as_str());
        let Some(step) = flow.and_then(|flow| flow.steps.get(node)) else { return };
        let kind = &step.node.kind;
        let (input, retries) = given(&frame.place);
        let row = TraceRow {
            index: 0,
            at: way(path, node),
            node: node.clone(),
            kind: function_word(kind),
            start_us: micros(self.since.unwrap_or(began), began),
            took_us: micros(began, at),
            retries,
            input: input.map(|input| self.hidden.value(&input)),
            expression: expression(kind).map(|text| self.hidden.text(&text)),
            output: None,
            error: None,
            became: None,
        };
        self.rows.push((turn, with(row, self.hidden)));
    }
}

fn micros(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0).saturating_mul(1_000)
}

/// Returns the input of the node at a place, and the number of repeated calls.
fn given(place: &Place) -> (Option<Value>, u32) {
    match place {
        Place::Calling { arguments, retries, .. } => (Some(Value::clone(arguments)), *retries),
        Place::Each { items, .. } => (Some(Value::Array(items.to_vec())), 0),
        Place::Within { frame, .. } => (frame.data.as_ref().map(|data| Value::clone(&data.input)), 0),
        _ => (None, 0),
    }
}

/// Returns the outputs of the nodes of each frame, the root first: the data that an expression sees when the run is
/// paused.
pub fn context(workflow: &Workflow, run: &Run, hidden: &Redaction) -> Vec<(String, Value)> {
    let mut outputs_by_frame = Vec::new();
    let mut waiting = vec![(FramePath::default(), &run.root)];
    while let Some((path, frame)) = waiting.pop() {
        if let Some(data) = &frame.data {
            let nodes = workflow.flow(&frame.flow).steps.keys();
            let outputs =
                nodes.filter_map(|node| Some((node.to_string(), Value::clone(data.outputs.latest(node.as_str())?))));
            outputs_by_frame.push((path.text(), hidden.value(&Value::Object(outputs.collect()))));
        }
        waiting.extend(frame.inner().map(|(name, inner)| (path.join(name), inner)));
    }
    outputs_by_frame
}
