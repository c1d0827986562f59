//! How calls name a run.

mod id;

use std::fmt;

pub use id::RunId;

/// The name of a run in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The handle.
    Stored(RunId),
    /// The task file, as the caller wrote the path.
    Task(String),
    /// The `state` of an agent that is navigated through the run: a handle with the revision that the agent knows, or a
    /// token.
    State(String),
}

impl Address {
    /// Parses what a person typed: a handle, or else the path of a task file.
    pub fn parse(text: &str) -> Address {
        // A handle may be followed by the revision, as agents receive it.
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let handle = text.split_once('.').filter(|(_, revision)| is_number(revision)).map_or(text, |(id, _)| id);
        match RunId::parse(handle) {
            Some(id) => Address::Stored(id),
            None => Address::Task(text.to_owned()),
        }
    }
}

impl Address {
    /// Returns the handle, if the run is named by it.
    pub fn handle(&self) -> Option<&RunId> {
        match self {
            Address::Stored(id) => Some(id),
            Address::Task(_) | Address::State(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Stored(id) => id.fmt(f),
            Address::Task(text) | Address::State(text) => f.write_str(text),
        }
    }
}
