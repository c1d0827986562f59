//! The compact encoding of a run's state, which a token carries besides its claims.
//!
//! The reader of a state has the definition, so nothing is written that follows from it. Ids and texts of the
//! definition are numbers, and unchanged initial values take no bytes. The numbers only have a meaning for that
//! definition: a state begins with a check of its words. `docs/token.md` specifies the form to the byte.
//!
//! A decoded run may still not fit the workflow: `engine::fits` checks that. Tokens are not known here.
//!
//! A layout is a number and a function that decodes its bytes to the present run. Every released layout remains
//! readable: if a run gets a field, the present functions are kept for the old layout, and the table gets a line.

mod bytes;
mod changes;
mod expectation;
mod reader;
#[cfg(test)]
mod tests;
mod words;
mod writer;

use portolan_core::graph::Workflow;
use portolan_core::run::Run;

pub(crate) use words::{KnownWords, Words};

/// The reason why a state cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Its layout is known only to a newer release.
    Layout(u8),
    /// Its words differ from those of the definition in this release: it was written for another definition, or by a
    /// release that makes other nodes of it.
    Words,
    /// Its bytes do not follow its layout.
    Damaged,
}

/// The layout that is written.
const PRESENT: u8 = 1;

struct Layout {
    number: u8,
    read: fn(&Workflow, &Words, u64, &[u8]) -> Result<Run, Unreadable>,
}

const LAYOUTS: &[Layout] = &[Layout { number: PRESENT, read: read_1 }];

/// Returns the state of a run of this workflow, whose words these are, without its revision. The same run gives the
/// same bytes.
///
/// `None` if it is too large or too deeply nested for any token: every returned state can be read.
pub(crate) fn write(workflow: &Workflow, words: &Words, run: &Run) -> Option<Vec<u8>> {
    let mut bytes = vec![PRESENT];
    bytes.extend_from_slice(&words.check);
    bytes.extend(writer::state(workflow, words, run));
    // Only the reader knows the limits of reading, and a run that cannot be read back must not be given out.
    let again = read(workflow, words, run.revision, &bytes).ok()?;
    (again == *run).then_some(bytes)
}

/// Decodes a state of a run of this workflow, whose words these are, at this revision.
///
/// # Errors
/// The reason why it cannot be read. For any bytes, reading ends soon and needs bounded memory.
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
