//! x
pub mod runner;
