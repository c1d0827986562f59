//! What every process that is started here has to do with: its group, what it may see, and the text that it prints.

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
