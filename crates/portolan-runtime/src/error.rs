//! Why a call failed: one shape for every cause, so that every face reports it alike.

use std::fmt;
use std::io;

use portolan_core::engine::{Rejection, Remedy};

use crate::view::View;

/// A call that did not do what was asked.
#[derive(Clone, Debug)]
pub struct ServiceError {
    /// What sort of failure it is.
    pub kind: ErrorKind,
    /// A stable word for programs.
    pub code: &'static str,
    /// What is wrong, in one lower-case sentence.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Where the run is, where there is one.
    pub view: Option<Box<View>>,
    /// The outcomes that would be accepted, where one was refused.
    pub accepted: Vec<String>,
}

/// The sorts of failure, by who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller asked for what is not allowed now. Nothing has changed.
    Refused,
    /// A definition has faults.
    InvalidDefinition,
    /// A person must act first.
    NeedsPerson,
    /// The world failed: a file, the disk, the store.
    Failed,
}

impl ServiceError {
    /// A refusal.
    pub fn refused(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> ServiceError {
        ServiceError::of(ErrorKind::Refused, code, message, help)
    }

    /// A failure of the world.
    pub fn failed(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> ServiceError {
        ServiceError::of(ErrorKind::Failed, code, message, help)
    }

    /// An error of any kind.
    pub fn of(
        kind: ErrorKind,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ServiceError {
        ServiceError { kind, code, message: message.into(), help: help.into(), view: None, accepted: Vec::new() }
    }

    /// The same, with where the run is.
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

/// How a person answers where an agent's word does not count.
pub(crate) const PERSON_ANSWERS: &str =
    "stop and let the person answer: in the client's own dialog, or with `portolan runs answer`";

/// What lifts a refusal, by the tools and commands that there are.
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

/// The operating system's own words, without Rust's number for them.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
