//! The engine. [`open`] and [`decide`] make every decision and change nothing; [`Run::apply`](crate::run::Run::apply)
//! applies changes and decides nothing.
//!
//! [`Run::pending`](crate::run::Run::pending) derives the next effects from a run. The engine knows no format, no
//! validation rule and no wording for agents; time and outside data arrive in events.

mod decide;
mod effect;
mod fits;
mod judge;
mod migrate;
mod pending;
mod rejection;
#[cfg(test)]
mod tests;
mod variable_tools;
mod weakening;

pub(crate) use decide::may_give;
pub use decide::{decide, look, open};
pub use effect::{AfterCrash, CheckRequest, Effect, EffectKind, FunctionUse, ModelRequest, ModelToolCall, ToolCall};
pub use fits::{Misfit, fits};
pub use migrate::{changes_of, migrate};
pub use rejection::{Rejection, RejectionReason, Remedy};
pub use variable_tools::{SHARED_GET, SHARED_SET, shared_tool};
