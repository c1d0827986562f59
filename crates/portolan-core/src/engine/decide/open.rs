//! A run is opened: at the start, or at a step where other work has already been done.

use super::walk::Draft;
use crate::engine::rejection::{Rejection, Why};
use crate::graph::{Kind, Workflow};
use crate::run::{Change, Opening, Place, Run};
use crate::value::{NodeId, Outcome};

/// Decides what opening a run makes true.
///
/// # Errors
/// [`Why::UnknownStep`] when `opening.at` is no step that work can begin at.
pub fn open(workflow: &Workflow, opening: &Opening) -> Result<Vec<Change>, Rejection> {
    let start = Place::Ready { node: workflow.root().start.clone() };
    let opened = Change::Opened { opening: opening.clone(), place: start };
    let Some(run) = Run::fold([&opened]) else { unreachable!("a journal that begins with `Opened` folds") };
    let Some(at) = &opening.at else { return Ok(vec![opened]) };
    check_step(workflow, at)?;
    let mut draft = Draft::of(workflow, &run);
    draft.changes.push(opened);
    draft.enter(&Default::default(), at, &Outcome::passed(), None);
    Ok(draft.changes)
}

fn check_step(workflow: &Workflow, at: &NodeId) -> Result<(), Rejection> {
    let refuse = |what: &str| {
        let steps: Vec<String> = begin_steps(workflow).map(|step| format!("`{step}`")).collect();
        Err(Rejection::new(
            Why::UnknownStep,
            format!("`{at}` {what} of workflow `{}`", workflow.id()),
            format!("begin at one of {}", steps.join(", ")),
        ))
    };
    match workflow.root().steps.get(at).map(|step| &step.node.kind) {
        None => refuse("is not a step"),
        Some(Kind::End { .. } | Kind::Join { .. }) => {
            refuse("is no step that work can begin at: it is an end or a join")
        }
        Some(Kind::Start | Kind::Checkpoint { .. } | Kind::Work { .. } | Kind::Fork { .. } | Kind::Subflow { .. }) => {
            Ok(())
        }
    }
}

fn begin_steps(workflow: &Workflow) -> impl Iterator<Item = &NodeId> {
    let steps = workflow.root().steps.iter();
    steps
        .filter(|(_, step)| matches!(step.node.kind, Kind::Work { .. } | Kind::Fork { .. } | Kind::Subflow { .. }))
        .map(|(id, _)| id)
}
