//! The engine: [`open`] and [`decide`] make every choice and change nothing; [`Run::apply`](crate::run::Run::apply)
//! changes and chooses nothing.
//!
//! What is to happen next is derived from a run by [`Run::pending`](crate::run::Run::pending). Knows no format, no
//! rule of validation, no wording for agents; time and the world arrive in events.

mod decide;
mod effect;
mod fits;
mod judge;
mod migrate;
mod pending;
mod rejection;
mod shared;
#[cfg(test)]
mod tests;
mod weakened;

pub(crate) use decide::may_give;
pub use decide::{decide, look, open};
pub use effect::{AfterCrash, CheckRequest, Effect, EffectKind, FunctionUse, ModelRequest, ModelToolCall, ToolCall};
pub use fits::{Misfit, fits};
pub use migrate::{changes_of, migrate};
pub use rejection::{Rejection, RejectionReason, Remedy};
pub use shared::{SHARED_GET, SHARED_SET, shared_tool};
