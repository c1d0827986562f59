//! The outputs that led a function to a question: what a person is asked about.

use std::collections::{BTreeMap, BTreeSet};

use portolan_core::graph::Workflow;
use portolan_core::present::Redaction;
use portolan_core::run::{Change, FramePath, Run};
use portolan_core::value::NodeId;
use serde_json::Value;

use crate::store::Record;

/// The output of a step that led to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutput {
    /// The step.
    pub step: String,
    /// The name of the step, for people.
    pub step_name: String,
    /// The output, with hidden values masked: a text as it is, or else JSON.
    pub text: String,
    /// Whether the text is only the beginning of the output.
    pub is_cut: bool,
}

/// The maximum number of outputs with a question.
const MOST: usize = 5;
/// The maximum number of characters of an output.
const LONGEST: usize = 10_000;

/// Returns the outputs of the steps before the question at `path`. Empty if an agent follows the flow.
pub(super) fn outputs(
    workflow: &Workflow,
    run: &Run,
    path: &FramePath,
    records: &[Record],
    hidden: &Redaction,
) -> Vec<StepOutput> {
    let Some(frame) = run.frame(path) else { return Vec::new() };
    let flow = workflow.flow(&frame.flow);
    if flow.interface.is_none() {
        return Vec::new();
    }
    let latest = since_asked(path, frame.place.node(), records);
    let (mut waiting, mut known) = (vec![frame.place.node()], BTreeSet::from([frame.place.node()]));
    let mut found = Vec::new();
    while let Some(node) = waiting.pop() {
        let before = flow.edges.iter().filter(|edge| edge.to.value == *node).map(|edge| &edge.from.value);
        for before in before.filter(|before| known.insert(before)) {
            match latest.get(before) {
                Some(Some(output)) => found.push(step_output(&flow.step(before).node.name, before, output, hidden)),
                // It has been passed without an output of its own, like a fork.
                Some(None) => waiting.push(before),
                None => {}
            }
        }
    }
    found.truncate(MOST);
    found
}

/// Returns the latest outputs of the nodes that were executed in the frame and inside of it since the node `asks` was
/// last left.
fn since_asked<'r>(path: &FramePath, asks: &NodeId, records: &'r [Record]) -> BTreeMap<&'r NodeId, Option<&'r Value>> {
    let (own, inside) = (path.text(), format!("{}/", path.text()));
    let is_inside = |frame: &FramePath| own.is_empty() || frame.text() == own || frame.text().starts_with(&inside);
    let mut latest = BTreeMap::new();
    for change in records.iter().rev().flat_map(|record| record.changes.iter().rev()) {
        match change {
            Change::Executed { frame, node, .. } if node == asks && frame == path => break,
            Change::Executed { frame, node, output, fault: None } if is_inside(frame) => {
                latest.entry(node).or_insert(output.as_deref());
            }
            _ => {}
        }
    }
    latest
}

fn step_output(name: &str, step: &NodeId, output: &Value, hidden: &Redaction) -> StepOutput {
    let whole = match hidden.value(output) {
        Value::String(text) => text,
        value => serde_json::to_string_pretty(&value).unwrap_or_default(),
    };
    let text: String = whole.chars().take(LONGEST).collect();
    StepOutput { step: step.to_string(), step_name: name.to_owned(), is_cut: text.len() < whole.len(), text }
}
