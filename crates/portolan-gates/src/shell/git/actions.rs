//! What a call of git does, as data.

use super::super::Word;

/// What a call of git does to the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It shows or lists.
    Reads,
    /// It writes something, but no branch that is there and no file of the working tree: the index, objects, tags, what is
    /// known of other repositories, new branches.
    Free,
    /// A commit is made or amended.
    Commit(CommitCall),
    /// Something is sent to another repository.
    Push(Push),
    /// What other repositories have is fetched; these references are written by name.
    Fetch(Vec<Refspec>),
    /// Branches are joined.
    Merge(Merge),
    /// It fetches, and then merges or rebases.
    Pull {
        /// Where from, and what.
        from: Vec<Word>,
        /// What the fetch writes by name.
        refspecs: Vec<Refspec>,
    },
    /// Commits are made anew from others.
    Replay(Replay),
    /// The branch or the index is set to another state.
    Reset {
        /// To what; none is the present commit, so that the branch does not move.
        target: Option<Word>,
        /// Only these paths of the index.
        paths: Vec<Word>,
    },
    /// References are set, moved or deleted by name.
    References {
        /// What becomes of them: `move`, `delete`, `rename`, `overwrite`, `write`.
        verb: &'static str,
        /// The references. `HEAD` is the branch that is checked out.
        names: Vec<Word>,
        /// What they are set to, where that is said.
        to: Option<Word>,
    },
    /// Another branch is checked out.
    Switch(Switch),
    /// Files of the working tree change.
    Files {
        /// They are set back to what was committed or added.
        restores: bool,
        /// Which, as far as they are known; none means all, or those that a patch or a stash names.
        paths: Vec<Word>,
    },
    /// Configuration is written.
    Config(ConfigWrite),
    /// History is rewritten: of these branches, or all of it where there are none.
    Rewrite(Vec<Word>),
    /// Another repository is made: `init`, `clone`.
    NewRepository,
    /// Nothing is known of it: an alias, or a program of its own. Empty when not even its name is known.
    Unknown(String),
}

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitCall {
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
    /// Another commit, or an editor, has it.
    Elsewhere,
}

/// A push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Push {
    /// Where to; none is the usual one.
    pub remote: Option<Word>,
    /// What; none is the usual.
    pub refspecs: Vec<Refspec>,
    /// All branches, or all references.
    pub all: bool,
    /// Only tags are sent where nothing is named.
    pub tags: bool,
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

/// A merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// Only where nothing has to be joined.
    pub ff_only: bool,
    /// The branch stays as it is: only the index and the files change.
    pub squash: bool,
    /// A merge that was begun is called off.
    pub abort: bool,
    /// What is merged.
    pub refs: Vec<Word>,
}

/// Commits that are made from others: `rebase`, `cherry-pick`, `revert`, `am`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// One that was begun is called off; nothing is made.
    pub abort: bool,
    /// No commit is made, only the index and the files change.
    pub no_commit: bool,
    /// The branch that is checked out first, where a rebase names one.
    pub branch: Option<Word>,
}

/// A change to another branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// To what; paths for `checkout` where it is not told apart.
    pub to: Option<Word>,
    /// It is made first.
    pub create: bool,
    /// An existing branch is set.
    pub force: bool,
    /// What a branch that is made, or set, begins at.
    pub at: Option<Word>,
    /// No branch is checked out.
    pub detach: bool,
    /// What `checkout` could also mean: one word may be a branch or a file.
    pub or_path: bool,
}

/// Configuration that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWrite {
    /// The key, lower case; `?` where it is not known, as with `--edit`.
    pub key: String,
    /// The value; none where it is taken away.
    pub value: Option<Word>,
}
