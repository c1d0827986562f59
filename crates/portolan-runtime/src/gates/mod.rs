//! Gates, from the side of the world: what there is to find out for them.

pub mod hook;
pub mod rules;
pub mod scene;
