//! The effects of a call of git on branches: whether it moves the present one, changes files, or writes a branch by
//! name. The hooks of git see the commits, and decide what a branch may take from its remote.

use super::judged_call::{ActionPlace, CheckedOut, JudgedCall, branch_name};
use crate::Tool;
use crate::shell::Word;
use crate::shell::git::{Action, Invocation, Merge, Push, Refspec, Replay, Switch};

/// The effect of a call of git.
pub(super) enum Effect {
    /// The checked-out branch gets other commits.
    Current {
        /// The effect, up to the name of the branch.
        what: &'static str,
        /// The command to run instead, if there is a better one than a switch to another branch.
        better: Option<&'static str>,
    },
    /// Files of the working tree change.
    Files(&'static str),
    /// An integration branch is written by its name.
    Named(&'static str, String),
    /// The effect cannot be determined.
    Unknowable(String),
    /// A repository whose rules are unknown is written.
    Elsewhere(String),
}

/// Returns the effects of a call in this place, or none if no guarded branch is affected.
pub(super) fn effects(judged: &JudgedCall<'_>, invocation: &Invocation, ground: &ActionPlace<'_>) -> Vec<Effect> {
    let look = Look { judged, ground };
    let current = |what| vec![Effect::Current { what, better: None }];
    match &invocation.action {
        Action::Reads | Action::Free | Action::Config(_) | Action::NewRepository | Action::Unknown(_) => Vec::new(),
        Action::Commit(given) if given.dry_run => Vec::new(),
        Action::Commit(_) => current("this would commit on"),
        Action::Fetch(refspecs) => look.fetch(refspecs),
        Action::Push(given) => look.push(given),
        Action::Merge(Merge { abort: true, .. }) | Action::Replay(Replay { abort: true, .. }) => Vec::new(),
        Action::Merge(Merge { squash: true, .. }) | Action::Replay(Replay { no_commit: true, .. }) => {
            vec![Effect::Files("files would change")]
        }
        Action::Merge(Merge { ff_only, refs, .. }) => match (refs.iter().all(|word| look.follows(word)), ff_only) {
            (true, true) => Vec::new(),
            (true, false) => {
                vec![Effect::Current { what: "this would merge into", better: Some("git merge --ff-only @{u}") }]
            }
            (false, _) => current("this would merge into"),
        },
        Action::Pull { from, refspecs } => {
            let own = from.iter().skip(1).all(|word| look.is_present(word));
            let pulled =
                (!own).then_some(Effect::Current { what: "this would merge into", better: Some("git pull --ff-only") });
            look.fetch(refspecs).into_iter().chain(pulled).collect()
        }
        Action::Replay(Replay { branch: Some(branch), .. }) => look.named("this would rewrite", branch),
        Action::Replay(_) => current("this would change the commits on"),
        Action::Reset { target: Some(target), paths } if paths.is_empty() && !look.follows(target) => {
            current("this would move")
        }
        Action::Reset { .. } => Vec::new(),
        Action::References { names, .. } if look.is_unborn() && names.iter().any(is_head) => Vec::new(),
        Action::References { verb, names, to } => {
            names.iter().flat_map(|name| look.reference(verb, name, to.as_ref())).collect()
        }
        Action::Switch(Switch { force: true, to: Some(to), at, .. }) if !look.is_unborn() => {
            look.reference("move", to, at.as_ref())
        }
        Action::Switch(_) => Vec::new(),
        Action::Files { restores: true, .. } => Vec::new(),
        Action::Files { .. } => vec![Effect::Files("files would change")],
        Action::Rewrite(names) if names.is_empty() => {
            vec![Effect::Named("this would rewrite", "every branch".to_owned())]
        }
        Action::Rewrite(names) => names.iter().flat_map(|name| look.reference("write", name, None)).collect(),
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

const PUSHES: &str = "this would push to";
const PRESENT: Effect =
    Effect::Current { what: PUSHES, better: Some("push a branch of your own: git push -u origin HEAD") };

impl Look<'_> {
    /// Returns the branches that may be checked out here.
    fn branches(&self) -> impl Iterator<Item = &str> {
        self.ground.on.iter().filter_map(|on| match on {
            CheckedOut::Branch(branch) | CheckedOut::Unborn(branch) => Some(branch.as_str()),
            CheckedOut::Detached | CheckedOut::Unknown | CheckedOut::Outside => None,
        })
    }

    fn is_unborn(&self) -> bool {
        self.ground.on.iter().all(|on| matches!(on, CheckedOut::Unborn(_)))
    }

    /// Checks whether a name may refer to the remote's state of `branch`.
    fn is_of_remote(word: &Word, branch: &str) -> bool {
        let text = word.known().unwrap_or_default();
        let tracking = text.strip_prefix("refs/remotes/").or_else(|| text.strip_prefix("remotes/")).unwrap_or(text);
        matches!(text, "@{u}" | "@{upstream}") || tracking.split_once('/').is_some_and(|(_, name)| name == branch)
    }

    /// Checks the same for all branches that may be checked out.
    fn follows(&self, word: &Word) -> bool {
        self.branches().next().is_some() && self.branches().all(|branch| Self::is_of_remote(word, branch))
    }

    /// Checks whether the pulled branch has the name of the present one.
    fn is_present(&self, word: &Word) -> bool {
        let source = word.known().map(|text| branch_name(text.split(':').next().unwrap_or_default()));
        self.branches().all(|branch| source == Some(branch))
    }

    /// Returns the effect of writing a branch by name, if that is an integration branch.
    fn named(&self, what: &'static str, word: &Word) -> Vec<Effect> {
        let name = word.known().filter(|name| self.judged.names_integration(name));
        name.map(|name| Effect::Named(what, branch_name(name).to_owned())).into_iter().collect()
    }

    fn reference(&self, verb: &str, name: &Word, to: Option<&Word>) -> Vec<Effect> {
        let what = match verb {
            "delete" => "this would delete",
            "rename" => "this would rename",
            "overwrite" => "this would overwrite",
            "move" => "this would move",
            _ => "this would write",
        };
        match name.known() {
            _ if is_head(name) => vec![Effect::Current { what, better: None }],
            Some(name) if to.is_some_and(|to| Self::is_of_remote(to, branch_name(name))) => Vec::new(),
            _ => self.named(what, name),
        }
    }

    /// Returns the effects of fetching into a branch by name, except from the branch of the same name.
    fn fetch(&self, refspecs: &[Refspec]) -> Vec<Effect> {
        let same = |refspec: &&Refspec| {
            let source = refspec.source.as_ref().and_then(Word::known).map(branch_name);
            source == refspec.target.known().map(branch_name) && !refspec.force
        };
        refspecs
            .iter()
            .filter(|refspec| !same(refspec))
            .flat_map(|it| self.named("this would move", &it.target))
            .collect()
    }

    /// Returns the effects of a push on the other side. All remotes count alike: a branch of that name is an
    /// integration branch.
    fn push(&self, given: &Push) -> Vec<Effect> {
        if given.dry_run {
            return Vec::new();
        }
        if given.all {
            return vec![Effect::Named(PUSHES, "every branch".to_owned())];
        }
        if let Some(repository) = self.another(given) {
            return given.refspecs.iter().filter_map(|refspec| self.abroad(repository, refspec)).collect();
        }
        if given.refspecs.is_empty() {
            return if given.tags { Vec::new() } else { vec![PRESENT] };
        }
        given.refspecs.iter().flat_map(|refspec| self.sent(refspec)).collect()
    }

    fn sent(&self, refspec: &Refspec) -> Vec<Effect> {
        let what = if refspec.source.is_some() { PUSHES } else { "this would delete the remote branch" };
        let unknown = |what: &str| vec![Effect::Unknowable(what.to_owned())];
        match refspec.target.known() {
            // It goes to the checked-out branch.
            None if refspec.source.as_ref().is_some_and(is_head) => vec![PRESENT],
            None => unknown("the branch that it writes is known only at run time"),
            Some(":") => vec![Effect::Named(what, "every branch that both sides have".to_owned())],
            Some("HEAD" | "@") => unknown("it is unclear which branch `HEAD` refers to on the other side"),
            Some(target) if target.starts_with('^') => Vec::new(),
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
