//! x
pub mod diagnostic;
pub mod dialect;
pub mod graph;
pub mod source;
pub mod validate;
pub mod value;
