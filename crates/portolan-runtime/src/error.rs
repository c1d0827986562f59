//! Errors of calls: one type for every cause, so that all interfaces report them alike.

use std::fmt;
use std::io;

use portolan_core::engine::{Rejection, Remedy};

use crate::view::View;

/// The error of a call.
#[derive(Clone, Debug)]
pub struct ServiceError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// A stable code for programs.
    pub code: &'static str,
    /// The error, in one lower-case sentence.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// The position of the run, if there is one.
    pub view: Option<Box<View>>,
    /// The outcomes that would be accepted, if one was refused.
    pub accepted: Vec<String>,
}

/// The kinds of error, by who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The call is not allowed now. Nothing has changed.
    Refused,
    /// A definition has faults.
    InvalidDefinition,
    /// A person must act first.
    NeedsPerson,
    /// The environment failed: a file, the disk, the store.
    Failed,
}

impl ServiceError {
    /// Creates a refusal.
    pub fn refused(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> ServiceError {
        ServiceError::of(ErrorKind::Refused, code, message, help)
    }

    /// Creates an error of the environment.
    pub fn failed(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> ServiceError {
        ServiceError::of(ErrorKind::Failed, code, message, help)
    }

    /// Creates an error of any kind.
    pub fn of(
        kind: ErrorKind,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ServiceError {
        ServiceError { kind, code, message: message.into(), help: help.into(), view: None, accepted: Vec::new() }
    }

    /// Adds the position of the run.
    #[must_use]
    pub fn at(mut self, view: View) -> ServiceError {
        self.view = Some(Box::new(view));
        self
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for ServiceError {}

/// How a person answers if an agent may not.
pub(crate) const PERSON_ANSWERS: &str =
    "stop and let the person answer: in the client's own dialog, or with `portolan runs answer`";

/// Returns what resolves a refusal, in terms of tools and commands.
fn lifted(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Begin => "call Start first",
        Remedy::PersonAnswers => PERSON_ANSWERS,
        Remedy::PersonGives => "answer without values; the person gives them with `portolan runs answer`",
    }
}

impl From<Rejection> for ServiceError {
    fn from(rejection: Rejection) -> ServiceError {
        let kind = match rejection.why {
            portolan_core::engine::RejectionReason::NeedsPerson => ErrorKind::NeedsPerson,
            _ => ErrorKind::Refused,
        };
        ServiceError {
            accepted: rejection.accepted.iter().map(ToString::to_string).collect(),
            ..ServiceError::of(
                kind,
                rejection.why.code(),
                rejection.message,
                rejection.remedy.map_or(rejection.help, |remedy| lifted(remedy).to_owned()),
            )
        }
    }
}

/// Returns the operating system's message, without the error number that Rust adds.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
