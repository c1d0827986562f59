//! The effects of a call of git on branches: whether it moves the present one, changes files, or writes a branch by
//! name. The hooks of git see the commits, and decide what a branch may take from its remote.

use super::judged_call::{ActionPlace, CheckedOut, JudgedCall, branch_name};
use crate::Tool;
use crate::shell::Word;
use crate::shell::git::{Action, Invocation, Push, Refspec, Switch};

/// The effect of a call of git.
pub(super) enum Effect {
    /// The checked-out branch gets other commits.
    Current(&'static str),
    /// Files of the working tree change.
    Files,
    /// An integration branch is written by its name.
    Named(&'static str, String),
    /// The effect cannot be determined.
    Unknowable(&'static str),
    /// A repository whose rules are unknown is written.
    Elsewhere(String),
}

pub(super) const MERGES: &str = "this would merge into";
pub(super) const PUSHES: &str = "this would push to";

/// Returns the effects of a call in this place, or none if no guarded branch is affected.
pub(super) fn effects(judged: &JudgedCall<'_>, invocation: &Invocation, ground: &ActionPlace<'_>) -> Vec<Effect> {
    let look = Look { judged, ground };
    let unless = |own: bool, what| if own { Vec::new() } else { vec![Effect::Current(what)] };
    match &invocation.action {
        Action::Reads | Action::Free | Action::Config(_) | Action::NewRepository | Action::Unknown(_) => Vec::new(),
        Action::Commit(_) => vec![Effect::Current("this would commit on")],
        Action::Push(given) => look.push(given),
        Action::Pull { sources, targets } => {
            let named = targets.iter().flat_map(|name| look.reference("this would move", name, None));
            named.chain(unless(sources.iter().all(|source| look.follows(source)), MERGES)).collect()
        }
        Action::Moves { what, to } => {
            unless(to.as_ref().is_some_and(|to| to.iter().all(|state| look.follows(state))), what)
        }
        Action::References { names, .. } if look.is_unborn() && names.iter().any(is_head) => Vec::new(),
        Action::References { what, names, to } => {
            names.iter().flat_map(|name| look.reference(what, name, to.as_ref())).collect()
        }
        Action::Switch(Switch { force: true, to: Some(to), at, .. }) if !look.is_unborn() => {
            look.reference("this would move", to, at.as_ref())
        }
        Action::Switch(_) | Action::Files { restores: true, .. } => Vec::new(),
        Action::Files { .. } => vec![Effect::Files],
    }
}

/// A call with its place.
struct Look<'a> {
    judged: &'a JudgedCall<'a>,
    ground: &'a ActionPlace<'a>,
}

fn is_head(word: &Word) -> bool {
    matches!(word.known(), Some("HEAD" | "@"))
}

/// The prefix of `owner/name` by which a tool of a forge's server names the repository that it writes.
pub const ON_FORGE: &str = "forge://";

impl Look<'_> {
    fn is_unborn(&self) -> bool {
        self.ground.on.iter().all(|on| matches!(on, CheckedOut::Unborn(_)))
    }

    /// Checks whether a name may refer to the remote's state of `branch`, or is that branch itself.
    fn is_of_remote(word: &Word, branch: &str) -> bool {
        let text = word.known().unwrap_or_default();
        let name = branch_name(text.split(':').next().unwrap_or_default());
        let tracking = name.strip_prefix("refs/remotes/").or_else(|| name.strip_prefix("remotes/")).unwrap_or(name);
        matches!(text, "@{u}" | "@{upstream}")
            || name == branch
            || tracking.split_once('/').is_some_and(|(_, name)| name == branch)
    }

    /// Checks the same for all branches that may be checked out.
    fn follows(&self, word: &Word) -> bool {
        self.ground.on.iter().all(|on| match on {
            CheckedOut::Branch(branch) | CheckedOut::Unborn(branch) => Self::is_of_remote(word, branch),
            CheckedOut::Detached | CheckedOut::Unknown | CheckedOut::Outside => false,
        })
    }

    /// Returns the effect of writing a branch by name, if that is an integration branch.
    fn named(&self, what: &'static str, word: &Word) -> Vec<Effect> {
        let name = word.known().filter(|name| self.judged.names_integration(name));
        name.map(|name| Effect::Named(what, branch_name(name).to_owned())).into_iter().collect()
    }

    fn reference(&self, what: &'static str, name: &Word, to: Option<&Word>) -> Vec<Effect> {
        match name.known() {
            _ if is_head(name) => vec![Effect::Current(what)],
            Some(name) if to.is_some_and(|to| Self::is_of_remote(to, branch_name(name))) => Vec::new(),
            _ => self.named(what, name),
        }
    }

    /// Returns the effects of a push on the other side. All remotes count alike: a branch of that name is an
    /// integration branch.
    fn push(&self, given: &Push) -> Vec<Effect> {
        if let Some(repository) = self.another(given) {
            return given.refspecs.iter().filter_map(|refspec| self.abroad(repository, refspec)).collect();
        }
        if given.refspecs.is_empty() {
            return vec![Effect::Current(PUSHES)];
        }
        given.refspecs.iter().flat_map(|refspec| self.sent(refspec)).collect()
    }

    fn sent(&self, refspec: &Refspec) -> Vec<Effect> {
        let what = if refspec.source.is_some() { PUSHES } else { "this would delete the remote branch" };
        match refspec.target.known() {
            // It goes to the checked-out branch.
            None if refspec.source.as_ref().is_some_and(is_head) => vec![Effect::Current(PUSHES)],
            None => vec![Effect::Unknowable("the branch that it writes is known only at run time")],
            Some("HEAD" | "@") => {
                vec![Effect::Unknowable("it is unclear which branch `HEAD` refers to on the other side")]
            }
            Some(_) => self.named(what, &refspec.target),
        }
    }

    /// Returns the repository that a tool of a forge's server writes, if it is not that of any remote.
    fn another<'p>(&self, given: &'p Push) -> Option<&'p str> {
        let Tool::Mcp { .. } = self.judged.intent.tool else { return None };
        let named = given.remote.as_ref()?.known()?.strip_prefix(ON_FORGE)?;
        let own = self.ground.worktree?.repositories.as_ref()?;
        // The same name on another forge counts as well, because such a tool does not name its forge.
        let is_own = |own: &String| {
            let host = own.len().checked_sub(named.len() + 1).map(|at| at + 1).filter(|_| own.split('/').count() == 3);
            own.get(host.unwrap_or(0)..).is_some_and(|own| own.eq_ignore_ascii_case(named))
        };
        (!own.iter().any(is_own)).then_some(named)
    }

    /// Returns the effect on a branch of another repository. A branch named like a work branch counts as one.
    fn abroad(&self, repository: &str, refspec: &Refspec) -> Option<Effect> {
        let rules = self.judged.guidelines;
        let target = refspec.target.known().map(branch_name);
        let is_work = |branch: &str| {
            let prefixes = &rules.branches.prefixes;
            !branch.starts_with("refs/") && prefixes.iter().any(|prefix| branch.starts_with(prefix.as_str()))
        };
        if target.is_some_and(|branch| is_work(branch) && !rules.integrates(branch)) {
            return None;
        }
        Some(Effect::Elsewhere(format!(
            "this would write `{}` of `{repository}`, which is not a remote of this repository: its rules are not known here",
            target.unwrap_or("a branch")
        )))
    }
}
