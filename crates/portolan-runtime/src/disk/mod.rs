//! What everything that keeps files has to do with: folders and files that are their owner's alone, files that are there
//! as a whole or not at all, reading up to a bound and without waiting, what tells that a file has changed, and locks.

mod lock;
mod read;
mod stamp;
mod write;

use std::path::Path;

pub use lock::LOCK_FILE;
pub(crate) use lock::{NoTurn, WAIT, alone, open_lock, try_alone, turn, turn_unseen};
pub(crate) use read::{beginning, bytes, open, open_itself, source, text, unreadable};
pub(crate) use stamp::Stamp;
pub(crate) use write::{Fresh, private_folder, replace, sync_folder};

/// The folder that a file lies in. The parent of a bare name is no path at all, and nothing can be opened there.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
