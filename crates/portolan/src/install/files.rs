//! The changes of files, one by one: shown as a diff, written whole or not at all.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use portolan_runtime::project_folder;
use similar::TextDiff;

use super::git::chained;
use super::record::{PLACE, Record};

/// What is written before it takes its place. It has one name in each folder, so that nothing piles up.
const TORN: &str = ".portolan-install.tmp";

/// The largest configuration file that is read.
const MAX_BYTES: u64 = 8 << 20;

/// What becomes of a hook that was there before ours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Chain {
    /// It is kept beside ours.
    Aside,
    /// It is put back.
    Back,
    /// It stands in its place, and goes from beside it.
    Once,
}

/// One file before and after.
pub(super) struct Step {
    path: PathBuf,
    /// As the user knows it.
    pub(super) shown: PathBuf,
    before: Option<String>,
    after: Option<String>,
    executable: bool,
    chain: Option<Chain>,
    /// Folders that go too when they are empty.
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
        // The hook that was there stays what it is, under another name.
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

    /// Removes what a process that was killed has left beside the file.
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
            // In one move: whoever commits meanwhile is held by ours or by the earlier one.
            (None, Some(Chain::Back)) => fs::rename(chained(&self.path), &self.path)?,
            (None, _) => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            },
        }
        if self.after.is_none() {
            for folder in self.folders.iter().rev() {
                // One that has something in it stays.
                let _ = fs::remove_dir(folder);
            }
        }
        Ok(())
    }
}

/// The text of a file; nothing where there is none.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    ensure!(!about.is_symlink(), "it is a symbolic link: install where it leads to, or replace it by a file");
    ensure!(about.is_file(), "it is no file");
    ensure!(about.len() <= MAX_BYTES, "it is larger than {} MiB", MAX_BYTES >> 20);
    let bytes = fs::read(path)?;
    String::from_utf8(bytes).map(Some).map_err(|_| anyhow::anyhow!("it is not UTF-8 text"))
}

/// No folder on the way may lead out of the project: a repository could bring such a link along.
pub(super) fn stays_inside(project: &Path, path: &Path) -> anyhow::Result<()> {
    let there = path.ancestors().skip(1).find(|folder| folder.exists()).context("it has no folder")?;
    ensure!(there.canonicalize()?.starts_with(project), "`{}` leads out of the project", there.display());
    Ok(())
}

/// The folders that will have to be made, the outermost first.
pub(super) fn missing_folders(project: &Path, path: &Path) -> Vec<PathBuf> {
    let path = project.join(path);
    let mut missing: Vec<PathBuf> =
        path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Keeps a hook beside itself, where it stays until ours takes its place.
fn keep_aside(path: &Path) -> std::io::Result<()> {
    let aside = chained(path);
    if aside.exists() {
        return Ok(());
    }
    // A file that cannot have two names is moved.
    fs::hard_link(path, &aside).or_else(|_| fs::rename(path, &aside))
}

/// A file is there as a whole, or as it was.
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

/// Removes what a process that was killed has left of the file that it wrote beside this one.
fn forget_torn(path: &Path) {
    if let Some(folder) = path.parent() {
        let _none = fs::remove_file(folder.join(TORN));
    }
}

/// The permissions of the file that is replaced, or those of a new one.
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

/// Writes down what was installed; where that is nothing, there is no record.
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
    // The record is of this checkout alone, also for whoever commits everything before anything else is kept there.
    path.parent().map(project_folder::make).transpose()?;
    let text = record.text()?;
    if fs::read_to_string(&path).is_ok_and(|known| known == text) { Ok(()) } else { write(&path, &text, false) }
}
