//! Why an event is refused. A refusal changes nothing; the face that reports it adds the present situation.

use std::fmt;

use crate::value::Outcome;

/// A refused event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Which rule refused it.
    pub why: RejectionReason,
    /// What was wrong, in one lower-case sentence.
    pub message: String,
    /// What to do instead.
    pub help: String,
    /// The outcomes that would be accepted at this position.
    pub accepted: Vec<Outcome>,
    /// What lifts it, where that is done with a tool or a command: whoever reports it knows which.
    pub remedy: Option<Remedy>,
}

/// What is to be done with a tool or a command before an event is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The run begins.
    Begin,
    /// The person answers themselves.
    PersonAnswers,
    /// The person gives the values with their answer.
    PersonGives,
}

/// The rules that refuse. Each has a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// The caller knows an older situation than the present one.
    Stale,
    /// The run has not begun.
    NotBegun,
    /// The run, or the branch, is over.
    Over,
    /// The outcome is none that this node has.
    UndeclaredOutcome,
    /// A person must answer, and the agent's word does not count.
    NeedsPerson,
    /// The checks of this node are being performed.
    Checking,
    /// The branches of a fork are under way, and the call names none of them.
    BranchesOpen,
    /// No such branch is under way.
    UnknownBranch,
    /// No such step can be begun at.
    UnknownStep,
    /// The input is not what the workflow takes.
    BadInput,
    /// What the work is said to have given values are no variables, or no values of theirs.
    BadOutputs,
    /// A variable may not be given a value at this node.
    FieldOutOfPhase,
    /// The rule cannot be got past like this.
    BadBypass,
    /// The event does not fit the state of the run.
    OutOfPlace,
}

impl RejectionReason {
    /// The code, as programs match on it.
    pub fn code(self) -> &'static str {
        match self {
            RejectionReason::Stale => "stale",
            RejectionReason::NotBegun => "not_begun",
            RejectionReason::Over => "no_outgoing_edges",
            RejectionReason::UndeclaredOutcome => "no_matching_edge",
            RejectionReason::NeedsPerson => "needs_person",
            RejectionReason::Checking => "checking",
            RejectionReason::BranchesOpen => "branches_open",
            RejectionReason::UnknownBranch => "unknown_branch",
            RejectionReason::UnknownStep => "unknown_step",
            RejectionReason::BadInput => "bad_input",
            RejectionReason::BadOutputs => "bad_outputs",
            RejectionReason::FieldOutOfPhase => "out_of_phase",
            RejectionReason::BadBypass => "bad_bypass",
            RejectionReason::OutOfPlace => "out_of_place",
        }
    }
}

impl Rejection {
    pub(super) fn new(why: RejectionReason, message: impl Into<String>, help: impl Into<String>) -> Rejection {
        Rejection { why, message: message.into(), help: help.into(), accepted: Vec::new(), remedy: None }
    }

    pub(super) fn lifted_by(mut self, remedy: Remedy) -> Rejection {
        self.remedy = Some(remedy);
        self
    }

    pub(super) fn accepting(mut self, accepted: Vec<Outcome>) -> Rejection {
        self.accepted = accepted;
        self
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for Rejection {}
