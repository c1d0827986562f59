//! One file for each event: its rejections and its changes.

mod activities;
mod advance;
mod answer;
mod begin;
mod branches;
mod bypass;
mod cancel;
mod each;
mod effects;
mod gather;
mod inner;
mod instances;
mod look;
mod node_result;
mod note;
mod open;
mod raise;
mod report;
mod scope;
mod settle;
mod states;
mod walk;

use super::rejection::{Rejection, RejectionReason, Remedy};
use crate::graph::Workflow;
use crate::run::{Change, Event, EventKind, Frame, FramePath, Run};

pub use look::look;
pub use open::open;
pub(crate) use report::may_give;
pub(super) use states::{asked_for, outside, text_of};

/// Decides which changes an event makes to a run.
///
/// `run` must be a run of `workflow`: see [`fits`](super::fits). Nothing is changed here; the caller stores the event
/// with its changes and applies them. An empty list means that the event adds nothing (the check is already settled, or
/// the claim is already being checked); it need not be stored.
///
/// # Errors
/// A [`Rejection`] if the event is not among the [`moves`](crate::run::moves) at its position, is stale, or has invalid
/// values.
pub fn decide(workflow: &Workflow, run: &Run, event: &Event) -> Result<Vec<Change>, Rejection> {
    let seed = match &event.what {
        EventKind::Settled { seed, .. } | EventKind::Resumed { seed, .. } => *seed,
        _ => 0,
    };
    let mut draft = walk::Draft::of(workflow, run, scope::Now { at: event.at, seed });
    match &event.what {
        EventKind::Opened(_) => {
            return Err(Rejection::new(
                RejectionReason::OutOfPlace,
                "the run is already open",
                "continue from the present situation",
            ));
        }
        EventKind::Begun { revision } => begin::decide(&mut draft, *revision)?,
        EventKind::Reported { frame, outcome, revision, note, outputs } => {
            let outputs = outputs.as_deref();
            let claim = report::Claim { outcome, note: note.as_deref(), by: &event.by, outputs };
            report::decide(&mut draft, frame, *revision, &claim)?;
        }
        EventKind::Settled { effect, result, .. } => effects::settled(&mut draft, effect, result),
        EventKind::Gathered { branches } => gather::decide(&mut draft, branches)?,
        EventKind::Resumed { frame, revision, with, .. } => states::resume(&mut draft, frame, *revision, with)?,
        EventKind::Raised { frame, revision, question } => raise::decide(&mut draft, frame, *revision, question)?,
        EventKind::Noted { frame, values } => note::decide(&mut draft, frame, values, &event.by)?,
        EventKind::Bypassed { .. } => bypass::decide(&mut draft, &event.what)?,
        EventKind::Used { bypass } => bypass::used(&mut draft, bypass),
        EventKind::Cancelled { .. } => cancel::decide(&mut draft)?,
    }
    Ok(draft.concluded())
}

/// Refuses a caller that quotes an older position than the present one.
fn fresh(frame: &Frame, revision: Option<u64>) -> Result<(), Rejection> {
    match revision {
        Some(known) if known != frame.since => Err(Rejection::new(
            RejectionReason::Stale,
            format!(
                "the call quotes revision {known}, but `{}` was reached at revision {}",
                frame.place.node(),
                frame.since
            ),
            "the run has moved on in the meantime: choose from the present actions",
        )),
        _ => Ok(()),
    }
}

/// Returns the frame that a call addresses.
fn addressed<'r>(run: &'r Run, path: &FramePath) -> Result<&'r Frame, Rejection> {
    if let Some(frame) = run.frame(path) {
        return Ok(frame);
    }
    let text = path.text();
    let open: Vec<String> = run.positions().iter().map(|(path, _)| format!("`{}`", path.text())).collect();
    Err(match crate::run::branch_state(run, path) {
        Some(crate::run::BranchState::Held) => Rejection::new(
            RejectionReason::UnknownBranch,
            format!("the branch `{text}` has not begun"),
            "it begins when another branch reaches the join",
        ),
        Some(crate::run::BranchState::Cancelled) => Rejection::new(
            RejectionReason::Over,
            format!("the branch `{text}` was cancelled: another one passed first"),
            "stop working on it",
        ),
        Some(_) => {
            Rejection::new(RejectionReason::Over, format!("the branch `{text}` is done"), "continue with another one")
        }
        None if run.is_over() || open == ["``"] => Rejection::new(
            RejectionReason::UnknownBranch,
            format!("there is no branch `{text}`"),
            "leave `branch` out: no branches are running",
        ),
        None => Rejection::new(
            RejectionReason::UnknownBranch,
            format!("there is no branch `{text}`"),
            format!("the running branches are {}", open.join(", ")),
        ),
    })
}
