//! Parts that a workflow reuses from others beside it: whole activities, and shared rules and checkpoints.
//!
//! Others are the folders and files around the workflow's own folder. Nothing is read from anywhere else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portolan_core::diagnostic::{Diagnostic, clip};
use portolan_core::dialect::{activity_files, taken_over};
use portolan_core::source::{Beside, MAX_SOURCE_BYTES, Piece, Source};

use super::activities::MAX_FILES;
use super::folder::places;
use super::is_plain;
use crate::disk;

/// The maximum number of workflows whose parts one reuses.
const MAX_BESIDE: usize = 32;

/// Returns the source with the activities that it lists by their files. `None` if it lists none.
pub(super) fn listed(path: &Path, source: &Source) -> Option<Source> {
    // Most texts name no file, and are not parsed twice.
    let may_list =
        source.text.contains("activities") && [".yaml", ".yml", ".json"].iter().any(|end| source.text.contains(end));
    let files = if may_list { activity_files(source) } else { Vec::new() };
    if files.is_empty() {
        return None;
    }
    if files.len() > MAX_FILES {
        let message =
            format!("the workflow lists {} files of activities, more than the {MAX_FILES} that are read", files.len());
        let fault = Diagnostic::error("too-large", message).help("make some of them a workflow of their own");
        return Some(source.joined(Vec::new(), vec![fault]));
    }
    let mut size = source.text.len();
    let pieces = files.iter().map(|file| piece(path, file, &mut size)).collect();
    Some(source.joined(pieces, Vec::new()))
}

fn piece(workflow: &Path, file: &str, size: &mut usize) -> Piece {
    let Some(path) = places_of(workflow, file).into_iter().find(|path| path.is_file()) else {
        let message = format!("`{}` does not exist", clip(file));
        let help = "keep the workflow that it is borrowed from next to this one, or remove it from `activities`";
        let fault = Diagnostic::error("unreadable-file", message).help(help).repaired("it is left out");
        return Piece { name: file.to_owned(), text: Err(fault) };
    };
    Piece { name: path.to_string_lossy().into_owned(), text: text(workflow, &path, size) }
}

fn text(workflow: &Path, path: &Path, size: &mut usize) -> Result<String, Diagnostic> {
    if !is_around(workflow, path) {
        let message = format!("`{}` is outside the folder of the workflows around this one", path.display());
        return Err(Diagnostic::error("bad-path", message).help("put the file itself there"));
    }
    let text =
        disk::source(path).map_err(|error| Diagnostic::error("unreadable-file", error.message).help(error.help))?;
    *size += text.len();
    if *size > MAX_SOURCE_BYTES {
        let message = format!("the workflow with its activities has more than {MAX_SOURCE_BYTES} bytes");
        return Err(Diagnostic::error("too-large", message).help("make some of them a workflow of their own"));
    }
    Ok(text)
}

/// Returns the possible paths of a listed activity file: the workflow's own, or in the folder of another workflow.
fn places_of(workflow: &Path, file: &str) -> Vec<PathBuf> {
    let around = disk::folder_of(workflow);
    if !file.split('/').all(is_plain) {
        return Vec::new();
    }
    let mut places = vec![around.join("activities").join(file), around.join(file)];
    if let (Some((other, rest)), Some(others)) = (file.split_once('/'), others_of(workflow)) {
        places.extend([others.join(other).join("activities").join(rest), others.join(other).join(rest)]);
    }
    places
}

/// Returns the folder that contains the workflow's own folder and the others.
fn others_of(workflow: &Path) -> Option<PathBuf> {
    let around = disk::folder_of(workflow);
    match workflow.file_stem().is_some_and(|stem| stem == "workflow") {
        true => Some(around.join("..")),
        false => Some(around.to_owned()),
    }
}

/// Checks that a path stays among the workflows around when its links are resolved.
fn is_around(workflow: &Path, path: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    match (others_of(workflow).as_deref().and_then(real), real(path)) {
        (Some(others), Some(path)) => path.starts_with(others),
        _ => false,
    }
}

/// Returns the source with the existing workflows whose fragments it reuses.
pub(super) fn with_fragments(path: &Path, source: Source) -> Source {
    let found: Vec<Beside> = wanted(&source).into_iter().filter_map(|id| other(path, &id)).collect();
    if found.is_empty() { source } else { source.with_beside(found) }
}

/// Returns the workflows whose fragments a source reuses.
pub(super) fn wanted(source: &Source) -> BTreeSet<String> {
    if !source.text.contains("ref") {
        return BTreeSet::new();
    }
    let files = activity_files(&source.main());
    let from = files.iter().filter_map(|file| file.split_once('/')).map(|(other, _)| other.to_owned()).collect();
    taken_over(source, &from).into_iter().take(MAX_BESIDE).collect()
}

fn other(workflow: &Path, id: &str) -> Option<Beside> {
    let others = others_of(workflow).filter(|_| is_plain(id))?;
    let path = places(&others, id).find(|path| path.is_file()).filter(|path| is_around(workflow, path))?;
    let text = disk::source(&path).ok()?;
    Some(Beside { id: id.to_owned(), name: path.to_string_lossy().into_owned(), text: text.into() })
}
