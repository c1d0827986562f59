//! What became of what was installed: hooks that were changed or are not run, and rules that nobody agreed to.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use portolan_gates::guards::Worktree;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::digest::Digest;
use crate::inspection::{self, ask};
use crate::{disk, pins, rules};

/// The largest file whose digest is compared.
const MAX_HOOK: u64 = 4 << 20;

/// Something that was found, which must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What it is about.
    pub(crate) what: &'static str,
    /// Where.
    pub(crate) place: String,
    /// What was to be there.
    pub(crate) expected: String,
    /// What is there.
    pub(crate) found: String,
    /// What the agent is told.
    pub(crate) said: String,
}

impl Finding {
    /// What tells it from others.
    pub(crate) fn key(&self) -> String {
        format!("{} {} {}", self.what, self.place, self.found)
    }

    /// What is put on record.
    pub(crate) fn data(&self) -> Value {
        json!({ "what": self.what, "where": self.place, "expected": self.expected, "found": self.found })
    }
}

/// What `portolan install` has written down, as far as it is compared.
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

/// What was put into a file that others write too.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    within: Vec<String>,
    #[serde(default)]
    key: Option<String>,
    value: Value,
}

/// What became of what was installed.
#[derive(Debug, Default)]
pub(crate) struct InstallStatus {
    /// What is not as it was left, each as a clause.
    pub(crate) altered: Vec<String>,
    /// Since when git's own hooks are there; nothing where they are not.
    pub(crate) git_hooks_since: Option<SystemTime>,
}

/// What became of what was installed in a project; nothing where nothing was.
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
        altered: found.into_iter().map(|finding| finding.said).collect(),
        git_hooks_since: written.filter(|_| has_git),
    }
}

/// Hooks that are not as they were installed, or that git does not look for any more.
pub(crate) fn tampered(project: &Path, worktree: Option<&Worktree>) -> Vec<Finding> {
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

/// The file of rules says something else than what was agreed to. That is how a branch is that is older than the rules, and
/// how it is when somebody has changed them.
pub(crate) fn departed(project: &Path) -> Option<Finding> {
    let digest = |text: Option<String>| text.map_or_else(|| "nothing".to_owned(), |text| Digest::of(text).to_string());
    let expected = digest(rules::agreed(project).ok()??.text);
    rules::is_departed(project).then(|| Finding {
        what: "rules",
        place: rules::FILE.to_owned(),
        expected,
        found: digest(disk::text(&project.join(rules::FILE), MAX_HOOK)),
        said: format!(
            "`{0}` is not what was agreed to, and what was agreed to counts; once a person has run \
             `portolan trust {0}` the file does",
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
        let said = format!("git passes over the hook in `{place}`, which is not executable");
        let found = "not executable".to_owned();
        return (!is_run).then(|| Finding { what: "hook", place, expected: file.digest.clone(), found, said });
    }
    let said = format!("the hooks in `{place}` are not those that were installed");
    Some(Finding { what: "hook", place, expected: file.digest.clone(), found, said })
}

/// Whether all that was put into a file is still in it. One with comments is not read here: `portolan doctor` does.
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
    // Not all of the configuration is read here, and git knows all of it.
    let asked = ask::ask_as_given(root, &["rev-parse", "--git-path", "hooks"], Vec::new());
    let found = asked.map(|(_, text)| text.trim_end().to_owned()).or(given).unwrap_or_default();
    if is_there(Path::new(&found)) {
        return None;
    }
    Some(Finding {
        what: "core.hooksPath",
        place: worktree.common_dir.clone() + "/config",
        expected: expected.display().to_string(),
        said: format!("`core.hooksPath` leads git to `{found}`, where the installed hooks are not"),
        found,
    })
}
