//! Trial runs of definitions: a run continues by itself, node by node, or up to a breakpoint.
//!
//! Functions are driven here and stored, so that every moment can be inspected afterwards. A workflow for agents
//! begins, and waits for an agent to follow it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::extract::State;
use portolan_core::present::Redaction;
use portolan_core::run::FramePath;
use portolan_core::value::NodeId;
use portolan_runtime::drive::{Control, Phase};
use portolan_runtime::graphs::redaction;
use portolan_runtime::library::FunctionFiles;
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::{
    Function, FunctionRun, How, InterruptionPolicy, Open, ResumableRun, RunCarrier, ServiceError,
};
use portolan_runtime::states::ModelListener;
use portolan_runtime::store::RunId;
use portolan_runtime::tools::{RecordedAnswers, Tools};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::answer::{Answer, Body, InPath};
use super::breakpoints::{BreakpointRef, BreakpointView, breakpoints, broken};
use super::replies::{Answers, answers_of, faulty, left, tools, written};
use super::runs::address;
use super::{Live, ModelChunk, Studio};
use crate::http::Refusal;

/// The settings of a trial run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TryRequest {
    /// The workflow of the file to run.
    root: Option<String>,
    input: Option<Map<String, Value>>,
    /// The purpose of the run, for a workflow that an agent follows.
    description: Option<String>,
    /// Whether it waits before its first node.
    #[serde(default)]
    paused: bool,
    /// The nodes before which it waits.
    #[serde(default)]
    breakpoints: Vec<BreakpointRef>,
    /// The answers of tools and models by node, which replace real calls, in the format of a test's `mock`.
    answers: Option<Map<String, Value>>,
    /// An earlier run, whose answers to calls are given again.
    recorded: Option<String>,
    /// The model for states whose definition names none.
    model: Option<String>,
}

/// A trial run of a function while it is driven.
#[derive(Clone)]
pub(super) struct TrialRun {
    control: Control,
    how: How,
    /// The given answers to its calls, if any.
    answers: Option<Arc<Answers>>,
    /// Whether any values of its runs are hidden. If so, models' text is not streamed: a piece of a secret cannot be
    /// recognized as one.
    hides: bool,
    /// Why the drive failed, without ending the run.
    failed: Option<Arc<ServiceError>>,
}

/// The trial runs by their handles.
pub(super) type Tries = std::sync::Mutex<BTreeMap<String, TrialRun>>;

/// The state of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct DrivenRun {
    /// `running`, `paused`, `stopped` or `finished`.
    phase: &'static str,
    /// The node before which it waits.
    before: Option<String>,
    breakpoints: Vec<BreakpointView>,
    /// Why it is no longer driven.
    failed: Option<String>,
    /// Why the condition of a breakpoint could not be evaluated. The run waits in that case.
    fault: Option<String>,
}

/// The most trial runs at once. Each holds its servers.
const MOST_TRIES: usize = 64;

/// Begins a run of a definition.
pub(super) async fn begin(
    State(studio): State<Arc<Studio>>,
    InPath(id): InPath<String>,
    Body(wanted): Body<TryRequest>,
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
    let hides = !redaction(&definition, &functions.servers).is_empty();
    let workers = service.workers(wanted.model.as_deref(), folder.clone())?;
    let control = Control::new(wanted.paused, breakpoints(&definition, &wanted.breakpoints)?);
    let input = Some(Arc::new(Value::Object(wanted.input.unwrap_or_default())));
    let function = Function { definition, remembered: None, folder: Some(folder) };
    let open = Open { carrier: RunCarrier::Store, function: Some(function), input, ..Open::default() };
    let view = service.open(&open, &studio.person).await?;
    let run = view.address.to_string();
    let how = How { workers, control: Some(control.clone()), ..How::with(tools) };
    studio.tries().insert(run.clone(), TrialRun { control, how, answers, hides, failed: None });
    studio.drive(&run, InterruptionPolicy::Ask)?;
    Ok(Json(json!({ "run": run })))
}

/// A command to a trial run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Command {
    #[serde(rename = "do")]
    what: Option<What>,
    /// The new breakpoints.
    breakpoints: Option<Vec<BreakpointRef>>,
    /// New values for outputs of nodes and for variables, while the run waits.
    set: Option<Values>,
    /// How to handle a call that was interrupted.
    interrupted: Option<CallAgain>,
}

