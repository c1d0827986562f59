//! Drives a run at the terminal, where a person can watch it, step through it, and stop it.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::graph::Workflow;
use portolan_core::present::{Redaction, TraceRow, way};
use portolan_core::run::RunMemory;
use portolan_runtime::definition::Definition;
use portolan_runtime::drive::{Breakpoint, Control, ExecutionObserver, Outcome};
use portolan_runtime::gates::CheckWorkspace;
use portolan_runtime::graphs::GraphVersion;
use portolan_runtime::script::{Recording, Tester};
use portolan_runtime::servers::Servers;
use portolan_runtime::service::{Function, FunctionResult, FunctionRun, How, Open, Options, Service, ServiceError};
use portolan_runtime::states::{ModelBindings, Workers};
use portolan_runtime::store::RunId;
use portolan_runtime::tools::{CallRecorder, HeldCalls, RecordedAnswers, Tools};
use serde_json::{Value, json};

use super::live::Live;
use super::outcome::{OutcomeReport, tell};
use super::progress::{Progress, TICK};
use super::rows::Rows;
use super::steps::steps;
use super::{Run, folder};
use crate::cli::output::{one_line, plain};
use crate::cli::runs::person;
use crate::cli::signals::asked_to_end;
use crate::cli::{Exit, Output, block_on, report};

/// How long a server may take to end by itself after an interruption, and again once it was asked to.
const HURRY: Duration = Duration::from_millis(300);

/// A run that is checked and ready to be driven.
pub(super) struct PreparedRun<'d> {
    pub(super) output: Output,
    pub(super) service: &'d Service,
    pub(super) options: &'d Options,
    pub(super) loaded: &'d GraphVersion,
    pub(super) definition: &'d Arc<Definition>,
    pub(super) input: Value,
    pub(super) remembered: Option<RunMemory>,
    pub(super) written: Option<Arc<RecordedAnswers>>,
    pub(super) breaks: Vec<Breakpoint>,
    /// The models that work on states.
    pub(super) cast: ModelBindings,
    /// Whether the run is stored.
    pub(super) kept: bool,
    pub(super) hidden: Redaction,
}

/// How a run is driven and shown.
pub(in crate::cli) struct Look<'l> {
    pub(in crate::cli) output: Output,
    pub(in crate::cli) workflow: &'l Arc<Workflow>,
    pub(in crate::cli) hidden: &'l Redaction,
    pub(in crate::cli) control: Control,
    /// Whether a person steps through it.
    pub(in crate::cli) steps: bool,
    /// Whether to trace every node.
    pub(in crate::cli) trace: bool,
    /// The models that work on states.
    pub(in crate::cli) cast: ModelBindings,
    /// The workspace of the states' checks.
    pub(in crate::cli) ground: Option<Arc<CheckWorkspace>>,
    /// Whether the run is stored, so that it can be left where it is.
    pub(in crate::cli) kept: bool,
    /// The servers to close afterwards.
    pub(in crate::cli) servers: Option<Arc<Servers>>,
}

/// The result of a drive.
pub(in crate::cli) struct Over {
    /// The outcome of the run. `None` if it was left where it was.
    pub(in crate::cli) finished: Option<FunctionResult>,
    /// The trace of each node, if requested.
    pub(in crate::cli) rows: Option<Vec<TraceRow>>,
}

/// Drives a run to its end. An interruption stops it. A stored run is left where it is.
pub(in crate::cli) async fn drive(
    look: Look<'_>,
    tools: Tools,
    begin: impl AsyncFnOnce(How) -> Result<FunctionResult, ServiceError>,
) -> Result<Over, ServiceError> {
    let Look { output, workflow, hidden, control, steps: stepping, trace, cast, ground, kept, servers } = look;
    let shown = !output.is_json() && !stepping;
    let live = || Live::new(output, workflow.clone(), hidden.clone());
    let progress = shown.then(|| Progress::new(live(), std::io::stderr().is_terminal()));
    let rows = trace.then(|| Rows::new(workflow.clone(), hidden.clone()));
    let watches =
        [ExecutionObserver::learning(hidden), progress.as_ref().map(Progress::watch), rows.as_ref().map(Rows::watch)];
    let watch = watches.into_iter().flatten().reduce(ExecutionObserver::and);
    let cast = match progress.as_ref().and_then(Progress::hears) {
        Some(listener) => cast.with_listener(listener),
        None => cast,
    };
    let workers = Workers { cast, ground, ..Workers::default() };
    let how = How { workers, watch, control: Some(control.clone()), ..How::with(Arc::new(tools)) };
    let mut driving = pin!(begin(how));
    let mut looking = pin!(async {
        if stepping {
            steps(output, &control, workflow, hidden).await;
        }
        std::future::pending::<()>().await;
    });
    let mut interrupted = pin!(asked_to_end());
    let mut stopping = false;
    let mut ticks = tokio::time::interval(TICK);
    let finished = loop {
        tokio::select! {
            finished = &mut driving => break Some(finished),
            () = &mut looking => {}
            () = &mut interrupted, if !stopping => {
                if kept {
                    break None;
                }
                stopping = true;
                // The run may end at the same moment.
                let _ = control.stop();
            }
            _ = ticks.tick(), if progress.is_some() => progress.iter().for_each(Progress::tick),
        }
    };
    if let Some(progress) = progress {
        progress.finish();
    }
    if let Some(servers) = servers {
        // A person who has interrupted the run waits for this.
        match stopping || finished.is_none() {
            true => servers.close_within(HURRY).await,
            false => servers.close().await,
        }
    }
    let finished = finished.transpose()?;
    let over = finished.as_ref().is_some_and(|finished| !matches!(finished.outcome, Outcome::Waiting { .. }));
    Ok(Over { finished, rows: rows.map(|rows| rows.take(over)) })
}

