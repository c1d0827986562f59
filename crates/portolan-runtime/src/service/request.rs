//! Requests about a run and the actions on it: one form for every face and every carrier.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::run::RaisedQuestion;
use portolan_core::value::Outcome;
use serde_json::Value;

use super::hold::HeldRun;
use super::{Caller, Service};
use crate::carrier::Address;
use crate::error::ServiceError;
use crate::store::RunId;
use crate::view::View;

/// A request: a run, and what its caller knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The run.
    pub address: Address,
    /// The position as situations name it, if there are several. A `state` leads to one position.
    pub branch: Option<String>,
    /// Whether the request means the position at which a person is asked.
    pub asked: bool,
    /// The revision of the position that the caller knows. A report about a run in the store requires it. A `state` has
    /// it.
    pub revision: Option<u64>,
    /// The workflow that the caller expects, if it names one.
    pub workflow: Option<String>,
    /// The capabilities that the agent declares for this request.
    pub effectivities: Option<Vec<String>>,
    /// Which definition to use if the definition of a token's run has changed.
    pub definition: Option<DefinitionChange>,
}

/// How to continue a run whose definition has changed since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionChange {
    /// With the original definition, which is the default.
    Pinned,
    /// With the current definition, which only a person may decide.
    Migrate,
}

/// An action of a caller.
#[derive(Clone, Debug)]
pub enum Act {
    /// Leaves the start. It changes nothing in a run that has begun.
    Begin,
    /// Reports an outcome or answers a question at the position that the request names.
    Report(Report),
    /// Completes the navigating agent's step with an outcome.
    Complete {
        /// The step, as the situation names it.
        step: String,
        /// The report.
        report: Report,
    },
    /// Answers the navigating agent's question.
    Answer {
        /// The question, as the situation names it.
        checkpoint: String,
        /// The option. `None` if the person themselves must be asked.
        option: Option<Outcome>,
        /// The person's note.
        note: Option<String>,
        /// New values for variables that were in the way: an object.
        outputs: Option<Arc<Value>>,
    },
    /// Raises a question that the workflow does not ask.
    Raise(RaisedQuestion),
    /// Ends the run early.
    End {
        /// The reason.
        reason: String,
    },
}

/// A report about a position.
#[derive(Clone, Debug)]
pub struct Report {
    /// The reported outcome or the answer.
    pub outcome: Outcome,
    /// The caller's note.
    pub note: Option<String>,
    /// The values that the work has set for variables: an object.
    pub outputs: Option<Arc<Value>>,
}

impl Report {
    /// Returns a report of an outcome alone.
    pub fn of(outcome: impl Into<Outcome>) -> Report {
        Report { outcome: outcome.into(), note: None, outputs: None }
    }
}

impl Request {
    /// Returns a request about a run as it is now.
    pub fn of(address: Address) -> Request {
        let (branch, revision, workflow) = (None, None, None);
        Request { address, branch, asked: false, revision, workflow, effectivities: None, definition: None }
    }

    /// Returns a request about the position in a view, at its revision.
    pub fn at(view: &View) -> Request {
        let position = &view.situation.position;
        let (branch, revision) = (position.branch.clone(), Some(position.revision));
        Request { branch, revision, ..Request::of(view.address.clone()) }
    }

    /// Returns a request about an agent's run, by its state.
    pub fn led(state: impl Into<String>) -> Request {
        Request::of(Address::State(state.into()))
    }

    pub(super) fn within_bounds(&self) -> Result<(), ServiceError> {
        within_bounds(self.effectivities.as_deref())
    }
}

impl Service {
    /// Returns the address of a run that a call names by its handle or by its task file.
    ///
    /// # Errors
    /// The call names neither or both, or something that is no handle.
    pub fn address(run: Option<&str>, task_file: Option<&str>) -> Result<Address, ServiceError> {
        match (run, task_file) {
            (None, Some(path)) => Ok(Address::Task(path.to_owned())),
            (Some(run), None) => RunId::parse(run).map(Address::Stored).ok_or_else(|| {
                ServiceError::refused(
                    "unknown_run",
                    format!("`{}` is not a run handle", clip(run)),
                    "copy the handle from the answer of Init",
                )
            }),
            (None, None) => Err(ServiceError::refused(
                "task_required",
                "`taskFilePath` is missing",
                "name the task file, or a run in the store by its handle as `run`",
            )),
            (Some(_), Some(_)) => Err(ServiceError::refused(
                "ambiguous_run",
                "`run` and `taskFilePath` both name a run",
                "leave one of them out",
            )),
        }
    }

    /// Holds the run of a request.
    ///
    /// # Errors
    /// The run is unknown. Or the agent's state is of no run, of a run of another workflow, or of one whose definition
    /// has changed.
    pub(super) async fn grip(&self, request: &Request, caller: &Caller) -> Result<RunAddress, ServiceError> {
        match &request.address {
            Address::State(state) => self.grip_state(state, request, caller).await,
            address => Ok(RunAddress::of(self.hold(address).await?, request.revision)),
        }
    }
}

/// A held run, and what its caller knows of it.
pub(super) struct RunAddress {
    pub(super) held: HeldRun,
    /// The revision that the caller knows.
    pub(super) known: Option<u64>,
    /// Whether an agent navigates the run, one position at a time.
    pub(super) is_led: bool,
    /// Whether the caller receives a token.
    pub(super) as_token: bool,
    /// The capabilities that the agent declares.
    pub(super) effectivities: Option<Vec<String>>,
}

/// The maximum number of capabilities of an agent, and the maximum length of a name in bytes.
const MAX_EFFECTIVITIES: (usize, usize) = (64, 200);

pub(super) fn within_bounds(effectivities: Option<&[String]>) -> Result<(), ServiceError> {
    let (most, longest) = MAX_EFFECTIVITIES;
    let names = effectivities.unwrap_or_default();
    if names.len() > most || names.iter().any(|name| name.len() > longest) {
        let message = format!("`effectivities` can have at most {most} names of at most {longest} bytes each");
        return Err(ServiceError::refused("too_large", message, "name only what steps may need"));
    }
    Ok(())
}

impl RunAddress {
    /// Returns a run that is named by its address.
    pub(super) fn of(held: HeldRun, known: Option<u64>) -> RunAddress {
        RunAddress { held, known, is_led: false, as_token: false, effectivities: None }
    }

    /// Returns a run that an agent navigates.
    pub(super) fn led(held: HeldRun, known: Option<u64>, as_token: bool, request: &Request) -> RunAddress {
        RunAddress { held, known, is_led: true, as_token, effectivities: request.effectivities.clone() }
    }
}
