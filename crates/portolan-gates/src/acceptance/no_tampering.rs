//! The guards were not bypassed: they are as installed, git finds its hooks, the hooks have seen every local commit,
//! and integration branches have no commits that their remotes lack.

use super::{CheckFinding, CheckKind, fails, holds, not_asked, quoted, short, unverified};
use crate::facts::{Answer, Claims, Facts, Needs};
use crate::guidelines::Guidelines;

pub(super) const KIND: CheckKind =
    CheckKind { id: "noTampering", invariant: None, needs: Needs { tripwire: true, ..Needs::NOTHING }, look };

fn look(_claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    let wire = match (&facts.trouble, &facts.tripwire) {
        (Some(unknown), _) | (None, Answer::Unknown(unknown)) => return unverified(unknown),
        (None, Answer::NotAsked | Answer::Missing) => return not_asked("whether the guards were circumvented"),
        (None, Answer::Found(wire)) => wire,
    };
    if let Some(place) = wire.hooks_path.as_deref().filter(|_| !wire.hooks_exist) {
        let help = "fix it: `git config --unset core.hooksPath`";
        return fails("hooks-path", format!("git looks for hooks in {}, which is not a folder; {help}", quoted(place)));
    }
    if let Some(altered) = wire.altered.first() {
        let help = "a person must check this and reinstall the guards with `portolan install`";
        let more = wire.altered.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        return fails("guards-altered", format!("{altered}{more}; {help}"));
    }
    if let Some(oid) = wire.unseen.first() {
        let count = wire.unseen.len();
        let which =
            if count == 1 { quoted(short(oid)) } else { format!("{} and {} more", quoted(short(oid)), count - 1) };
        let help = "recreate them with git's hooks in place: `git rebase --exec 'git commit --amend --no-edit'`";
        return fails("unseen-commits", format!("no git hook has seen {which}, which was made here; {help}"));
    }
    match wire.ahead.first().filter(|_| !guidelines.commit_directly) {
        Some((branch, count)) => {
            let help = "move them to a branch of their own";
            let commits = if *count == 1 { "a commit" } else { "commits" };
            let reason = format!("{} has {commits} that its remote does not have ({count}); {help}", quoted(branch));
            fails("ahead-of-remote", reason)
        }
        None => holds(
            "untouched",
            "the guards are unchanged, and integration branches contain only what their remotes contain",
        ),
    }
}
