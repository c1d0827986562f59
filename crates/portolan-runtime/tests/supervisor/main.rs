//! The supervisor and the autopilot: each call is made to a service that knows only what is in the files.

mod autopilot;
mod budgets;
#[path = "../common/calls.rs"]
mod calls;
mod notices;
mod questions;
mod stand;
