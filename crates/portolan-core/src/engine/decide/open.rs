//! A run is opened: at the start, or at a step where other work has already been done.

use super::walk::Draft;
use crate::diagnostic::{clip, list};
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
    let Some(at) = opening.at.as_ref().filter(|at| **at != workflow.root().start) else { return Ok(vec![opened]) };
    check_step(workflow, at)?;
    let mut draft = Draft::of(workflow, &run);
    draft.enter(&Default::default(), workflow.id().clone(), at, &Outcome::passed(), None);
    let mut changes = draft.finish();
    changes.insert(0, opened);
    Ok(changes)
}

fn check_step(workflow: &Workflow, at: &NodeId) -> Result<(), Rejection> {
    let what = match workflow.root().steps.get(at) {
        Some(step) if can_begin_at(&step.node.kind) => return Ok(()),
        Some(step) => format!("is one of the {}s", step.node.kind.word()),
        None => "is not a step".to_owned(),
    };
    let steps = workflow.root().steps.iter().filter(|(_, step)| can_begin_at(&step.node.kind));
    let steps: Vec<&str> = steps.map(|(id, _)| id.as_str()).collect();
    Err(Rejection::new(
        Why::UnknownStep,
        format!("`{}` {what} of the workflow `{}`", clip(at.as_str()), workflow.id()),
        format!("begin at one of {}", list(&steps)),
    ))
}

/// Ends and joins are where work comes to, not where it begins.
fn can_begin_at(kind: &Kind) -> bool {
    match kind {
        Kind::Start | Kind::Checkpoint { .. } | Kind::Work { .. } | Kind::Fork { .. } | Kind::Subflow { .. } => true,
        Kind::End { .. } | Kind::Join { .. } => false,
    }
}
