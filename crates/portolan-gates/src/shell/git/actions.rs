//! What a call of git does, as data.

use super::super::Word;

/// What a call of git does to the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It changes nothing that counts: it shows, lists, or only touches the index.
    Reads,
    /// What other repositories have is fetched.
    Fetch(Fetch),
    /// A commit is made or amended.
    Commit(CommitCall),
    /// Something is sent to another repository.
    Push(Push),
    /// Branches are joined.
    Merge(Merge),
    /// It fetches, and then merges or rebases.
    Pull(Pull),
    /// Commits are made anew from others.
    Replay(Replay),
    /// The branch or the index is set to another state.
    Reset(Reset),
    /// A branch is made, set, moved or deleted.
    Branch(Branch),
    /// Another branch is checked out.
    Switch(Switch),
    /// A reference is written as such: `update-ref`, `symbolic-ref`, `tag`, `notes`, `replace`.
    References {
        /// The references, as far as they are known.
        names: Vec<Word>,
    },
    /// Files of the working tree change.
    Files {
        /// How.
        change: WorkingTreeChange,
        /// Which, as far as they are known; none means all, or those that a patch or a stash names.
        paths: Vec<Word>,
    },
    /// Configuration is written.
    Config(ConfigWrite),
    /// A worktree is added, moved or removed.
    Worktree {
        /// Its arguments.
        arguments: Vec<Word>,
    },
    /// History is rewritten or thrown away.
    History(History),
    /// Another repository is made: `init`, `clone`.
    NewRepository,
    /// Nothing is known of it: an alias, or a program of its own. Empty when not even its name is known.
    Unknown(String),
}

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of git, and they go together freely")]
pub struct CommitCall {
    /// The last commit is replaced.
    pub amend: bool,
    /// The hooks that check it are skipped.
    pub no_verify: bool,
    /// It may change nothing.
    pub allow_empty: bool,
    /// Changed files are taken along without being added first.
    pub all: bool,
    /// Nothing is committed: it is only told what would be.
    pub dry_run: bool,
    /// Where its message comes from.
    pub message: Vec<Message>,
}

/// Where the message of a commit comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// It is given.
    Text(Word),
    /// A file has it.
    File(Word),
    /// It arrives on standard input; this is what is known of it.
    Stdin(Option<Word>),
    /// Another commit has it.
    Reuse(Word),
    /// An editor asks for it.
    Editor,
}

/// A push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of git, and they go together freely")]
pub struct Push {
    /// Where to; none is the usual one.
    pub remote: Option<Word>,
    /// What; none is the usual.
    pub refspecs: Vec<Refspec>,
    /// Also where it does not follow, with a lease or without.
    pub force: bool,
    /// All branches.
    pub all: bool,
    /// All references, also deleted ones.
    pub mirror: bool,
    /// Tags as well.
    pub tags: bool,
    /// The hook is skipped.
    pub no_verify: bool,
    /// Nothing is sent.
    pub dry_run: bool,
}

/// A part of a push or a fetch: `+source:target`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refspec {
    /// What is sent. None deletes the target.
    pub source: Option<Word>,
    /// What it is on the side that gets it.
    pub target: Word,
    /// Also where it does not follow.
    pub force: bool,
}

/// A fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetch {
    /// Where from; none is the usual one, or all of them.
    pub remote: Option<Word>,
    /// What is written by name, also by `--refmap`. Without any only what the remotes are configured to.
    pub refspecs: Vec<Refspec>,
    /// Tags as well.
    pub tags: bool,
    /// The present branch is made to follow what is fetched.
    pub sets_upstream: bool,
    /// Nothing is fetched.
    pub dry_run: bool,
}

/// A merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of git, and they go together freely")]
pub struct Merge {
    /// Only where nothing has to be joined.
    pub ff_only: bool,
    /// Always with a commit.
    pub no_ff: bool,
    /// The branch stays as it is: only the index and the files change.
    pub squash: bool,
    /// A merge that was begun is called off.
    pub abort: bool,
    /// Hooks are skipped.
    pub no_verify: bool,
    /// What is merged.
    pub refs: Vec<Word>,
}

/// A pull.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pull {
    /// The commits of this side are made anew.
    pub rebase: bool,
    /// Only where nothing has to be joined.
    pub ff_only: bool,
    /// Where from, and what.
    pub from: Vec<Word>,
    /// The fetch that comes first.
    pub fetch: Fetch,
}

/// How commits are made from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayKind {
    /// `rebase`
    Rebase,
    /// `cherry-pick`
    CherryPick,
    /// `revert`
    Revert,
    /// `am`
    Am,
}

/// Commits that are made from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// How.
    pub kind: ReplayKind,
    /// One that was begun is called off; nothing is made.
    pub abort: bool,
    /// No commit is made, only the index and the files change.
    pub no_commit: bool,
    /// Hooks are skipped.
    pub no_verify: bool,
    /// From what.
    pub refs: Vec<Word>,
}

/// A reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// `soft`, `mixed`, `hard`, `merge`, `keep`.
    pub mode: &'static str,
    /// To what; none is the present commit, so that the branch does not move.
    pub target: Option<Word>,
    /// Only these paths of the index.
    pub paths: Vec<Word>,
}

/// A change of branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// One is made; an existing one is set where `force` is.
    Create {
        /// Its name.
        name: Word,
        /// Where it begins.
        at: Option<Word>,
        /// Also where it exists.
        force: bool,
    },
    /// Some are deleted.
    Delete {
        /// Their names.
        names: Vec<Word>,
        /// Also where they are not merged.
        force: bool,
    },
    /// One is renamed or copied: the old name, where it is given, and the new one.
    Move {
        /// Their names.
        names: Vec<Word>,
        /// Also where the new one exists.
        force: bool,
        /// The old one stays.
        copy: bool,
    },
    /// What it follows changes.
    Follow {
        /// The branch; none is the present one.
        name: Option<Word>,
        /// What it follows then; none is nothing.
        to: Option<Word>,
    },
    /// Its description changes.
    Describe,
}

/// A change to another branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// To what; paths for `checkout` where it is not told apart.
    pub to: Option<Word>,
    /// It is made first.
    pub create: bool,
    /// Changes are thrown away, or an existing branch is set.
    pub force: bool,
    /// No branch is checked out.
    pub detach: bool,
    /// What `checkout` could also mean: one word may be a branch or a file.
    pub or_path: bool,
}

/// How files change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingTreeChange {
    /// `checkout -- paths`, `restore`: set to what was committed or added.
    Restore,
    /// `clean`, `rm`: deleted.
    Remove,
    /// `mv`
    Move,
    /// `apply`, also of a stash: changed by a patch.
    Apply,
    /// `stash`: put aside.
    Stash,
    /// Other ways, such as `sparse-checkout`, `submodule update`, `bisect`.
    Other,
}

/// Configuration that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWrite {
    /// The key, lower case; `?` where it is not known, as with `--edit`.
    pub key: String,
    /// The value; none where it is taken away.
    pub value: Option<Word>,
}

/// What becomes of history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// `filter-branch`, `filter-repo`, `fast-import`: all of it is written anew.
    Rewrite,
    /// `gc`, `prune`, `reflog expire`, `reflog delete`: what no branch holds is lost.
    Expire,
}
