//! The supervisor and the autopilot: each call is made to a service that knows only what is in the files.

mod autopilot;
mod budgets;
#[path = "../../../portolan-runtime/tests/common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;
mod notices;
mod questions;
mod stand;
