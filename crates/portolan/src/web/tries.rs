//! Definitions are tried out: a run begins, and goes on by itself, node by node, or up to a breakpoint.
//!
//! Functions are driven here, and kept in the store, so that each of their moments can be seen afterwards. What agents are
//! led through begins, and waits for whoever walks it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::extract::State;
use portolan_core::expr::{Language, ParseFault};
use portolan_core::present::Redaction;
use portolan_core::run::FramePath;
use portolan_core::source::Source;
use portolan_core::value::NodeId;
use portolan_runtime::definition::{Definition, DefinitionError};
use portolan_runtime::drive::{Breakpoint, Control, Phase};
use portolan_runtime::library::{FunctionFiles, Functions};
use portolan_runtime::script;
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::{Function, FunctionRun, How, Interrupted, Open, RunCarrier, ServiceError};
use portolan_runtime::store::RunId;
use portolan_runtime::tools::{Tools, Written};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Studio;
use super::answer::{Answer, Body, InPath, Refusal};
use super::runs::address;

/// How a definition is to be tried.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Which of the workflows of its file.
    root: Option<String>,
    input: Option<Map<String, Value>>,
    /// What is wanted, of a workflow that an agent is led through.
    description: Option<String>,
    /// Whether it waits before its first node.
    #[serde(default)]
    paused: bool,
    /// The nodes before which it waits.
    #[serde(default)]
    breakpoints: Vec<Asked>,
    /// What tools and models answer, by node, in the place of those that are asked; as `mock` in a test has it.
    answers: Option<Map<String, Value>>,
    /// An earlier run of it, whose calls' answers are given again.
    recorded: Option<String>,
    /// The model that works on states where the definition names none.
    model: Option<String>,
}

/// A node before which a run is to wait, as the drawing names it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Asked {
    Always(String),
    If(Conditional),
}

/// The same, where something holds of what the node would see.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conditional {
    node: String,
    when: Option<String>,
}

/// How the run of a function is driven that somebody tries, for as long as it is.
#[derive(Clone)]
pub(super) struct Trying {
    control: Control,
    how: How,
    /// What answers its calls, where that is written down.
    answers: Option<Arc<Answers>>,
    /// Why it is not driven any more, where that is no end of the run.
    failed: Option<Arc<ServiceError>>,
}

/// The runs that are tried, by their handles.
pub(super) type Tries = std::sync::Mutex<BTreeMap<String, Trying>>;

/// How a run is being driven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Driven {
    /// `running`, `paused`, `stopped` or `finished`.
    phase: &'static str,
    /// The node before which it waits.
    before: Option<String>,
    breakpoints: Vec<Broken>,
    /// Why it is not driven any more.
    failed: Option<String>,
    /// Why it could not be found out whether it is to wait before that node: so it does.
    fault: Option<String>,
}

/// A breakpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Broken {
    node: String,
    when: Option<String>,
}

/// How many runs are tried at once. Each holds its servers.
const MOST_TRIES: usize = 64;

/// Begins a run of a definition.
pub(super) async fn begin(
    State(studio): State<Arc<Studio>>,
    InPath(id): InPath<String>,
    Body(wanted): Body<Wanted>,
) -> Answer<Value> {
    let (library, service) = (studio.service.library(), &studio.service);
    studio.has_room()?;
    let path = library.path(&id);
    let is_function = match &path {
        Some(path) => portolan_runtime::library::run_as(path)? == Some(portolan_core::dialect::RunAs::Calls),
        None => false,
    };
    let Some(path) = path.filter(|_| is_function) else {
        let input = wanted.input.filter(|input| !input.is_empty()).map(|input| Arc::new(Value::Object(input)));
        let open = Open { workflow: Some(id), description: wanted.description, input, ..Open::default() };
        let view = service.open(&open, &studio.person).await?;
        return Ok(Json(json!({ "run": view.address.to_string() })));
    };
    let files = [path];
    let functions = library.functions(FunctionFiles::served(&files, None)).map_err(faulty)?;
    let definition = functions.called(wanted.root.as_deref())?.clone();
    let recorded = match &wanted.recorded {
        Some(run) => Some(answers_of(&studio, run, &definition).await?),
        None => None,
    };
    let answers = written(&functions, wanted.answers, recorded)?.map(Arc::new);
    let tools = tools(&studio, &functions, &definition, answers.as_deref())?;
    let folder = definition.folder().to_owned();
    let workers = service.workers(wanted.model.as_deref(), folder.clone())?;
    let control = Control::new(wanted.paused, breakpoints(&definition, &wanted.breakpoints)?);
    let input = Some(Arc::new(Value::Object(wanted.input.unwrap_or_default())));
    let function = Function { definition, remembered: None, folder: Some(folder) };
    let open = Open { carrier: RunCarrier::Store, function: Some(function), input, ..Open::default() };
    let view = service.open(&open, &studio.person).await?;
    let run = view.address.to_string();
    let how = How { workers, control: Some(control.clone()), ..How::with(tools) };
    studio.tries().insert(run.clone(), Trying { control, how, answers, failed: None });
    studio.drive(&run, Interrupted::Ask)?;
    Ok(Json(json!({ "run": run })))
}

