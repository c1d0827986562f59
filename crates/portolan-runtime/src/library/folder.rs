//! Files of a folder of workflows: `<id>.json`, `<id>.yaml` or `<id>.yml`, or a file `workflow` with one of these
//! extensions in a folder `<id>`. If there are several, the first in this order counts. A workflow's activities may be
//! files of a folder beside it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use portolan_core::source::Source;

use crate::disk;
use crate::error::ServiceError;

/// A file with a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowFile {
    /// The id from its name.
    pub id: String,
    /// The path of the file.
    pub path: PathBuf,
}

/// The extensions of definition files.
const ENDINGS: [&str; 3] = ["json", "yaml", "yml"];
/// The maximum number of entries of a folder that are read.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// Returns the workflows at a path: the file itself, or those of the folder, in alphabetical order.
///
/// # Errors
/// Nothing exists at the path, or it cannot be read.
pub fn workflow_files(path: &Path) -> Result<Vec<WorkflowFile>, ServiceError> {
    let metadata = std::fs::metadata(path).map_err(|error| disk::unreadable(path, &error))?;
    if !metadata.is_dir() {
        return Ok(vec![WorkflowFile { id: id_of(path), path: path.to_owned() }]);
    }
    let mut found: Vec<WorkflowFile> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| disk::unreadable(path, &error))?.take(MAX_ENTRIES) {
        let entry = entry.map_err(|error| disk::unreadable(path, &error))?.path();
        let nested = || with_endings(entry.join("workflow")).find(|path| path.is_file());
        let file = if entry.is_dir() { nested() } else { Some(entry.clone()).filter(|path| is_definition(path)) };
        found.extend(file.map(|path| WorkflowFile { id: id_of(&path), path }));
    }
    found.sort_by_cached_key(|file| {
        let rank = places(path, &file.id).position(|place| place == file.path);
        (file.id.clone(), rank, file.path.clone())
    });
    found.dedup_by(|later, first| later.id == first.id);
    Ok(found)
}

/// Returns the possible paths of the workflow called `id` in a folder, in their order of precedence.
pub(super) fn places(folder: &Path, id: &str) -> impl Iterator<Item = PathBuf> {
    let stems = [folder.join(id), folder.join(id).join("workflow")];
    stems.into_iter().flat_map(with_endings)
}

fn with_endings(stem: PathBuf) -> impl Iterator<Item = PathBuf> {
    ENDINGS.into_iter().map(move |ending| {
        let mut name = stem.clone().into_os_string();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    })
}

/// Checks whether a file's name is that of a definition. Tests of graphs, JSON schemas and lists of servers have the same
/// extensions, and are excluded.
pub(super) fn is_definition(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default();
    let inner = Path::new(stem).extension();
    let is_other = inner.is_some_and(|inner| inner == "test" || inner == "schema") || stem == "mcp" || stem == ".mcp";
    has_ending(path) && !is_other
}

/// Checks whether a file has the extension of definitions.
pub(super) fn has_ending(path: &Path) -> bool {
    let is_ending = |extension: &OsStr| ENDINGS.iter().any(|ending| extension == *ending);
    path.extension().is_some_and(is_ending)
}

/// Returns the name of the file, or of its folder, even if that is written as `.`.
pub(super) fn id_of(path: &Path) -> String {
    let named = |path: &Path| Source::new(path.to_string_lossy().into_owned(), "").stem().map(str::to_owned);
    let around = || path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let whole = || Some(std::fs::canonicalize(around()?).ok()?.join(path.file_name()?));
    named(path).or_else(|| named(&whole()?)).unwrap_or_else(|| "workflow".to_owned())
}

/// Reads a definition with the files of its activities, up to the size limit.
///
/// A fault of an activity's file becomes a finding in the source, and parsing reports it.
///
/// # Errors
/// The file cannot be read, is too large, or is not UTF-8.
pub fn read_definition(path: &Path) -> Result<Source, ServiceError> {
    let source = Source::new(path.to_string_lossy().into_owned(), disk::source(path)?);
    Ok(super::activities::joined(path, source))
}
