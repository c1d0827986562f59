//! `portolan flow start`, `status`, `tick` and others: the task of the project, and its phases.

use std::io::{self, BufRead, Read, Write};

use clap::{Args, ValueEnum};
use portolan_core::run::{Actor, BypassSource};
use portolan_core::value::Timestamp;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Caller, Ending, FlowState, Override, Service, ServiceError, Start, TaskStatus, Tick};
use portolan_supervision::people::{PassphrasePolicy, People};
use serde_json::{Map, Value};

use super::super::assignment::assignment;
use super::super::check_progress;
use super::super::duration::duration;
use super::super::output::{Output, Paint, is_broken_pipe, one_line, safe, table};
use super::super::person::{self, at_terminal};
use super::super::{Common, Exit, block_on};

/// The longest answer that is read at the terminal, in bytes.
const MAX_TYPED: u64 = 4 << 10;

/// Begin a task. A checkout has one at a time.
///
/// Example: portolan flow start build-auth
#[derive(Args)]
pub(super) struct StartArgs {
    /// The name of the task: letters, digits, `.`, `_` and `-`.
    task: String,
    /// The phase to begin at; no phase before it may have a check.
    #[arg(long, value_name = "PHASE")]
    at: Option<String>,
    /// The workflow of phases [default: delivery].
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Option<String>,
}

/// Set what the task claims. It is verified when the phase is left.
///
/// Example: portolan flow patch issueNumber=42 branch=feat/42-login
#[derive(Args)]
pub(super) struct PatchArgs {
    /// A field and its value: JSON, or else text.
    #[arg(required = true, value_name = "FIELD=VALUE", value_parser = assignment)]
    values: Vec<(String, Value)>,
}

