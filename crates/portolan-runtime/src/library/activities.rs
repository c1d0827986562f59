//! The files of a workflow's activities: those of one folder inside that of the workflow, ordered by their names.
//!
//! Nothing is left out silently: a file that cannot be read is a fault of the workflow.

use std::fs::{canonicalize, read_dir};
use std::path::{Path, PathBuf};

use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::{ActivitiesFolder, activities_folder, is_activity_file, not_an_activity};
use portolan_core::source::{MAX_SOURCE_BYTES, Piece, Source, Span};

use super::beside;
use super::folder::{MAX_ENTRIES, is_definition};
use crate::disk;
use crate::error::plain;

/// The maximum number of activity files of a workflow.
pub(super) const MAX_FILES: usize = 100;
/// The default folder of activities.
const USUAL_FOLDER: &str = "activities";

/// Appends the activities to the source, if they are files of their own.
pub(super) fn joined(path: &Path, source: Source) -> Source {
    let source = beside::listed(path, &source).unwrap_or_else(|| in_folder(path, source));
    beside::with_fragments(path, source)
}

fn in_folder(path: &Path, source: Source) -> Source {
    let around = disk::folder_of(path);
    // Most workflows have no such folder, and are not parsed twice.
    if !source.text.contains("activitiesDir") && around.join(USUAL_FOLDER).symlink_metadata().is_err() {
        return source;
    }
    let Some(folder) = activities_folder(&source) else { return source };
    // A workflow file among others does not own their folder.
    let owns_folder = path.file_stem().is_some_and(|stem| stem == "workflow");
    let may_share = folder.is_sure && folder.own.is_none();
    if !owns_folder && !may_share {
        return source;
    }
    let gathering = FolderReader { around, folder: &folder, size: source.text.len(), faults: Vec::new() };
    match gathering.pieces() {
        Some((pieces, faults)) => source.joined(pieces, faults),
        None => source,
    }
}

/// Returns the path of an activity file called `name` of a workflow with activity files. `None` if that is no name of
/// an activity.
pub(super) fn place_in(source: &Source, name: &str) -> Option<PathBuf> {
    let main = source.main();
    let folder = activities_folder(&main).filter(|_| source.is_joined())?;
    let path = disk::folder_of(Path::new(&*main.name)).join(folder.path).join(name);
    (path.file_name()? == name && is_activity_file(name) && is_definition(&path)).then_some(path)
}

/// Returns the folders whose entries determine the activity files of a source, existing or not.
pub(super) fn watched_folders(path: &Path, source: &Source) -> Vec<PathBuf> {
    let around = disk::folder_of(path);
    let named = activities_folder(&source.main()).map(|folder| folder.path).filter(|path| path != USUAL_FOLDER);
    named.iter().map(String::as_str).chain([USUAL_FOLDER]).map(|folder| around.join(folder)).collect()
}

struct FolderReader<'g> {
    /// The folder of the workflow. No path may lead out of it.
    around: &'g Path,
    folder: &'g ActivitiesFolder,
    /// The number of bytes read.
    size: usize,
    faults: Vec<Diagnostic>,
}

impl FolderReader<'_> {
    /// Returns the files in order, and the findings. `None` if there is no folder and none was named.
    fn pieces(mut self) -> Option<(Vec<Piece>, Vec<Diagnostic>)> {
        let path = self.around.join(&self.folder.path);
        if self.folder.named.is_none() && path.symlink_metadata().is_err() {
            return None;
        }
        let files = match self.files(&path) {
            Ok(files) => files,
            Err((code, message, help)) => {
                self.fault(code, message, help);
                return Some((Vec::new(), self.faults));
            }
        };
        let count = files.iter().filter(|file| is_activity(file)).count();
        if let Some(own) = self.folder.own.filter(|_| count > 0) {
            let message = format!(
                "the workflow has `activities`, and also {count} in files of their own in `{}`",
                path.display()
            );
            let help = "keep them in one place: remove the field, or the folder";
            let fault = Diagnostic::error("either-or", message).at(own).help(help);
            self.faults.push(fault.repaired("those in the field are used"));
            return Some((Vec::new(), self.faults));
        }
        if self.folder.own.is_some() {
            return None;
        }
        if count > MAX_FILES {
            let message =
                format!("`{}` holds {count} activities, more than the {MAX_FILES} that are read", path.display());
            self.fault("too-large", message, "make some of them a workflow of their own");
            return Some((Vec::new(), self.faults));
        }
        let pieces = files.iter().map(|file| self.piece(file)).collect();
        Some((pieces, self.faults))
    }

    /// Returns the entries of the folder with the name of a definition, ordered by name.
    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Refusal> {
        self.is_within(path)?;
        let unreadable = |error: &std::io::Error| {
            let message = format!("the activities in `{}` cannot be read: {}", path.display(), plain(error));
            ("unreadable-file", message, "check the folder and its permissions")
        };
        let mut files = Vec::new();
        for (nth, entry) in read_dir(path).map_err(|error| unreadable(&error))?.enumerate() {
            if nth >= MAX_ENTRIES {
                let message = format!("`{}` has more than {MAX_ENTRIES} entries", path.display());
                return Err(("too-large", message, "keep only the activities there"));
            }
            let file = entry.map_err(|error| unreadable(&error))?.path();
            if is_definition(&file) && (is_activity(&file) || !file.is_dir()) {
                files.push(file);
            }
        }
        files.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
        Ok(files)
    }

    /// Checks that a path stays in the workflow's folder when its links are resolved.
    fn is_within(&self, path: &Path) -> Result<(), Refusal> {
        let found = canonicalize(path).and_then(|path| Ok((path, canonicalize(self.around)?)));
        match found {
            Ok((path, around)) if path.starts_with(&around) => Ok(()),
            Ok(_) => {
                let message = format!("`{}` is outside the workflow's folder", path.display());
                Err(("bad-path", message, "put the files themselves there"))
            }
            Err(error) => {
                let message = format!("`{}` cannot be read: {}", path.display(), plain(&error));
                Err(("unreadable-file", message, "check the path and its permissions"))
            }
        }
    }

    fn piece(&mut self, file: &Path) -> Piece {
        Piece { name: file.to_string_lossy().into_owned(), text: self.text(file) }
    }

    fn text(&mut self, file: &Path) -> Result<String, Diagnostic> {
        if !is_activity(file) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            return Err(not_an_activity(&name));
        }
        let refused = |(code, message, help): Refusal| Diagnostic::error(code, message).help(help);
        self.is_within(file).map_err(refused)?;
        let text =
            disk::source(file).map_err(|error| Diagnostic::error("unreadable-file", error.message).help(error.help))?;
        self.size += text.len();
        if self.size > MAX_SOURCE_BYTES {
            let message = format!("the workflow with its activities has more than {MAX_SOURCE_BYTES} bytes");
            return Err(Diagnostic::error("too-large", message).help("make some of them a workflow of their own"));
        }
        Ok(text)
    }

    /// Reports a fault of the folder where the folder is named.
    fn fault(&mut self, code: &'static str, message: String, help: &'static str) {
        let at = self.folder.named.unwrap_or(Span { start: 0, end: 0 });
        self.faults.push(Diagnostic::error(code, message).at(at).help(help));
    }
}

type Refusal = (&'static str, String, &'static str);

fn is_activity(file: &Path) -> bool {
    is_activity_file(&file.file_name().unwrap_or_default().to_string_lossy())
}
