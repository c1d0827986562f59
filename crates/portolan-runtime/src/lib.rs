//! x
pub mod carrier;
pub mod catalog;
pub mod clock;
pub mod copy;
pub mod definition;
pub mod library;
pub mod runner;
pub mod service;
pub mod store;
pub mod tasks;
pub mod trust;
