//! Gates: what must be true of a repository before a phase is left, and what a coding agent may do in it meanwhile.
//!
//! Everything here is decided over data: the rules are [`Guidelines`], the repository is a snapshot, a tool call is an
//! [`Intent`]. Whoever calls finds out how things are, and acts on what is decided.

pub mod acceptance;
pub mod bypass;
pub mod facts;
pub mod findings;
pub mod guards;
pub mod guidelines;
mod intent;
mod judgement;
pub mod merge;
pub mod names;
pub mod pattern;
pub mod plugins;
pub mod project;
mod protected;
pub mod references;
mod rules;
pub mod seen;
pub mod supervisor;
mod tracked;

pub use bypass::Bypass;
pub use guidelines::Guidelines;
pub use intent::{Intent, Tool};
pub use judgement::{Decision, Judgement};
pub use protected::{OPEN, PROTECTED, holds_protected, is_protected, may_be_protected};
pub use rules::{RULES, Rule};
