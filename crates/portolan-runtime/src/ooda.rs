//! The OODA loop: observe, orient, decide, act, in cycles until a task is done. It is the workflow `ooda` of the
//! catalogue, and other workflows run it by that name. This module runs it from Rust, with tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::dialect::Strictness;
use portolan_core::run::Actor;
use portolan_core::source::Source;
use serde_json::{Value, json};

use crate::catalog;
use crate::definition::{Bundle, Definition, ParsedText};
use crate::error::{ErrorKind, ServiceError};
use crate::service::{FunctionResult, FunctionRun, How, Service};

/// The id in the catalogue.
pub const ID: &str = "ooda";
/// The line of the shipped workflow that lists the tools.
const NO_TOOLS: &str = "    tools: []\n";

/// The task and its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ooda {
    /// The task.
    pub task: String,
    /// The known facts, or null.
    pub known: Value,
    /// The number of cycles after which it has failed, from 1 to 100. `None` means 5.
    pub max_cycles: Option<u32>,
    /// The tools for acting: `server/tool`, or the names of functions.
    pub tools: Vec<String>,
}

impl Ooda {
    /// Returns a task without tools.
    pub fn of(task: impl Into<String>) -> Ooda {
        Ooda { task: task.into(), ..Ooda::default() }
    }

    /// Returns the catalogue's workflow with the tools.
    ///
    /// # Errors
    /// A tool has an invalid name.
    pub fn definition(&self) -> Result<Arc<Definition>, ServiceError> {
        let parsed = ParsedText::read(&source(&self.tools), ID, Strictness::Strict);
        let parsed = parsed.map_err(|faults| faulty(&faults[0].message))?;
        let (workflow, faults) = parsed.check(&|_| None, Strictness::Strict);
        let first = || faults.iter().find(|fault| fault.is_error()).map_or("it cannot be read", |fault| &fault.message);
        let workflow = workflow.ok_or_else(|| faulty(first()))?;
        Ok(Arc::new(Definition::new(Bundle::of(&parsed, &|_| None), workflow)))
    }

    /// Returns the input of the workflow.
    pub fn input(&self) -> Value {
        let mut input = BTreeMap::from([("task", json!(self.task))]);
        input.extend(self.max_cycles.map(|most| ("max_cycles", json!(most))));
        input.extend((!self.known.is_null()).then(|| ("known", self.known.clone())));
        json!(input)
    }
}

/// Returns the catalogue's workflow with these tools.
pub fn source(tools: &[String]) -> Source {
    let entry = catalog::workflow(ID).expect("the catalogue has it");
    // JSON is YAML, with any names.
    let text = entry.text.replacen(NO_TOOLS, &format!("    tools: {}\n", json!(tools)), 1);
    Source::new(format!("{ID}.yaml"), text)
}

fn faulty(why: &str) -> ServiceError {
    let message = format!("the loop cannot be created: {why}");
    ServiceError::of(ErrorKind::InvalidDefinition, "invalid_definition", message, "correct the names of the tools")
}

/// Runs a loop to its end. Its output is an object with the `answer` and the number of `cycles`.
///
/// # Errors
/// The task is empty, or a tool has an invalid name. Running out of cycles is no error here: the outcome is then
/// [`Outcome::Failed`](crate::drive::Outcome::Failed).
///
/// ```
/// use portolan_runtime::drive::Outcome;
/// use portolan_runtime::models::ModelSetup;
/// use portolan_runtime::ooda::{Ooda, run_ooda};
/// use portolan_runtime::service::{How, Options, Service, StoreAt};
/// use portolan_runtime::states::{ModelBindings, Workers};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let answers = "- text: a door\n- text: it creaks\n- text: oil it\n- json: {done: true, result: it is quiet}\n";
/// # std::fs::write(folder.path().join("answers.yaml"), answers)?;
/// let service = Service::new(Options { store: StoreAt::Memory, ..Options::of(folder.path()) })?;
/// let cast = ModelBindings::of(ModelSetup::of(folder.path())).usually(Some("scripted:answers.yaml".into()));
/// let how = How { workers: Workers { cast, ..Workers::default() }, ..How::default() };
///
/// let finished = run_ooda(&service, &Ooda::of("Mend the door"), how).await?;
/// let Outcome::Done(Some(output)) = finished.outcome else { panic!("{:?}", finished.outcome) };
/// assert_eq!(output["answer"], "it is quiet");
/// assert_eq!(output["cycles"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn run_ooda(service: &Service, ooda: &Ooda, how: How) -> Result<FunctionResult, ServiceError> {
    let (definition, input) = (ooda.definition()?, ooda.input());
    service.drive(FunctionRun::Called { definition, input, by: Actor::Engine }, how).await
}
