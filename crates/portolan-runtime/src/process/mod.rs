//! What all started processes share: their groups, their environment, and their output.

mod environment;
#[cfg(unix)]
mod group;
pub(crate) mod lineage;
mod output;

pub(crate) use environment::Environment;
#[cfg(unix)]
pub(crate) use group::Group;
#[cfg(test)]
pub(crate) use output::TAIL_BYTES;
pub(crate) use output::{Tail, clean};