fn faulty(refused: DefinitionError) -> Refusal {
    let told = refused.to_string();
    let ServiceError { code, help, .. } = *refused.error;
    Refusal::from(ServiceError::refused(code, told, help))
}

/// Answers by the calls that they are of.
type Answers = BTreeMap<String, Vec<portolan_runtime::tools::Answer>>;

/// What the calls of an earlier run came to.
async fn answers_of(studio: &Studio, run: &str, definition: &Definition) -> Result<Answers, Refusal> {
    let past = studio.past(run).await?;
    let past = past.lock().await;
    let (earlier, wanted) = (past.definition().workflow.id(), definition.workflow.id());
    if earlier != wanted {
        let message = format!("`{run}` is a run of `{earlier}`, and not of `{wanted}`");
        return Err(Refusal::from(ServiceError::refused("other_workflow", message, "choose a run of this definition")));
    }
    let records = studio.service.page(&address(run)?, 0, usize::MAX).await?;
    Ok(portolan_runtime::tools::recorded(&past.definition().workflow, &records).answers)
}

/// The answers that are given: what is written goes before what was recorded.
fn written(
    functions: &Functions,
    answers: Option<Map<String, Value>>,
    recorded: Option<Answers>,
) -> Result<Option<Answers>, Refusal> {
    let own = match answers {
        // Beside recorded ones, none need be written.
        Some(answers) if !answers.is_empty() || recorded.is_none() => {
            let text = json!({ "mock": answers }).to_string();
            script::answers_of(&Source::new("answers.json", text), functions).map_err(faulty)?
        }
        _ if recorded.is_none() => return Ok(None),
        _ => Default::default(),
    };
    let is_own = |name: &str| own.keys().any(|mine| mine == name || name.rsplit('.').next() == Some(mine.as_str()));
    let mut all = recorded.unwrap_or_default();
    all.retain(|name, _| !is_own(name));
    all.extend(own.iter().map(|(name, answers)| (name.clone(), answers.value.clone())));
    Ok(Some(all))
}

/// Who answers the calls: what is written down, and else the servers of the definition, where somebody has trusted them.
fn tools(
    studio: &Studio,
    functions: &Functions,
    definition: &Definition,
    answers: Option<&Answers>,
) -> Result<Arc<Tools>, Refusal> {
    if let Some(answers) = answers {
        return Ok(Arc::new(Tools::written(Arc::new(Written::new(answers.clone())))));
    }
    studio.service.may_start_servers(definition)?;
    Ok(Arc::new(Tools::of(Arc::new(Servers::new(functions.servers.clone(), PoolOptions::default())))))
}

/// What is left of answers after so many calls of each node; of several, the last serves all that follow.
fn left(answers: &Answers, given: &Answers) -> Answers {
    let bare = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let left = |(name, all): (&String, &Vec<portolan_runtime::tools::Answer>)| {
        let is_of = |call: &str| call == name || (bare(call) == *name && !answers.contains_key(call));
        let calls: usize = given.iter().filter(|(call, _)| is_of(call)).map(|(_, given)| given.len()).sum();
        (name.clone(), all[calls.min(all.len().saturating_sub(1))..].to_vec())
    };
    answers.iter().map(left).collect()
}

