//! Gates, as far as they depend on the world: finds the facts over which they decide.

mod evidence;
pub mod own_server;
pub mod qa;
pub mod review;
mod workspace;

pub use evidence::FileBaseline;
pub use workspace::{CheckWorkspace, Other, REMOVALS, perform};
