//! The state of an installation: hooks that were changed or do not run, and rules that no person accepted.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use portolan_gates::guards::Worktree;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::digest::Digest;
use crate::inspection::{self, ask};
use crate::{disk, pins, rules};

/// The largest file whose digest is compared, in bytes.
const MAX_HOOK: u64 = 4 << 20;

/// A violation that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The subject.
    pub what: &'static str,
    /// The place.
    pub place: String,
    /// The expected content.
    pub expected: String,
    /// The actual content.
    pub found: String,
    /// The message for the agent.
    pub message: String,
}

impl Finding {
    /// Returns the key that identifies the finding.
    pub fn key(&self) -> String {
        format!("{} {} {}", self.what, self.place, self.found)
    }

    /// Returns the data of the log entry.
    pub fn data(&self) -> Value {
        json!({ "what": self.what, "where": self.place, "expected": self.expected, "found": self.found })
    }
}

/// The part of the record of `portolan install` that is compared.
#[derive(Deserialize)]
struct Installation {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    host: String,
    file: PathBuf,
    digest: String,
    #[serde(default)]
    parts: Vec<Part>,
}

/// A part of a file that other programs write too.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    within: Vec<String>,
    #[serde(default)]
    key: Option<String>,
    value: Value,
}

/// The state of an installation.
#[derive(Debug, Default)]
pub(crate) struct InstallStatus {
    /// The deviations from the installation, each as a clause.
    pub(crate) altered: Vec<String>,
    /// Since when git's own hooks are installed, or `None` if they are not.
    pub(crate) git_hooks_since: Option<SystemTime>,
}

/// Returns the state of a project's installation. Empty if nothing is installed.
pub(crate) fn installed(project: &Path) -> InstallStatus {
    let place = project.join(pins::PLACE);
    let Some(text) = pins::text(project) else { return InstallStatus::default() };
    let Ok(installation) = serde_json::from_str::<Installation>(&text) else {
        let altered = vec![format!("`{}` cannot be read", place.display())];
        return InstallStatus { altered, git_hooks_since: None };
    };
    let found = tampered(project, inspection::worktree(project).as_deref());
    let has_git = installation.files.iter().any(|file| file.host == "git");
    let written = place.metadata().and_then(|place| place.modified()).ok();
    InstallStatus {
        altered: found.into_iter().map(|finding| finding.message).collect(),
        git_hooks_since: written.filter(|_| has_git),
    }
}

/// Finds hooks that differ from the installed ones, or that git does not run.
pub fn tampered(project: &Path, worktree: Option<&Worktree>) -> Vec<Finding> {
    let Some(text) = pins::text(project) else { return Vec::new() };
    let Ok(installation) = serde_json::from_str::<Installation>(&text) else { return Vec::new() };
    let mut found: Vec<Finding> = installation.files.iter().filter_map(|file| altered(project, file)).collect();
    found.extend(departed(project));
    let hook = installation.files.iter().find(|file| file.host == "git");
    if let (Some(hook), Some(worktree)) = (hook, worktree) {
        found.extend(elsewhere(&hook.file, worktree));
    }
    found
}

/// Returns a finding if the file of rules differs from the accepted rules. That is so on a branch that is older than
/// the rules, and after an unaccepted change.
pub fn departed(project: &Path) -> Option<Finding> {
    let digest = |text: Option<String>| text.map_or_else(|| "nothing".to_owned(), |text| Digest::of(text).to_string());
    let expected = digest(rules::agreed(project).ok()??.text);
    rules::is_departed(project).then(|| Finding {
        what: "rules",
        place: rules::FILE.to_owned(),
        expected,
        found: digest(disk::text(&project.join(rules::FILE), MAX_HOOK)),
        message: format!(
            "`{0}` differs from the trusted version, and the trusted version applies; a person must run \
            `portolan trust {0}` for the file to apply",
            rules::FILE
        ),
    })
}

fn altered(project: &Path, file: &File) -> Option<Finding> {
    let place = file.file.display().to_string();
    let text = disk::text(&project.join(&file.file), MAX_HOOK);
    let found = text.as_ref().map_or_else(|| "nothing".to_owned(), |text| Digest::of(text).to_string());
    if found == file.digest || text.as_ref().is_some_and(|text| holds_all(text, &file.parts)) {
        let is_run = file.host != "git" || pins::is_program(&file.file);
        let message = format!("git ignores the hook in `{place}`, which is not executable");
        let found = "not executable".to_owned();
        return (!is_run).then(|| Finding { what: "hook", place, expected: file.digest.clone(), found, message });
    }
    let message = format!("the hooks in `{place}` are not those that were installed");
    Some(Finding { what: "hook", place, expected: file.digest.clone(), found, message })
}

/// Checks whether all installed parts are still in a file. A file with comments is not parsed here and counts as
/// complete: `portolan doctor` checks it.
fn holds_all(text: &str, parts: &[Part]) -> bool {
    if parts.is_empty() {
        return false;
    }
    let Ok(whole) = serde_json::from_str::<Value>(text) else { return true };
    parts.iter().all(|part| {
        let inner = part.within.iter().try_fold(&whole, |value, key| value.get(key));
        match (&part.key, inner) {
            (Some(key), Some(inner)) => inner.get(key) == Some(&part.value),
            (None, Some(Value::Array(items))) => items.contains(&part.value),
            _ => false,
        }
    })
}

fn elsewhere(hook: &Path, worktree: &Worktree) -> Option<Finding> {
    let (root, expected) = (Path::new(&worktree.root), hook.parent()?);
    let given = inspection::hooks_path(worktree);
    let is_there = |folder: &Path| root.join(folder).canonicalize().is_ok_and(|folder| folder == expected);
    let usual = || Path::new(&worktree.common_dir).join("hooks");
    if is_there(&given.clone().map_or_else(usual, PathBuf::from)) {
        return None;
    }
    // This module reads only a part of the configuration; git knows all of it.
    let output = ask::ask_as_given(root, &["rev-parse", "--git-path", "hooks"], Vec::new());
    let found = output.map(|(_, text)| text.trim_end().to_owned()).or(given).unwrap_or_default();
    if is_there(Path::new(&found)) {
        return None;
    }
    Some(Finding {
        what: "core.hooksPath",
        place: worktree.common_dir.clone() + "/config",
        expected: expected.display().to_string(),
        message: format!("`core.hooksPath` points git to `{found}`, which does not contain the installed hooks"),
        found,
    })
}
