//! A line: its serialization, always with the same keys in the same order, and its parser.

use chrono::{DateTime, SecondsFormat};
use portolan_core::value::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::kinds::Kind;
use super::secrets;
use crate::digest::Digest;

/// The maximum length of a line in bytes, including its newline.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// The version of the format.
const VERSION: u64 = 1;
/// The maximum length of a phase, task or run name in characters. A longer one is cut.
const MAX_NAME_CHARS: usize = 200;

/// The `id` in the text of a line that has none yet.
const EMPTY_ID: &str = r#""id":"""#;

/// An entry to append.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// The type of the event.
    pub kind: Kind,
    /// The phase that the run was in.
    pub phase: Option<String>,
    /// The task that was worked on.
    pub task: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// An object with further fields, as its [`Kind`] documents. Texts in it that look like keys and passwords are
    /// masked.
    pub data: Value,
}

impl LogEntry {
    /// Makes an entry that belongs to no run.
    pub fn of(kind: Kind, data: Value) -> LogEntry {
        LogEntry { kind, phase: None, task: None, run: None, data }
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The sequence number. The first line of a project has 1, and numbers are consecutive.
    pub seq: u64,
    /// The ID, a digest of the content: the same entries appended at the same times have the same IDs.
    pub id: String,
    /// The name of its type. A log may be newer than its reader and have unknown types.
    pub kind: String,
    /// The time at which it was written.
    pub at: Timestamp,
    /// The phase that the run was in.
    pub phase: Option<String>,
    /// The task that was worked on.
    pub task: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// Further fields, as its [`Kind`] documents.
    pub data: Value,
    /// The digest of the preceding line, or `None` in the first one.
    pub prev: Option<Digest>,
    /// The exact text, without the newline.
    pub text: String,
}

/// The fields of a serialized line, in the order of the keys.
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
    /// The number of the last line, or zero if there is none.
    pub(super) seq: u64,
    /// The digest of the last line.
    pub(super) digest: Option<Digest>,
}

impl Link {
    /// Returns the end of the chain after a line.
    pub(super) fn after(line: &Line) -> Link {
        Link { seq: line.seq, digest: Some(line.digest()) }
    }

    /// Returns the line for `entry`, next in the chain. If it is too long, a digest replaces the data.
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
        let mut text = text(&written);
        written.id = name_of(&text);
        // Only numbers are before it.
        let id_at = text.find(EMPTY_ID).expect("it was written") + EMPTY_ID.len() - 1;
        text.insert_str(id_at, &written.id);
        written.line(at, text)
    }
}

impl LineFields {
    /// Returns the line with this text.
    fn line(self, at: Timestamp, text: String) -> Line {
        let LineFields { seq, id, r#type: kind, phase, task_id: task, run_id: run, data, prev, .. } = self;
        Line { seq, id, kind, at, phase, task, run, data, prev, text }
    }
}

/// Returns the ID of a line from its text with an empty `id`.
fn name_of(text: &str) -> String {
    Digest::of(text).as_str()[..20].to_owned()
}

fn text(written: &LineFields) -> String {
    serde_json::to_string(written).expect("texts, numbers and JSON are JSON")
}

impl Line {
    /// Parses a line without its newline.
    pub(super) fn parse(bytes: &[u8]) -> Option<Line> {
        let text = std::str::from_utf8(bytes).ok()?;
        let written: LineFields = serde_json::from_str(text).ok()?;
        let at = Timestamp(DateTime::parse_from_rfc3339(&written.at).ok()?.timestamp_millis());
        Some(written.line(at, text.to_owned()))
    }

    /// Checks whether the text is what [`Log::append`](super::Log::append) writes for its content, and whether the ID
    /// matches.
    pub(super) fn is_as_written(&self) -> bool {
        let Ok(mut written) = serde_json::from_str::<LineFields>(&self.text) else { return false };
        let is_same = text(&written) == self.text;
        let id = std::mem::take(&mut written.id);
        is_same && name_of(&text(&written)) == id
    }

    /// Returns the digest of the exact text, which the following line contains.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.text)
    }
}

/// Formats a time as ISO 8601, in UTC, with milliseconds.
fn iso(at: Timestamp) -> String {
    let time = DateTime::from_timestamp_millis(at.0).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
