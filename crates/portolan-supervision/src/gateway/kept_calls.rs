//! Calls that are kept whole, where a rule of the project says so. The event log holds no values; a file for each such
//! call, in the user's data folder, has its arguments and its result. What looks like a secret is masked.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use portolan_core::value::Timestamp;
use portolan_gates::plugins::RecordRule;
use portolan_runtime::digest::Digest;
use portolan_runtime::disk;
use portolan_runtime::error::ServiceError;
use portolan_runtime::service::Service;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{filters, place_of};

/// The largest file that is read, in bytes: two texts of the largest size, escaped.
const MAX_FILE: u64 = 8 * RecordRule::MOST_BYTES as u64;
const MS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;
/// How often a process removes the calls whose time is over, in milliseconds.
const SWEEP_EVERY: i64 = 60 * 60 * 1_000;
/// The time in the name of a file that is kept until somebody removes it.
const FOR_EVER: i64 = 9_999_999_999_999;

/// The calls of a project that are kept whole.
#[derive(Clone, Debug)]
pub struct KeptCalls {
    folder: PathBuf,
    /// When files whose time is over were last removed.
    swept: Arc<AtomicI64>,
}

/// A call that is kept whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCall {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments as JSON, cut if they are too long.
    pub arguments: String,
    /// What the server returned, before the filters of results, as JSON, cut if it is too long. `None` if it did not
    /// answer.
    pub result: Option<String>,
}

/// The place of a call that is being made.
#[derive(Clone, Debug)]
pub(super) struct KeptPlace {
    path: PathBuf,
    max_bytes: usize,
    call: KeptCall,
}

impl KeptCall {
    /// Returns a call that has no result yet.
    pub(super) fn of(server: &str, tool: &str, arguments: &Value) -> KeptCall {
        let (server, tool, arguments) = (server.to_owned(), tool.to_owned(), masked(arguments).to_string());
        KeptCall { server, tool, arguments, result: None }
    }
}

impl KeptCalls {
    /// Returns the calls of the project of a service.
    ///
    /// # Errors
    /// The user's data folder is not safe, or inside the project.
    pub fn of(service: &Service) -> Result<KeptCalls, ServiceError> {
        Ok(KeptCalls { swept: Arc::default(), folder: place_of(service, "portolan kept calls 1", "-whole")? })
    }

    /// Keeps a call before it is made, and removes those whose time is over.
    pub(super) fn begin(&self, id: &str, rule: &RecordRule, call: KeptCall, now: Timestamp) -> io::Result<KeptPlace> {
        let until = rule.keep_days.map_or(FOR_EVER, |days| now.0.saturating_add(i64::from(days) * MS_PER_DAY));
        disk::private_folder(&self.folder)?;
        if now.0.saturating_sub(self.swept.swap(now.0, Ordering::Relaxed)) >= SWEEP_EVERY {
            self.sweep(now)?;
        }
        let path = self.folder.join(format!("{until:013}-{id}.json"));
        let call = KeptCall { arguments: cut(call.arguments, rule.max_bytes), ..call };
        let place = KeptPlace { path, max_bytes: rule.max_bytes, call };
        place.write()?;
        Ok(place)
    }

    /// Removes the calls whose time is over.
    fn sweep(&self, now: Timestamp) -> io::Result<()> {
        for (until, path) in self.files()?.into_values() {
            if until < now.0 {
                // Another process may have removed it.
                let _gone = fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Returns the calls by the identifiers that the log has.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> Result<KeptCallList, ServiceError> {
        let files = self.files().map_err(|error| {
            let message =
                format!("`{}`, the calls that are kept whole, cannot be read: {error}", self.folder.display());
            ServiceError::failed("unreadable", message, "make the folder readable")
        })?;
        Ok(KeptCallList(files))
    }

    /// Returns the files by the identifiers of their calls, with the time until which each is kept.
    fn files(&self) -> io::Result<BTreeMap<String, (i64, PathBuf)>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        let files = entries.flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (until, id) = name.strip_suffix(".json")?.split_once('-')?;
            Some((id.to_owned(), (until.parse().ok()?, entry.path())))
        });
        Ok(files.collect())
    }
}

