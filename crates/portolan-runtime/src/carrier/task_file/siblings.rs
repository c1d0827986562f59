//! The other tasks of a folder, such as the children of a fork. Reads without a lock, one file at a time.

use std::collections::BTreeSet;
use std::collections::btree_set::IntoIter;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Task, TaskFile, TaskFileError, load};

/// The maximum number of task files that are read in a folder.
pub const MAX_SIBLINGS: usize = 2_000;

/// The other tasks of a folder, in order of their names.
///
/// A file that cannot be read as a task gives an error, and the iterator continues. If there are too many files, the
/// last item is an error.
#[derive(Debug)]
pub struct Siblings {
    folder: PathBuf,
    names: IntoIter<OsString>,
    /// The error after the last name.
    last: Option<TaskFileError>,
}

impl Siblings {
    pub(super) fn of(task: &Path) -> Siblings {
        let folder = task.parent().unwrap_or(Path::new("/")).to_owned();
        let (names, last) = match names(&folder, task.file_name()) {
            Ok(mut names) if names.len() > MAX_SIBLINGS => {
                names.pop_last();
                (names, Some(TaskFileError::too_many(&folder)))
            }
            Ok(names) => (names, None),
            Err(error) => (BTreeSet::new(), Some(TaskFileError::unreadable(&folder.display().to_string(), error))),
        };
        Siblings { folder, names: names.into_iter(), last }
    }
}

/// Returns the first names in order, at most one more than the limit, so that memory stays bounded.
fn names(folder: &Path, but: Option<&OsStr>) -> io::Result<BTreeSet<OsString>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if Path::new(&name).extension().is_some_and(|extension| extension == "json") && Some(&*name) != but {
            names.insert(name);
        }
        if names.len() > MAX_SIBLINGS + 1 {
            names.pop_last();
        }
    }
    Ok(names)
}

impl Iterator for Siblings {
    type Item = Result<(PathBuf, Task), TaskFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        for name in self.names.by_ref() {
            let path = self.folder.join(name);
            match read(&path) {
                Ok(Some(task)) => return Some(Ok((path, task))),
                // Removed since the folder was listed.
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        self.last.take().map(Err)
    }
}

fn read(path: &Path) -> Result<Option<Task>, TaskFileError> {
    match path.to_str() {
        Some(text) => TaskFile::open(text)?.read(),
        // A name that is not UTF-8 can only be read as it is.
        None => Ok(load(path, &path.display().to_string())?.map(|(task, _)| task)),
    }
}
