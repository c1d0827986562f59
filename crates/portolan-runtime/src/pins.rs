//! What a project relies on, written down when hooks were put into it: where its log is, which `git` and `gh` are asked,
//! what its integration branches follow, and the rules that were agreed to. Whoever runs a command later brings an environment and a configuration of their
//! own; what is pinned does not change with them.
//!
//! The pins are in `.portolan/installed.json`, beside what was installed: of the worktree that git calls the main one, or
//! else of the one that is asked about, or else of a project in a folder of it. So a record that somebody puts into a
//! folder of the project does not count.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::disk;

/// Where they are kept, in the project.
pub const PLACE: &str = ".portolan/installed.json";
/// A longer file is none of ours.
const MAX_BYTES: u64 = 4 << 20;
/// A file that names a folder of git.
const MAX_NAME: u64 = 64 * 1024;

/// What is pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Pins {
    /// The event log; relative to the project where it lies in it.
    pub log: Option<PathBuf>,
    /// The programs that are asked, by name.
    pub programs: BTreeMap<String, PathBuf>,
    /// The repository's own folder, relative to the project where it lies in it.
    pub repository: Option<PathBuf>,
    /// The remotes that integration branches follow.
    pub remotes: BTreeMap<String, GitRemote>,
    /// The branch of a remote that each integration branch follows.
    pub upstreams: BTreeMap<String, Upstream>,
    /// Where each integration branch was.
    pub tips: BTreeMap<String, String>,
    /// The rules that were agreed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<TrustedRules>,
}

/// The rules that count, whatever becomes of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedRules {
    /// Their text; nothing where the project had none, and the usual ones count.
    pub text: Option<String>,
}

/// A remote, as git resolves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitRemote {
    /// Its address, after whatever the configuration replaces in it.
    pub address: String,
    /// The settings besides that lead to another program or another side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
}

/// A branch of a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    /// The remote's name.
    pub remote: String,
    /// The branch's name there.
    pub branch: String,
}

/// The part of the record that is read here.
#[derive(Deserialize)]
struct Record {
    pins: Option<Pins>,
}

impl Pins {
    /// What is pinned for the project around a folder, and that project; nothing where nothing is.
    ///
    /// # Errors
    /// There is a record, and it cannot be read: what it pinned is not known.
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

    /// Whether they are of the repository with this folder.
    pub fn are_of(&self, project: &Path, common_dir: &Path) -> bool {
        self.repository.as_ref().is_some_and(|named| {
            let pinned = project.join(named);
            pinned.canonicalize().unwrap_or(pinned) == common_dir
        })
    }
}

/// What was read last, and of which file. A hook asks a dozen times within a few milliseconds, and a server that runs for
/// long must see what a person has installed meanwhile.
static LAST: Mutex<Option<(PathBuf, Stamp, Arc<PinRecord>)>> = Mutex::new(None);

/// A record as it was read.
struct PinRecord {
    text: String,
    /// Nothing where the text is no record.
    pins: Option<Option<Pins>>,
}

/// What tells that a file is still the one that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    /// A record is never written into: another one takes its place, which is another file.
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

/// What a record pins.
fn read(path: &Path) -> Result<Option<Pins>, String> {
    let unreadable = || format!("`{}` cannot be read, so that what it pins is not known", path.display());
    known(path).and_then(|known| known.pins.clone()).ok_or_else(unreadable)
}

/// The text of a project's record, all that was written down about an installation; nothing where there is none.
pub(crate) fn text(project: &Path) -> Option<String> {
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

/// Where a record may be that counts in a folder, the one that counts first.
fn projects(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let Some(root) = folder.ancestors().find(|around| fs::symlink_metadata(around.join(".git")).is_ok()) else {
        return folder.ancestors().find(|around| around.join(PLACE).exists()).map(Path::to_owned).into_iter().collect();
    };
    let mut found: Vec<PathBuf> = main_worktree(root).into_iter().collect();
    // A project may be a folder of a repository that has none itself.
    let inner = folder.ancestors().take_while(|around| *around != root).collect::<Vec<_>>();
    found.push(root.to_owned());
    found.extend(inner.into_iter().rev().map(Path::to_owned));
    found
}

/// The worktree that a linked one belongs to.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    let text = disk::text(&root.join(".git"), MAX_NAME)?;
    let git_dir = root.join(text.strip_prefix("gitdir:")?.trim());
    let common = disk::text(&git_dir.join("commondir"), MAX_NAME)?;
    let common = git_dir.join(common.trim()).canonicalize().ok()?;
    common.file_name().is_some_and(|name| name == ".git").then(|| common.parent().map(Path::to_owned)).flatten()
}

/// The programs that are pinned.
pub const PROGRAMS: [&str; 2] = ["git", "gh"];

/// How a program is started for the project around a folder: the one that is pinned, or else whichever the search path
/// leads to.
///
/// # Errors
/// One is pinned and not there any more, or what is pinned cannot be told: no other one is believed in its place.
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

/// What is said of a pinned program that is not there any more, and what puts it right.
pub fn gone(path: &Path, name: &str) -> String {
    let path = path.display();
    format!("`{path}` is pinned as `{name}` and gone; put it back, or have a person run `portolan install git`")
}

/// The program of this name that the search path leads to. A relative entry leads elsewhere in each folder and is passed
/// over.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let places = std::env::var_os("PATH")?;
    std::env::split_paths(&places).map(|folder| folder.join(name)).find(|path| is_program(path))
}

/// Whether a file is there that can be run.
#[cfg(unix)]
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.is_absolute() && fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Whether a file is there that can be run.
#[cfg(not(unix))]
pub fn is_program(path: &Path) -> bool {
    path.is_absolute() && path.is_file()
}
