//! The pins of a project, recorded when hooks were installed: its log, the `git` and `gh` programs, the remote branches
//! that its integration branches follow, and the accepted rules. A later command may have another environment and
//! configuration; the pins do not change with them.
//!
//! The pins are in `.portolan/installed.json`, beside the record of the installation: of the worktree that git calls
//! the main one, or else of the present worktree, or else of a project in a folder of it. A record that is planted in a
//! subfolder of the project therefore does not count.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::disk;

/// The path of the pins within the project.
pub const PLACE: &str = ".portolan/installed.json";
/// The largest record that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// The largest file that names a git folder, in bytes.
const MAX_NAME: u64 = 64 * 1024;

/// The pins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Pins {
    /// The event log, relative to the project if it is inside.
    pub log: Option<PathBuf>,
    /// The programs, by name.
    pub programs: BTreeMap<String, PathBuf>,
    /// The repository's common folder, relative to the project if it is inside.
    pub repository: Option<PathBuf>,
    /// The remotes that integration branches follow.
    pub remotes: BTreeMap<String, GitRemote>,
    /// The branch of a remote that each integration branch follows.
    pub upstreams: BTreeMap<String, Upstream>,
    /// The commit of each integration branch.
    pub tips: BTreeMap<String, String>,
    /// The accepted rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<TrustedRules>,
}

/// The accepted rules, which count whatever the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedRules {
    /// Their text, or `None` if the project had none and the default rules count.
    pub text: Option<String>,
}

/// A remote, as git resolves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitRemote {
    /// The address, after the configuration's replacements.
    pub address: String,
    /// Further settings that can redirect a fetch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
}

/// A branch of a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    /// The name of the remote.
    pub remote: String,
    /// The name of the branch on the remote.
    pub branch: String,
}

/// The part of the record that is read here.
#[derive(Deserialize)]
struct Record {
    pins: Option<Pins>,
}

impl Pins {
    /// Returns the pins of the project around a folder, and that project, or `None` if there are none.
    ///
    /// # Errors
    /// There is a record that cannot be read, so its pins are not known.
    pub fn around(folder: &Path) -> Result<Option<(PathBuf, Pins)>, String> {
        for project in projects(folder) {
            let path = project.join(PLACE);
            if fs::symlink_metadata(&path).is_err() {
                continue;
            }
            if let Some(pins) = read(&path)? {
                return Ok(Some((project, pins)));
            }
        }
        Ok(None)
    }

    /// Checks whether the pins are of the repository with this common folder.
    pub fn are_of(&self, project: &Path, common_dir: &Path) -> bool {
        self.repository.as_ref().is_some_and(|named| {
            let pinned = project.join(named);
            pinned.canonicalize().unwrap_or(pinned) == common_dir
        })
    }
}

/// The latest record, with its path and stamp. A hook asks a dozen times within a few milliseconds, and a long-running
/// server must notice a new installation.
static LAST: Mutex<Option<(PathBuf, Stamp, Arc<PinRecord>)>> = Mutex::new(None);

/// A parsed record.
struct PinRecord {
    text: String,
    /// `None` if the text is no record.
    pins: Option<Option<Pins>>,
}

/// Detects a replaced file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    /// A record is never modified in place: another file replaces it.
    #[cfg(unix)]
    file: (u64, u64, i64, i64),
}

