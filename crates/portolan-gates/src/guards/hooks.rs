//! `no-verify`: the hooks of a repository are neither skipped nor replaced. They check commits (I-6), and protect the
//! integration branch (I-2) if the effect of a command is unknown.

use super::finding::Finding;
use super::judged_call::JudgedCall;
use crate::shell::Command;
use crate::shell::git::{Action, Invocation};

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, call, invocation) in judged.git() {
        let rule = if matches!(invocation.action, Action::Commit(_)) { "I-6" } else { "I-2" };
        if invocation.skips_hooks {
            let block = Finding::block(rule, "`--no-verify` skips the hooks that check it");
            found.push(block.remedy("run it again without `--no-verify`").at(at));
        }
        if invocation.replaces_hooks && invocation.action != Action::Reads {
            found.push(replaced(judged, rule, call.command, invocation).at(at));
        }
    }
    found
}

/// Reports that git may run hooks from another place.
fn replaced(judged: &JudgedCall<'_>, rule: &'static str, command: &Command, invocation: &Invocation) -> Finding {
    let names = |key: &str| key == "core.hookspath" || key.starts_with("include");
    let written = matches!(&invocation.action, Action::Config(write) if names(&write.key));
    let mut set = command.carried.iter().chain(&command.assignments);
    let sure = written
        || invocation.config.iter().any(|(key, _)| names(key))
        || set.any(|given| given.name.starts_with("GIT_CONFIG") || given.name == "GIT_EXEC_PATH");
    if sure {
        return Finding::block(rule, "hooks other than those of the repository would run")
            .remedy("run it again without `core.hooksPath`, `include.path` and `GIT_CONFIG_…`");
    }
    Finding::ask(judged, rule, "the given configuration cannot be inspected and may replace the hooks")
}
