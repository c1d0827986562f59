//! Saves a run of the store as a test beside its definition: in a new file, or at the end of an existing one, of which
//! nothing else changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use portolan_core::dialect::script;
use portolan_core::graph::{Kind, Worker, Workflow};
use portolan_core::present::Redaction;
use portolan_core::run::{Place, Run};
use portolan_core::source::{Edit, Source, edited};
use serde_json::{Map, Value, json};

use super::record::{fits, text, way};
use super::{Recording, Tester};
use crate::author::{LockedFile, MARK};
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::store::Record;
use crate::tools::{JournalAnswers, recorded};

/// The extensions of the file of tests of `count.yaml`.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
/// The maximum length of a test's name, in characters.
const MAX_NAME: usize = 200;

/// A saved test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedTest {
    /// The file.
    pub file: PathBuf,
    /// The whole text of the file.
    pub text: String,
    /// Whether the file was created for this test.
    pub created: bool,
    /// Whether something in the test is masked.
    pub redacted: bool,
}

/// A run to be saved as a test.
pub struct SavedRun<'r> {
    /// The file of functions.
    pub graph: &'r Path,
    /// The function, as it is in that file and in the run.
    pub definition: &'r Arc<Definition>,
    /// The run.
    pub run: &'r Run,
    /// All records of its journal.
    pub records: &'r [Record],
    /// The values to be masked.
    pub hidden: &'r Redaction,
}

impl SavedRun<'_> {
    /// Saves the run under a name that no test of the file has.
    ///
    /// # Errors
    /// The run has not ended, or ended through something that a test cannot express; the name is taken; or the file has
    /// faults, tests other functions, or cannot be written. Nothing is written then.
    pub async fn save(&self, name: &str, tester: &Tester) -> Result<SavedTest, ServiceError> {
        let name = name.trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
            let message = format!("the name of a test must be a single line of 1 to {MAX_NAME} characters");
            return Err(ServiceError::refused("bad_name", message, "use a name that says what the test shows"));
        }
        let JournalAnswers { answers, by_hand } = recorded(&self.definition.workflow, self.records);
        may_be_saved(&self.definition.workflow, self.run, &by_hand)?;
        let input = self.run.opening.input.as_deref().cloned().unwrap_or_else(|| json!({}));
        let (graph, definition, hidden) = (self.graph, self.definition, self.hidden);
        let recording = Recording { name: name.to_owned(), graph, definition, input: &input, answers, hidden };
        let (test, redacted) = recording.test(tester).await?;
        let file = test_file(self.graph);
        let mut locked = LockedFile::wait(&file).await?;
        loop {
            let before = locked.read()?;
            let text = match &before {
                None => text(&file, &way(&file, self.graph), &test, ("Tests that were saved from runs", redacted)),
                Some(before) => with_test(&file, before, self.graph, &test)?,
            };
            fits(&text)?;
            if locked.replace(before.as_deref(), &text)? {
                return Ok(SavedTest { file, text, created: before.is_none(), redacted });
            }
        }
    }
}

/// Refuses a run that a test cannot reproduce.
fn may_be_saved(workflow: &Workflow, run: &Run, by_hand: &[String]) -> Result<(), ServiceError> {
    let refused = |message: String, help: &str| Err(ServiceError::refused("not_recorded", message, help));
    let is_cancelled = matches!(run.root.place, Place::Ended { result, .. } if result.word() == "cancelled");
    if !run.is_over() || is_cancelled {
        return refused("the run did not finish".to_owned(), "let it finish first");
    }
    let works = |kind: &Kind| matches!(kind, Kind::State(state) if !matches!(state.work, Worker::Nobody));
    let mut steps = workflow.flows().flat_map(|(_, flow)| flow.steps.values());
    if let Some(step) = steps.find(|step| works(&step.node.kind)) {
        let message = format!("a model works on `{}`, and a test has no models", step.node.id);
        return refused(message, "test such a definition with `portolan run --model scripted:FILE`");
    }
    if let Some(name) = by_hand.first() {
        let message = format!("`{name}` was changed by hand in this run, and a test can only set the answers of calls");
        return refused(message, "try again without that change");
    }
    Ok(())
}

/// Returns the file of tests beside a file of functions: the existing one, or else one with the same extension.
pub(super) fn test_file(graph: &Path) -> PathBuf {
    let stem = graph.file_stem().unwrap_or_default().to_string_lossy();
    let called = |ending: &str| graph.with_file_name(format!("{stem}.test.{ending}"));
    let own = graph.extension().and_then(|ending| ending.to_str()).filter(|ending| ENDINGS.contains(ending));
    ENDINGS.map(called).into_iter().find(|file| file.is_file()).unwrap_or_else(|| called(own.unwrap_or("yaml")))
}

/// Returns the text of a file of tests with one more test at its end.
fn with_test(file: &Path, before: &str, graph: &Path, test: &Map<String, Value>) -> Result<String, ServiceError> {
    let shown = file.display();
    let (mark, plain) = before.strip_prefix(MARK).map_or(("", before), |plain| (MARK, plain));
    let source = Source::new(file.to_string_lossy().into_owned(), plain);
    let (read, faults) = script::script(&source);
    let Some(read) = read else {
        let first = faults.iter().find(|fault| fault.is_error()).map_or("", |fault| fault.message.as_str());
        let message = format!("`{shown}` has faults: {first}");
        return Err(ServiceError::refused("faulty_tests", message, "fix them first: `portolan test` lists them all"));
    };
    if let Some(other) = read.graph.as_ref().filter(|named| !is_same(&file.with_file_name(&named.value), graph)) {
        let message = format!("`{shown}` tests `{}`, not this definition", other.value);
        return Err(ServiceError::refused(
            "other_graph",
            message,
            "rename it: its name is reserved for the tests of this definition",
        ));
    }
    let name = test.get("name").and_then(Value::as_str).unwrap_or_default();
    if read.cases.iter().any(|case| case.name.value == name) {
        let message = format!("`{shown}` already has a test `{name}`, which is not overwritten");
        return Err(ServiceError::refused("taken", message, "choose another name"));
    }
    let count = read.cases.len();
    let edit = match count {
        0 => Edit::Set { at: vec!["tests".into()], value: json!([test]) },
        count => Edit::Insert { at: vec!["tests".into(), count.into()], before: None, value: json!(test) },
    };
    let text = edited(&source, &[edit]).map_err(|unfit| unchangeable(file, &unfit.0))?;
    let (after, _) = script::script(&Source::new("tests.yaml", &*text));
    match after.filter(|after| after.cases.len() == count + 1) {
        Some(_) => Ok([mark, &text].concat()),
        None => Err(unchangeable(file, "the edited text would not parse as intended")),
    }
}

fn unchangeable(file: &Path, why: &str) -> ServiceError {
    let message = format!("no test can be added to `{}`: {why}", file.display());
    ServiceError::refused("unchangeable", message, "write its `tests` as a block list, one test below the other")
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
