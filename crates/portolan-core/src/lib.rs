//! The pure workflow engine of Portolan. It knows no clock, no file, no network and no randomness: time and chance
//! arrive in events, and what is to be done in the world leaves as data.
//!
//! The path of the data, each arrow yielding diagnostics or a refusal beside its result:
//!
//! ```text
//! text ─dialect::parse→ Graphs ─validate→ Workflow
//! Workflow, Run, Event ─engine::decide→ Vec<Change> ─Run::apply→ Run'
//! Run' ─pending→ effects, for a runner to perform
//! Run' ─present→ situation, instructions, history; Workflow ─present→ Mermaid, DOT, outline
//! ```
//!
//! # Example
//! A task that may be retried once, led through by hand:
//!
//! ```
//! use portolan_core::dialect::{self, Strictness};
//! use portolan_core::engine;
//! use portolan_core::run::{Actor, EffectResult, Event, EventKind, FramePath, Opening, Run, moves};
//! use portolan_core::source::Source;
//! use portolan_core::validate;
//! use portolan_core::value::{Outcome, Timestamp};
//!
//! let source = Source::new("hello.json", r#"{
//!   "nodes": {
//!     "start": {"type": "start"},
//!     "greet": {"type": "task", "maxRetries": 1},
//!     "done":  {"type": "end", "result": "success"}
//!   },
//!   "edges": [{"from": "start", "to": "greet"}, {"from": "greet", "to": "done"}]
//! }"#);
//! let (graph, _) = dialect::parse(&source, Strictness::Strict).first();
//! let graph = graph.expect("it can be drawn");
//! let (workflow, faults) = validate::validate(&graph, &|_| None, Strictness::Strict);
//! assert!(faults.is_empty());
//! let workflow = workflow.expect("it may be run");
//!
//! let opening = Opening::of("hello");
//! let mut run = Run::fold(&engine::open(&workflow, &opening)?).expect("it is open");
//!
//! let mut happen = |what: EventKind| -> Result<(), engine::Rejection> {
//!     let mut next = Some(what);
//!     while let Some(what) = next {
//!         let event = Event { at: Timestamp(0), by: Actor::Agent("me".into()), what };
//!         for change in &engine::decide(&workflow, &run, &event)? {
//!             run.apply(change);
//!         }
//!         // What needs nobody, such as the end, is executed with an event of its own.
//!         next = run.passing().map(|effect| effect.settled(EffectResult::Due, 0));
//!     }
//!     Ok(())
//! };
//! let report = |outcome: &str| EventKind::Reported {
//!     frame: FramePath::default(),
//!     outcome: Outcome::from(outcome),
//!     revision: None,
//!     note: None,
//!     outputs: None,
//! };
//!
//! happen(EventKind::Begun { revision: None })?;
//! happen(report("failed"))?; // the one retry
//! assert!(happen(report("maybe")).is_err()); // no such outcome: refused, nothing changed
//! happen(report("passed"))?;
//! assert!(run.is_over());
//! assert!(moves(&workflow, &run.root).is_empty());
//! # Ok::<(), engine::Rejection>(())
//! ```
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod chat;
pub mod diagnostic;
pub mod dialect;
pub mod engine;
pub mod expr;
pub mod gates;
pub mod graph;
pub mod present;
pub mod reply;
pub mod run;
pub mod schema;
pub mod shell;
pub mod source;
pub mod validate;
pub mod value;

/// Every code that a definition can be reported with, in alphabetical order; `docs/diagnostics.md` has a paragraph for each.
pub fn codes() -> Vec<&'static diagnostic::Code> {
    let mut codes: Vec<&diagnostic::Code> = dialect::codes().chain(validate::codes()).collect();
    codes.sort_by_key(|code| code.code);
    codes
}
