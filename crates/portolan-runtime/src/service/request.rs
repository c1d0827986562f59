//! What a call is about, and what it does: one shape for every face, whatever its callers hold of their runs.

use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::run::Raised;
use portolan_core::value::Outcome;
use serde_json::Value;

use super::hold::Held;
use super::{Caller, Service};
use crate::carrier::Address;
use crate::error::ServiceError;
use crate::store::RunId;
use crate::view::View;

/// What a call is about: a run, and what its caller knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The run.
    pub address: Address,
    /// Which position, where there are several: as situations name it. A `state` leads to one position.
    pub branch: Option<String>,
    /// Whether the position is meant at which a person is asked.
    pub asked: bool,
    /// The revision that the caller knows the position by. A report about a run in the store requires it; a `state` has it.
    pub revision: Option<u64>,
    /// The workflow that the caller believes to be in, where it says so.
    pub workflow: Option<String>,
    /// What the agent says that it is able to do, this once.
    pub effectivities: Option<Vec<String>>,
    /// How to go on where the definition is not the one that the run of a token began with.
    pub definition: Option<DefinitionChange>,
}

/// How to go on with a run whose definition has changed since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionChange {
    /// With the definition as it was, as without a word.
    Pinned,
    /// With the definition as it is, which only a person may decide.
    Migrate,
}

/// What a caller does.
#[derive(Clone, Debug)]
pub enum Act {
    /// The start is left. On a run that has begun it changes nothing.
    Begin,
    /// An outcome is reported, or a question answered, at the position that the request names.
    Report(Report),
    /// The step that an agent is led to came to an outcome.
    Complete {
        /// The step, as the situation names it.
        step: String,
        /// What it came to.
        report: Report,
    },
    /// The question that an agent is led to is answered.
    Answer {
        /// The question, as the situation names it.
        checkpoint: String,
        /// The option; nothing where the person themselves is to be asked.
        option: Option<Outcome>,
        /// What the person said besides.
        note: Option<String>,
        /// Values of variables that were in the way: an object.
        outputs: Option<Arc<Value>>,
    },
    /// Something is asked that the workflow does not ask.
    Raise(Raised),
    /// The run is ended early.
    End {
        /// Why.
        reason: String,
    },
}

/// What somebody says of a position.
#[derive(Clone, Debug)]
pub struct Report {
    /// The outcome that is reported or answered.
    pub outcome: Outcome,
    /// What the caller says of it.
    pub note: Option<String>,
    /// The variables that the work has given values: an object.
    pub outputs: Option<Arc<Value>>,
}

impl Report {
    /// Nothing but an outcome.
    pub fn of(outcome: impl Into<Outcome>) -> Report {
        Report { outcome: outcome.into(), note: None, outputs: None }
    }
}

impl Request {
    /// About a run as it is now.
    pub fn of(address: Address) -> Request {
        let (branch, revision, workflow) = (None, None, None);
        Request { address, branch, asked: false, revision, workflow, effectivities: None, definition: None }
    }

    /// About the position that a view shows, as it shows it.
    pub fn at(view: &View) -> Request {
        let position = &view.situation.position;
        let (branch, revision) = (position.branch.clone(), Some(position.revision));
        Request { branch, revision, ..Request::of(view.address.clone()) }
    }

    /// About the run of an agent, by what it holds of it.
    pub fn led(state: impl Into<String>) -> Request {
        Request::of(Address::State(state.into()))
    }

    pub(super) fn within_bounds(&self) -> Result<(), ServiceError> {
        within_bounds(self.effectivities.as_deref())
    }
}

impl Service {
    /// The address of a run that a call names by its handle or by its task file.
    ///
    /// # Errors
    /// It names neither, or both, or something that is no handle.
    pub fn address(run: Option<&str>, task_file: Option<&str>) -> Result<Address, ServiceError> {
        match (run, task_file) {
            (None, Some(path)) => Ok(Address::Task(path.to_owned())),
            (Some(run), None) => RunId::parse(run).map(Address::Stored).ok_or_else(|| {
                ServiceError::refused(
                    "unknown_run",
                    format!("`{}` is no run handle", clip(run)),
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
                "`run` and `taskFilePath` name two runs",
                "leave one of them out",
            )),
        }
    }

    /// Takes hold of the run that a call is about.
    ///
    /// # Errors
    /// It is not known; or what an agent holds is of none, of one of another workflow, or of one whose definition has
    /// changed.
    pub(super) async fn grip(&self, request: &Request, caller: &Caller) -> Result<RunAddress, ServiceError> {
        match &request.address {
            Address::State(state) => self.grip_state(state, request, caller).await,
            address => Ok(RunAddress::of(self.hold(address).await?, request.revision)),
        }
    }
}

/// A run, by what its caller holds of it.
pub(super) struct RunAddress {
    pub(super) held: Held,
    /// The revision at which the caller knows it.
    pub(super) known: Option<u64>,
    /// Whether an agent is led through it, one position at a time.
    pub(super) is_led: bool,
    /// Whether the caller is given a token.
    pub(super) as_token: bool,
    /// What the agent says that it is able to do.
    pub(super) effectivities: Option<Vec<String>>,
}

/// How many capabilities an agent may have, and how long the name of one may be, in bytes.
const MAX_EFFECTIVITIES: (usize, usize) = (64, 200);

pub(super) fn within_bounds(effectivities: Option<&[String]>) -> Result<(), ServiceError> {
    let (most, longest) = MAX_EFFECTIVITIES;
    let names = effectivities.unwrap_or_default();
    if names.len() > most || names.iter().any(|name| name.len() > longest) {
        let message = format!("`effectivities` are at most {most} names of at most {longest} bytes");
        return Err(ServiceError::refused("too_large", message, "name only what steps may need"));
    }
    Ok(())
}

impl RunAddress {
    /// A run that is named by its address.
    pub(super) fn of(held: Held, known: Option<u64>) -> RunAddress {
        RunAddress { held, known, is_led: false, as_token: false, effectivities: None }
    }

    /// A run that its agent is led through.
    pub(super) fn led(held: Held, known: Option<u64>, as_token: bool, request: &Request) -> RunAddress {
        RunAddress { held, known, is_led: true, as_token, effectivities: request.effectivities.clone() }
    }
}
