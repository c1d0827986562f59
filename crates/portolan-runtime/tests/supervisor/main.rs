//! The supervisor and the autopilot: each call is made to a service that knows only what is in the files.

mod budgets;
mod questions;
mod stand;
