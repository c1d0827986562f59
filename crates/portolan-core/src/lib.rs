//! The pure workflow engine of Portolan. It has no clock, files, network or randomness: time and random numbers arrive
//! in events, and effects leave as data.
//!
//! The path of the data; each arrow also yields diagnostics or a rejection:
//!
//! ```text
//! text ─dialect::parse→ Graphs ─validate→ Workflow
//! Workflow, Run, Event ─engine::decide→ Vec<Change> ─Run::apply→ Run'
//! Run' ─pending→ effects, for a runner to perform
//! Run' ─present→ situation, instructions, history; Workflow ─present→ Mermaid, DOT, outline
//! ```
//!
//! # Example
//! Reads a workflow with a checked task, opens a run, advances it, and performs the pending effects:
//!
//! ```
//! use portolan_core::{Actor, Effect, EffectKind, EffectResult, Event, EventKind};
//! use portolan_core::{Opening, Run, Timestamp, Verdict, Workflow};
//!
//! let text = r#"{
//!   "nodes": {
//!     "start": {"type": "start"},
//!     "greet": {"type": "task", "accept": [{"id": "polite", "run": ["./is-polite"]}]},
//!     "done":  {"type": "end", "result": "success"}
//!   },
//!   "edges": [{"from": "start", "to": "greet"}, {"from": "greet", "to": "done"}]
//! }"#;
//! let me = || Actor::Agent("me".into());
//! let by = |by: Actor, what: EventKind| Event { at: Timestamp(0), by, what };
//! let perform = |effect: Effect| match effect.what {
//!     EffectKind::Advance => Some(effect.id.settled(EffectResult::Due, 0)), // there is nothing to wait for
//!     EffectKind::Check(_) => Some(effect.id.settled(Verdict::Held, 0)),    // what came of the program
//!     _ => None, // such as an instruction: it is shown, and settled by what is reported
//! };
//!
//! let workflow = Workflow::read("hello.json", text)?;
//! let (mut run, _opened) = Run::open(&workflow, &Opening::of("hello"))?;
//! for wanted in [EventKind::Begun { revision: None }, EventKind::reported("passed")] {
//!     run.step(&workflow, &by(me(), wanted))?;
//!     while let Some(came) = run.pending(&workflow).into_iter().find_map(perform) {
//!         run.step(&workflow, &by(Actor::Engine, came))?;
//!     }
//! }
//! assert!(run.is_over());
//! // It is over: refused, and nothing has changed.
//! assert!(run.step(&workflow, &by(me(), EventKind::reported("passed"))).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! The stored form of a run is its journal: each event with the changes that [`Run::step`] returns, stored before any
//! effect is performed. [`Run::fold`] rebuilds the run from them.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod chat;
pub mod diagnostic;
pub mod dialect;
mod embed;
pub mod engine;
pub mod evaluation;
pub mod expr;
pub mod graph;
pub mod present;
pub mod prove;
#[doc(hidden)]
pub mod reply;
pub mod run;
pub mod schema;
pub mod source;
pub mod validate;
pub mod value;

pub use diagnostic::Diagnostic;
pub use embed::DefinitionError;
pub use engine::{AfterCrash, Effect, EffectKind, Rejection, decide};
pub use graph::{Graph, Workflow};
pub use present::{Situation, situation};
pub use run::{
    Actor, Change, EffectId, EffectResult, Event, EventKind, FramePath, Move, Opening, Reply, Run, Verdict, moves,
};
pub use source::Source;
pub use value::{NodeId, Outcome, Timestamp, WorkflowId};

/// Returns every diagnostic code of definitions, in alphabetical order; `docs/diagnostics.md` has a paragraph for each.
pub fn codes() -> Vec<&'static diagnostic::Code> {
    let mut codes: Vec<&diagnostic::Code> = dialect::codes().chain(validate::codes()).chain(prove::CODES).collect();
    codes.sort_by_key(|code| code.code);
    codes
}
