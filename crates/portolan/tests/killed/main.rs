//! The binary is killed at each of its writes, and whoever comes next goes on.
//!
//! A library that is loaded into the process counts what it writes and kills it before the n-th write, or in the middle of
//! it; `n` goes up until the command comes to its end. Nothing is left to time. With `PORTOLAN_KILL_ALL=1` no moment is
//! left out. Each test prints its row of the table with `--nocapture`.

#![cfg(unix)]

mod author;
mod flow;
mod installed;
mod runs;
mod stage;
mod tasks;
mod trusted;
mod wire;
