//! Any bytes, read as a definition, keep the promises of the crate: `cargo +nightly fuzz run definition`.
#![no_main]

// The property tests call the same function, so that a promise is written down once.
#[path = "../../crates/portolan-core/tests/definition/mod.rs"]
mod definition;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| definition::reads(bytes));