pub(super) fn run(driven: PreparedRun<'_>, args: &Run) -> anyhow::Result<Exit> {
    args.record.as_deref().map_or(Ok(()), may_be_written)?;
    let PreparedRun { output, service, loaded, definition, ref input, ref written, .. } = driven;
    let hidden = driven.hidden.clone().learning(input);
    let recorder = args.record.as_ref().map(|_| CallRecorder::default());
    let mut tools = Tools::of(loaded.servers.clone());
    if let Some(written) = written {
        tools = tools.first(written.clone());
    }
    if let Some(recorder) = &recorder {
        tools = tools.recorded(recorder.clone());
    }
    let look = Look {
        output,
        workflow: &definition.workflow,
        hidden: &hidden,
        control: Control::new(args.step, driven.breaks.clone()),
        steps: args.step || !driven.breaks.is_empty(),
        trace: args.trace,
        kept: driven.kept,
        cast: driven.cast.clone(),
        ground: Some(service.project_ground()),
        servers: Some(loaded.servers.clone()),
    };
    let (kept, over) = block_on(async {
        let kept = if driven.kept { stored(&driven).await? } else { None };
        if let Some(run) = kept.as_ref().filter(|_| !output.is_json()) {
            output.remark(format!("run {run}"));
        }
        let over = drive(look, tools, async |how| match &kept {
            Some(run) => service.drive(FunctionRun::kept(run.clone()), how).await,
            None => {
                let (definition, input, by) = (definition.clone(), input.clone(), person().by);
                service.drive(FunctionRun::Called { definition, input, by }, how).await
            }
        });
        let over = over.await?;
        if let (Some(run), None) = (&kept, &over.finished) {
            // Whoever interrupted it decides when it continues.
            service.leave(run).await?;
        }
        Ok::<_, ServiceError>((kept.clone(), over))
    })??;
    let Over { finished, rows } = over;
    let Some(finished) = finished else { return Ok(left(output, kept.as_ref())) };
    remark_on_unused(output, written.as_deref());
    let exit = tell(output, &OutcomeReport { finished: &finished, rows, hidden: &hidden })?;
    if let (Some(recorder), Some(path)) = (&recorder, &args.record)
        && let Err(error) = record(&driven, recorder, path, &finished, &hidden)
    {
        // The run's own outcome decides the exit code, not the failed recording.
        report(&output, &error);
    }
    Ok(exit)
}

/// Stores the new run.
async fn stored(driven: &PreparedRun<'_>) -> Result<Option<RunId>, ServiceError> {
    let PreparedRun { service, definition, remembered, input, .. } = driven;
    let folder = Some(folder(definition));
    let function = Some(Function { definition: (*definition).clone(), remembered: remembered.clone(), folder });
    let wanted = Open { function, input: Some(Arc::new(input.clone())), ..Open::default() };
    Ok(service.open(&wanted, &person()).await?.address.handle().cloned())
}

/// Stores the new run and leaves it to the workers of the store.
pub(super) fn detach(driven: PreparedRun<'_>) -> anyhow::Result<Exit> {
    let run = block_on(async {
        let run = stored(&driven).await?;
        if let Some(run) = &run {
            driven.service.hand_over(run).await?;
        }
        Ok::<_, ServiceError>(run)
    })??;
    let run = run.map(|run| run.to_string()).unwrap_or_default();
    match driven.output.is_json() {
        true => driven.output.json(&json!({ "run": run }))?,
        false => driven.output.line(&run)?,
    }
    Ok(Exit::Done)
}

