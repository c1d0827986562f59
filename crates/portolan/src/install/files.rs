//! Changes of single files: shown as a diff, and written atomically.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use portolan_runtime::project_folder;
use similar::TextDiff;

use super::git::chained;
use super::record::{PLACE, Record};

/// The temporary file that replaces the target. One name per folder, so that leftovers do not accumulate.
const TORN: &str = ".portolan-install.tmp";

/// The largest configuration file that is read, in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// The handling of a hook that was there before ours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Chain {
    /// It is kept beside ours.
    Aside,
    /// It is moved back.
    Back,
    /// It is already in its place, and its copy is removed.
    Once,
}

/// The content of one file before and after.
pub(super) struct Step {
    path: PathBuf,
    /// The path as shown to the user.
    pub(super) shown: PathBuf,
    before: Option<String>,
    after: Option<String>,
    executable: bool,
    chain: Option<Chain>,
    /// Folders to remove as well if they are empty.
    folders: Vec<PathBuf>,
}

impl Step {
    pub(super) fn new(project: &Path, file: &Path, before: Option<String>, after: Option<String>) -> Step {
        let path = project.join(file);
        let shown = path.strip_prefix(project).unwrap_or(file).to_owned();
        Step { path, shown, before, after, executable: false, chain: None, folders: Vec::new() }
    }

    pub(super) fn executable(self) -> Step {
        Step { executable: true, ..self }
    }

    pub(super) fn chaining(self, chain: Chain) -> Step {
        Step { chain: Some(chain), ..self }
    }

    pub(super) fn leaving(self, folders: Vec<PathBuf>) -> Step {
        Step { folders, ..self }
    }

    pub(super) fn is_empty(&self) -> bool {
        let is_left = self.after.is_some() || !self.folders.iter().any(|folder| folder.exists());
        self.before == self.after && (!self.executable || is_executable(&self.path)) && is_left && self.chain.is_none()
    }

    pub(super) fn diff(&self) -> String {
        let shown = self.shown.display();
        // The earlier hook keeps its content under another name.
        let before = if self.chain == Some(Chain::Aside) { None } else { self.before.as_deref() };
        let name = |text: Option<&str>, side: &str| match text {
            Some(_) => format!("{side}/{}", shown.to_string().trim_start_matches('/')),
            None => "/dev/null".to_owned(),
        };
        let moved = match self.chain {
            Some(Chain::Aside) => format!("{shown} becomes {}\n", chained(&self.shown).display()),
            Some(Chain::Once) => format!("{} goes\n", chained(&self.shown).display()),
            Some(Chain::Back) => format!("{} becomes {shown} again\n", chained(&self.shown).display()),
            None => String::new(),
        };
        let diff = TextDiff::from_lines(before.unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let mut unified = diff.unified_diff();
        let unified = unified.header(&name(before, "a"), &name(self.after.as_deref(), "b"));
        format!("{moved}{unified}")
    }

    /// Removes the temporary file of a process that was killed.
    pub(super) fn forget_torn(&self) {
        forget_torn(&self.path);
    }

    pub(super) fn perform(&self) -> anyhow::Result<()> {
        if self.chain == Some(Chain::Aside) {
            keep_aside(&self.path)?;
        }
        match (&self.after, self.chain) {
            (_, Some(Chain::Once)) => fs::remove_file(chained(&self.path))?,
            (Some(text), _) => write(&self.path, text, self.executable)?,
            // A single rename, so that a commit at this moment runs either our hook or the earlier one.
            (None, Some(Chain::Back)) => fs::rename(chained(&self.path), &self.path)?,
            (None, _) => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            },
        }
        if self.after.is_none() {
            for folder in self.folders.iter().rev() {
                // Fails for a folder that is not empty, which stays.
                let _ = fs::remove_dir(folder);
            }
        }
        Ok(())
    }
}

/// Reads the text of a file. Returns `None` if it does not exist.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    ensure!(!about.is_symlink(), "it is a symbolic link: install at its target, or replace it with a file");
    ensure!(about.is_file(), "it is not a file");
    ensure!(about.len() <= MAX_BYTES, "it is larger than {} MiB", MAX_BYTES >> 20);
    let bytes = fs::read(path)?;
    String::from_utf8(bytes).map(Some).map_err(|_| anyhow::anyhow!("it is not UTF-8 text"))
}

/// Refuses a path through a folder outside the project: a repository could contain such a symbolic link.
pub(super) fn stays_inside(project: &Path, path: &Path) -> anyhow::Result<()> {
    let there = path.ancestors().skip(1).find(|folder| folder.exists()).context("it has no folder")?;
    ensure!(there.canonicalize()?.starts_with(project), "`{}` is outside the project", there.display());
    Ok(())
}

/// Returns the folders that must be created, the outermost first.
pub(super) fn missing_folders(project: &Path, path: &Path) -> Vec<PathBuf> {
    let path = project.join(path);
    let mut missing: Vec<PathBuf> =
        path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Keeps a hook under a second name. It stays in its place until ours replaces it.
fn keep_aside(path: &Path) -> std::io::Result<()> {
    let aside = chained(path);
    if aside.exists() {
        return Ok(());
    }
    // A file system without hard links needs a rename.
    fs::hard_link(path, &aside).or_else(|_| fs::rename(path, &aside))
}

/// Writes a file atomically.
pub(super) fn write(path: &Path, text: &str, executable: bool) -> anyhow::Result<()> {
    let folder = path.parent().context("it has no folder")?;
    fs::create_dir_all(folder)?;
    forget_torn(path);
    let torn = folder.join(TORN);
    let filled = fill(path, &torn, text, executable).and_then(|()| fs::rename(&torn, path));
    filled.inspect_err(|_| forget_torn(path))?;
    Ok(())
}

fn fill(path: &Path, torn: &Path, text: &str, executable: bool) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(torn)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    permit(path, torn, executable)
}

/// Removes the temporary file of a killed process beside this file.
fn forget_torn(path: &Path) {
    if let Some(folder) = path.parent() {
        let _none = fs::remove_file(folder.join(TORN));
    }
}

/// Copies the permissions of the replaced file, or sets those of a new one.
#[cfg(unix)]
fn permit(path: &Path, file: &Path, executable: bool) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let known = fs::metadata(path).ok().map(|about| about.permissions().mode());
    let mode = known.unwrap_or(0o644) | if executable { 0o111 } else { 0 };
    fs::set_permissions(file, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn permit(_: &Path, _: &Path, _: bool) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(super) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(super) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Writes the installation record, or deletes it if nothing is installed.
pub(super) fn keep_record(project: &Path, record: &Record) -> anyhow::Result<()> {
    let path = project.join(PLACE);
    if record.files.is_empty() {
        forget_torn(&path);
        if path.exists() {
            fs::remove_file(&path)?;
        }
        if let Some(folder) = path.parent() {
            project_folder::clear(folder);
        }
        return Ok(());
    }
    // Creates the folder with its ignore file: the record belongs to this checkout and must not be committed.
    path.parent().map(project_folder::make).transpose()?;
    let text = record.text()?;
    if fs::read_to_string(&path).is_ok_and(|known| known == text) { Ok(()) } else { write(&path, &text, false) }
}
