//! An outcome is claimed. A claim that has checks is a request to perform them, not a fact.

use super::walk::Draft;
use super::{Rejection, Why, addressed, answer, fresh};
use crate::diagnostic::list;
use crate::graph::Kind;
use crate::run::{Actor, Change, Feedback, FramePath, Place, moves};
use crate::value::Outcome;

/// What is claimed, and by whom.
pub(super) struct Claim<'a> {
    pub(super) outcome: &'a Outcome,
    pub(super) note: Option<&'a str>,
    pub(super) by: &'a Actor,
}

pub(super) fn decide(
    draft: &mut Draft<'_>,
    path: &FramePath,
    revision: Option<u64>,
    claim: &Claim<'_>,
) -> Result<(), Rejection> {
    let frame = addressed(&draft.run, path)?.clone();
    fresh(&frame, revision)?;
    match &frame.place {
        Place::Ready { node } if draft.step(&frame.flow, node).node.kind == Kind::Start => {
            Err(Rejection::new(Why::NotBegun, format!("the run has not begun: it is at `{node}`"), "call Start first"))
        }
        Place::Ready { node } => {
            accepted(draft, &frame, node, claim.outcome)?;
            work_is_done(draft, path, &frame.flow, node, claim);
            Ok(())
        }
        Place::Checking { outcome, .. } if outcome == claim.outcome => Ok(()),
        Place::Checking { node, outcome, .. } => Err(Rejection::new(
            Why::Checking,
            format!("`{node}` was reported `{outcome}` and its checks are being performed"),
            format!("wait for their verdict, or report `{outcome}` again to have them performed anew"),
        )
        .accepting(vec![outcome.clone()])),
        Place::Waiting { node, on } => {
            accepted(draft, &frame, node, claim.outcome)?;
            answer::decide(draft, path, node, *on, claim)
        }
        Place::Forked { node, .. } => Err(open_branches(draft, node)),
        Place::Gathering { node } => Err(Rejection::new(
            Why::BranchesOpen,
            format!("the branches of `{node}` are tasks of their own and have not all come to an outcome"),
            "lead each of them to the join first",
        )),
        Place::Within { node, .. } => Err(Rejection::new(
            Why::OutOfPlace,
            format!("`{node}` runs a workflow of its own"),
            "address the position inside it",
        )),
        Place::Arrived { node, .. } | Place::Ended { node, .. } => Err(Rejection::new(
            Why::Over,
            format!("the run is over: it ended at `{node}`"),
            "nothing more is to be done; begin a new run for new work",
        )),
    }
}

fn accepted(
    draft: &Draft<'_>,
    frame: &crate::run::Frame,
    node: &crate::value::NodeId,
    outcome: &Outcome,
) -> Result<(), Rejection> {
    let accepted: Vec<Outcome> =
        moves(draft.workflow, frame).iter().filter_map(|offer| offer.outcome().cloned()).collect();
    if accepted.contains(outcome) {
        return Ok(());
    }
    let words: Vec<&str> = accepted.iter().map(Outcome::as_str).collect();
    Err(Rejection::new(
        Why::UndeclaredOutcome,
        format!("`{}` is no outcome of `{node}`", crate::diagnostic::clip(outcome.as_str())),
        format!("report one of {}", list(&words)),
    )
    .accepting(accepted))
}

fn work_is_done(
    draft: &mut Draft<'_>,
    path: &FramePath,
    flow: &crate::value::WorkflowId,
    node: &crate::value::NodeId,
    claim: &Claim<'_>,
) {
    let note = claim.note.map(str::to_owned);
    let checked = !draft.step(flow, node).node.accept.is_empty();
    if checked && !claim.outcome.is_failed() {
        let place = Place::Checking { node: node.clone(), outcome: claim.outcome.clone(), settled: Vec::new(), note };
        draft.emit(Change::Moved { frame: path.clone(), place, feedback: None });
        return;
    }
    let feedback = claim.outcome.is_failed().then(|| Feedback { from: Some(node.clone()), failures: Vec::new(), note });
    draft.leave(path, node, claim.outcome, feedback);
}

fn open_branches(draft: &Draft<'_>, fork: &crate::value::NodeId) -> Rejection {
    let positions = draft.run.positions();
    let open: Vec<String> = positions.iter().map(|(path, _)| path.text()).collect();
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
    Rejection::new(
        Why::BranchesOpen,
        format!("the branches of `{fork}` are under way, and the call names none of them"),
        format!("say which one with `branch`: {}", list(&open)),
    )
}