/// Refuses a recording that could not be written, before anything is called.
fn may_be_written(path: &Path) -> Result<(), ServiceError> {
    let refused = |code, message, help| Err(ServiceError::refused(code, message, help));
    if path.exists() {
        let message = format!("`{}` already exists", path.display());
        return refused("exists", message, "name another file for `--record`; nothing was started");
    }
    // Only an attempt detects missing permissions, a full disk, or an invalid name.
    if let Err(error) = std::fs::File::create_new(path).and_then(|_| std::fs::remove_file(path)) {
        let help = "name a file in an existing folder with `--record`; nothing was started";
        return refused("unwritable", unwritable(path, &error), help);
    }
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("`{}` cannot be written: {}", path.display(), plain(error))
}

/// Reports that a stored run was interrupted.
pub(in crate::cli) fn left(output: Output, run: Option<&RunId>) -> Exit {
    let run = run.map(ToString::to_string).unwrap_or_default();
    let help = format!("`portolan runs resume {run}` continues it");
    output.error("interrupted", &format!("the run {run} was interrupted, and its state is kept"), &help);
    Exit::Failed
}

fn remark_on_unused(output: Output, written: Option<&RecordedAnswers>) {
    for name in written.into_iter().flat_map(RecordedAnswers::unused) {
        output.remark(one_line(&format!("note: the answer for `{name}` was not used")));
    }
}

/// Writes a test from the recorded run.
fn record(
    driven: &PreparedRun<'_>,
    recorder: &CallRecorder,
    path: &Path,
    finished: &FunctionResult,
    hidden: &Redaction,
) -> anyhow::Result<()> {
    let output = driven.output;
    if !matches!(finished.outcome, Outcome::Done(_) | Outcome::Failed(_)) {
        output.remark("note: nothing was recorded, because the run did not finish");
        return Ok(());
    }
    let tester = Tester::new(driven.options)?;
    let graph = driven.definition.file.as_deref().unwrap_or_default();
    let recording = Recording {
        name: format!("recorded run of {}", driven.definition.workflow.id()),
        graph: Path::new(graph),
        definition: driven.definition,
        input: &driven.input,
        answers: recorder.answers(),
        hidden,
    };
    let rewritten = block_on(recording.write(path, &tester))??;
    let failed = |error: std::io::Error| {
        let help = "the run has ended, and its result is printed; name a file in an existing folder with `--record`";
        ServiceError::failed("unwritable", unwritable(path, &error), help)
    };
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(rewritten.text.as_bytes()).map_err(failed)?;
    if rewritten.redacted {
        output.remark(one_line(&format!("note: values in `{}` that must not be shown were masked", path.display())));
    }
    Ok(())
}

/// Drives a run as far as possible without calls, and prints the next ones.
pub(super) fn dry_run(driven: PreparedRun<'_>, args: &Run) -> anyhow::Result<Exit> {
    let PreparedRun { output, service, definition, input, written, breaks, .. } = driven;
    let hidden = driven.hidden.learning(&input);
    let control = Control::new(args.step, breaks.clone());
    let held = HeldCalls::new(control.clone());
    let tools = Tools::held(written.clone().unwrap_or_default(), held.clone());
    let look = Look {
        output,
        workflow: &definition.workflow,
        hidden: &hidden,
        control,
        steps: args.step || !breaks.is_empty(),
        trace: args.trace,
        cast: ModelBindings::default(),
        ground: None,
        kept: false,
        servers: None,
    };
    let over = block_on(drive(look, tools, async |how| {
        let (definition, by) = (definition.clone(), person().by);
        service.drive(FunctionRun::Called { definition, input, by }, how).await
    }))??;
    let Over { finished: Some(finished), rows } = over else { return Ok(left(output, None)) };
    remark_on_unused(output, written.as_deref());
    let calls: Vec<Value> = held
        .calls()
        .iter()
        .map(|(effect, call)| {
            let arguments = hidden.value(&call.arguments);
            let node = way(&effect.id.frame, effect.node());
            json!({ "node": node, "server": call.server, "tool": call.tool, "arguments": arguments })
        })
        .collect();
    if calls.is_empty() {
        return tell(output, &OutcomeReport { finished: &finished, rows, hidden: &hidden });
    }
    if output.is_json() {
        output.json(&json!({ "outcome": "dry-run", "calls": calls, "executed": finished.executed, "trace": rows }))?;
        return Ok(Exit::Done);
    }
    if let Some(rows) = rows {
        output.remark(super::waterfall(&rows, super::outcome::width()).trim_end());
    }
    for call in &calls {
        let word = |key: &str| call[key].as_str().unwrap_or_default();
        let what = format!(
            "`{}` would call `{}` of `{}` with {}",
            word("node"),
            word("tool"),
            word("server"),
            call["arguments"]
        );
        output.line(one_line(&what))?;
    }
    output.remark("note: what follows these calls depends on their answers; use `--mock` to provide them");
    Ok(Exit::Done)
}
