//! x
pub mod diagnostic;
pub mod dialect;
pub mod engine;
pub mod graph;
pub mod present;
pub mod run;
pub mod source;
pub mod validate;
pub mod value;
