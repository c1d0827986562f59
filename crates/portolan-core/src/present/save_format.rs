//! A run in the save format of fsm-agent-flow: the outputs of its states, and its variables.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::graph::{Kind, State, Workflow};
use crate::run::{Attempt, Change, FramePath, ModelStateChange, Place, Run, StateResult};
use crate::value::NodeId;

/// Returns the state that another run can begin with, from a journal's changes: `{objective, shared, history}`, and
/// `state` if the run is not over. Returns `None` if the changes do not begin a journal.
pub fn saved<'c>(workflow: &Workflow, changes: impl IntoIterator<Item = &'c Change>) -> Option<Value> {
    let mut changes = changes.into_iter();
    let mut run = Run::fold(changes.next())?;
    let mut remembered = run.opening.remembered.as_deref().cloned().unwrap_or_default();
    let mut met: BTreeMap<FramePath, Map<String, Value>> = BTreeMap::new();
    for change in changes {
        match change {
            Change::Talked { frame, said: ModelStateChange::Held(attempt) } => {
                met.insert(frame.clone(), results(attempt));
            }
            Change::Executed { frame, node, output, fault: None }
                if comes_to_something(workflow, &run, frame, node) =>
            {
                remembered.history.push(StateResult {
                    state_name: node.clone(),
                    output: output.as_deref().cloned().unwrap_or_default(),
                    key_results_met: met.remove(frame).unwrap_or_default(),
                });
            }
            _ => {}
        }
        run.apply(change);
    }
    remembered.shared = run.root.data.as_ref().map(|data| data.variables.clone()).unwrap_or_default();
    remembered.state = at(workflow, &run);
    let mut state = json!(remembered);
    state["objective"] = json!(workflow.root().description);
    Some(state)
}

fn results(attempt: &Attempt) -> Map<String, Value> {
    attempt.found.iter().map(|found| (found.name.clone(), Value::from(found.met))).collect()
}

/// Checks whether a node of the workflow itself has an output.
fn comes_to_something(workflow: &Workflow, run: &Run, frame: &FramePath, node: &NodeId) -> bool {
    let in_root = run.frame(frame).is_some_and(|frame| frame.flow == *workflow.id());
    let step = workflow.root().steps.get(node).filter(|_| in_root);
    step.is_some_and(|step| {
        !matches!(step.node.kind, Kind::Start | Kind::End { .. } | Kind::Fork { .. }) && !State::is_chooser(&step.node)
    })
}

/// Returns the current node of the run if another run can begin at it.
fn at(workflow: &Workflow, run: &Run) -> Option<NodeId> {
    let node = match &run.root.place {
        Place::Ended { .. } => return None,
        place => place.node(),
    };
    let step = workflow.root().steps.get(node)?;
    (step.node.kind.can_begin() && !State::is_chooser(&step.node)).then(|| node.clone())
}
