//! The files of the gates that lie anywhere: the programs that hooks start, under every name that leads to them, the event
//! log, and what a person and the machine have set for all projects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::paths::Links;
use crate::pins::{self, Pins};
use crate::trust::data_dir;

/// What the machine sets for everybody.
const OF_ALL: [&str; 3] = ["/etc/gitconfig", "/etc/claude-code", "/etc/codex"];

/// The part of the record of an installation that names files.
#[derive(Default, Deserialize)]
struct Record {
    #[serde(default)]
    files: Vec<Installed>,
}

#[derive(Deserialize)]
struct Installed {
    file: PathBuf,
    program: Option<PathBuf>,
}

/// All of them, for the project around a folder: a path for each symlink on the way, and the one that it leads to.
pub(super) fn around(folder: &Path, links: &mut Links) -> BTreeSet<String> {
    let mut found = programs(folder);
    found.push(crate::audit::project_log(folder));
    found.extend(OF_ALL.map(PathBuf::from));
    // A project within that folder is one all the same.
    found.extend(data_dir().ok().filter(|data| !folder.starts_with(data)));
    let ways = found.iter().filter_map(|path| links.way(path.to_str()?)).flatten();
    ways.filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// What hooks start, and the hooks that lie elsewhere than in `.git`.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::env::current_exe().into_iter().chain(pins::on_path("portolan")).collect();
    let Some((project, pins)) = Pins::around(folder).ok().flatten() else { return found };
    found.extend(pins.programs.into_values());
    for installed in installed(&project) {
        // Where hosts keep their settings is known without being written down.
        found.extend(Some(installed.file).filter(|file| file.is_absolute()));
        found.extend(installed.program);
    }
    found
}

/// The hooks of git that were installed, which lie where git looks for them.
pub(super) fn hooks(folder: &Path) -> Vec<PathBuf> {
    let Some((project, _)) = Pins::around(folder).ok().flatten() else { return Vec::new() };
    installed(&project).into_iter().map(|installed| installed.file).filter(|file| file.is_absolute()).collect()
}

fn installed(project: &Path) -> Vec<Installed> {
    let record: Option<Record> = pins::text(project).and_then(|text| serde_json::from_str(&text).ok());
    record.unwrap_or_default().files
}
