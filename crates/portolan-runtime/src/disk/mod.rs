//! Shared functions for files: private files and folders, atomic writes, bounded reads that do not block, detection of
//! changes, and locks.

mod cache;
mod lock;
mod read;
mod stamp;
mod write;

use std::path::Path;

pub use cache::{BeforeReading, FileCache};
pub use lock::LOCK_FILE;
pub use lock::{NoTurn, WAIT, alone, open_lock, try_alone, turn, turn_without_file};
pub use read::bytes;
pub use read::{beginning, open, open_itself, source, text, unreadable};
pub use stamp::{Marks, Stamp};
pub use write::{Fresh, private_folder, replace, swap, sync_folder};

/// Returns the folder of a file. The parent of a bare name is an empty path, which cannot be opened; this returns `.`.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
