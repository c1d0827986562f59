//! `typecheck-must-pass-before-commit` (I-6): committed content has passed the type check. No option of `git commit` is
//! an exemption. Commits that are made in other ways, or of content from elsewhere, are asked about. Merges, rebases
//! and the like combine contents that could not be checked before; the result is checked at the exit of the phase.

use super::context::TypecheckVerdict;
use super::finding::Finding;
use super::judged_call::{CheckedOut, JudgedCall};
use crate::shell::Word;
use crate::shell::git::{Action, Invocation};

const RULE: &str = "I-6";

/// Subcommands that make commits from their input, without running the hook that checks them.
const MAKING: [&str; 9] =
    ["am", "commit-tree", "fast-import", "filter-branch", "filter-repo", "history", "p4", "quiltimport", "replay"];

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, _, invocation) in judged.git() {
        let commits = matches!(&invocation.action, Action::Commit(_));
        let unseen = past_the_check(invocation).filter(|_| judged.scene.typecheck != TypecheckVerdict::NotConfigured);
        if (!commits && unseen.is_none())
            || judged.grounds(at, invocation).iter().all(|ground| ground.on == [CheckedOut::Outside])
        {
            continue;
        }
        if let Some(what) = unseen {
            let reason = format!("{what} would be committed without a type check");
            let remedy = "put it into the files, run `portolan qa typecheck`, and commit it with `git commit`";
            found.push(Finding::ask(judged, RULE, reason).remedy(remedy).at(at));
        }
        if commits {
            found.push(verdict(judged).at(at));
        }
    }
    found
}

/// Returns the content that a call would commit without the check, if any.
pub(super) fn past_the_check(invocation: &Invocation) -> Option<String> {
    let name = invocation.name.as_str();
    let words = || invocation.arguments.iter().filter_map(Word::known);
    if MAKING.contains(&name) {
        let goes_on = words().any(|word| matches!(word, "--abort" | "--quit" | "--show-current-patch"));
        return (!goes_on).then(|| format!("the input of `git {name}`"));
    }
    let writes_object = name == "hash-object" && words().any(|word| word.contains("commit"));
    if writes_object {
        return Some("an object".to_owned());
    }
    let is_stash = |word: &str| word.starts_with("stash@{") || matches!(word, "stash" | "refs/stash");
    let takes = matches!(
        name,
        "merge"
            | "cherry-pick"
            | "rebase"
            | "reset"
            | "branch"
            | "switch"
            | "checkout"
            | "update-ref"
            | "push"
            | "pull"
    );
    if takes && words().any(|word| is_stash(word.split([':', '^', '~']).next().unwrap_or_default())) {
        return Some("stashed content".to_owned());
    }
    let other_index = matches!(invocation.action, Action::Commit(_)) && invocation.index_file.is_some();
    other_index.then(|| "the content of another index".to_owned())
}

fn verdict(judged: &JudgedCall<'_>) -> Finding {
    let run = "portolan qa typecheck";
    match &judged.scene.typecheck {
        TypecheckVerdict::Passed => Finding::allow(RULE, "the present content passed the type check"),
        TypecheckVerdict::NotConfigured => Finding::allow(RULE, "no type checker is configured"),
        TypecheckVerdict::Failed(why) => Finding::block(RULE, format!("the type check failed: {why}"))
            .remedy("fix what it reports")
            .remedy(run)
            .remedy("then commit again"),
        TypecheckVerdict::Unknown => Finding::block(RULE, "the type check has not been run on the present content")
            .remedy(run)
            .remedy("then commit again"),
    }
}
