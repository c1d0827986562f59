//! Tests of functions without their servers. Each test runs a function with written answers, and compares the outcome
//! with the expected one. The edges taken are recorded.
//!
//! Time stands still in a test and its randomness is seeded, so that a test is deterministic.

mod coverage;
mod record;
mod run;
mod save;
mod values;

use std::path::{Path, PathBuf};

use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::script::{self, Answers, Script, unknown_answers};
use portolan_core::graph::Kind;
use portolan_core::source::Source;

use crate::definition::DefinitionError;
use crate::error::ServiceError;
use crate::library::{FunctionFiles, FunctionSet, Library, read_definition};

pub use coverage::{Coverage, EdgeTaken};
pub use record::{Recording, RecordingText};
pub use run::{CaseOutcome, CaseReport, TestReport, Tester};
pub use save::{SavedRun, SavedTest};
pub use values::TestValues;

/// A file of tests and the functions that it tests.
pub struct Suite {
    /// The file of tests.
    pub source: Source,
    /// The file of functions.
    pub graph: PathBuf,
    script: Script,
    functions: FunctionSet,
}

/// Reads the written answers of a file, for runs of `functions`.
///
/// # Errors
/// The file cannot be read, has faults, has no answers, or answers for nodes that make no call.
pub fn answers(path: &Path, functions: &FunctionSet) -> Result<Answers, DefinitionError> {
    answers_of(&read_definition(path)?, functions)
}

/// Reads the written answers of a text, for runs of `functions`.
///
/// # Errors
/// The text has faults, has no answers, or answers for nodes that make no call.
pub fn answers_of(source: &Source, functions: &FunctionSet) -> Result<Answers, DefinitionError> {
    let (script, mut faults) = script::script(source);
    if let Some(script) = &script {
        faults.extend(unknown_answers(&script.answers, &words(&calls(functions))));
    }
    match script.filter(|_| !faults.iter().any(Diagnostic::is_error)) {
        // A caller that names a file of answers wants no server to be called instead.
        Some(script) if script.answers.is_empty() => Err(no_answers(source).into()),
        Some(script) => Ok(script.answers),
        None => Err(faulty(source, faults)),
    }
}

fn no_answers(source: &Source) -> ServiceError {
    let message = format!("`{}` has no `mock` with answers", source.name);
    let help =
        "write them under `mock`, beside `tests` (answers inside a test apply only to that test); nothing was started";
    ServiceError::refused("no_answers", message, help)
}

impl Suite {
    /// Reads a file of tests, and the file of functions that it names or that matches its own name.
    ///
    /// # Errors
    /// Either file cannot be read, or has faults.
    pub fn open(path: &Path, library: &Library) -> Result<Suite, DefinitionError> {
        let source = read_definition(path)?;
        let (script, faults) = script::script(&source);
        let Some(script) = script else { return Err(faulty(&source, faults)) };
        let graph = match &script.graph {
            Some(named) => path.parent().unwrap_or(Path::new("")).join(&named.value),
            None => beside(path).ok_or_else(|| no_graph(path))?,
        };
        let functions = library.functions(FunctionFiles::unserved(std::slice::from_ref(&graph)))?;
        let suite = Suite { source, graph, script, functions };
        let faults = suite.misfits();
        if faults.is_empty() { Ok(suite) } else { Err(faulty(&suite.source, faults)) }
    }

    /// Returns a fault for everything that the tests name and the functions lack.
    fn misfits(&self) -> Vec<Diagnostic> {
        let calls = calls(&self.functions);
        let known = words(&calls);
        let mut faults = unknown_answers(&self.script.answers, &known);
        let tools: Vec<&str> = self.functions.definitions.keys().map(String::as_str).collect();
        for case in &self.script.cases {
            faults.extend(unknown_answers(&case.answers, &known));
            let (span, name) = match &case.tool {
                Some(tool) => (tool.span, Some(tool.value.as_str())),
                None => (case.name.span, None),
            };
            if let Err(error) = self.functions.called(name) {
                let fault = Diagnostic::error("unknown-tool", error.message).at(span).help(error.help);
                faults.push(match name {
                    Some(name) => fault.did_you_mean(name, tools.iter().copied()),
                    None => fault,
                });
            }
        }
        faults
    }
}

fn faulty(source: &Source, faults: Vec<Diagnostic>) -> DefinitionError {
    let findings = faults.into_iter().map(|fault| (source.clone(), fault)).collect();
    DefinitionError::faulty("the tests have faults", "fix every fault that is listed", findings)
}

/// Returns the file of functions by name: `count.yaml` for `count.test.yaml`.
fn beside(path: &Path) -> Option<PathBuf> {
    let stem = path.file_stem()?.to_str()?.strip_suffix(".test")?;
    let files = ["yaml", "yml", "json"].map(|extension| path.with_file_name(format!("{stem}.{extension}")));
    files.into_iter().find(|file| file.is_file())
}

fn no_graph(path: &Path) -> ServiceError {
    let message = format!("`{}` does not say which graph it tests", path.display());
    ServiceError::refused(
        "no_graph",
        message,
        "write `graph: FILE` in it, or name it `<graph>.test.yaml` and put it beside the graph",
    )
}

/// Returns the names under which calls are answered: each node alone, and with its function.
fn calls(functions: &FunctionSet) -> Vec<String> {
    let mut names = Vec::new();
    let flows = functions.definitions.values().flat_map(|definition| definition.workflow.flows());
    for (flow, checked) in flows {
        for (node, step) in &checked.steps {
            if matches!(step.node.kind, Kind::Call(_)) {
                names.push(node.to_string());
                names.push(format!("{flow}.{node}"));
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

fn words(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
