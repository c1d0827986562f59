//! Traces of functions: what arrives at a collector on this machine, read with the messages that OTLP itself publishes.
//! Nothing sleeps to wait for something: a collector tells what it received, and the end of a run is awaited.
#![cfg(unix)]

#[path = "../common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;
mod collector;
mod graph;
mod outages;
mod process;
mod secrets;
mod servers;
mod tree;
mod world;
