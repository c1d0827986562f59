//! Traces of runs: what arrives at a collector on this machine, read with the messages that OTLP itself publishes.
//! Nothing sleeps to wait for something: a collector tells what it received, and the end of a run is awaited.
#![cfg(unix)]

mod collector;
#[path = "../common/mod.rs"]
mod common;
mod graph;
mod led;
mod outages;
mod process;
mod secrets;
mod servers;
mod tree;
mod world;
