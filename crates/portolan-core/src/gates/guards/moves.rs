//! What a call of git does to branches: whether it moves the present one, changes files, or writes a branch by its name.
//! What only follows the remote of a branch moves nothing that is ours.

use super::act::{Act, Ground, On, branch_name, has, operands, subcommand};
use crate::shell::git::{
    Action, Branch, Change, Commit, History, Invocation, Merge, Pull, Replay, ReplayKind, Reset, Switch,
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
    /// It does nothing to a branch that counts.
    Fine(&'static str),
}

fn current(what: &'static str) -> Vec<Effect> {
    vec![Effect::Current { what, better: None }]
}

/// What a call does on this ground. Nothing for one that only looks.
pub(super) fn effects(act: &Act<'_>, command: &Command, told: &Invocation, ground: &Ground<'_>) -> Vec<Effect> {
    let look = Look { act, ground, told, arguments: subcommand(command).map_or(&[], |(_, arguments)| arguments) };
    let name = subcommand(command).map_or("", |(name, _)| name);
    match &told.action {
        Action::Reads | Action::Config(_) | Action::NewRepository | Action::Unknown(_) => Vec::new(),
        Action::Commit(Commit { dry_run: true, .. }) => Vec::new(),
        Action::Commit(_) => current("this would commit on"),
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
    pub(super) ground: &'a Ground<'a>,
    pub(super) told: &'a Invocation,
    pub(super) arguments: &'a [Word],
}

impl Look<'_> {
    fn is_remote(&self, name: &str) -> bool {
        self.ground.worktree.is_some_and(|worktree| worktree.remotes.iter().any(|remote| remote == name))
    }

    /// The branches that may be checked out here.
    pub(super) fn branches(&self) -> impl Iterator<Item = &str> {
        self.ground.on.iter().filter_map(|on| match on {
            On::Branch(branch) | On::Unborn(branch) => Some(branch.as_str()),
            On::Detached | On::Unknown | On::Outside => None,
        })
    }

    /// Whether `word` is what the remote of `branch` has for it.
    fn follows(&self, word: &Word, branch: &str) -> bool {
        let Some(text) = word.known() else { return false };
        if matches!(text, "@{u}" | "@{upstream}") || text.strip_suffix("@{u}") == Some(branch) {
            return self.own_upstream(branch);
        }
        let text = text.strip_prefix("refs/remotes/").or_else(|| text.strip_prefix("remotes/")).unwrap_or(text);
        text.split_once('/').is_some_and(|(remote, name)| self.is_remote(remote) && name == branch)
    }

    /// Whether the present branch follows the branch of its name on a remote.
    fn own_upstream(&self, branch: &str) -> bool {
        let upstream = self.ground.worktree.and_then(|worktree| worktree.upstreams.get(branch));
        upstream.is_some_and(|(remote, name)| self.is_remote(remote) && name == branch)
    }

    /// Whether all of `words` are what the remote has for the present branch.
    fn all_follow(&self, words: &[Word]) -> bool {
        let mut branches = self.branches().peekable();
        branches.peek().is_some() && branches.all(|branch| words.iter().all(|word| self.follows(word, branch)))
    }

    /// A branch that is written by its name.
    pub(super) fn named(&self, what: &'static str, word: &Word) -> Effect {
        match word.known() {
            None => Effect::Unknowable("the branch that is written is only known when it runs".to_owned()),
            Some(name) if self.act.names_integration(name) => Effect::Named(what, branch_name(name).to_owned()),
            Some(name) if self.is_tip(name) => {
                Effect::Named("this would forge what is known of the remote's", name.to_owned())
            }
            Some(_) => Effect::Fine("no integration branch is written"),
        }
    }

    /// What is known of an integration branch on a remote: it is what a branch may follow.
    fn is_tip(&self, name: &str) -> bool {
        let remote = name.strip_prefix("refs/remotes/").and_then(|rest| rest.split_once('/'));
        remote.is_some_and(|(_, branch)| self.act.integrates(branch))
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
        if given.ff_only && self.all_follow(refs) {
            return vec![Effect::Fine("the branch only follows its remote")];
        }
        let better = self.all_follow(refs).then(|| "git merge --ff-only @{u}".to_owned());
        vec![Effect::Current { what: "this would merge into", better }]
    }

    fn pull(&self, given: &Pull) -> Vec<Effect> {
        const PLAIN: &[&str] =
            &["--ff-only", "--ff", "-q", "--quiet", "-v", "--verbose", "-p", "--prune", "-t", "--tags", "--no-rebase"];
        let mut effects: Vec<Effect> =
            given.from.iter().skip(1).filter_map(|word| Some(self.named("this would write", &target(word)?))).collect();
        let own = match &given.from[..] {
            [] => self.branches().all(|branch| self.own_upstream(branch) || self.has_no_upstream(branch)),
            [remote] => remote.known().is_some_and(|remote| self.is_remote(remote)),
            [remote, branches @ ..] => {
                let remote = remote.known().is_some_and(|remote| self.is_remote(remote));
                let known = |word: &Word, branch: &str| word.known().is_some_and(|text| branch_name(text) == branch);
                remote && self.branches().all(|branch| branches.iter().all(|word| known(word, branch)))
            }
        };
        let mut options = self.arguments.iter().filter_map(Word::known).filter(|word| word.starts_with('-'));
        let plain = options.all(|option| PLAIN.contains(&option)) && self.told.config.is_empty();
        // Without options a branch that has nothing of its own is moved on, and any other stays where it is.
        if own && plain && !given.rebase {
            effects.push(Effect::Fine("the branch only follows its remote"));
        } else {
            let better = own.then(|| "git pull --ff-only".to_owned());
            effects.push(Effect::Current { what: "this would merge or rebase", better });
        }
        effects
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
        match given.refs.get(before) {
            Some(branch) if given.kind == ReplayKind::Rebase => vec![self.named(what, branch)],
            _ => current(what),
        }
    }

    fn reset(&self, given: &Reset) -> Vec<Effect> {
        match &given.target {
            Some(target) if given.paths.is_empty() && !self.all_follow(std::slice::from_ref(target)) => {
                current("this would move")
            }
            _ => vec![Effect::Fine("no branch moves, or only as its remote did")],
        }
    }

    fn branch(&self, given: &Branch) -> Vec<Effect> {
        let unborn = self.ground.on.iter().all(|on| matches!(on, On::Unborn(_)));
        match given {
            Branch::Create { name, at, force: true } => {
                let follows = name.known().zip(at.as_ref()).is_some_and(|(name, at)| self.follows(at, name));
                if follows {
                    vec![Effect::Fine("the branch only follows its remote")]
                } else {
                    vec![self.named("this would move", name)]
                }
            }
            Branch::Create { force: false, .. } | Branch::Describe => vec![Effect::Fine("no branch moves")],
            Branch::Delete { .. } if has(self.arguments, "-r") || has(self.arguments, "--remotes") => {
                vec![Effect::Fine("no branch of this repository is deleted")]
            }
            Branch::Delete { names, .. } => names.iter().map(|name| self.named("this would delete", name)).collect(),
            Branch::Move { .. } if unborn => vec![Effect::Fine("the branch has no commit yet")],
            Branch::Move { names, force, copy } => self.renamed(names, *force, *copy),
        }
    }

    fn renamed(&self, names: &[Word], force: bool, copy: bool) -> Vec<Effect> {
        let mut effects = match names {
            [_] if !copy => current("this would rename"),
            [old, _] if !copy => vec![self.named("this would rename", old)],
            _ => Vec::new(),
        };
        if let (true, Some(new)) = (force, names.last()) {
            effects.push(self.named("this would overwrite", new));
        }
        effects
    }

    fn switch(&self, given: &Switch) -> Vec<Effect> {
        let (true, true, Some(to)) = (given.create, given.force, &given.to) else {
            return vec![Effect::Fine("no branch moves")];
        };
        let start = operands(self.arguments).nth(1);
        let follows = to.known().zip(start).is_some_and(|(name, start)| self.follows(start, name));
        let unborn = self.ground.on.iter().all(|on| matches!(on, On::Unborn(_)));
        if follows || unborn {
            return vec![Effect::Fine("the branch only follows its remote, or has no commit yet")];
        }
        vec![self.named("this would move", to)]
    }

    fn references(&self, name: &str, names: &[Word]) -> Vec<Effect> {
        match name {
            "tag" | "notes" | "replace" | "pack-refs" => vec![Effect::Fine("no branch moves")],
            "fetch" | "fetch-pack" => self.fetch(),
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

    /// `fetch origin main:main` follows the remote, `fetch . HEAD:main` does not.
    fn fetch(&self) -> Vec<Effect> {
        let mut words = operands(self.arguments);
        let remote = words.next().and_then(Word::known).is_some_and(|remote| self.is_remote(remote));
        let force = has(self.arguments, "--force") || has(self.arguments, "-f");
        let effect = |word: &Word| {
            let target = target(word)?;
            let source = word.known().and_then(|text| text.split_once(':')).map(|(source, _)| source);
            let same =
                source.zip(target.known()).is_some_and(|(source, target)| branch_name(source) == branch_name(target));
            let tracks = target.known().is_some_and(|target| target.starts_with("refs/remotes/"));
            let follows = remote && (tracks || (same && !force));
            Some(if follows {
                Effect::Fine("a branch only follows its remote")
            } else {
                self.named("this would move", &target)
            })
        };
        words.filter_map(effect).collect()
    }

    fn files(&self, name: &str, change: Change) -> Vec<Effect> {
        let what = "files would change";
        match (change, name) {
            (Change::Restore, "restore") if !self.takes_source() => {
                vec![Effect::Fine("files are set back to what is committed")]
            }
            (Change::Restore, "checkout") => {
                let own =
                    self.arguments.iter().filter_map(Word::known).find(|word| !word.starts_with('-') || *word == "--");
                match own {
                    Some("--" | "." | "HEAD" | "@") | None => {
                        vec![Effect::Fine("files are set back to what is committed")]
                    }
                    Some(_) => vec![Effect::Files(what)],
                }
            }
            (Change::Stash, _) => vec![Effect::Fine("changes are put aside")],
            (Change::Other, "submodule" | "sparse-checkout" | "bisect" | "mergetool") => {
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
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            if word.known() == Some("-B") {
                return words.next().map(|name| self.named("this would move", name)).into_iter().collect();
            }
        }
        vec![Effect::Fine("no branch moves")]
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

/// What a refspec writes, where it writes something: `a:b` is `b`.
fn target(word: &Word) -> Option<Word> {
    match word.known() {
        None => Some(Word::Dynamic),
        Some(text) => {
            text.split_once(':').map(|(_, target)| target).filter(|target| !target.is_empty()).map(Word::from)
        }
    }
}
