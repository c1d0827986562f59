//! The lookups during the reading of definitions, to check later whether they would give the same.

use std::path::PathBuf;

use portolan_core::source::Source;

use super::Library;

/// Every lookup and its result: `None` if it could not be read.
#[derive(Default)]
pub(crate) struct Lookups(Vec<(Lookup, Option<Source>)>);

/// A lookup of a text.
#[derive(Clone)]
pub(super) enum Lookup {
    /// A path.
    File(PathBuf),
    /// The project's attachments to workflows.
    Attachments,
    /// The name of a workflow that the one called `by` runs, or of that one itself.
    Name { by: String, name: String },
}

impl Lookups {
    pub(super) fn note(&mut self, lookup: Lookup, found: Option<Source>) {
        self.0.push((lookup, found));
    }

    /// Checks whether all lookups would give the same now, including those that failed.
    pub(crate) fn is_current(&self, library: &Library) -> bool {
        self.0.iter().all(|(lookup, before)| match (before, library.look_up(lookup)) {
            (Some(before), Ok((now, _))) => is_same(before, &now),
            (None, Err(_)) => true,
            (Some(_), Err(_)) | (None, Ok(_)) => false,
        })
    }
}

/// Checks whether two texts are the same, including their activity files.
fn is_same(one: &Source, other: &Source) -> bool {
    one.text == other.text
        && one.is_joined() == other.is_joined()
        && one.names().eq(other.names())
        && one.others() == other.others()
        && one.faults() == other.faults()
        && one.beside() == other.beside()
}
