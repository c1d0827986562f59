//! The definitions that the command line names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use portolan_core::dialect;
use portolan_core::source::{self, Source};

use super::folder::{WorkflowFile, has_ending, read_definition, workflow_files};
use crate::error::{ErrorKind, ServiceError};

/// The files that were named, by their ids.
#[derive(Default)]
pub(super) struct NamedFiles {
    /// The definitions that can be found by their ids.
    pub(super) files: BTreeMap<String, PathBuf>,
    /// Definitions with the same id.
    pub(super) clashes: BTreeMap<String, Vec<PathBuf>>,
    /// Files that are no definitions, and have the id of another file.
    pub(super) strays: Vec<WorkflowFile>,
}

impl NamedFiles {
    /// Returns the definitions at the paths. A file that is named twice counts once.
    pub(super) fn of(paths: &[PathBuf]) -> Result<NamedFiles, ServiceError> {
        let (mut by_id, mut known) = (BTreeMap::<String, Vec<PathBuf>>::new(), BTreeSet::new());
        for path in paths {
            for WorkflowFile { id, path } in workflow_files(path)? {
                let whole = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                if known.insert((id.clone(), whole)) {
                    by_id.entry(id).or_default().push(path);
                }
            }
        }
        let mut given = NamedFiles::default();
        for (id, mut paths) in by_id {
            if paths.len() == 1 {
                given.files.extend(paths.pop().map(|path| (id, path)));
            } else {
                given.clashes.insert(id, paths);
            }
        }
        Ok(given)
    }

    /// Returns the error of the first id that several files have.
    pub(super) fn refused(&self) -> Option<ServiceError> {
        self.clashes.keys().next().and_then(|id| self.clash(id))
    }

    /// Sets the files aside that only have the id of a definition, so that they do not stand in its way.
    pub(super) fn without_strays(mut self) -> NamedFiles {
        for (id, paths) in std::mem::take(&mut self.clashes) {
            let (mut defined, strays): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| !is_stray_file(path));
            self.strays.extend(strays.into_iter().map(|path| WorkflowFile { id: id.clone(), path }));
            match defined.len() {
                0 | 1 => self.files.extend(defined.pop().map(|path| (id, path))),
                _ => drop(self.clashes.insert(id, defined)),
            }
        }
        self
    }

    /// Returns the error of an id that several definitions have.
    pub(super) fn clash(&self, id: &str) -> Option<ServiceError> {
        let paths = self.clashes.get(id)?;
        let names: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
        let all = if names.len() == 2 { "both" } else { "all" };
        let message = format!("{} {all} define `{id}`", names.join(" and "));
        Some(ServiceError::of(ErrorKind::InvalidDefinition, "duplicate_id", message, "rename one of the files"))
    }
}

fn is_stray_file(path: &Path) -> bool {
    read_definition(path).is_ok_and(|source| is_stray(&source))
}

/// Checks whether a text is no definition: it has no known format. Faulty JSON or YAML may become one, unless its file
/// has another extension.
pub fn is_stray(source: &Source) -> bool {
    dialect::of(source).is_none() && (!has_ending(Path::new(&*source.name)) || source::parse(source).0.is_some())
}
