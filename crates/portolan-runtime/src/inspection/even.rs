//! Which integration branches have nothing of their own: to rebase one of these onto what it follows only moves it on.

use std::collections::BTreeSet;
use std::path::Path;

use portolan_gates::Guidelines;
use portolan_gates::guards::{self, GuardContext, Worktree};
use portolan_gates::shell::Reading;
use portolan_gates::shell::git::{self, Action};

use super::ask;

/// How many branches are asked about: each takes a call of git.
const MAX_BRANCHES: usize = 4;

/// Those of the worktrees of a scene, by the folder of their repository and their name. Git is asked only where a call
/// would pull and rebase.
pub(super) fn branches(scene: &GuardContext, reading: &Reading, guidelines: &Guidelines) -> BTreeSet<(String, String)> {
    let rebases = |told: git::Invocation| matches!(told.action, Action::Pull(given) if given.rebase);
    if !reading.commands.iter().filter_map(git::invocation).any(rebases) {
        return BTreeSet::new();
    }
    let worktrees = scene.places.values().filter_map(|place| place.worktree.as_deref());
    let followed: BTreeSet<(&str, &str, &str, &str)> =
        worktrees.flat_map(|worktree| followed(worktree, guidelines)).take(MAX_BRANCHES).collect();
    let known = followed.into_iter().filter(|(_, root, branch, remote)| is_even(root, branch, remote));
    known.map(|(folder, _, branch, _)| (folder.to_owned(), branch.to_owned())).collect()
}

/// The integration branches of a repository that follow the branch of their name on a remote.
fn followed<'w>(
    worktree: &'w Worktree,
    guidelines: &'w Guidelines,
) -> impl Iterator<Item = (&'w str, &'w str, &'w str, &'w str)> {
    let own = worktree.upstreams.iter().filter(|(branch, (_, name))| *branch == name);
    own.filter(|(branch, _)| guards::integrates(guidelines, branch)).map(|(branch, (remote, _))| {
        (worktree.common_dir.as_str(), worktree.root.as_str(), branch.as_str(), remote.as_str())
    })
}

fn is_even(root: &str, branch: &str, remote: &str) -> bool {
    let (own, kept) = (format!("refs/heads/{branch}"), format!("refs/remotes/{remote}/{branch}"));
    let asked = ask::ask(Path::new(root), &["merge-base", "--is-ancestor", &own, &kept], Vec::new());
    asked.is_some_and(|(status, _)| status == 0)
}
