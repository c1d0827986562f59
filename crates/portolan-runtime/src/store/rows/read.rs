//! Reads the stored texts of a run.

use std::sync::Arc;

use portolan_core::run::{Change, Form, Frame, Opening, Run, Tallies};
use portolan_core::value::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::json;
use crate::store::seal::{Part, UnsealError};
use crate::store::{Digest, Keyring, Record, RunId, RunStatus, StoreError, Summary};

/// The reason why a stored text cannot be read.
#[derive(Debug)]
pub(in crate::store) enum Unread {
    /// The request is refused; the store is intact.
    Refused(StoreError),
    /// The stored data is not what was written.
    Garbled {
        /// The data, such as "record 3 of run `k3mx8q2p`".
        what: String,
        /// The fault.
        why: String,
    },
}

impl From<StoreError> for Unread {
    fn from(error: StoreError) -> Unread {
        Unread::Refused(error)
    }
}

impl Unread {
    /// Returns the error of a store. `place` names the store, and `copy` an earlier state of it, as in "a backup".
    pub(in crate::store) fn into_error(self, place: &str, copy: &str) -> StoreError {
        match self {
            Unread::Refused(error) => error,
            Unread::Garbled { what, why } => {
                StoreError::Corrupt(format!("{what} in {place} cannot be read ({why}): restore {copy}"))
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    revision: u64,
    #[serde(default)]
    executed: u64,
    #[serde(default)]
    tallies: Option<Box<Tallies>>,
    root: Frame,
}

/// Reads the texts of a run, sealed or not.
pub(in crate::store) struct Reader<'s> {
    pub(in crate::store) keyring: &'s Keyring,
    pub(in crate::store) id: &'s RunId,
}

impl Reader<'_> {
    /// Returns the run as record `whole_at` left it.
    pub(in crate::store) fn run(&self, whole_at: u64, snapshot: &str, opening: &str) -> Result<Run, Unread> {
        let what = || format!("the snapshot of run `{}`", self.id);
        let Snapshot { revision, executed, tallies, root } = self.text(whole_at, Part::Snapshot, snapshot, what)?;
        let opening = self.text(1, Part::Opening, opening, || format!("the opening of run `{}`", self.id))?;
        Ok(Run { form: Form::One, revision, opening, executed, tallies, root })
    }

    /// Applies the changes of the next record of a run that is at record `after`.
    pub(in crate::store) fn follow(&self, run: &mut Run, after: u64, seq: u64, changes: &str) -> Result<(), Unread> {
        if seq != after + 1 {
            return Err(missing(self.id, after + 1));
        }
        let changes: Vec<Change> = self.text(seq, Part::Changes, changes, || self.name(seq))?;
        changes.iter().for_each(|change| run.apply(change));
        Ok(())
    }

    pub(in crate::store) fn record(&self, seq: u64, event: &str, changes: &str) -> Result<Record, Unread> {
        let event = self.text(seq, Part::Event, event, || self.name(seq))?;
        Ok(Record { seq, event, changes: self.text(seq, Part::Changes, changes, || self.name(seq))? })
    }

    fn name(&self, seq: u64) -> String {
        format!("record {seq} of run `{}`", self.id)
    }

    fn text<T: DeserializeOwned>(
        &self,
        seq: u64,
        part: Part,
        text: &str,
        what: impl Fn() -> String,
    ) -> Result<T, Unread> {
        match self.keyring.open(self.id, seq, part, text) {
            Ok(text) => json::read(&text, what),
            Err(UnsealError::NoKey(error)) => Err(Unread::Refused(error)),
            Err(UnsealError::Damaged(why)) => Err(Unread::Garbled { what: what(), why }),
        }
    }
}

/// Checks that the records are all of those after `after`, up to the last one.
pub(in crate::store) fn complete(records: &[Record], id: &RunId, after: u64) -> Result<(), Unread> {
    match records.iter().zip(after.saturating_add(1)..).find(|(record, seq)| record.seq != *seq) {
        None => Ok(()),
        Some((_, seq)) => Err(missing(id, seq)),
    }
}

/// Returns the error for a record that is not there.
pub(in crate::store) fn missing(id: &RunId, seq: u64) -> Unread {
    Unread::Garbled { what: format!("record {seq} of run `{id}`"), why: "it is missing".to_owned() }
}

/// Returns a run as lists show it: `opening` is the readable part of its opening, `status` a word and its result, `last`
/// the time and the number of its last record.
pub(in crate::store) fn summary(
    id: &str,
    opening: &str,
    (word, result): (&str, Option<String>),
    step: String,
    last: (i64, u64),
) -> Result<Summary, Unread> {
    let garbled = |what: String, why: &str| Unread::Garbled { what, why: why.to_owned() };
    let id = RunId::parse(id).ok_or_else(|| garbled(format!("the handle `{id}`"), "it is not a valid handle"))?;
    let what = || format!("the opening of run `{id}`");
    let Opening { workflow, description, .. } = json::read(opening, what)?;
    let status = RunStatus::parse(word, result)
        .ok_or_else(|| garbled(format!("the status of run `{id}`"), "there is no such status"))?;
    Ok(Summary { id, workflow, description, status, step, updated_at: Timestamp(last.0), seq: last.1 })
}

/// Returns the error for a run without its position.
pub(in crate::store) fn no_position(handle: &str) -> Unread {
    Unread::Garbled { what: format!("the position of run `{handle}`"), why: "it is missing".to_owned() }
}

/// Returns the text of a definition that is the one with this digest.
///
/// Checks name commands: a definition changed in the database is not the one that was trusted.
pub(in crate::store) fn intact(digest: &Digest, text: Arc<str>) -> Result<Arc<str>, Unread> {
    match Digest::of(&*text) == *digest {
        true => Ok(text),
        false => {
            Err(Unread::Garbled { what: format!("definition `{digest}`"), why: "its text has been changed".to_owned() })
        }
    }
}
