//! No work is half done: no conflicts, no operation in progress, and nothing uncommitted if the guidelines forbid that.

use super::{CheckFinding, CheckKind, WARNED, fails, holds, not_asked, unverified};
use crate::facts::{Answer, Claims, Facts, Needs};
use crate::guidelines::{Guidelines, Level};

pub(super) const KIND: CheckKind =
    CheckKind { id: "treeIsSettled", invariant: None, needs: Needs { tree: true, ..Needs::NOTHING }, look };

fn look(_claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    let tree = match (&facts.trouble, &facts.tree) {
        (Some(unknown), _) | (None, Answer::Unknown(unknown)) => return unverified(unknown),
        (None, Answer::NotAsked | Answer::Missing) => return not_asked("the working tree"),
        (None, Answer::Found(tree)) => tree,
    };
    if tree.unmerged > 0 {
        return fails("unmerged", format!("{} in conflict; resolve the conflicts and commit", paths(tree.unmerged)));
    }
    if let Some(operation) = facts.operation {
        return fails("operation-in-progress", format!("a {operation} is in progress; finish it or abort it"));
    }
    let left = tree.staged + tree.unstaged + tree.untracked;
    let uncommitted = format!(
        "{} not committed ({} staged, {} changed, {} untracked)",
        paths(left),
        tree.staged,
        tree.unstaged,
        tree.untracked
    );
    match guidelines.commits.clean_tree {
        _ if left == 0 => holds("clean", "everything is committed"),
        Level::Block => fails("not-clean", format!("{uncommitted}; commit it, or ignore it")),
        Level::Warn => holds(WARNED, format!("{uncommitted}; passed because `commits.cleanTree` is `warn`")),
        Level::Off => holds("no-conflicts", "there are no conflicts; the rest is not checked (`commits.cleanTree`)"),
    }
}

fn paths(count: usize) -> String {
    if count == 1 { "1 path is".to_owned() } else { format!("{count} paths are") }
}
