//! What all started processes share: their groups, their environment, and their output.

mod environment;
#[cfg(unix)]
mod group;
pub mod lineage;
mod output;

pub use environment::Environment;
#[cfg(unix)]
pub use group::Group;
#[cfg(test)]
pub(crate) use output::TAIL_BYTES;
pub use output::{Tail, clean};
