//! Gates, from the side of the world: what there is to find out for them.

pub mod hook;
pub(crate) mod own_server;
pub mod qa;
