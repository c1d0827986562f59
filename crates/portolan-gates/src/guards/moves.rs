//! What a call of git does to branches: whether it moves the present one, changes files, or writes a branch by its name.
//! What only follows the remote of a branch moves nothing that is ours.

use super::act::{Act, ActionPlace, On, branch_name, has, operands, subcommand};
use super::fetched;
use crate::shell::git::{
    Action, Branch, CommitCall, History, Invocation, Merge, Pull, Replay, ReplayKind, Reset, Switch, WorkingTreeChange,
};
use crate::shell::{Command, Word};

/// What a call of git does.
pub(super) enum Effect {
    /// The branch that is checked out gets other commits.
    Current {
        /// What happens, up to the name of the branch.
        what: &'static str,
        /// What to run instead, where there is something better than another branch.
        better: Option<String>,
    },
    /// Files of the working tree change.
    Files(&'static str),
    /// An integration branch is written by its name.
    Named(&'static str, String),
    /// It cannot be told what it does.
    Unknowable(String),
    /// It writes a repository whose rules are not known.
    Elsewhere(String),
    /// It does nothing to a branch that counts.
    Fine(&'static str),
}

fn current(what: &'static str) -> Vec<Effect> {
    vec![Effect::Current { what, better: None }]
}

/// What a call does on this ground. Nothing for one that only looks.
pub(super) fn effects(act: &Act<'_>, command: &Command, told: &Invocation, ground: &ActionPlace<'_>) -> Vec<Effect> {
    let look = Look::new(act, command, told, ground);
    let name = subcommand(command).map_or("", |(name, _)| name);
    match &told.action {
        Action::Reads | Action::Config(_) | Action::NewRepository | Action::Unknown(_) => Vec::new(),
        Action::Commit(CommitCall { dry_run: true, .. }) => Vec::new(),
        Action::Commit(_) => current("this would commit on"),
        Action::Fetch(given) => fetched::effects(&look, given),
        Action::Push(given) => super::push::effects(&look, given),
        Action::Merge(given) => look.merge(given),
        Action::Pull(given) => look.pull(given),
        Action::Replay(given) => look.replay(given),
        Action::Reset(given) => look.reset(given),
        Action::Branch(given) => look.branch(given),
        Action::Switch(given) => look.switch(given),
        Action::References { names } => look.references(name, names),
        Action::Files { change, .. } => look.files(name, *change),
        Action::Worktree { .. } => look.worktree(),
        Action::History(History::Rewrite) => look.rewrite(name),
        Action::History(History::Expire) => vec![Effect::Fine("no branch moves")],
    }
}

/// A call, and where it happens.
pub(super) struct Look<'a> {
    pub(super) act: &'a Act<'a>,
    pub(super) ground: &'a ActionPlace<'a>,
    pub(super) told: &'a Invocation,
    pub(super) arguments: &'a [Word],
}

/// What a name stands for, seen from a branch. The later ones are the worse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Follows {
    /// What the remote of the branch has for it.
    Own,
    /// What another remote has for a branch of this name.
    Other,
    /// Anything else.
    Nothing,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        act: &'a Act<'a>,
        command: &'a Command,
        told: &'a Invocation,
        ground: &'a ActionPlace<'a>,
    ) -> Look<'a> {
        Look { act, ground, told, arguments: subcommand(command).map_or(&[], |(_, arguments)| arguments) }
    }
}

