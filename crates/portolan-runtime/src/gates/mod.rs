//! Gates, from the side of the world: what there is to find out for them.

mod evidence;
pub(crate) mod own_server;
pub mod qa;
pub mod review;
mod workspace;

pub use evidence::FileBaseline;
pub use workspace::{CheckWorkspace, Other, REMOVALS, perform};
