//! Where a run carrier: in the store under a short handle, or written through to a task file. The engine cannot tell.

pub(crate) mod compact;
pub mod task_file;
mod task_journal;
mod task_state;
pub mod token;

pub use task_journal::{TaskJournal, TaskRecord};
pub use task_state::{Parent, TaskState};
pub(crate) use task_state::{TaskFileState as Found, VERSION as TASK_STATE_VERSION, is_child, read as read_state};

pub use crate::address::Address;
