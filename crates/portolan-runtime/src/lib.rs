//! x
pub mod carrier;
pub mod runner;
pub mod trust;
