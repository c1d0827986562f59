//! Configuration that makes git run something, or work in another repository: given for one call, or written. Git's own
//! hooks see where branches come from and go to. Aliases are read where they are used, and hooks have their own guard.

use super::finding::Finding;
use super::judged_call::JudgedCall;
use crate::shell::git::{Action, Invocation};
use crate::shell::{Command, Word};

/// Reports the settings that a call is given, or that it writes, and that must be asked about.
pub(super) fn look(judged: &JudgedCall<'_>, command: &Command, invocation: &Invocation, outside: bool) -> Vec<Finding> {
    // The configuration of the user, or of any file.
    let of_user = || {
        let other = |text: &str| matches!(text, "--global" | "--system" | "-f") || text.starts_with("--file");
        command.words.iter().filter_map(Word::known).any(other)
    };
    // Programs that git runs even if it only reads.
    let always = |key: &str| matches!(key, "core.fsmonitor" | "core.sshcommand" | "core.gitproxy");
    let given =
        invocation.config.iter().filter(|(key, _)| !outside && (invocation.action != Action::Reads || always(key)));
    let mut all: Vec<(&str, Option<&Word>)> = given.map(|(key, value)| (key.as_str(), Some(value))).collect();
    if let Action::Config(write) = &invocation.action
        && (!outside || of_user())
    {
        all.push((&write.key, write.value.as_ref()));
    }
    let relevant = all.into_iter().filter(|(key, value)| counts(key, value.and_then(Word::known)));
    relevant
        .map(|(key, _)| Finding::ask(judged, "I-2", format!("`{key}` decides what git runs, or where it works")))
        .collect()
}

fn counts(key: &str, value: Option<&str>) -> bool {
    let Some((section, rest)) = key.split_once('.') else { return false };
    let last = rest.rsplit('.').next().unwrap_or_default();
    match (section, last) {
        ("core", "fsmonitor") => !matches!(value, Some("" | "true" | "false" | "no" | "off" | "0")),
        ("core", "sshcommand" | "gitproxy" | "worktree" | "bare") | ("url" | "protocol", _) => true,
        ("remote", "vcs" | "uploadpack" | "receivepack" | "proxy" | "mirror") => true,
        ("submodule", "update") => value.is_none_or(|value| value.starts_with('!')),
        _ => false,
    }
}
