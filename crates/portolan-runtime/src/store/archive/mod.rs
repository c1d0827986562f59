//! Archives: runs with their journals and definitions in a file, from which any store can take them over.
//!
//! An archive is text, one JSON object on each line, with one field that names what the line is:
//!
//! ```text
//! {"export":{"version":1,"at":"2026-11-28T14:00:00Z","by":"portolan 0.1.0"}}    begins an export
//! {"definition":{"digest":"9f86…","text":"…"}}                 before the first run that is pinned to it
//! {"run":{"id":"k7m2qx4p","definition":"9f86…","records":2}}   the number of its records, which follow
//! {"record":{"seq":1,"event":{…},"changes":[…]}}
//! {"record":{"seq":2,"event":{…},"changes":[…]}}
//! {"end":{"runs":1,"records":2}}                               ends the export: without it the file is incomplete
//! ```
//! After the end another export may begin, so archives can be appended to one another. Runs with secrets are never in an
//! archive, because their values would be readable there. Snapshots are not in it: they are the fold of the records.

mod export;
mod import;
mod reader;
#[cfg(test)]
mod tests;

use portolan_core::run::Run;
use serde::{Deserialize, Serialize};

use super::{Digest, Record, RunId};
use crate::nesting;

pub(crate) use export::{ArchiveWriter, export};
pub use export::{ExportError, ExportResult, Selection};
pub use import::ImportResult;
pub(crate) use import::{import, new_run};
pub(crate) use reader::{Archive, ends_complete};

/// The version of archives that this release writes. It reads those of this version.
pub(super) const VERSION: u32 = 1;
/// The maximum length of a line. It bounds the memory that reading takes.
pub(super) const MAX_LINE: usize = 32 << 20;
/// The maximum length of all lines of a run, which is stored at once.
pub(super) const MAX_RUN: usize = 128 << 20;
/// The maximum number of records of a run.
pub(super) const MAX_RECORDS: u64 = 1_000_000;
/// The maximum number of definitions in a file, whose places are remembered.
pub(super) const MAX_DEFINITIONS: usize = 1_000_000;
/// The maximum number of runs that are named because they were left out; the others are counted.
const MOST_NAMED: usize = 1_000;

/// A line of an archive.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    Export(Header),
    Definition(DefinitionLine),
    Run(RunLine),
    Record(Box<Record>),
    End(Totals),
}

/// The first line of an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) at: String,
    pub(super) by: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DefinitionLine {
    pub(super) digest: Digest,
    pub(super) text: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunLine {
    pub(super) id: RunId,
    pub(super) definition: Digest,
    pub(super) records: u64,
}

/// The last line of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Totals {
    pub(super) runs: u64,
    pub(super) records: u64,
}

/// A run that was left out of an export or an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The handle.
    pub run: String,
    /// The stable code for programs.
    pub code: &'static str,
    /// The reason, in one sentence.
    pub why: String,
}

/// The runs that were left out: all are counted, and the first ones are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOuts {
    /// The first ones.
    pub named: Vec<LeftOut>,
    /// The number of all.
    pub count: u64,
    /// The number of those that are left out because they are sealed.
    pub sealed: u64,
}

impl LeftOuts {
    pub(crate) fn add(&mut self, run: &str, code: &'static str, why: impl Into<String>) {
        self.count += 1;
        self.sealed += u64::from(code == SEALED);
        if self.named.len() < MOST_NAMED {
            self.named.push(LeftOut { run: run.to_owned(), code, why: why.into() });
        }
    }

    /// Adds a run with secrets, which would be readable in a file.
    pub(crate) fn add_sealed(&mut self, run: &str) {
        self.add(run, SEALED, "it has secrets, which would be readable in the file");
    }

    pub(crate) fn extend(&mut self, more: LeftOuts) {
        self.count += more.count;
        self.sealed += more.sealed;
        let room = MOST_NAMED.saturating_sub(self.named.len());
        self.named.extend(more.named.into_iter().take(room));
    }
}

/// The code of a run with secrets.
const SEALED: &str = "run_sealed";

/// Checks that a folded run can be loaded after it was stored. Fails for a forged one that is nested too deep.
fn check_loads(folded: &Run) -> Result<(), String> {
    let text = serde_json::to_string(folded).expect("runs consist of structs, lists, texts and numbers");
    match nesting::read::<Run>(text.as_bytes()) {
        Ok(run) if run == *folded => Ok(()),
        Ok(_) => Err("its records do not make a run that can be stored".to_owned()),
        Err(why) => Err(format!("its records do not make a run that can be stored ({why})")),
    }
}
