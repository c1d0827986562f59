//! Runs as bytes, and back.
