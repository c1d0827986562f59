//! Gates, from the side of the world: what there is to find out for them.

mod evidence;
mod ground;
pub(crate) mod own_server;
pub mod qa;
pub mod review;

pub use evidence::Before;
pub use ground::{Ground, Other, REMOVALS, perform};
