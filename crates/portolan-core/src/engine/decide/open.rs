//! Opens a run: at the start, or at a step before which the work was already done.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::scope::Now;
use super::walk::Draft;
use super::{activities, inner};
use crate::diagnostic::{clip, list};
use crate::engine::rejection::{Rejection, RejectionReason};
use crate::expr::Outputs;
use crate::graph::{Step, Workflow};
use crate::run::{Change, Data, FramePath, Opening, Place, Run, RunMemory};
use crate::value::{NodeId, Outcome};

/// Decides the changes that open a run. The caller decides whether a run may begin at `opening.at`: see
/// [`Workflow::passed_over`].
///
/// # Errors
/// [`RejectionReason::UnknownStep`] if a run cannot be opened at the step `opening.at`, and
/// [`RejectionReason::BadInput`] if the input or the variables are not valid.
pub fn open(workflow: &Workflow, opening: &Opening) -> Result<Vec<Change>, Rejection> {
    let mut opened = begin(workflow, opening)?;
    let Some(run) = Run::fold(&opened) else { unreachable!("a journal that begins with `Opened` folds") };
    let Some(at) = opening.at.as_ref().filter(|at| **at != workflow.root().start) else { return Ok(opened) };
    check_step(workflow, at, opening.rules.is_branch)?;
    let mut draft = Draft::of(workflow, &run, Now { at: opening.since.unwrap_or_default(), seed: 0 });
    draft.enter(&Default::default(), workflow.id().clone(), at, &Outcome::passed(), None);
    opened.extend(draft.concluded());
    Ok(opened)
}

/// Opens the run at its start. A called workflow continues from there by itself.
fn begin(workflow: &Workflow, opening: &Opening) -> Result<Vec<Change>, Rejection> {
    let flow = workflow.root();
    let node = flow.start.clone();
    let (place, mut data) = if flow.interface.is_some() {
        (Place::Passing { node, passed: 0 }, called(workflow, opening)?)
    } else {
        let (variables, outputs) = (variables(workflow, opening)?, Outputs::new(flow.looks_back));
        (Place::Ready { node }, Data { variables, outputs, ..Data::default() })
    };
    if let Some(remembered) = opening.remembered.as_ref().filter(|_| flow.records) {
        remember(&mut data, remembered);
    }
    let opened = Change::Opened { opening: opening.clone(), place };
    let given = Change::Given { frame: FramePath::default(), data: Arc::new(data) };
    Ok(if flow.has_data() { vec![opened, given] } else { vec![opened] })
}

fn called(workflow: &Workflow, opening: &Opening) -> Result<Data, Rejection> {
    let input = opening.input.clone().unwrap_or_else(|| Arc::new(Value::Object(Map::new())));
    inner::given(workflow.root(), input).map_err(|fault| {
        Rejection::new(
            RejectionReason::BadInput,
            fault.message,
            format!("see the `inputSchema` of `{}`", workflow.id()),
        )
    })
}

/// Adds the variables and outputs of another run, as if they were of this one.
fn remember(data: &mut Data, remembered: &RunMemory) {
    data.variables.clone_from(&remembered.shared);
    for came in &remembered.history {
        let met = Arc::new(Value::Object(came.key_results_met.clone()));
        data.outputs.record_met(&came.state_name, Some(Arc::new(came.output.clone())), Some(met));
    }
}

/// Returns the initial variables of a run.
fn variables(workflow: &Workflow, opening: &Opening) -> Result<Map<String, Value>, Rejection> {
    let nothing = Map::new();
    let given = opening.input.as_deref().and_then(Value::as_object).unwrap_or(&nothing);
    activities::seeded(workflow.root(), given).map_err(|faults| {
        Rejection::new(
            RejectionReason::BadInput,
            format!("the variables are not valid for `{}`: {}", workflow.id(), faults.join("; ")),
            "give each a value of its type, and leave out what the workflow does not name",
        )
    })
}

fn check_step(workflow: &Workflow, at: &NodeId, is_branch: bool) -> Result<(), Rejection> {
    let flow = workflow.root();
    // The join would be reached without the other branches.
    if let Some(fork) = flow.fork_around(at).filter(|_| !is_branch) {
        return Err(Rejection::new(
            RejectionReason::UnknownStep,
            format!("`{at}` is in a branch of `{fork}`, and the run would reach the join without the others"),
            format!("begin at `{fork}`, or before it"),
        ));
    }
    let what = match flow.steps.get(at) {
        Some(step) if !flow.loops(&step.node.id).is_empty() => "is part of a loop".to_owned(),
        Some(step) if step.node.kind.can_begin() => return Ok(()),
        Some(step) => format!("is one of the {}s", step.node.kind.word()),
        None => "is not a step".to_owned(),
    };
    let is_open = |id: &NodeId, step: &Step| step.node.kind.can_begin() && flow.loops(id).is_empty();
    let steps = flow.steps.iter().filter(|(id, step)| is_open(id, step));
    let steps: Vec<&str> = steps.map(|(id, _)| id.as_str()).collect();
    Err(Rejection::new(
        RejectionReason::UnknownStep,
        format!("`{}` {what} of the workflow `{}`", clip(at.as_str()), workflow.id()),
        format!("begin at one of {}", list(&steps)),
    ))
}
