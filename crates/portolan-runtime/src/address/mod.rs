//! How calls name a run.

mod id;

use std::fmt;

pub use id::RunId;

/// How a call names a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// By its handle.
    Stored(RunId),
    /// By its task file, as the caller wrote the path.
    Task(String),
    /// By the `state` that an agent holds which is led through it: a handle with the revision at which the agent knows the
    /// run, or a token.
    State(String),
}

impl Address {
    /// What a person typed: a handle, or else the path of a task file.
    pub fn parse(text: &str) -> Address {
        // What agents hold of a run: its handle, and the revision at which they know it.
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let handle = text.split_once('.').filter(|(_, revision)| is_number(revision)).map_or(text, |(id, _)| id);
        match RunId::parse(handle) {
            Some(id) => Address::Stored(id),
            None => Address::Task(text.to_owned()),
        }
    }
}

impl Address {
    /// The handle of a run that is named by it.
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
