//! The files of the gates that can be anywhere: the programs that hooks start, under each of their names, the event
//! log, and the settings of the person and of the machine for all projects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::paths::Links;
use crate::pins::{self, Pins};
use crate::trust::data_dir;

/// The settings of the machine for all users.
const OF_ALL: [&str; 3] = ["/etc/gitconfig", "/etc/claude-code", "/etc/codex"];

/// The part of an installation's record that names files.
#[derive(Default, Deserialize)]
struct Record {
    #[serde(default)]
    files: Vec<InstalledFile>,
}

#[derive(Deserialize)]
struct InstalledFile {
    file: PathBuf,
    program: Option<PathBuf>,
}

/// Returns all of them, for the project that contains a folder: each symlink in their paths, and the final target.
pub(super) fn around(folder: &Path, links: &mut Links) -> BTreeSet<String> {
    let mut found = programs(folder);
    found.push(crate::audit::project_log(folder));
    found.extend(OF_ALL.map(PathBuf::from));
    // A project inside that folder is a project as well.
    found.extend(data_dir().ok().filter(|data| !folder.starts_with(data)));
    let ways = found.iter().filter_map(|path| links.way(path.to_str()?)).flatten();
    ways.filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// Returns the programs that hooks start, and the hooks that are not in `.git`.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::env::current_exe().into_iter().chain(pins::on_path("portolan")).collect();
    let Some((project, pins)) = Pins::around(folder).ok().flatten() else { return found };
    found.extend(pins.programs.into_values());
    for installed in installed(&project) {
        // The settings files of hosts are known without the record.
        found.extend(Some(installed.file).filter(|file| file.is_absolute()));
        found.extend(installed.program);
    }
    found
}

/// Returns the installed git hooks, in the folder in which git finds them.
pub(super) fn hooks(folder: &Path) -> Vec<PathBuf> {
    let Some((project, _)) = Pins::around(folder).ok().flatten() else { return Vec::new() };
    installed(&project).into_iter().map(|installed| installed.file).filter(|file| file.is_absolute()).collect()
}

fn installed(project: &Path) -> Vec<InstalledFile> {
    let record: Option<Record> = pins::text(project).and_then(|text| serde_json::from_str(&text).ok());
    record.unwrap_or_default().files
}
