//! What a program that embeds the engine does again and again, in one call each: a definition is read and checked, a run
//! is opened and moved on. Decides nothing by itself.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::dialect::{self, Strictness};
use crate::engine::{self, Rejection};
use crate::graph::Workflow;
use crate::run::{Change, Event, EventKind, FramePath, Opening, Run};
use crate::source::Source;
use crate::validate;
use crate::value::Outcome;

/// Why a definition cannot be run: everything that was found in it, warnings too.
#[derive(Clone, Debug)]
pub struct DefinitionError {
    /// The text that the findings point into.
    pub source: Source,
    /// The findings.
    pub found: Vec<Diagnostic>,
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for fault in self.found.iter().filter(|fault| fault.is_error()) {
            write!(f, "{between}{}", self.source.name)?;
            if let Some(place) = fault.span.map(|span| self.source.location(span.start)) {
                write!(f, ":{}:{}", place.line, place.column)?;
            }
            write!(f, ": {} ({})", fault.message, fault.code)?;
            between = "\n";
        }
        Ok(())
    }
}

impl std::error::Error for DefinitionError {}

impl Workflow {
    /// Reads and checks a definition that needs no other one, in whichever format it is: the first workflow of it. For
    /// its warnings, for files of several workflows and for subflows there are [`dialect::parse`] and
    /// [`validate::validate`].
    ///
    /// ```
    /// use portolan_core::Workflow;
    ///
    /// let text = r#"{"nodes": {"start": {"type": "start"}}, "edges": [{"from": "start", "to": "done"}]}"#;
    /// let faults = Workflow::read("hello.json", text).unwrap_err();
    /// assert_eq!(faults.to_string(), "hello.json:1:75: an edge leads to `done`, which is not defined (unknown-node)");
    /// ```
    ///
    /// # Errors
    /// It has faults: all of them.
    pub fn read(name: impl Into<Arc<str>>, text: &str) -> Result<Workflow, DefinitionError> {
        let source = Source::new(name, text);
        let (graph, mut found) = dialect::parse(&source, Strictness::Strict).first();
        let checked = graph.map(|graph| validate::validate(&graph, &validate::no_library, Strictness::Strict));
        let (workflow, faults) = checked.unwrap_or_default();
        found.extend(faults);
        workflow.ok_or(DefinitionError { source, found })
    }
}

impl Run {
    /// Opens a run, and says what that made true: the first record of its journal, with the event
    /// [`Opened`](EventKind::Opened).
    ///
    /// # Errors
    /// The workflow does not take what it is given.
    pub fn open(workflow: &Workflow, opening: &Opening) -> Result<(Run, Vec<Change>), Rejection> {
        let changes = engine::open(workflow, opening)?;
        let run = Run::fold(&changes).expect("what `open` decides begins a journal");
        Ok((run, changes))
    }

    /// Decides an event, applies what it makes true, and returns that. A run that is to last keeps the event with these
    /// changes before anything is done that is pending then; where they cannot be kept, it is loaded again.
    ///
    /// # Errors
    /// The event is not accepted here. The run is as it was.
    pub fn step(&mut self, workflow: &Workflow, event: &Event) -> Result<Vec<Change>, Rejection> {
        let changes = engine::decide(workflow, self, event)?;
        changes.iter().for_each(|change| self.apply(change));
        Ok(changes)
    }
}

impl EventKind {
    /// The outcome of the work of a run without branches, or the answer to its question.
    pub fn reported(outcome: impl Into<Outcome>) -> EventKind {
        let (frame, outcome) = (FramePath::default(), outcome.into());
        EventKind::Reported { frame, outcome, revision: None, note: None, outputs: None }
    }
}