/// The calls that are kept whole, by the identifiers that the log has.
pub struct KeptCallList(BTreeMap<String, (i64, PathBuf)>);

impl KeptCallList {
    /// Returns a call. `None` if it is not kept, or no longer.
    ///
    /// `recorded` is the digest that the log has of it, if the call was answered.
    ///
    /// # Errors
    /// It was changed since it was recorded, or cannot be read.
    pub fn find(&self, id: &str, recorded: Option<&str>) -> Result<Option<KeptCall>, ServiceError> {
        let Some((_, path)) = self.0.get(id) else { return Ok(None) };
        let failed = |what: String| {
            let message = format!("`{}`, the record of a call, {what}", path.display());
            ServiceError::failed("record_damaged", message, "the digests of the log still identify the call")
        };
        let text = match disk::bytes(path, MAX_FILE) {
            Ok(text) => text.ok_or_else(|| failed("is too large".to_owned()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(format!("cannot be read: {error}"))),
        };
        if recorded.is_some_and(|digest| Digest::of(&text).as_str() != digest) {
            return Err(failed("was changed since the call".to_owned()));
        }
        let call = serde_json::from_slice(&text).map_err(|error| failed(format!("is not valid: {error}")))?;
        Ok(Some(call))
    }
}

impl KeptPlace {
    /// Adds the result of the call, with its secrets masked. Returns the digest of its file, for the log. The file is not
    /// read again: whoever changed it meanwhile would have the change recorded.
    pub(super) fn finish(mut self, masked: &Value) -> io::Result<Digest> {
        self.call.result = Some(cut(masked.to_string(), self.max_bytes));
        self.write()
    }

    fn write(&self) -> io::Result<Digest> {
        let text = serde_json::to_vec(&self.call).expect("a call is JSON");
        disk::Fresh::beside(&self.path, &text)?.replace(&self.path)?;
        Ok(Digest::of(&text))
    }
}

/// Returns arguments or a result with everything masked that looks like a secret.
pub(super) fn masked(value: &Value) -> Value {
    let mut value = value.clone();
    filters::mask(&mut value);
    value
}

fn cut(mut text: String, mut most: usize) -> String {
    filters::cut_text(&mut text, &mut most);
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_kept_for_the_days_of_its_rule() {
        let folder = tempfile::tempdir().expect("a folder");
        let process = || KeptCalls { folder: folder.path().join("calls"), swept: Arc::default() };
        let rule = |keep_days| RecordRule { id: "r".to_owned(), tools: Vec::new(), max_bytes: 100, keep_days };
        let call = || KeptCall::of("db", "pay", &json!({ "amount": 7 }));
        let day = |day: i64| Timestamp(day * MS_PER_DAY);
        let calls = process();
        let ids = || calls.files().expect("a folder").into_keys().collect::<Vec<_>>();
        let place = calls.begin("short", &rule(Some(1)), call(), day(20_000)).expect("kept");
        calls.begin("long", &rule(Some(30)), call(), day(20_000)).expect("kept");
        calls.begin("ever", &rule(None), call(), day(20_000)).expect("kept");
        // What somebody writes there during the call does not become its record.
        fs::write(&place.path, "changed").expect("written");
        place.finish(&json!({ "content": [] })).expect("kept");
        let found = calls.list().expect("a folder").find("short", None).expect("it can be read").expect("it is kept");
        assert_eq!((found.arguments.as_str(), found.result.as_deref()), (r#"{"amount":7}"#, Some(r#"{"content":[]}"#)));

        process().begin("next", &rule(None), call(), day(20_001)).expect("kept");
        assert_eq!(ids(), ["ever", "long", "next", "short"], "its day is not over");
        calls.begin("later", &rule(None), call(), day(20_002)).expect("kept");
        assert_eq!(ids(), ["ever", "later", "long", "next"]);
        calls.begin("last", &rule(None), call(), day(20_040)).expect("kept");
        assert_eq!(ids(), ["ever", "last", "later", "next"]);
    }
}
