//! The history of a run's nodes in mcpGraph's format, with hidden values masked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::present::{Redaction, function_word, way};
use portolan_runtime::clock::{Clock, rfc3339};
use portolan_runtime::drive::{Began, ExecutionObserver, NodeEnd};
use serde_json::{Map, Value, json};

/// The most nodes in a history. A longer run shows the last ones.
const MAX_ROWS: usize = 1_000;
/// The most lines of a log.
const MAX_LINES: usize = 2_000;
/// The largest value in a row, in bytes of JSON.
const MAX_SHOWN: usize = 64 << 10;
const MAX_ALL: usize = 4 << 20;

/// The history of a run. Clones share their state.
#[derive(Clone)]
pub(super) struct History(Arc<SharedHistory>);

struct SharedHistory {
    hidden: Redaction,
    logging: bool,
    entry: Mutex<HistoryEntry>,
}

#[derive(Default)]
struct HistoryEntry {
    rows: VecDeque<Value>,
    dropped: u64,
    shown: usize,
    lines: VecDeque<Value>,
}

impl History {
    pub(super) fn new(hidden: Redaction, logging: bool) -> History {
        History(Arc::new(SharedHistory { hidden, logging, entry: Mutex::default() }))
    }

    pub(super) fn watch(&self) -> ExecutionObserver {
        let (begins, ends) = (self.clone(), self.clone());
        ExecutionObserver::new(move |began| begins.began(began), move |ended| ends.ended(ended))
    }

    /// Takes the members of an answer with the history.
    pub(super) fn take_members(&self) -> Map<String, Value> {
        let entry = std::mem::take(&mut *self.lock());
        let mut members = Map::new();
        members.insert("executionHistory".to_owned(), Value::Array(entry.rows.into()));
        if entry.dropped > 0 {
            members.insert("executionsLeftOut".to_owned(), json!(entry.dropped));
        }
        if self.0.logging {
            members.insert("logging".to_owned(), Value::Array(entry.lines.into()));
        }
        members
    }

    fn lock(&self) -> MutexGuard<'_, HistoryEntry> {
        self.0.entry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn began(&self, began: &Began<'_>) {
        if self.0.logging {
            let arguments = began.arguments.map(|value| self.0.hidden.value(value));
            let text = format!("{} ({}) begins", way(began.path, began.node), began.kind);
            self.line("debug", &text, arguments);
        }
    }

    fn ended(&self, ended: &NodeEnd<'_>) {
        let hidden = &self.0.hidden;
        let took = i64::try_from(ended.took.as_millis()).unwrap_or(i64::MAX);
        let node = way(ended.path, &ended.node.id);
        let mut row = json!({
            "executionIndex": ended.index,
            "nodeId": node,
            "nodeType": function_word(&ended.node.kind),
            "startTime": ended.at.0.saturating_sub(took),
            "endTime": ended.at.0,
            "duration": took,
        });
        let fault = ended.fault.map(|fault| hidden.fault(fault));
        let mut entry = self.lock();
        if let Some(input) = ended.input {
            row["input"] = entry.shown(hidden.value(input));
        }
        row["output"] = entry.shown(ended.output.map_or(Value::Null, |output| hidden.value(output)));
        if let Some(fault) = &fault {
            row["error"] = json!({ "code": fault.code, "message": fault.message, "detail": fault.detail });
        }
        entry.rows.push_back(row);
        if entry.rows.len() > MAX_ROWS {
            entry.rows.pop_front();
            entry.dropped += 1;
        }
        drop(entry);
        if self.0.logging {
            match fault {
                Some(fault) => self.line("error", &format!("{node} failed: {}", fault.message), None),
                None => self.line("info", &format!("{node} is done after {took} ms"), None),
            }
        }
    }

    fn line(&self, level: &str, message: &str, arguments: Option<Value>) {
        let mut line = json!({ "level": level, "message": message, "timestamp": rfc3339(Clock::default().now()) });
        let mut entry = self.lock();
        if let Some(arguments) = arguments {
            line["args"] = json!([entry.shown(arguments)]);
        }
        entry.lines.push_back(line);
        if entry.lines.len() > MAX_LINES {
            entry.lines.pop_front();
        }
    }
}

impl HistoryEntry {
    /// Returns a value, or a placeholder if it would make the answer too long.
    fn shown(&mut self, value: Value) -> Value {
        let bytes = value.to_string().len();
        if bytes > MAX_SHOWN || self.shown + bytes > MAX_ALL {
            return json!(format!("[left out: {bytes} bytes]"));
        }
        self.shown += bytes;
        value
    }
}
