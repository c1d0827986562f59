//! A line of the event log, as far as decisions go by it.

use serde_json::Value;

use portolan_core::value::Timestamp;

/// A line of the event log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogLine<'a> {
    /// Its name.
    pub id: &'a str,
    /// Its type.
    pub kind: &'a str,
    /// When it was written.
    pub at: Timestamp,
    /// The task that it is about.
    pub task: Option<&'a str>,
    /// The run that it is about.
    pub run: Option<&'a str>,
    /// What it says.
    pub data: &'a Value,
}

impl<'a> LogLine<'a> {
    /// A text of what it says.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.data.get(name).and_then(Value::as_str)
    }

    /// A whole number of what it says.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.data.get(name).and_then(Value::as_u64)
    }
}
