//! The part of an event log line that decisions depend on.

use serde_json::Value;

use portolan_core::value::Timestamp;

/// A line of the event log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogLine<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its type.
    pub kind: &'a str,
    /// When it was written.
    pub at: Timestamp,
    /// The task that it concerns.
    pub task: Option<&'a str>,
    /// The run that it concerns.
    pub run: Option<&'a str>,
    /// Its data.
    pub data: &'a Value,
}

impl<'a> LogLine<'a> {
    /// Returns a string field of its data.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.data.get(name).and_then(Value::as_str)
    }

    /// Returns a whole-number field of its data.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.data.get(name).and_then(Value::as_u64)
    }
}