/// Where to wait: each node is one of the definition, each condition can be read.
fn breakpoints(definition: &Definition, asked: &[Asked]) -> Result<Vec<Breakpoint>, ServiceError> {
    let breakpoint = |asked: &Asked| match asked {
        Asked::Always(node) => before(definition, node).map(|(breakpoint, _)| breakpoint),
        Asked::If(Conditional { node, when }) => {
            let (breakpoint, language) = before(definition, node)?;
            let when = when.as_deref().map(str::trim).filter(|when| !when.is_empty());
            let Some(when) = when else { return Ok(breakpoint) };
            breakpoint.when(language, when).map_err(|fault| no_condition(node, when, &fault))
        }
    };
    asked.iter().map(breakpoint).collect()
}

/// A breakpoint before a node of the drawing, and what conditions are written in there.
fn before(definition: &Definition, name: &str) -> Result<(Breakpoint, Language), ServiceError> {
    // The drawing names the nodes of workflows that are run inside with the way to them.
    let bare = NodeId::from(name.rsplit('/').next().unwrap_or(name));
    let (root, workflow) = (definition.workflow.id(), &definition.workflow);
    let mut flows = workflow.flows().filter(|(_, flow)| flow.steps.contains_key(&bare)).map(|(id, _)| id);
    let Some(flow) = flows.next() else {
        let message = format!("there is no node `{name}` to wait before");
        return Err(ServiceError::refused("unknown_step", message, "choose one of the drawing"));
    };
    let in_root = workflow.root().steps.contains_key(&bare);
    let flow = if in_root && !name.contains('/') { root } else { flow };
    let breakpoint = if in_root || name.contains('/') { Breakpoint::drawn(name) } else { bare.into() };
    Ok((breakpoint, definition.language(flow)))
}

fn no_condition(node: &str, when: &str, fault: &ParseFault) -> ServiceError {
    let at = fault.offset.and_then(|offset| when.get(..offset)).map(|before| before.chars().count() + 1);
    let at = at.map_or_else(String::new, |at| format!(", at character {at}"));
    let message = format!("the condition of the breakpoint at `{node}` cannot be read{at}: {}", fault.message);
    let help = fault.help.clone().unwrap_or_else(|| "write it as conditions are written in the definition".to_owned());
    ServiceError::refused("bad_expression", message, help)
}

/// What is to become of a run that is tried.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Command {
    #[serde(rename = "do")]
    what: Option<What>,
    /// The nodes before which it waits from now on.
    breakpoints: Option<Vec<Asked>>,
    /// What nodes came to, and variables, that are given other values while it waits.
    set: Option<Values>,
    /// What becomes of a call that was interrupted.
    interrupted: Option<CallAgain>,
}

/// Values of one frame.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    /// The frame, `a/b`; nothing is the one that the run waits in.
    frame: Option<String>,
    values: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Pause,
    Resume,
    Step,
    /// By a node with all that happens inside of it.
    Over,
    Stop,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallAgain {
    Repeat,
    Fail,
}

/// Has a run that is tried pause, go on, go on by a node, or stop.
pub(super) async fn control(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    Body(command): Body<Command>,
) -> Answer<Driven> {
    let _known = address(&run)?;
    let trying = studio.tries().get(&run).cloned().ok_or_else(|| not_tried(&run))?;
    if let Some(asked) = &command.breakpoints {
        let past = studio.past(&run).await?;
        let definition = past.lock().await.definition().clone();
        trying.control.set_breakpoints(breakpoints(&definition, asked)?);
    }
    if let Some(Values { frame, values }) = command.set {
        let frame = frame.map(|frame| frame_path(&frame));
        trying.control.set(studio.person.by.clone(), frame, Arc::new(Value::Object(values))).await?;
    }
    let is_driven = matches!(trying.control.phase(), Phase::Running | Phase::Paused);
    match command.what {
        None => {}
        Some(What::Pause) => trying.control.pause()?,
        Some(What::Stop) => trying.control.stop()?,
        Some(What::Resume) if is_driven => trying.control.resume()?,
        Some(What::Over) if is_driven => trying.control.step_over()?,
        Some(What::Step) if is_driven => {
            trying.control.step()?;
            // It has when it is told.
            trying.control.paused().await;
        }
        Some(what @ (What::Resume | What::Step | What::Over)) => {
            let breakpoints = trying.control.breakpoints().to_vec();
            let control = Control::new(what != What::Resume, breakpoints);
            let how = How { control: Some(control.clone()), ..trying.how };
            let answers = trying.answers;
            studio.tries().insert(run.clone(), Trying { control, how, answers, failed: None });
            let interrupted = match command.interrupted {
                None => Interrupted::Ask,
                Some(CallAgain::Repeat) => Interrupted::Repeat,
                Some(CallAgain::Fail) => Interrupted::Fail,
            };
            studio.drive(&run, interrupted)?;
        }
    }
    let hidden = studio.past(&run).await?.lock().await.hidden().clone();
    let driven = studio.driven(&run).ok_or_else(|| not_tried(&run))?;
    Ok(Json(driven.masked(&hidden)))
}

