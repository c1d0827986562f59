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
    /// Creates or amends a commit, with a message from these sources.
    Commit(Vec<Message>),
    /// Sends something to another repository.
    Push(Push),
    /// Fetches from other repositories, and then merges or rebases.
    Pull {
        /// What to pull; empty means the default.
        sources: Vec<Word>,
        /// The references that the fetch writes by name.
        targets: Vec<Word>,
    },
    /// Moves the checked-out branch.
    Moves {
        /// What happens, up to the name of the branch.
        what: &'static str,
        /// The states that it moves to, if no new commit is created.
        to: Option<Vec<Word>>,
    },
    /// Sets, moves or deletes references by name.
    References {
        /// What happens, up to the name of the reference.
        what: &'static str,
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
    /// Creates another repository: `init`, `clone`.
    NewRepository,
    /// Unknown: an alias, or a separate program. Empty if not even its name is known.
    Unknown(String),
}

/// The source of a commit message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A given text, if known.
    Text(Option<Word>),
    /// A file.
    File(Word),
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
}

/// A part of a push: `source:target`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refspec {
    /// What is sent. `None` deletes the target.
    pub source: Option<Word>,
    /// The reference at the receiver.
    pub target: Word,
}

/// A switch to another branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
