//! The possible moves at a position. The engine accepts exactly these moves and situations offer exactly these, so that
//! the two cannot differ.

use super::{Frame, Place, WaitingFor};
use crate::graph::{FailureHandling, Kind, Workflow};
use crate::value::{CANCELLED, NodeId, Outcome};

/// A move that would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Leave the start node.
    Begin,
    /// Report an outcome of the work.
    Report(Outcome),
    /// Relay or give a person's answer.
    Answer(Outcome),
}

impl Move {
    /// Returns the outcome that it reports or answers.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Move::Begin => None,
            Move::Report(outcome) | Move::Answer(outcome) => Some(outcome),
        }
    }
}

/// Returns the moves at a frame, the one for success first. Empty while the run waits for something else, and if it is
/// over.
pub fn moves(workflow: &Workflow, frame: &Frame) -> Vec<Move> {
    match &frame.place {
        Place::Ready { node } => {
            let step = workflow.flow(&frame.flow).step(node);
            match step.node.kind {
                Kind::Start => vec![Move::Begin],
                // Work in an activity cannot be reported as failed: it is done, or skipped if that is allowed.
                _ => {
                    let outcomes = step.exits.outcomes();
                    let may_fail = step.node.seat.is_none();
                    outcomes.filter(|outcome| may_fail || !outcome.is_failed()).map(Move::Report).collect()
                }
            }
        }
        // Reporting the same outcome again resumes checks that a crash interrupted.
        Place::Checking { outcome, .. } => vec![Move::Report(outcome.clone())],
        Place::Waiting { on: WaitingFor::Raised | WaitingFor::Unchecked, .. } => {
            let options = frame.raised.iter().flat_map(|raised| &raised.options);
            options.cloned().map(Move::Answer).collect()
        }
        Place::Waiting { node, on, .. } => answers(workflow, frame, node, *on),
        Place::Passing { .. }
        | Place::Calling { .. }
        | Place::Each { .. }
        | Place::Conversing { .. }
        | Place::Looping { .. }
        | Place::Forked { .. }
        | Place::Gathering { .. }
        | Place::Within { .. }
        | Place::Arrived { .. }
        | Place::Ended { .. } => Vec::new(),
    }
}

fn answers(workflow: &Workflow, frame: &Frame, node: &NodeId, on: WaitingFor) -> Vec<Move> {
    let step = workflow.flow(&frame.flow).step(node);
    if let (WaitingFor::Answer, Kind::Checkpoint { question: Some(question), .. }) = (on, &step.node.kind) {
        return question.options.iter().map(|option| Move::Answer(option.id.clone())).collect();
    }
    let mut answers: Vec<Outcome> = match on {
        WaitingFor::Answer => {
            let declared = step.exits.on.iter().map(|(outcome, _)| outcome.clone());
            let failed = match &step.exits.failing {
                FailureHandling::Leads(_)
                | FailureHandling::Caught(_)
                | FailureHandling::Retries { exhausted: Some(_), .. } => Some(Outcome::failed()),
                FailureHandling::Retries { exhausted: None, .. } | FailureHandling::Ends | FailureHandling::Stays => {
                    None
                }
            };
            declared.chain(failed).collect()
        }
        WaitingFor::Budget | WaitingFor::Progress | WaitingFor::Raised | WaitingFor::Unchecked => {
            vec![Outcome::passed(), Outcome::failed()]
        }
    };
    answers.retain(|answer| answer.as_str() != CANCELLED);
    answers.push(CANCELLED.into());
    answers.into_iter().map(Move::Answer).collect()
}
