//! The carriers of runs: the store under a short handle, a task file, or a token. The engine does not know which.

pub(crate) mod compact;
pub mod task_file;
mod task_journal;
mod task_state;
pub mod token;

pub use task_journal::{TaskJournal, TaskRecord};
pub use task_state::{Parent, TaskState};
pub(crate) use task_state::{TaskFileState as Found, VERSION as TASK_STATE_VERSION, is_child, read as read_state};

pub use crate::address::Address;
