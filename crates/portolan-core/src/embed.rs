//! The repeated steps of a program that embeds the engine, in one call each: parsing and checking a definition, opening
//! a run and advancing it. The module decides nothing itself.

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

/// A definition that cannot be run, with all findings about it, warnings included.
#[derive(Clone, Debug)]
pub struct DefinitionError {
    /// The source of the spans in the findings.
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
    /// Parses and checks a definition without dependencies, in any format, and returns its first workflow. For
    /// warnings, files with several workflows and subflows, use [`dialect::parse`] and [`validate::validate`].
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
    /// If the definition has faults; the error contains all of them.
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
    /// Opens a run, and returns the changes: the first record of its journal, with the event
    /// [`Opened`](EventKind::Opened).
    ///
    /// # Errors
    /// If the workflow rejects the opening.
    pub fn open(workflow: &Workflow, opening: &Opening) -> Result<(Run, Vec<Change>), Rejection> {
        let changes = engine::open(workflow, opening)?;
        let run = Run::fold(&changes).expect("what `open` decides begins a journal");
        Ok((run, changes))
    }

    /// Decides an event, applies its changes, and returns them. A durable run stores the event with these changes
    /// before its pending effects are performed. If they cannot be stored, load the run again.
    ///
    /// # Errors
    /// If the event is rejected. The run is unchanged.
    pub fn step(&mut self, workflow: &Workflow, event: &Event) -> Result<Vec<Change>, Rejection> {
        let changes = engine::decide(workflow, self, event)?;
        changes.iter().for_each(|change| self.apply(change));
        Ok(changes)
    }
}

impl EventKind {
    /// Makes the report of an outcome, or the answer to the question, of a run without branches.
    pub fn reported(outcome: impl Into<Outcome>) -> EventKind {
        let (frame, outcome) = (FramePath::default(), outcome.into());
        EventKind::Reported { frame, outcome, revision: None, note: None, outputs: None }
    }
}
