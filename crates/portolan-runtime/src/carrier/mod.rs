//! Carriers: where a run lives.

pub mod task_file;
