//! The effect of a call of git, as data.

use super::super::Word;

/// The effect of a call of git on the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Shows or lists something.
    Reads,
    /// Writes something, but no existing branch and no file of the working tree: the index, objects, tags, data about
    /// other repositories, new branches.
    Free,
    /// Creates or amends a commit.
    Commit(CommitCall),
    /// Sends something to another repository.
    Push(Push),
    /// Fetches from other repositories, and writes these references by name.
    Fetch(Vec<Refspec>),
    /// Merges branches.
    Merge(Merge),
    /// Fetches, and then merges or rebases.
    Pull {
        /// The source and what to pull.
        from: Vec<Word>,
        /// The references that the fetch writes by name.
        refspecs: Vec<Refspec>,
    },
    /// Creates commits from others.
    Replay(Replay),
    /// Sets the branch or the index to another state.
    Reset {
        /// The new state; `None` means the present commit, so that the branch does not move.
        target: Option<Word>,
        /// The paths of the index, if it sets only these.
        paths: Vec<Word>,
    },
    /// Sets, moves or deletes references by name.
    References {
        /// The kind of change: `move`, `delete`, `rename`, `overwrite`, `write`.
        verb: &'static str,
        /// The references. `HEAD` means the checked-out branch.
        names: Vec<Word>,
        /// Their new value, if given.
        to: Option<Word>,
    },
    /// Checks out another branch.
    Switch(Switch),
    /// Changes files of the working tree.
    Files {
        /// Whether they are reset to the committed or staged state.
        restores: bool,
        /// The known paths. Empty means all, or those that a patch or a stash names.
        paths: Vec<Word>,
    },
    /// Writes configuration.
    Config(ConfigWrite),
    /// Rewrites the history of these branches, or all of it if there are none.
    Rewrite(Vec<Word>),
    /// Creates another repository: `init`, `clone`.
    NewRepository,
    /// Unknown: an alias, or a separate program. Empty if not even its name is known.
    Unknown(String),
}

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitCall {
    /// Whether the commit is only simulated.
    pub dry_run: bool,
    /// The sources of its message.
    pub message: Vec<Message>,
}

/// The source of a commit message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A given text.
    Text(Word),
    /// A file.
    File(Word),
    /// Standard input, with its text if known.
    Stdin(Option<Word>),
    /// Another commit, or an editor.
    Elsewhere,
}

/// A push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push {
    /// The destination; `None` means the default one.
    pub remote: Option<Word>,
    /// What is pushed; empty means the default.
    pub refspecs: Vec<Refspec>,
    /// Whether all branches or all references are pushed.
    pub all: bool,
    /// Whether only tags are pushed if nothing is named.
    pub tags: bool,
    /// Whether nothing is sent.
    pub dry_run: bool,
}

/// A part of a push or a fetch: `+source:target`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refspec {
    /// What is sent. `None` deletes the target.
    pub source: Option<Word>,
    /// The reference at the receiver.
    pub target: Word,
    /// Whether it is updated even if that is no fast-forward.
    pub force: bool,
}

/// A merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// Whether only a fast-forward is allowed.
    pub ff_only: bool,
    /// Whether the branch stays as it is, and only the index and the files change.
    pub squash: bool,
    /// Whether a merge in progress is aborted.
    pub abort: bool,
    /// The merged references.
    pub refs: Vec<Word>,
}

/// Commits that are created from others: `rebase`, `cherry-pick`, `revert`, `am`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Whether one in progress is aborted, so that no commit is created.
    pub abort: bool,
    /// Whether only the index and the files change, without a commit.
    pub no_commit: bool,
    /// The branch that is checked out first, if a rebase names one.
    pub branch: Option<Word>,
}

/// A switch to another branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The branch; may be a path if `or_path` is set.
    pub to: Option<Word>,
    /// Whether it is created first.
    pub create: bool,
    /// Whether an existing branch is reset.
    pub force: bool,
    /// The start point of a created or reset branch.
    pub at: Option<Word>,
    /// Whether no branch is checked out.
    pub detach: bool,
    /// Whether the word of `checkout` may also be a file.
    pub or_path: bool,
}

/// A write to the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWrite {
    /// The key in lower case; `?` if it is unknown, as with `--edit`.
    pub key: String,
    /// The value; `None` if the key is removed.
    pub value: Option<Word>,
}
