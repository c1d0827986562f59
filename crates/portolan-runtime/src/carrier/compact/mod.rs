//! The state of a run in a few bytes: what a token carries of it besides its claims.
//!
//! Whoever reads a state has the definition, so that nothing is written that follows from it. Ids and texts that stand in
//! the definition are numbers, and what holds what it held at first takes no room. The numbers mean something by the
//! definition only: a state begins with a check of what they are counted in. `docs/token.md` has the form to the byte.
//!
//! A run that was read may still be none of the workflow's: `engine::fits` says so. Tokens are not known here.
//!
//! A layout is a number and a function that brings its bytes to the present run. What was ever given out is read for ever:
//! when a run gets a field, the present functions stay for what was written with them, and the table gets a line.

mod bytes;
mod changes;
mod expected;
mod reader;
#[cfg(test)]
mod tests;
mod words;
mod writer;

use portolan_core::graph::Workflow;
use portolan_core::run::Run;

pub(crate) use words::{KnownWords, Words};

/// Why a state cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It has a layout that only a newer release knows.
    Layout(u8),
    /// Its numbers are counted in other words than the definition has for this release: it was written for another
    /// definition, or by a release that makes other nodes of this one.
    Words,
    /// It is not laid out as its layout says.
    Damaged,
}

/// The layout that is written.
const PRESENT: u8 = 1;

struct Layout {
    number: u8,
    read: fn(&Workflow, &Words, u64, &[u8]) -> Result<Run, Unreadable>,
}

const LAYOUTS: &[Layout] = &[Layout { number: PRESENT, read: read_1 }];

/// The state of a run of this workflow, whose words these are, without its revision. The same run gives the same bytes.
///
/// Nothing when it is too large or nested too deeply for any token: what is written here can be read.
pub(crate) fn write(workflow: &Workflow, words: &Words, run: &Run) -> Option<Vec<u8>> {
    let mut bytes = vec![PRESENT];
    bytes.extend_from_slice(&words.check);
    bytes.extend(writer::state(workflow, words, run));
    // The limits of reading are known to the reader alone, and a run that cannot come back must not be given away.
    let again = read(workflow, words, run.revision, &bytes).ok()?;
    (again == *run).then_some(bytes)
}

/// What a state says of a run of this workflow, whose words these are, at this revision.
///
/// # Errors
/// Why it says nothing. Whatever the bytes are, reading them ends soon and takes a bounded amount of memory.
pub(crate) fn read(workflow: &Workflow, words: &Words, revision: u64, bytes: &[u8]) -> Result<Run, Unreadable> {
    let (number, rest) = bytes.split_first().ok_or(Unreadable::Damaged)?;
    let layout = LAYOUTS.iter().find(|layout| layout.number == *number).ok_or(Unreadable::Layout(*number))?;
    (layout.read)(workflow, words, revision, rest)
}

fn read_1(workflow: &Workflow, words: &Words, revision: u64, bytes: &[u8]) -> Result<Run, Unreadable> {
    let (check, rest) = bytes.split_first_chunk().ok_or(Unreadable::Damaged)?;
    if *check != words.check {
        return Err(Unreadable::Words);
    }
    reader::state(workflow, words, revision, rest).ok_or(Unreadable::Damaged)
}
