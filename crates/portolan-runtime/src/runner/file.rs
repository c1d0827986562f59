//! Checks a file: a regular file inside the project that is not empty and can be read.

use std::fs::File;
use std::io;
use std::path::Path;

use portolan_core::run::Verdict;

use super::{PathError, broken, inside, unknown};

pub(super) fn look(path: &str, project: &Path) -> Verdict {
    let found = match inside(project, path) {
        Ok(found) => found,
        Err(PathError::Missing) => return broken(format!("`{path}` does not exist")),
        Err(PathError::Outside) => return broken(format!("`{path}` is outside the project")),
        Err(PathError::Unknown(error)) => return unreadable(path, &error),
    };
    // Only a regular file is opened: opening a pipe would wait for its writer.
    match found.metadata() {
        Ok(meta) if !meta.is_file() => broken(format!("`{path}` is not a file")),
        Ok(meta) if meta.len() == 0 => broken(format!("`{path}` is empty")),
        Ok(_) => match File::open(&found) {
            Ok(_) => Verdict::Held,
            Err(error) => unreadable(path, &error),
        },
        Err(error) => unreadable(path, &error),
    }
}

fn unreadable(path: &str, error: &io::Error) -> Verdict {
    unknown(format!("`{path}` cannot be read ({error}); make it readable, then report again"))
}