/// Values of one frame.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    /// The path of the frame, `a/b`. `None` for the frame in which the run waits.
    frame: Option<String>,
    values: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Pause,
    Resume,
    Step,
    /// Steps over a node and everything inside it.
    Over,
    Stop,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallAgain {
    Repeat,
    Fail,
}

/// Pauses, resumes, steps or stops a trial run.
pub(super) async fn control(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    Body(command): Body<Command>,
) -> Answer<DrivenRun> {
    let _known = address(&run)?;
    let tried = studio.tries().get(&run).cloned();
    let trying = match tried {
        Some(trying) => trying,
        None => studio.take_up(&run).await?,
    };
    if let Some(references) = &command.breakpoints {
        let past = studio.past(&run).await?;
        let definition = past.lock().await.definition().clone();
        trying.control.set_breakpoints(breakpoints(&definition, references)?);
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
            // The response must show the state after the step.
            trying.control.paused().await;
        }
        Some(what @ (What::Resume | What::Step | What::Over)) => {
            let breakpoints = trying.control.breakpoints().to_vec();
            let control = Control::new(what != What::Resume, breakpoints);
            let how = How { control: Some(control.clone()), ..trying.how.clone() };
            studio.tries().insert(run.clone(), TrialRun { control, how, failed: None, ..trying });
            let interrupted = match command.interrupted {
                None => InterruptionPolicy::Ask,
                Some(CallAgain::Repeat) => InterruptionPolicy::Repeat,
                Some(CallAgain::Fail) => InterruptionPolicy::Fail,
            };
            studio.drive(&run, interrupted)?;
        }
    }
    // Announces new breakpoints, too, also for a run that is not driven.
    studio.is_driven_otherwise(&run);
    let hidden = studio.past(&run).await?.lock().await.hidden().clone();
    let driven = studio.driven(&run).ok_or_else(|| not_tried(&run))?;
    Ok(Json(driven.masked(&hidden)))
}

impl DrivenRun {
    /// Returns the phase as a word.
    pub(super) fn phase(&self) -> &'static str {
        self.phase
    }

    /// Masks hidden values.
    pub(super) fn masked(self, hidden: &Redaction) -> DrivenRun {
        let fault = self.fault.map(|fault| hidden.text(&fault));
        DrivenRun { fault, ..self }
    }
}

fn frame_path(text: &str) -> FramePath {
    FramePath(text.split('/').filter(|name| !name.is_empty()).map(NodeId::from).collect())
}

fn not_tried(run: &str) -> Refusal {
    let message = format!("`{run}` is not driven by a studio: an agent works through it");
    let help = "the agent that works through it can continue it";
    Refusal::from(ServiceError::refused("not_running", message, help))
}

