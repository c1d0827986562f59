//! A line: how it is written, always with the same keys in the same order, and how it is read.

use chrono::{DateTime, SecondsFormat};
use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::kinds::Kind;
use super::secrets;
use crate::digest::Digest;

/// The longest line, with its end.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// The version of the format.
const VERSION: u64 = 1;
/// The longest phase, task or run; theirs are names, and a longer one is cut.
const MAX_NAME_CHARS: usize = 200;

/// Something to put on record.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// What it is.
    pub kind: Kind,
    /// The phase that the run was in.
    pub phase: Option<String>,
    /// The task that was worked on.
    pub task: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// More of it, as its [`Kind`] says: an object. Texts in it that look like keys and passwords are masked.
    pub data: Value,
}

impl LogEntry {
    /// An entry that belongs to no run.
    pub fn of(kind: Kind, data: Value) -> LogEntry {
        LogEntry { kind, phase: None, task: None, run: None, data }
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its number; the first of a project has 1, and no number is left out.
    pub seq: u64,
    /// Its name: made of its content, so that the same things put on record at the same times have the same names.
    pub id: String,
    /// Its type, by name: a log may be newer than who reads it.
    pub kind: String,
    /// When it was written.
    pub at: Timestamp,
    /// The phase that the run was in.
    pub phase: Option<String>,
    /// The task that was worked on.
    pub task: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// More of it, as its [`Kind`] says.
    pub data: Value,
    /// The digest of the line before; nothing in the first one.
    pub prev: Option<Digest>,
    /// Its exact text, without its end.
    pub text: String,
}

/// A line as it stands in the file; the order of the fields is that of the keys.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineFields {
    v: u64,
    seq: u64,
    id: String,
    r#type: String,
    at: String,
    phase: Option<String>,
    task_id: Option<String>,
    run_id: Option<String>,
    data: Value,
    prev: Option<Digest>,
}

/// The end of the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    /// The number of the last line; zero when there is none.
    pub(super) seq: u64,
    /// Its digest.
    pub(super) digest: Option<Digest>,
}

impl Link {
    /// The end that a line makes.
    pub(super) fn after(line: &Line) -> Link {
        Link { seq: line.seq, digest: Some(line.digest()) }
    }

    /// The line that tells of `entry`, next in the chain.
    pub(super) fn next(&self, entry: &LogEntry, at: Timestamp) -> Line {
        let line = self.holding(entry, at, secrets::redacted(&entry.data));
        if line.text.len() < MAX_LINE_BYTES {
            return line;
        }
        let whole = entry.data.to_string();
        let keys: Vec<&String> = entry.data.as_object().into_iter().flat_map(|data| data.keys()).take(100).collect();
        let keys = secrets::redacted(&json!(keys));
        let short = json!({ "cut": true, "bytes": whole.len(), "digest": Digest::of(&whole), "keys": keys });
        match self.holding(entry, at, short) {
            line if line.text.len() < MAX_LINE_BYTES => line,
            _ => self.holding(entry, at, json!({ "cut": true, "bytes": whole.len(), "digest": Digest::of(&whole) })),
        }
    }

    fn holding(&self, entry: &LogEntry, at: Timestamp, data: Value) -> Line {
        let name = |text: &Option<String>| {
            text.as_deref().map(|text| secrets::text(text).chars().take(MAX_NAME_CHARS).collect::<String>())
        };
        let mut written = LineFields {
            v: VERSION,
            seq: self.seq + 1,
            id: String::new(),
            r#type: entry.kind.name().to_owned(),
            at: iso(at),
            phase: name(&entry.phase),
            task_id: name(&entry.task),
            run_id: name(&entry.run),
            data,
            prev: self.digest.clone(),
        };
        written.id = name_of(&written);
        let text = text(&written);
        Line {
            seq: written.seq,
            id: written.id,
            kind: written.r#type,
            at,
            phase: written.phase,
            task: written.task_id,
            run: written.run_id,
            data: written.data,
            prev: written.prev,
            text,
        }
    }
}

/// What a line is called whose name is not written yet.
fn name_of(written: &LineFields) -> String {
    Digest::of(text(written)).as_str()[..20].to_owned()
}

fn text(written: &LineFields) -> String {
    serde_json::to_string(written).expect("texts, numbers and JSON are JSON")
}

impl Line {
    /// Reads a line, without its end.
    pub(super) fn parse(bytes: &[u8]) -> Option<Line> {
        let text = std::str::from_utf8(bytes).ok()?;
        let written: LineFields = serde_json::from_str(text).ok()?;
        let at = Timestamp(DateTime::parse_from_rfc3339(&written.at).ok()?.timestamp_millis());
        Some(Line {
            seq: written.seq,
            id: written.id,
            kind: written.r#type,
            at,
            phase: written.phase,
            task: written.task_id,
            run: written.run_id,
            data: written.data,
            prev: written.prev,
            text: text.to_owned(),
        })
    }

    /// Whether its text is what [`Log::append`](super::Log::append) makes of its content, and its name is made of it.
    pub(super) fn is_as_written(&self) -> bool {
        let Ok(mut written) = serde_json::from_str::<LineFields>(&self.text) else { return false };
        let is_same = text(&written) == self.text;
        let id = std::mem::take(&mut written.id);
        is_same && name_of(&written) == id
    }

    /// The digest of its exact text, which the line after it holds.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.text)
    }
}

/// A time in ISO 8601, in UTC, to the millisecond.
fn iso(at: Timestamp) -> String {
    let time = DateTime::from_timestamp_millis(at.0).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
