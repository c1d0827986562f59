//! The requests of the store to the virtual objects in Restate, and their answers: what `portolan-restate` serves.
//!
//! There are four kinds of object. A name has the form `SPACE.REST`; a space is the runs of one project.
//!
//! | object | key | what it keeps |
//! |---|---|---|
//! | [`RUN`] | the handle of a run | its records, its snapshot and its lease |
//! | [`INDEX`] | the number of a shard | the lines of the runs whose handles [`shard`] maps to it |
//! | [`DEFINITION`] | the first [`DEFINITION_KEY`] digits of a digest | the definition bundles whose digests begin so |
//! | [`SHARED`] | the name of a list | the entries of a list that all machines of the project share |
//!
//! A run's object tells its shard of changes by messages that are not waited for, so that a write takes one invocation: at
//! once where a run begins, waits for a person, ends or is due, and otherwise within a second. Restate delivers these
//! messages once and in order.

use serde::{Deserialize, Serialize};

/// The object of a run.
pub const RUN: &str = "PortolanRun";
/// The object of a part of the lists.
pub const INDEX: &str = "PortolanIndex";
/// The object of definition bundles.
pub const DEFINITION: &str = "PortolanDefinition";
/// The object of a list that all machines share.
pub const SHARED: &str = "PortolanShared";
/// The number of shards of a space. It is a part of the stored data: another number would look for runs elsewhere.
pub const SHARDS: u32 = 8;
/// The format of a run's stored state. An object refuses the state of a later format.
pub const FORMAT: u32 = 1;
/// The number of digits of a digest that name the object of its definition.
pub const DEFINITION_KEY: usize = 32;

/// Returns the shard of a run.
///
/// ```
/// use portolan_restate_api::{SHARDS, shard};
///
/// assert!(shard("k3mx8q2p") < SHARDS);
/// ```
pub fn shard(handle: &str) -> u32 {
    // FNV-1a: it spreads handles that differ in one letter.
    let hash = handle.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % SHARDS
}

/// A record as it is stored: two texts, sealed or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    /// The event.
    pub event: String,
    /// The changes.
    pub changes: String,
    /// A number that the writer chose. It recognises its record by it if it asks again.
    pub stamp: u64,
}

/// The state of a run, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The status in one word.
    pub status: String,
    /// The result of a run that is over.
    pub result: Option<String>,
    /// The present node or nodes.
    pub step: String,
    /// The time of the last event, in milliseconds.
    pub updated_at: i64,
    /// The number of the last record.
    pub seq: u64,
    /// The time from which workers may drive the run, in milliseconds.
    pub due: Option<i64>,
}

/// A request for a new run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Create {
    /// The digest of its definition, which is stored already.
    pub definition: String,
    /// The opening, sealed or not.
    pub opening: String,
    /// The readable part of the opening of a sealed run.
    pub cover: Option<String>,
    /// The time of the first event, in milliseconds.
    pub opened_at: i64,
    /// Orders runs that moved at the same time in lists: the writer's clock, in nanoseconds.
    pub born: u64,
    /// The records from the first.
    pub records: Vec<Texts>,
    /// The run after the last record.
    pub snapshot: String,
    /// Its line.
    pub line: Line,
}

/// A request for the next record of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Append {
    /// The number of the last record as the writer knows it.
    pub expected_seq: u64,
    /// The fence of the writer's lease, if it has one.
    pub fence: Option<i64>,
    /// Whether the texts are sealed.
    pub is_sealed: bool,
    /// The record.
    pub texts: Texts,
    /// The run after it, if it is written whole.
    pub snapshot: Option<String>,
    /// Its line.
    pub line: Line,
}

/// The answer to a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// It is stored.
    Done,
    /// The handle is taken.
    Taken,
    /// There is no such run.
    NoRun,
    /// The run has another last record.
    Conflict {
        /// Its number.
        actual_seq: u64,
    },
    /// The writer's lease is over.
    LeaseLost,
    /// Somebody has the lease.
    UnderWay {
        /// The holder, as it named itself.
        holder: String,
    },
    /// The run is not over.
    Open,
    /// The writer takes a sealed run for one that is not, or the other way round.
    OtherSeal,
}

/// A request for the records after `after`, up to `limit`. An answer of many bytes has fewer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RecordsAfter {
    /// The number of the record before the first.
    pub after: u64,
    /// The maximum number of records.
    pub limit: u64,
}

/// Some records of a run, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    /// The records, with their numbers.
    pub found: Vec<(u64, Texts)>,
    /// Whether these are all that were asked for.
    pub is_all: bool,
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTexts {
    /// The number of the last record.
    pub seq: u64,
    /// The time of the first event, in milliseconds.
    pub opened_at: i64,
    /// The time of the last event, in milliseconds.
    pub updated_at: i64,
    /// The digest of its definition.
    pub definition: String,
    /// The opening.
    pub opening: String,
    /// Whether the texts are sealed.
    pub is_sealed: bool,
    /// The number of the record after which `snapshot` was taken.
    pub whole_at: u64,
    /// The run after that record.
    pub snapshot: String,
    /// The changes of the records after it, with their numbers.
    pub changes: Vec<(u64, String)>,
}

