//! The OODA loop: observe, orient, decide, act, cycle after cycle, until a task is done. It is a workflow of the catalogue,
//! `ooda`, and other workflows run it by that name; this runs it from Rust, with tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::dialect::Strictness;
use portolan_core::run::Actor;
use portolan_core::source::Source;
use serde_json::{Value, json};

use crate::catalog;
use crate::definition::{Bundle, Definition, ParsedText};
use crate::error::{ErrorKind, ServiceError};
use crate::service::{Finished, FunctionRun, How, Service};

/// The name under which the catalogue has it.
pub const ID: &str = "ooda";
/// The line of the shipped workflow that has the tools.
const NO_TOOLS: &str = "    tools: []\n";

/// What is to be done, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ooda {
    /// What is to be done.
    pub task: String,
    /// What is known already; null where nothing is.
    pub known: Value,
    /// After how many cycles without an end it has failed, from 1 to 100; nothing means 5.
    pub max_cycles: Option<u32>,
    /// The tools that may be used to act: `server/tool`, or the names of functions.
    pub tools: Vec<String>,
}

impl Ooda {
    /// A task, without tools.
    pub fn of(task: impl Into<String>) -> Ooda {
        Ooda { task: task.into(), ..Ooda::default() }
    }

    /// The workflow that does it: that of the catalogue, with the tools.
    ///
    /// # Errors
    /// A tool has a name that none can have.
    pub fn definition(&self) -> Result<Arc<Definition>, ServiceError> {
        let parsed = ParsedText::read(&source(&self.tools), ID, Strictness::Strict);
        let parsed = parsed.map_err(|faults| faulty(&faults[0].message))?;
        let (workflow, faults) = parsed.check(&|_| None, Strictness::Strict);
        let first = || faults.iter().find(|fault| fault.is_error()).map_or("it cannot be read", |fault| &fault.message);
        let workflow = workflow.ok_or_else(|| faulty(first()))?;
        Ok(Arc::new(Definition::new(Bundle::of(&parsed, &|_| None), workflow)))
    }

    /// What the workflow is given.
    pub fn input(&self) -> Value {
        let mut input = BTreeMap::from([("task", json!(self.task))]);
        input.extend(self.max_cycles.map(|most| ("max_cycles", json!(most))));
        input.extend((!self.known.is_null()).then(|| ("known", self.known.clone())));
        json!(input)
    }
}

/// The workflow of the catalogue, with the tools that it acts by.
pub fn source(tools: &[String]) -> Source {
    let entry = catalog::workflow(ID).expect("the catalogue has it");
    // JSON is YAML, whatever the names are.
    let text = entry.text.replacen(NO_TOOLS, &format!("    tools: {}\n", json!(tools)), 1);
    Source::new(format!("{ID}.yaml"), text)
}

fn faulty(why: &str) -> ServiceError {
    let message = format!("the loop cannot be made: {why}");
    ServiceError::of(ErrorKind::InvalidDefinition, "invalid_definition", message, "correct the names of the tools")
}

/// Runs a loop to its end: an object with the `answer` and the number of `cycles`.
///
/// # Errors
/// The task is empty, or a tool has a name that none can have. That no cycle is left is no error here: the outcome is then
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
pub async fn run_ooda(service: &Service, ooda: &Ooda, how: How) -> Result<Finished, ServiceError> {
    let (definition, input) = (ooda.definition()?, ooda.input());
    service.drive(FunctionRun::Called { definition, input, by: Actor::Engine }, how).await
}