impl Driven {
    /// The same, as it may be shown.
    pub(super) fn masked(self, hidden: &Redaction) -> Driven {
        let fault = self.fault.map(|fault| hidden.text(&fault));
        Driven { fault, ..self }
    }
}

fn broken(breakpoint: &Breakpoint) -> Broken {
    Broken { node: breakpoint.node().to_owned(), when: breakpoint.condition().map(str::to_owned) }
}

fn frame_path(text: &str) -> FramePath {
    FramePath(text.split('/').filter(|name| !name.is_empty()).map(NodeId::from).collect())
}

fn not_tried(run: &str) -> Refusal {
    let message = format!("`{run}` is not driven by this studio");
    let help = "a run of a function goes on with `portolan runs resume`; or fork it, and try the fork";
    Refusal::from(ServiceError::refused("not_running", message, help))
}

impl Studio {
    pub(super) fn tries(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Trying>> {
        // Every change of the map is one insertion: a holder that panicked leaves it whole.
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses another run where as many are driven as may be; those that are over are forgotten.
    fn has_room(&self) -> Result<(), Refusal> {
        let mut tries = self.tries();
        if tries.len() >= MOST_TRIES {
            tries.retain(|_, trying| matches!(trying.control.phase(), Phase::Running | Phase::Paused));
        }
        if tries.len() < MOST_TRIES {
            return Ok(());
        }
        let message = format!("{MOST_TRIES} runs are tried at the same time, and there may be no more");
        Err(Refusal::from(ServiceError::refused("too_many", message, "let some of them end, or stop them")))
    }

    /// A fork of a run that is tried may be tried like it: it goes on when it is told to, with the answers that are left
    /// after its past.
    pub(super) async fn also_try(&self, run: &str, fork: &str) -> Result<(), Refusal> {
        let Some(trying) = self.tries().get(run).cloned() else { return Ok(()) };
        if self.has_room().is_err() {
            return Ok(());
        }
        let control = Control::new(true, trying.control.breakpoints().to_vec());
        // Nobody drives it yet.
        let _ = control.stop();
        let mut how = How { control: Some(control.clone()), ..trying.how };
        if let Some(answers) = &trying.answers {
            let definition = self.past(fork).await?.lock().await.definition().clone();
            let records = self.service.page(&address(fork)?, 0, usize::MAX).await?;
            let given = portolan_runtime::tools::recorded(&definition.workflow, &records).answers;
            how.tools = Arc::new(Tools::written(Arc::new(Written::new(left(answers, &given)))));
        }
        self.tries().insert(fork.to_owned(), Trying { control, how, answers: trying.answers, failed: None });
        Ok(())
    }

    /// How a run is driven that is tried here; nothing for others.
    pub(super) fn driven(&self, run: &str) -> Option<Driven> {
        let trying = self.tries().get(run).cloned()?;
        Some(Driven {
            phase: trying.control.phase().word(),
            before: trying.control.waits_before(),
            breakpoints: trying.control.breakpoints().iter().map(broken).collect(),
            failed: trying.failed.map(|error| error.to_string()),
            fault: trying.control.fault(),
        })
    }

    /// Drives a run until it is over, or waits for somebody.
    fn drive(self: &Arc<Studio>, run: &str, interrupted: Interrupted) -> Result<(), Refusal> {
        let Some(how) = self.tries().get(run).map(|trying| trying.how.clone()) else { return Err(not_tried(run)) };
        let Some(id) = RunId::parse(run) else { return Err(not_tried(run)) };
        let (studio, run) = (Arc::clone(self), run.to_owned());
        tokio::spawn(async move {
            let wanted = FunctionRun::Kept { run: id, interrupted, resumed: None };
            let driven = studio.service.drive(wanted, how).await;
            if let (Err(error), Some(trying)) = (driven, studio.tries().get_mut(&run)) {
                trying.control.finish();
                trying.failed = Some(Arc::new(error));
            }
        });
        Ok(())
    }
}