impl Studio {
    pub(super) fn tries(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, TrialRun>> {
        // Every change of the map is one insertion: a holder that panicked leaves it whole.
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes ended drives if there are too many, and refuses another one if that frees no room.
    fn has_room(&self) -> Result<(), Refusal> {
        let mut tries = self.tries();
        if tries.len() >= MOST_TRIES {
            tries.retain(|_, trying| matches!(trying.control.phase(), Phase::Running | Phase::Paused));
        }
        if tries.len() < MOST_TRIES {
            return Ok(());
        }
        let message = format!("{MOST_TRIES} runs are already being tried, and more are not allowed at the same time");
        Err(Refusal::from(ServiceError::refused(
            "too_many",
            message,
            "wait until some of them have ended, or stop them",
        )))
    }

    /// Adopts a function's run that this studio has not begun. It continues on a command, with its servers, which must
    /// be trusted.
    async fn take_up(&self, run: &str) -> Result<TrialRun, Refusal> {
        let id = RunId::parse(run).ok_or_else(|| not_tried(run))?;
        self.has_room()?;
        if self.past(run).await?.lock().await.definition().workflow.root().interface.is_none() {
            return Err(not_tried(run));
        }
        let ResumableRun { definition, run: state, servers } = self.service.kept_function(&id, None).await?;
        let folder = state.opening.folder.as_ref().map_or_else(|| self.service.project().to_owned(), PathBuf::from);
        let hides = !redaction(&definition, &servers).is_empty();
        let workers = self.service.workers(None, folder)?;
        let control = Control::new(true, []);
        // It is not driven until a command arrives.
        let _ = control.stop();
        let tools = Arc::new(Tools::of(Arc::new(Servers::new(servers, PoolOptions::default()))));
        let how = How { workers, control: Some(control.clone()), ..How::with(tools) };
        let trying = TrialRun { control, how, answers: None, hides, failed: None };
        self.tries().insert(run.to_owned(), trying.clone());
        Ok(trying)
    }

    /// Makes the fork of a trial run a trial run, too. It continues on a command, with the answers that remain after
    /// its past.
    pub(super) async fn also_try(&self, run: &str, fork: &str) -> Result<(), Refusal> {
        let Some(trying) = self.tries().get(run).cloned() else { return Ok(()) };
        if self.has_room().is_err() {
            return Ok(());
        }
        let control = Control::new(true, trying.control.breakpoints().to_vec());
        // It is not driven until a command arrives.
        let _ = control.stop();
        let mut how = How { control: Some(control.clone()), ..trying.how.clone() };
        if let Some(answers) = &trying.answers {
            let definition = self.past(fork).await?.lock().await.definition().clone();
            let records = self.service.page(&address(fork)?, 0, usize::MAX).await?;
            let given = portolan_runtime::tools::recorded(&definition.workflow, &records).answers;
            how.tools = Arc::new(Tools::written(Arc::new(RecordedAnswers::new(left(answers, &given)))));
        }
        self.tries().insert(fork.to_owned(), TrialRun { control, how, failed: None, ..trying });
        Ok(())
    }

    /// Returns the drive of a trial run, or `None` for other runs.
    pub(super) fn driven(&self, run: &str) -> Option<DrivenRun> {
        let trying = self.tries().get(run).cloned()?;
        Some(DrivenRun {
            phase: trying.control.phase().word(),
            before: trying.control.waits_before(),
            breakpoints: trying.control.breakpoints().iter().map(broken).collect(),
            failed: trying.failed.map(|error| error.to_string()),
            fault: trying.control.fault(),
        })
    }

    /// Drives a run until it ends or waits.
    fn drive(self: &Arc<Studio>, run: &str, interrupted: InterruptionPolicy) -> Result<(), Refusal> {
        let Some(TrialRun { control, mut how, hides, .. }) = self.tries().get(run).cloned() else {
            return Err(not_tried(run));
        };
        let Some(id) = RunId::parse(run) else { return Err(not_tried(run)) };
        if !hides {
            how.workers.cast = how.workers.cast.with_listener(self.hearing(run));
        }
        self.follow(&control, run);
        let (studio, run) = (Arc::clone(self), run.to_owned());
        tokio::spawn(async move {
            let wanted = FunctionRun::Kept { run: id, interrupted, resumed: None };
            let driven = studio.service.drive(wanted, how).await;
            if let (Err(error), Some(trying)) = (driven, studio.tries().get_mut(&run)) {
                trying.control.finish();
                trying.failed = Some(Arc::new(error));
            }
            studio.is_driven_otherwise(&run);
        });
        Ok(())
    }

    /// Announces every change of a run's drive.
    fn follow(self: &Arc<Studio>, control: &Control, run: &str) {
        let (studio, run, mut changes) = (Arc::clone(self), run.to_owned(), control.changes());
        tokio::spawn(async move {
            while let Some(Phase::Running | Phase::Paused) = changes.next().await {
                studio.is_driven_otherwise(&run);
            }
        });
    }

    fn is_driven_otherwise(&self, run: &str) {
        // There may be no receivers.
        let _ = self.live.send(Live::Driven { run: run.to_owned() });
    }

    /// Returns a listener that announces models' text in a run as it is produced.
    fn hearing(self: &Arc<Studio>, run: &str) -> ModelListener {
        let (studio, run) = (Arc::clone(self), run.to_owned());
        Arc::new(move |node, text| {
            // There may be no receivers.
            let at = studio.service.now();
            let chunk = ModelChunk { run: run.clone(), node: node.to_owned(), text: text.to_owned(), at };
            let _ = studio.live.send(Live::Said(chunk));
        })
    }
}
