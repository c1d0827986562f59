//! `reference-transaction`: an integration branch or the reference that it follows moves, whatever moves it.
//!
//! A branch may move to a commit that its remote has. A local reference records what the remote has, and any git
//! command can move that too. It is therefore guarded as well: only fetching the branch from the pinned remote may move
//! it, and only forwards.

use portolan_gates::guards::{Worktree, integrates};
use portolan_gates::{Decision, Guidelines};
use portolan_runtime::inspection;
use portolan_runtime::pins::Upstream;
use serde_json::json;

use super::git::{GitFacts, MAX_REFERENCES, Run, is_zero, quoted};
use super::refs::{Refs, is_within};
use super::upstream::Upstreams;
use super::{Answerable, Gatekeeper, above};

/// One reference of a transaction.
#[derive(Debug)]
struct Move<'a> {
    old: &'a str,
    new: &'a str,
    name: &'a str,
}

impl<'a> Move<'a> {
    /// Parses `old new name`. Deleting a reference without stating its old value gives zeros for both.
    fn read(line: &'a str) -> Option<Move<'a>> {
        let mut fields = line.splitn(3, ' ');
        Some(Move { old: fields.next()?, new: fields.next()?, name: fields.next()? })
    }

    fn branch(&self) -> Option<&'a str> {
        self.name.strip_prefix("refs/heads/")
    }
}

/// A move that is refused.
struct RefusedMove {
    /// The integration branch that it affects.
    branch: String,
    new: String,
    /// The reason, unless the branch itself would diverge.
    why: Option<String>,
    /// The branch of the remote that has the commit already: git moves its local reference after a push.
    pushed: Option<String>,
}

/// A repository whose references move.
struct MoveContext<'w> {
    worktree: &'w Worktree,
    refs: Refs,
    upstreams: Upstreams<'w>,
}

impl Run {
    pub(super) fn transaction(&self, keeper: &Gatekeeper, rules: &Guidelines) -> Answerable {
        let is_ours = |change: &Move<'_>| change.branch().is_some_and(|branch| integrates(rules, branch));
        let moves: Vec<Move<'_>> = self.input.lines().filter_map(Move::read).collect();
        if !moves.iter().any(|change| is_ours(change) || change.name.starts_with("refs/remotes/")) {
            return Answerable::allowed();
        }
        let Some(worktree) = inspection::worktree(&self.place()) else {
            return Answerable::blocked("the repository of the moved branch cannot be found");
        };
        let upstreams = match Upstreams::of(&worktree, rules) {
            Ok(upstreams) => upstreams,
            Err(why) => return Answerable::blocked(why),
        };
        let moving = MoveContext { worktree: &worktree, refs: Refs::of(&worktree), upstreams };
        let denied = moves.iter().filter_map(|change| match change.branch() {
            Some(branch) => integrates(rules, branch).then(|| moving.branch(change, branch)).flatten(),
            None => moving.followed(change),
        });
        let denied: Vec<RefusedMove> = denied.take(MAX_REFERENCES).collect();
        self.denied(keeper, rules, &denied)
    }

    fn denied(&self, keeper: &Gatekeeper, rules: &Guidelines, denied: &[RefusedMove]) -> Answerable {
        let mut all = Vec::new();
        for RefusedMove { branch, new, why, pushed } in denied {
            let name = quoted(&format!("refs/heads/{branch}"));
            let verb = if is_zero(new) { format!("-d {name}") } else { format!("{name} {new}") };
            let (reason, pushed) = (why.clone(), pushed.clone());
            let amended = GitFacts { reason, commit: Some(json!(new)), pushed, ..GitFacts::default() };
            let answer = self.judged_with(keeper, rules, &format!("git update-ref {verb}"), &["I-2"], |_| {}, amended);
            if answer.decision != Decision::Allow && answer.judgements.is_empty() {
                return answer;
            }
            all.extend(answer.judgements);
        }
        let mut answer = Answerable::of(all);
        if answer.decision != Decision::Allow {
            answer.remedies.push("get what the remote has: git pull --ff-only".to_owned());
            let undo = "undo changes that a stopped merge may have made to files: git restore --staged --worktree .";
            answer.remedies.push(undo.to_owned());
        }
        answer
    }
}

/// Returns the reason against a push that has moved a branch of the remote.
fn pushed(upstream: &Upstream, new: &str) -> String {
    let (Upstream { remote, branch }, short) = (upstream, super::tripwire::short(new));
    format!(
        "a push has already moved `{branch}` of `{remote}` to {short}, but `{branch}` accepts changes through review only"
    )
}

impl MoveContext<'_> {
    fn is_within(&self, commit: &str, tip: &str) -> bool {
        is_within(self.worktree.root.as_ref(), commit, &[tip.to_owned()])
    }

    /// Refuses a move of an integration branch, if it is not allowed. Creating a branch is allowed.
    fn branch(&self, change: &Move<'_>, branch: &str) -> Option<RefusedMove> {
        let was = self.refs.oid(change.name)?;
        let denied =
            |why| Some(RefusedMove { branch: branch.to_owned(), new: change.new.to_owned(), why, pushed: None });
        if is_zero(change.new) {
            return if self.refs.is_packed(change.name, change.old) { None } else { denied(None) };
        }
        if change.new == was {
            return None;
        }
        match self.upstreams.tip(&self.refs, branch) {
            Some(tip) if self.is_within(change.new, &tip) => denied(Some(format!(
                "`{branch}` cannot be moved to what was fetched: {}",
                self.upstreams.fault(branch)?
            ))),
            _ => denied(None),
        }
    }

    /// Refuses a move of the reference that an integration branch follows, if it is not allowed. Deleting the reference
    /// is allowed, because the branch then cannot move.
    fn followed(&self, change: &Move<'_>) -> Option<RefusedMove> {
        let branch = self.upstreams.follower(change.name)?;
        let upstream = self.upstreams.followed(&branch)?;
        let was = self.refs.oid(change.name);
        if is_zero(change.new) || was.as_deref() == Some(change.new) {
            return None;
        }
        let why = self.forged(change.new, was, &branch, &upstream)?;
        let is_pushed = above::words().is_some_and(|words| above::verb(&words).0 == Some("push"));
        let why = match is_pushed {
            true => pushed(&upstream, change.new),
            false => format!("`{}` mirrors what `{}` has: {why}", change.name, upstream.remote),
        };
        let pushed = is_pushed.then(|| upstream.branch.clone());
        Some(RefusedMove { branch, new: change.new.to_owned(), why: Some(why), pushed })
    }

    fn forged(&self, new: &str, was: Option<String>, branch: &str, upstream: &Upstream) -> Option<String> {
        let ours = self.refs.oid(&format!("refs/heads/{branch}"));
        // The branch could move there already.
        if ours.as_ref().is_some_and(|ours| self.is_within(new, ours)) {
            return None;
        }
        if let Some(why) = self.upstreams.fault(branch) {
            return Some(why);
        }
        match above::words() {
            Some(words) if !above::fetches(&words, upstream) => {
                return Some(format!("it is moved only by `git fetch {}`", upstream.remote));
            }
            None if self.upstreams.was_made_here(new, upstream) => {
                return Some("the commit belongs to a local branch and is not on any remote".to_owned());
            }
            Some(_) | None => {}
        }
        let base = was.or(ours)?;
        let back = || format!("it was at {} before, which would be lost", super::tripwire::short(&base));
        (!self.is_within(&base, new)).then(back)
    }
}
