//! Why an event is refused. A rejection changes nothing; the face that reports it adds the present situation.

use std::fmt;

use crate::value::Outcome;

/// A refused event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The rule that refused it.
    pub why: RejectionReason,
    /// The problem, in one lower-case sentence.
    pub message: String,
    /// What to do instead.
    pub help: String,
    /// The outcomes that would be accepted at this position.
    pub accepted: Vec<Outcome>,
    /// What lifts it, if a tool or a command does. The face that reports it knows which.
    pub remedy: Option<Remedy>,
}

/// A tool or command that must come first before an event is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Begin the run.
    Begin,
    /// Let the person answer themselves.
    PersonAnswers,
    /// Let the person give the values with their answer.
    PersonGives,
}

/// The rules that refuse events. Each has a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// The caller quotes an older position than the present one.
    Stale,
    /// The run has not begun.
    NotBegun,
    /// The run, or the branch, is over.
    Over,
    /// The node does not have this outcome.
    UndeclaredOutcome,
    /// A person must answer; the agent's word is not accepted.
    NeedsPerson,
    /// The checks of this node are being performed.
    Checking,
    /// The branches of a fork are under way, and the call names none of them.
    BranchesOpen,
    /// No such branch is under way.
    UnknownBranch,
    /// The run cannot be opened at this step.
    UnknownStep,
    /// The input does not match what the workflow takes.
    BadInput,
    /// The values are not valid for variables of the step.
    BadOutputs,
    /// A variable must not be set at this node.
    FieldOutOfPhase,
    /// The rule cannot be bypassed in this way.
    BadBypass,
    /// The event does not fit the state of the run.
    OutOfPlace,
}

impl RejectionReason {
    /// Returns the code that programs match on.
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
