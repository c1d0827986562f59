//! Nobody went past the guards: integration branches hold what their remotes hold, and git finds its hooks.

use super::{CheckKind, Finding, fails, holds, not_asked, quoted, unverified};
use crate::gates::facts::{Answer, Claims, Facts, Needs};
use crate::gates::guidelines::Guidelines;

pub(super) const KIND: CheckKind =
    CheckKind { id: "noTampering", invariant: None, needs: Needs { tripwire: true, ..Needs::NOTHING }, look };

fn look(_claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> Finding {
    let wire = match (&facts.trouble, &facts.tripwire) {
        (Some(unknown), _) | (None, Answer::Unknown(unknown)) => return unverified(unknown),
        (None, Answer::NotAsked | Answer::Missing) => return not_asked("traces of work past the guards"),
        (None, Answer::Found(wire)) => wire,
    };
    if let Some(place) = wire.hooks_path.as_deref().filter(|_| !wire.hooks_exist) {
        let help = "put it right: `git config --unset core.hooksPath`";
        return fails("hooks-path", format!("hooks are looked for in {}, which is no folder; {help}", quoted(place)));
    }
    match wire.ahead.first().filter(|_| !guidelines.commit_directly) {
        Some((branch, count)) => {
            let help = "move them to a branch of their own";
            let commits = if *count == 1 { "a commit" } else { "commits" };
            let reason = format!("{} has {commits} that its remote does not have ({count}); {help}", quoted(branch));
            fails("ahead-of-remote", reason)
        }
        None => holds("untouched", "integration branches hold only what their remotes hold, and git finds its hooks"),
    }
}