/// Return to the work: the tests fail, or a reviewer wants a change.
///
/// This counts against the limit.
///
/// Example: portolan flow back --reason "the tests fail on Windows"
#[derive(Args)]
pub(super) struct BackArgs {
    /// The reason, for the record.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Cancel the task.
///
/// Example: portolan flow abort --as escalated --reason "the API it needs does not exist"
#[derive(Args)]
pub(super) struct AbortArgs {
    /// The outcome of the task.
    #[arg(long = "as", value_enum, value_name = "OUTCOME")]
    ending: Outcome,
    /// The reason, for the record.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// The outcome of a cancelled task.
#[derive(Clone, Copy, ValueEnum)]
enum Outcome {
    /// Less was done than was requested.
    ScopedDown,
    /// Another person must take care of it.
    Escalated,
}

/// Bypass one rule in one phase. The bypass is recorded before it takes effect.
///
/// Example: portolan flow override I-3 --reason "a spike: no issue is filed yet"
#[derive(Args)]
pub(super) struct OverrideArgs {
    /// The rule: exactly one.
    invariant: String,
    /// The reason, for the record.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The phase in which the rule is bypassed [default: the present one].
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    /// How long the bypass lasts: `30m`, `12h`, `2d`.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    lasts: Option<i64>,
    /// Bypass the rule only once.
    #[arg(long)]
    once: bool,
}

/// A command on the task.
pub(super) enum TaskAction<'a> {
    Start(&'a StartArgs),
    Status,
    Tick,
    Patch(&'a PatchArgs),
    Back(&'a BackArgs),
    Abort(&'a AbortArgs),
    Override(&'a OverrideArgs),
}

pub(super) fn run(deed: &TaskAction<'_>, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let service = common.service_of_task()?;
    block_on(done(deed, &service, output))?
}

async fn done(deed: &TaskAction<'_>, service: &Service, output: Output) -> anyhow::Result<Exit> {
    let (caller, flow) = (whoever(), service.flow().with_listener(check_progress::shown(output)));
    match deed {
        TaskAction::Status => shown(output, &flow.status().await?),
        TaskAction::Tick => ticked(output, flow.tick(&caller).await),
        TaskAction::Start(args) => {
            let start = Start { task: args.task.clone(), at: args.at.clone(), workflow: args.workflow.clone() };
            shown(output, &flow.start(&start, &caller).await?)
        }
        TaskAction::Patch(args) => {
            let values: Map<String, Value> = args.values.iter().cloned().collect();
            shown(output, &flow.patch(&values, &caller).await?)
        }
        TaskAction::Back(args) => ticked(output, flow.back(&args.reason, &caller).await),
        TaskAction::Abort(args) => {
            let ending = match args.ending {
                Outcome::ScopedDown => Ending::ScopedDown,
                Outcome::Escalated => Ending::Escalated,
            };
            shown(output, &flow.abort(ending, &args.reason, &caller).await?)
        }
        TaskAction::Override(args) => get_past(args, service, output).await,
    }
}

/// Returns an agent as the caller: a process cannot be told from the agent, unless a person confirms at a terminal.
fn whoever() -> Caller {
    Caller { by: Actor::Agent("portolan flow".to_owned()), can_ask: false }
}

async fn get_past(args: &OverrideArgs, service: &Service, output: Output) -> anyhow::Result<Exit> {
    let flow = service.flow();
    let wanted = Override {
        invariant: args.invariant.clone(),
        reason: args.reason.clone(),
        phase: args.phase.clone(),
        source: BypassSource::Command,
        identifier: "portolan flow override".to_owned(),
        expires_at: args.lasts.map(|lasts| Timestamp(Clock::System.now().0.saturating_add(lasts))),
        once: args.once,
    };
    let caller = match flow.needs_person(&args.invariant)? {
        true => {
            let act = act(args);
            if let Err(refused) = at_terminal(&act) {
                flow.request(&wanted, &whoever()).await?;
                return Err(refused.into());
            }
            confirmed(args, &act, service)?
        }
        false => whoever(),
    };
    shown(output, &flow.get_past(&wanted, &caller).await?)
}

fn act(args: &OverrideArgs) -> String {
    format!("may bypass `{}`", safe(&args.invariant))
}

/// Returns the person at this terminal, who knows the passphrase, or else has typed the name of the rule.
fn confirmed(args: &OverrideArgs, act: &str, service: &Service) -> anyhow::Result<Caller> {
    let person = person::confirmed(service, act)?;
    if !matches!(People::of(service).standing()?, PassphrasePolicy::Unset) {
        return Ok(person);
    }
    let mut terminal = io::stderr();
    write!(terminal, "Type `{}` to bypass it: ", safe(&args.invariant))?;
    terminal.flush()?;
    let mut typed = String::new();
    io::stdin().lock().take(MAX_TYPED).read_line(&mut typed)?;
    if typed.trim() != args.invariant {
        let message = format!("`{}` was not confirmed", safe(&args.invariant));
        return Err(ServiceError::refused("needs_person", message, "nothing has changed").into());
    }
    Ok(person)
}

fn ticked(output: Output, tick: Result<Tick, ServiceError>) -> anyhow::Result<Exit> {
    check_progress::rub_out(output);
    let tick = tick?;
    match print_tick(output, &tick) {
        // A reader that closed the pipe has read enough. The exit code still has the result.
        Err(error) if !is_broken_pipe(&error) => Err(error),
        _ => Ok(if tick.advanced { Exit::Done } else { Exit::Failed }),
    }
}

fn print_tick(output: Output, tick: &Tick) -> anyhow::Result<()> {
    if output.is_json() {
        return output.json(tick);
    }
    if tick.advanced {
        let way = output.paint(Paint::Good, &format!("{} → {}", tick.from, tick.to));
        return output.line(format!("{way}: {}", one_line(&tick.reason)));
    }
    output.line(format!("{} not left:", output.paint(Paint::Bad, &tick.from)))?;
    if tick.failing.is_empty() {
        output.line(format!("  {}", one_line(&tick.reason)))?;
    }
    for check in &tick.failing {
        output.line(format!("  {}: {}", check.id, one_line(check.reason.as_deref().unwrap_or_default())))?;
    }
    Ok(())
}

fn shown(output: Output, state: &FlowState) -> anyhow::Result<Exit> {
    if output.is_json() {
        output.json(state)?;
        return Ok(Exit::Done);
    }
    let Some(task) = &state.task_id else {
        output.line("No task is in progress. Start one with `portolan flow start <task>`.")?;
        return Ok(Exit::Done);
    };
    let text = |value: &Option<String>| value.as_deref().map_or_else(|| "–".to_owned(), one_line);
    let number = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), |number| format!("#{number}"));
    let mut rows = vec![
        vec!["task".to_owned(), one_line(task)],
        vec!["phase".to_owned(), state.phase.clone()],
        vec!["status".to_owned(), status(state.status).to_owned()],
        vec!["issue".to_owned(), number(state.issue_number)],
        vec!["branch".to_owned(), text(&state.branch)],
        vec!["spec".to_owned(), text(&state.spec_path)],
        vec!["pull request".to_owned(), number(state.pr_number)],
        vec!["iterations".to_owned(), format!("{} of {}", state.iterations, state.iteration_cap)],
    ];
    rows.extend(state.claims.iter().map(|(name, value)| vec![format!("claimed {name}"), one_line(&value.to_string())]));
    rows.extend(state.bypasses.iter().map(|bypass| {
        let used = if bypass.used { ", used" } else { "" };
        let description = format!("{} in {}{used}: {}", bypass.invariant, bypass.phase, one_line(&bypass.reason));
        vec!["bypass".to_owned(), description]
    }));
    rows.extend(state.last_error.iter().map(|error| vec!["not left because".to_owned(), one_line(error)]));
    output.line(table(&rows))?;
    Ok(Exit::Done)
}

fn status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Idle => "idle",
        TaskStatus::Active => "active",
        TaskStatus::WaitingForReply => "waiting for a person",
        TaskStatus::Halted => "halted: a budget is used up",
        TaskStatus::Done => "done",
        TaskStatus::Failed => "called off",
    }
}
