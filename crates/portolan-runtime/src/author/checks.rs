//! Checks of a change: it is refused if it brings any new error.

use std::collections::BTreeMap;

use portolan_core::diagnostic::Diagnostic;
use portolan_core::source::{Source, Span};

use super::change::{PlannedFile, Present};
use super::{Author, refused};
use crate::definition::{DefinitionError, Findings};
use crate::library::Library;

/// Warnings about texts whose meaning depends on other tools of the file.
const READ_OTHERWISE: [&str; 2] = ["literal-expression", "old-spelling"];

/// The findings in a file after a change.
pub(super) struct FileFindings {
    pub(super) findings: Findings,
    pub(super) sound: bool,
}

/// Returns the error for faults of a definition.
pub(super) fn faulty(message: &str, findings: Findings) -> DefinitionError {
    let faults: Findings = findings.into_iter().filter(|(_, fault)| fault.is_error()).collect();
    DefinitionError::faulty(message, "fix every listed fault, then call again", faults)
}

impl Author {
    /// Checks the file after a change.
    pub(super) fn checked(
        &self,
        library: &Library,
        present: &Present,
        planned: &PlannedFile,
    ) -> Result<FileFindings, DefinitionError> {
        let source = Source::new(&*present.source.name, &planned.text);
        let (findings, sound) = self.found(library, &source)?;
        let before = if present.exists() { self.found(library, &present.source)?.0 } else { Vec::new() };
        accept(&before, &findings, planned.span)?;
        Ok(FileFindings { findings, sound })
    }

    fn found(&self, library: &Library, source: &Source) -> Result<(Findings, bool), DefinitionError> {
        match self.functions(library, source) {
            Ok(functions) => Ok((functions.warnings, true)),
            Err(DefinitionError { findings, .. }) if !findings.is_empty() => Ok((findings, false)),
            Err(error) => Err(error),
        }
    }
}

/// Refuses a change that brings errors, or that changes the meaning of texts outside of `changed`.
pub(super) fn accept(before: &Findings, after: &Findings, changed: Option<Span>) -> Result<(), DefinitionError> {
    let new = brought(before, after);
    if new.iter().any(|(_, fault)| fault.is_error()) {
        return Err(faulty("the change was not written: it would add faults to the file", new));
    }
    if let Some(other) = new.into_iter().find(|(_, fault)| reads_otherwise(fault, changed)) {
        let message = "the change was not written: it would change how texts with `$` in other tools are read";
        let help = "write the expressions in their `args` as `{ expr: \"…\" }` first, with updateGraphTool";
        return Err(DefinitionError { findings: vec![other], ..refused("changes_others", message, help) });
    }
    Ok(())
}

/// Checks whether a fault shows a changed meaning elsewhere: whether `$…` is an expression depends on all tools of the
/// file.
fn reads_otherwise(fault: &Diagnostic, changed: Option<Span>) -> bool {
    let inside = |span: Span| changed.is_some_and(|tool| tool.start <= span.start && span.end <= tool.end);
    READ_OTHERWISE.contains(&fault.code) && fault.message.contains("`$") && !fault.span.is_some_and(inside)
}

/// Returns the new findings. Positions move, so findings are compared by their codes and messages.
fn brought(before: &Findings, after: &Findings) -> Findings {
    let mut known: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (_, fault) in before {
        *known.entry((fault.code, fault.message.clone())).or_default() += 1;
    }
    let mut is_new = |fault: &Diagnostic| {
        let known = known.get_mut(&(fault.code, fault.message.clone())).filter(|count| **count > 0);
        known.map(|count| *count -= 1).is_none()
    };
    after.iter().filter(|(_, fault)| is_new(fault)).cloned().collect()
}
