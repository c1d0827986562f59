//! The changes of a branch.

/// All changes of a branch since it left the branch that it is merged into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// The changed files, in any order.
    pub files: Vec<FileChange>,
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path in the repository; for a deleted file, the former path.
    pub path: String,
    /// Its former path, if it was renamed.
    pub from: Option<String>,
    /// Its content before the change.
    pub before: Text,
    /// Its content after the change.
    pub after: Text,
    /// The number of added lines.
    pub added: u64,
    /// The number of deleted lines.
    pub deleted: u64,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// The file does not exist.
    Absent,
    /// The file is not text, or too long to be read.
    Unread,
    /// The text of the file.
    Of(String),
}

impl FileChange {
    /// Returns its former path.
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
