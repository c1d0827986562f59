//! What was looked up while definitions were read, so that a later look tells whether they would be read as the same.

use std::path::PathBuf;

use portolan_core::source::Source;

use super::Library;

/// Every lookup, and what it found: nothing where that could not be read.
#[derive(Default)]
pub(crate) struct Lookups(Vec<(Lookup, Option<Source>)>);

/// What a text is looked for by.
#[derive(Clone)]
pub(super) enum Lookup {
    /// A path.
    File(PathBuf),
    /// What the project attaches to workflows.
    Attachments,
    /// The name of a workflow that the one called `by` runs, or of that one itself.
    Name { by: String, name: String },
}

impl Lookups {
    pub(super) fn note(&mut self, lookup: Lookup, found: Option<Source>) {
        self.0.push((lookup, found));
    }

    /// Whether the same would be found now, also where there was nothing.
    pub(crate) fn is_current(&self, library: &Library) -> bool {
        self.0.iter().all(|(lookup, before)| match (before, library.look_up(lookup)) {
            (Some(before), Ok((now, _))) => is_same(before, &now),
            (None, Err(_)) => true,
            (Some(_), Err(_)) | (None, Ok(_)) => false,
        })
    }
}

/// Whether two texts say the same, down to the files of their activities.
fn is_same(one: &Source, other: &Source) -> bool {
    one.text == other.text
        && one.is_joined() == other.is_joined()
        && one.names().eq(other.names())
        && one.others() == other.others()
        && one.faults() == other.faults()
        && one.beside() == other.beside()
}
