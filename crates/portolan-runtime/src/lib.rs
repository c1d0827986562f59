//! x
pub mod carrier;
pub mod runner;