impl Stamp {
    fn of(meta: &fs::Metadata) -> Stamp {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Stamp {
            len: meta.len(),
            modified: meta.modified().ok(),
            #[cfg(unix)]
            file: (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// Returns the pins of a record.
fn read(path: &Path) -> Result<Option<Pins>, String> {
    let unreadable = || format!("`{}` cannot be read, so its pins are not known", path.display());
    known(path).and_then(|known| known.pins.clone()).ok_or_else(unreadable)
}

/// Returns the text of a project's record of its installation, or `None` if there is none.
pub fn text(project: &Path) -> Option<String> {
    known(&project.join(PLACE)).map(|known| known.text.clone())
}

fn known(path: &Path) -> Option<Arc<PinRecord>> {
    let stamp = Stamp::of(&fs::metadata(path).ok()?);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((place, then, known)) = last.as_ref()
        && (place.as_path(), then) == (path, &stamp)
    {
        return Some(known.clone());
    }
    let text = disk::text(path, MAX_BYTES)?;
    let pins = serde_json::from_str(&text).ok().map(|record: Record| record.pins);
    let known = Arc::new(PinRecord { text, pins });
    *last = Some((path.to_owned(), stamp, known.clone()));
    Some(known)
}

/// Returns the folders whose record may count for a folder, in order of precedence.
fn projects(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let Some(root) = folder.ancestors().find(|around| fs::symlink_metadata(around.join(".git")).is_ok()) else {
        return folder.ancestors().find(|around| around.join(PLACE).exists()).map(Path::to_owned).into_iter().collect();
    };
    let mut found: Vec<PathBuf> = main_worktree(root).into_iter().collect();
    // A project may be a subfolder of a repository that has no record itself.
    let inner = folder.ancestors().take_while(|around| *around != root).collect::<Vec<_>>();
    found.push(root.to_owned());
    found.extend(inner.into_iter().rev().map(Path::to_owned));
    found
}

/// Returns the files that decide which pins count for a folder, missing ones included.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut files = Vec::new();
    for around in folder.ancestors() {
        let git = around.join(".git");
        let is_root = fs::symlink_metadata(&git).is_ok();
        files.extend([git, around.join(PLACE)]);
        if is_root {
            let common = git_folder(around).map(|git_dir| git_dir.join("commondir"));
            files.extend(common.into_iter().chain(main_worktree(around).map(|main| main.join(PLACE))));
            break;
        }
    }
    files
}

/// Returns the main worktree of a linked one.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    let git_dir = git_folder(root)?;
    let common = disk::text(&git_dir.join("commondir"), MAX_NAME)?;
    let common = git_dir.join(common.trim()).canonicalize().ok()?;
    common.file_name().is_some_and(|name| name == ".git").then(|| common.parent().map(Path::to_owned)).flatten()
}

/// Returns the git folder of a linked worktree.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let text = disk::text(&root.join(".git"), MAX_NAME)?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The programs that are pinned.
pub const PROGRAMS: [&str; 2] = ["git", "gh"];

/// Returns how a program is started for the project around a folder: the pinned path, or else the name for the search
/// path.
///
/// # Errors
/// The pinned program is missing, or the pins cannot be read. No other program replaces it.
pub fn program(folder: &Path, name: &str) -> Result<PathBuf, String> {
    if !PROGRAMS.contains(&name) {
        return Ok(PathBuf::from(name));
    }
    match Pins::around(folder)?.and_then(|(_, mut pins)| pins.programs.remove(name)) {
        Some(path) if !is_program(&path) => Err(gone(&path, name)),
        Some(path) => Ok(path),
        None => Ok(PathBuf::from(name)),
    }
}

/// Returns the message about a missing pinned program, with what to do.
pub fn gone(path: &Path, name: &str) -> String {
    let path = path.display();
    format!(
        "`{path}` is pinned as `{name}` but does not exist; restore it, or have a person run `portolan install git`"
    )
}

/// Returns the program of this name on the search path. Skips relative entries, because they depend on the current
/// folder.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let places = std::env::var_os("PATH")?;
    std::env::split_paths(&places).map(|folder| folder.join(name)).find(|path| is_program(path))
}

/// Checks whether a path is an executable file.
#[cfg(unix)]
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.is_absolute() && fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Checks whether a path is an executable file.
#[cfg(not(unix))]
pub fn is_program(path: &Path) -> bool {
    path.is_absolute() && path.is_file()
}