/// A request for a lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Take {
    /// A name of the holder that no other has.
    pub holder: String,
    /// The time after which the lease ends unless it is renewed, in milliseconds.
    pub term: u64,
    /// Refuses unless the run is due at this time, in milliseconds.
    pub due_by: Option<i64>,
}

/// The answer to a request for a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// The lease is the caller's.
    Lease {
        /// Its number, which grows with each lease of the run.
        fence: i64,
    },
    /// Somebody has it.
    UnderWay {
        /// The holder.
        holder: String,
    },
    /// The run is not due.
    NotDue,
    /// There is no such run.
    NoRun,
}

/// A request of the holder of a lease.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Renew {
    /// The number of the lease.
    pub fence: i64,
    /// The new term, in milliseconds.
    pub term: u64,
}

/// A message to a shard about a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// The handle.
    pub handle: String,
    /// What does not change.
    pub birth: Birth,
    /// The line in the message before. `None` for a new run.
    pub before: Option<Line>,
    /// The line. `None` if the run was removed.
    pub after: Option<Line>,
}

/// What lists show of a run and does not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// The readable opening.
    pub opening: String,
    /// Whether the run is sealed.
    pub is_sealed: bool,
    /// See [`Create::born`].
    pub born: u64,
}

/// A run as a shard shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The handle.
    pub handle: String,
    /// What does not change.
    pub birth: Birth,
    /// The line.
    pub line: Line,
}

/// A request for lines of a shard.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// Those that moved last.
    Latest {
        /// Leaves out runs that are over.
        open_only: bool,
        /// The maximum number of runs.
        limit: u64,
    },
    /// Those after a handle, in the order of handles.
    Page {
        /// The handle.
        after: String,
        /// Leaves out all but those that are over and whose last event was before this time, in milliseconds.
        ended_before: Option<i64>,
        /// The maximum number of runs.
        limit: u64,
    },
    /// Those that are due at a time, the one that has waited longest first.
    Due {
        /// The time, in milliseconds.
        now: i64,
        /// The maximum number of runs.
        limit: u64,
    },
}

/// The status of a run that is over.
pub const ENDED: &str = "ended";
/// The status of a run that waits for a person.
pub const WAITING: &str = "waiting";

/// What runs are sorted and selected by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns<'l> {
    /// The handle.
    pub handle: &'l str,
    /// Whether the run is over.
    pub is_ended: bool,
    /// See [`Line::updated_at`].
    pub updated_at: i64,
    /// See [`Create::born`].
    pub born: u64,
    /// See [`Line::seq`].
    pub seq: u64,
    /// See [`Line::due`].
    pub due: Option<i64>,
}

impl<'l> Columns<'l> {
    /// Returns the columns of a run.
    pub fn of(handle: &'l str, birth: &Birth, line: &Line) -> Columns<'l> {
        let Line { status, updated_at, seq, due, .. } = line;
        let (is_ended, born) = (status == ENDED, birth.born);
        Columns { handle, is_ended, updated_at: *updated_at, born, seq: *seq, due: *due }
    }
}

impl Listed {
    /// Returns the columns of this run.
    pub fn columns(&self) -> Columns<'_> {
        Columns::of(&self.handle, &self.birth, &self.line)
    }
}

/// Returns the runs that a query wants, in its order.
pub fn select<T>(mut runs: Vec<T>, query: &Query, columns: impl Fn(&T) -> Columns<'_>) -> Vec<T> {
    let limit = match query {
        Query::Latest { open_only, limit } => {
            runs.retain(|run| !(*open_only && columns(run).is_ended));
            runs.sort_by_key(|run| std::cmp::Reverse((columns(run).updated_at, columns(run).born)));
            limit
        }
        Query::Page { after, ended_before, limit } => {
            runs.retain(|run| {
                let Columns { handle, is_ended, updated_at, .. } = columns(run);
                handle > after.as_str() && ended_before.is_none_or(|before| is_ended && updated_at < before)
            });
            runs.sort_by(|one, other| columns(one).handle.cmp(columns(other).handle));
            limit
        }
        Query::Due { now, limit } => {
            runs.retain(|run| columns(run).due.is_some_and(|due| due <= *now));
            runs.sort_by_key(|run| (columns(run).due, columns(run).born));
            limit
        }
    };
    runs.truncate(usize::try_from(*limit).unwrap_or(usize::MAX));
    runs
}

/// The numbers of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The runs that are not over.
    pub open: u64,
    /// The runs that are over.
    pub ended: u64,
    /// The records of all runs.
    pub records: u64,
}

/// A definition bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Definition {
    /// Its digest.
    pub digest: String,
    /// Its text.
    pub text: String,
}

/// An entry of a shared list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The identity: a list has one entry with it.
    pub id: String,
    /// What [`EntriesAfter::key`] selects. Empty for an entry that is only read in its order.
    pub key: String,
    /// The content.
    pub text: String,
}

/// A request for the entries after `after`, up to `limit`. An answer of many bytes has fewer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EntriesAfter {
    /// Leaves out the entries with another key.
    pub key: Option<String>,
    /// The number of the entry before the first.
    pub after: u64,
    /// The maximum number of entries.
    pub limit: u64,
}
