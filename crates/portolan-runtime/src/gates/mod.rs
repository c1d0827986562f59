//! Gates, from the side of the world: what there is to find out for them.

mod ground;
pub(crate) mod own_server;
pub mod qa;

pub use ground::{Ground, Other, REMOVALS, perform};