impl Look<'_> {
    pub(super) fn is_remote(&self, name: &str) -> bool {
        self.remotes().iter().any(|remote| remote == name)
    }

    fn remotes(&self) -> &[String] {
        self.ground.worktree.map_or(&[], |worktree| &worktree.remotes)
    }

    /// The remote that a branch comes from: the one that it follows under its own name, or else the usual one.
    pub(super) fn own_remote(&self, branch: &str) -> Option<&str> {
        let followed = self.ground.worktree.and_then(|worktree| worktree.upstreams.get(branch));
        match (followed, self.remotes()) {
            (Some((remote, name)), _) if name == branch && self.is_remote(remote) => Some(remote),
            (_, [only]) => Some(only),
            (_, several) => several.iter().map(String::as_str).find(|remote| *remote == "origin"),
        }
    }

    pub(super) fn follows_remote(&self, remote: &str, branch: &str) -> Follows {
        match self.own_remote(branch) {
            Some(own) if own == remote => Follows::Own,
            _ if self.is_remote(remote) => Follows::Other,
            _ => Follows::Nothing,
        }
    }

    /// What comes of a move to something that a branch follows; nothing where it follows nothing.
    pub(super) fn following(&self, follows: Follows, branch: &str) -> Option<Effect> {
        match follows {
            Follows::Own => Some(Effect::Fine("the branch only follows its remote")),
            Follows::Other if self.act.names_integration(branch) => {
                let own = self.own_remote(branch).unwrap_or("nothing");
                Some(Effect::Unknowable(format!("`{branch}` would move to what another remote has than `{own}`")))
            }
            Follows::Other => Some(Effect::Fine("no integration branch moves")),
            Follows::Nothing => None,
        }
    }

    /// The same for the branch that is checked out.
    fn all_following(&self, words: &[Word]) -> Option<Effect> {
        let branch = self.branches().find(|branch| self.act.integrates(branch)).unwrap_or_default();
        self.following(self.all_follow(words), branch)
    }

    /// The branches that may be checked out here.
    pub(super) fn branches(&self) -> impl Iterator<Item = &str> {
        self.ground.on.iter().filter_map(|on| match on {
            On::Branch(branch) | On::Unborn(branch) => Some(branch.as_str()),
            On::Detached | On::Unknown | On::Outside => None,
        })
    }

    /// What `word` is to `branch`.
    fn follows(&self, word: &Word, branch: &str) -> Follows {
        let Some(text) = word.known() else { return Follows::Nothing };
        if matches!(text, "@{u}" | "@{upstream}") || text.strip_suffix("@{u}") == Some(branch) {
            return if self.own_upstream(branch) { Follows::Own } else { Follows::Nothing };
        }
        let text = text.strip_prefix("refs/remotes/").or_else(|| text.strip_prefix("remotes/")).unwrap_or(text);
        match text.split_once('/') {
            Some((remote, name)) if name == branch => self.follows_remote(remote, branch),
            _ => Follows::Nothing,
        }
    }

    /// Whether the present branch follows the branch of its name on a remote.
    fn own_upstream(&self, branch: &str) -> bool {
        let upstream = self.ground.worktree.and_then(|worktree| worktree.upstreams.get(branch));
        upstream.is_some_and(|(remote, name)| self.is_remote(remote) && name == branch)
    }

    /// What `words` are to the branches that may be checked out.
    fn all_follow(&self, words: &[Word]) -> Follows {
        Follows::all(self.branches().flat_map(|branch| words.iter().map(move |word| self.follows(word, branch))))
    }

    /// A branch that is written by its name.
    pub(super) fn named(&self, what: &'static str, word: &Word) -> Effect {
        match word.known() {
            None => Effect::Unknowable("the branch that is written is only known when it runs".to_owned()),
            Some(name) if self.act.names_integration(name) => Effect::Named(what, branch_name(name).to_owned()),
            Some(_) => self.made(word).unwrap_or(Effect::Fine("no integration branch is written")),
        }
    }

    /// A name that may be given to what is made, unless it stands for what is known of a remote's branch.
    fn made(&self, word: &Word) -> Option<Effect> {
        let Some(name) = word.known() else {
            return Some(Effect::Unknowable("the name that is made is only known when it runs".to_owned()));
        };
        self.is_tip(name).then(|| Effect::Named("this would forge what is known of the remote's", name.to_owned()))
    }

    /// What is known of an integration branch on a remote: it is what a branch may follow. A tag or a branch named
    /// `origin/main` is taken for it by git.
    fn is_tip(&self, name: &str) -> bool {
        let tracking = name.strip_prefix("refs/remotes/").or_else(|| name.strip_prefix("remotes/"));
        let other = ["refs/heads/", "heads/", "refs/tags/", "tags/", "refs/"];
        let plain = || other.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
        match tracking.unwrap_or_else(plain).split_once('/') {
            Some((remote, branch)) => {
                let known = tracking.is_some() || remote == "origin" || self.is_remote(remote);
                known && !branch.starts_with("refs/") && self.act.names_integration(branch)
            }
            None => tracking.is_some_and(|rest| rest.contains('*')),
        }
    }

    fn merge(&self, given: &Merge) -> Vec<Effect> {
        if given.abort {
            return vec![Effect::Fine("a merge is called off")];
        }
        if given.squash {
            return vec![Effect::Files("files would change")];
        }
        let upstream = [Word::from("@{u}")];
        let refs = if given.refs.is_empty() { &upstream[..] } else { &given.refs };
        if let (true, Some(effect)) = (given.ff_only, self.all_following(refs)) {
            return vec![effect];
        }
        let better = (self.all_follow(refs) == Follows::Own).then(|| "git merge --ff-only @{u}".to_owned());
        vec![Effect::Current { what: "this would merge into", better }]
    }

    fn pull(&self, given: &Pull) -> Vec<Effect> {
        const PLAIN: &[&str] =
            &["--ff-only", "--ff", "-q", "--quiet", "-v", "--verbose", "-p", "--prune", "-t", "--tags", "--no-rebase"];
        let mut effects = fetched::pulled(self, &given.fetch);
        let follows = self.pulled(&given.from);
        let own = follows == Follows::Own;
        let mut options = self.arguments.iter().filter_map(Word::known).filter(|word| word.starts_with('-'));
        // There is nothing to rebase, so that it only moves on.
        let even = self.all_even();
        let is_plain = |option: &str| PLAIN.contains(&option) || even && matches!(option, "--rebase" | "-r");
        let plain = options.all(is_plain) && self.told.config.is_empty();
        // Without options a branch that has nothing of its own is moved on, and any other stays where it is.
        let branch = self.branches().find(|branch| self.act.integrates(branch)).unwrap_or_default();
        match self.following(follows, branch).filter(|_| plain && (even || !given.rebase)) {
            Some(effect) => effects.push(effect),
            None => {
                let better = own.then(|| "git pull --ff-only".to_owned());
                effects.push(Effect::Current { what: "this would merge or rebase", better });
            }
        }
        effects
    }

    /// Whether each branch that may be checked out is known, and has nothing of its own where work is integrated into it.
    fn all_even(&self) -> bool {
        let Some(worktree) = self.ground.worktree else { return false };
        let is_even = |branch: &String| self.act.scene.even.contains(&(worktree.common_dir.clone(), branch.clone()));
        let known = |on: &On| matches!(on, On::Branch(branch) if !self.act.integrates(branch) || is_even(branch));
        !self.ground.on.is_empty() && self.ground.on.iter().all(known)
    }

    /// What a pull brings, seen from the branches that may be checked out.
    fn pulled(&self, from: &[Word]) -> Follows {
        let of = |remote: &Word, branch: &str| {
            remote.known().map_or(Follows::Nothing, |remote| self.follows_remote(remote, branch))
        };
        // What a refspec writes besides is looked at as a fetch.
        let source = |text: &str| text.split(':').next().map(branch_name).map(str::to_owned);
        let known = |word: &Word, branch: &str| word.known().and_then(source).is_some_and(|name| name == branch);
        let each = |branch: &str| match from {
            [] if self.own_upstream(branch) || self.has_no_upstream(branch) => Follows::Own,
            [] => Follows::Nothing,
            [remote, names @ ..] if names.iter().all(|word| known(word, branch)) => of(remote, branch),
            _ => Follows::Nothing,
        };
        if from.is_empty() && self.branches().next().is_none() {
            return Follows::Own;
        }
        Follows::all(self.branches().map(each))
    }

    /// Such a pull fails.
    fn has_no_upstream(&self, branch: &str) -> bool {
        self.ground.worktree.is_some_and(|worktree| !worktree.upstreams.contains_key(branch))
    }

    fn replay(&self, given: &Replay) -> Vec<Effect> {
        if given.abort {
            return vec![Effect::Fine("what was begun is called off")];
        }
        if given.no_commit {
            return vec![Effect::Files("files would change")];
        }
        let what = match given.kind {
            ReplayKind::Rebase => "this would rebase",
            ReplayKind::CherryPick => "this would pick commits onto",
            ReplayKind::Revert => "this would commit a revert on",
            ReplayKind::Am => "this would commit patches on",
        };
        // `rebase upstream branch` checks out the branch first.
        let before = usize::from(has(self.arguments, "--onto")) + usize::from(!has(self.arguments, "--root"));
        if given.kind == ReplayKind::Rebase && has(self.arguments, "--update-refs") {
            return vec![Effect::Unknowable("which other branches are moved is only known when it runs".to_owned())];
        }
        match given.refs.get(before) {
            Some(branch) if given.kind == ReplayKind::Rebase => vec![self.named(what, branch)],
            _ => current(what),
        }
    }

    fn reset(&self, given: &Reset) -> Vec<Effect> {
        match &given.target {
            Some(target) if given.paths.is_empty() => self
                .all_following(std::slice::from_ref(target))
                .map_or_else(|| current("this would move"), |it| vec![it]),
            _ => vec![Effect::Fine("no branch moves, or only as its remote did")],
        }
    }

    fn branch(&self, given: &Branch) -> Vec<Effect> {
        let unborn = self.ground.on.iter().all(|on| matches!(on, On::Unborn(_)));
        match given {
            Branch::Create { name, at, force: true } => {
                vec![self.set_to(name, at.as_ref())]
            }
            Branch::Create { name, force: false, .. } => {
                vec![self.made(name).unwrap_or(Effect::Fine("no branch moves"))]
            }
            Branch::Follow { name, to } => vec![self.upstream(name.as_ref(), to.as_ref())],
            Branch::Describe => vec![Effect::Fine("no branch moves")],
            Branch::Delete { .. } if has(self.arguments, "-r") || has(self.arguments, "--remotes") => {
                vec![Effect::Fine("no branch of this repository is deleted")]
            }
            Branch::Delete { names, .. } => names.iter().map(|name| self.named("this would delete", name)).collect(),
            Branch::Move { .. } if unborn => vec![Effect::Fine("the branch has no commit yet")],
            Branch::Move { names, force, copy } => self.renamed(names, *force, *copy),
        }
    }

    /// A branch that is set to a commit.
    fn set_to(&self, name: &Word, at: Option<&Word>) -> Effect {
        let follows = name.known().zip(at).map(|(name, at)| (self.follows(at, name), name));
        let fine = follows.and_then(|(follows, name)| self.following(follows, name));
        fine.unwrap_or_else(|| self.named("this would move", name))
    }

    /// An integration branch follows what it comes from, and nothing else.
    fn upstream(&self, name: Option<&Word>, to: Option<&Word>) -> Effect {
        let branches: Vec<&str> = match name {
            Some(name) => vec![name.known().unwrap_or("*")],
            None => self.branches().collect(),
        };
        let own = |branch: &str| to.is_some_and(|to| self.follows(to, branch) == Follows::Own);
        match branches.iter().find(|branch| self.act.names_integration(branch) && !own(branch)) {
            Some(branch) => Effect::Unknowable(format!("`{branch}` would follow something else than its remote")),
            None => Effect::Fine("no branch moves"),
        }
    }

    fn renamed(&self, names: &[Word], force: bool, copy: bool) -> Vec<Effect> {
        let mut effects = match names {
            [_] if !copy => current("this would rename"),
            [old, _] if !copy => vec![self.named("this would rename", old)],
            _ => Vec::new(),
        };
        match names.last() {
            // A rename onto a branch that is not there yet brings it forth with what the other one has.
            Some(new) if force || !copy => effects.push(self.named("this would overwrite", new)),
            Some(new) => effects.extend(self.made(new)),
            None => {}
        }
        effects
    }

    fn switch(&self, given: &Switch) -> Vec<Effect> {
        let (true, Some(to)) = (given.create, &given.to) else {
            return vec![Effect::Fine("no branch moves")];
        };
        if !given.force {
            return vec![self.made(to).unwrap_or(Effect::Fine("no branch moves"))];
        }
        let unborn = self.ground.on.iter().all(|on| matches!(on, On::Unborn(_)));
        if unborn {
            return vec![Effect::Fine("the branch has no commit yet")];
        }
        vec![self.set_to(to, operands(self.arguments).nth(1))]
    }

    fn references(&self, name: &str, names: &[Word]) -> Vec<Effect> {
        match name {
            "tag" => names.iter().map(|name| self.made(name).unwrap_or(Effect::Fine("no branch moves"))).collect(),
            "notes" | "replace" | "pack-refs" => vec![Effect::Fine("no branch moves")],
            "symbolic-ref" => {
                let mut effects: Vec<Effect> = operands(self.arguments).map(|word| self.reference(word)).collect();
                if has(self.arguments, "-d") || has(self.arguments, "--delete") {
                    effects.extend(current("this would let go of"));
                }
                effects
            }
            _ => names.iter().map(|word| self.reference(word)).collect(),
        }
    }

    fn reference(&self, word: &Word) -> Effect {
        match word.known() {
            Some("HEAD" | "@") => Effect::Current { what: "this would move", better: None },
            _ => self.named("this would write", word),
        }
    }

    fn files(&self, name: &str, change: WorkingTreeChange) -> Vec<Effect> {
        let what = "files would change";
        match (change, name) {
            (WorkingTreeChange::Restore, "restore") if !self.takes_source() => {
                vec![Effect::Fine("files are set back to what is committed")]
            }
            (WorkingTreeChange::Restore, "checkout") => {
                let own =
                    self.arguments.iter().filter_map(Word::known).find(|word| !word.starts_with('-') || *word == "--");
                match own {
                    Some("--" | "." | "HEAD" | "@") | None => {
                        vec![Effect::Fine("files are set back to what is committed")]
                    }
                    Some(_) => vec![Effect::Files(what)],
                }
            }
            (WorkingTreeChange::Stash, _) => vec![Effect::Fine("changes are put aside")],
            (WorkingTreeChange::Other, "submodule" | "sparse-checkout" | "bisect" | "mergetool") => {
                vec![Effect::Fine("no branch moves")]
            }
            _ => vec![Effect::Files(what)],
        }
    }

    fn takes_source(&self) -> bool {
        let bundled = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('s');
        self.arguments.iter().any(|word| word.known().is_none_or(|word| bundled(word) || word.starts_with("--so")))
    }

    fn worktree(&self) -> Vec<Effect> {
        let given = |short: &str| {
            let at = self.arguments.iter().position(|word| word.known().is_some_and(|text| text.starts_with(short)))?;
            let attached = self.arguments[at].known().and_then(|text| text.strip_prefix(short)).map(Word::from);
            attached.filter(|word| word.known() != Some("")).or_else(|| self.arguments.get(at + 1).cloned())
        };
        let moved = given("-B").map(|name| self.named("this would move", &name));
        let made = || given("-b").and_then(|name| self.made(&name));
        vec![moved.or_else(made).unwrap_or(Effect::Fine("no branch moves"))]
    }

    fn rewrite(&self, name: &str) -> Vec<Effect> {
        if name != "filter-branch" || has(self.arguments, "--all") || has(self.arguments, "--branches") {
            let every = "every branch".to_owned();
            return vec![Effect::Named("this would write anew", every)];
        }
        let mut effects = current("this would write anew");
        effects.extend(
            operands(self.arguments)
                .filter(|word| word.known().is_some())
                .map(|word| self.named("this would write anew", word)),
        );
        effects
    }
}
