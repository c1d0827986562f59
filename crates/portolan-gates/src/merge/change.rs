//! What a branch changes.

/// All that a branch changes, since it left the branch that it is merged into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// The files; their order does not matter.
    pub files: Vec<FileChange>,
}

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path in the repository; of a file that is deleted, the one it had.
    pub path: String,
    /// The path that it had, where it has another one now.
    pub from: Option<String>,
    /// What it held.
    pub before: Text,
    /// What it holds.
    pub after: Text,
    /// How many lines were added.
    pub added: u64,
    /// How many lines were taken away.
    pub deleted: u64,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// There is no file.
    Absent,
    /// There is one that is no text, or too long to be looked into.
    Unread,
    /// This.
    Of(String),
}

impl FileChange {
    /// The path that it had.
    pub(super) fn old_path(&self) -> &str {
        self.from.as_deref().unwrap_or(&self.path)
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.after == Text::Absent
    }
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Text::Of(text) => text,
            Text::Absent | Text::Unread => "",
        }
    }
}
