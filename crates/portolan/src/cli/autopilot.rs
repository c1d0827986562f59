//! `portolan autopilot`: a driver works through the queue, and the engine makes every transition.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use portolan_gates::supervisor::{Item, Progress};
use portolan_runtime::audit::Log;
use portolan_runtime::plugins;
use portolan_runtime::service::{Service, ServiceError};
use portolan_supervision::autopilot::{Autopilot as Pilot, AutopilotLimits, AutopilotResult, Why};
use portolan_supervision::drivers::{AgentDriver, Drivers, ScriptedDriver};
use portolan_supervision::notifiers::{Notice, Notifiers, Stdout};
use portolan_supervision::supervisor::{Supervisor, Task};
use serde_json::{Value, json};

use super::check::counted;
use super::output::{Output, one_line, table};
use super::supervisor::{item_json, stands};
use super::{Common, Exit, block_on};

/// Work through the queue of tasks with an agent.
///
/// The state of the repository decides whether a phase is done.
///
/// Example: portolan autopilot start --goal "Log in with a passkey" --driver claude
#[derive(Args)]
pub(super) struct Autopilot {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Start(Start),
    /// Show the queue and the open questions.
    ///
    /// Example: portolan autopilot status
    Status,
    /// Add a task to the queue.
    ///
    /// Example: portolan autopilot assign build-auth --goal "Log in with a passkey"
    Assign {
        /// The name of the task.
        #[arg(value_name = "TASK")]
        task: String,
        /// The goal of the task.
        #[arg(long, value_name = "TEXT")]
        goal: String,
        #[command(flatten)]
        begin: Begin,
    },
}

/// How a task begins.
#[derive(Args, Clone)]
struct Begin {
    /// The workflow of its phases [default: delivery].
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Option<String>,
    /// The phase to begin at; no phase before it may have a check.
    #[arg(long, value_name = "PHASE")]
    at: Option<String>,
}

/// Work until every task is done or waits, or a limit is reached.
///
/// Example: portolan autopilot start --goal "Log in with a passkey" --driver claude --max-iterations 30
#[derive(Args)]
#[command(after_help = "Exit code 0 when nothing is left to do, 1 when the maximum number of sessions is reached, 2 \
        when a budget is used up, 4 when all remaining tasks wait for an answer.")]
struct Start {
    /// The goal of a new task, which is added to the queue.
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// The names of the new tasks [default: made from the goal].
    #[arg(long = "task", value_name = "TASK", requires = "goal")]
    tasks: Vec<String>,
    /// The agent to use.
    /// One of claude, codex, gemini, opencode, scripted, or a driver of `.portolan/plugins.yaml`.
    #[arg(long, value_name = "DRIVER")]
    driver: String,
    /// The script of the driver `scripted`; it runs like any program that you name.
    #[arg(long, value_name = "FILE", required_if_eq("driver", "scripted"))]
    script: Option<PathBuf>,
    /// The most sessions in total.
    #[arg(long, value_name = "N", default_value_t = AutopilotLimits::default().sessions, value_parser = at_least_one())]
    max_iterations: u32,
    /// The most sessions for one task before it asks a person.
    #[arg(long, value_name = "N", default_value_t = AutopilotLimits::default().sessions_per_task, value_parser = at_least_one())]
    max_sessions: u32,
    /// The most consecutive sessions for one phase before it asks a person.
    #[arg(long, value_name = "N", default_value_t = AutopilotLimits::default().attempts, value_parser = at_least_one())]
    max_attempts: u32,
    /// The timeout of a session, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = AutopilotLimits::default().session.as_secs())]
    session_timeout: u64,
    #[command(flatten)]
    begin: Begin,
}

fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

pub(super) fn run(args: &Autopilot, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let service = common.service_of_task()?;
    match &args.verb {
        Verb::Start(args) => start(args, output, &service),
        Verb::Status => status(output, &service),
        Verb::Assign { task, goal, begin } => {
            let task = queued(task, goal, begin);
            block_on(Supervisor::of(&service).enqueue(&task))??;
            status(output, &service)
        }
    }
}

fn queued(name: &str, goal: &str, begin: &Begin) -> Task {
    let (workflow, at) = (begin.workflow.clone(), begin.at.clone());
    Task { name: name.to_owned(), goal: goal.to_owned(), workflow, at }
}

fn start(args: &Start, output: Output, service: &Service) -> anyhow::Result<Exit> {
    let plugins = plugins::load(service.project())?;
    plugins::must_be_trusted(&plugins, service.trust())?;
    let mut drivers = Drivers::built_in();
    if let Some(script) = &args.script {
        drivers = drivers.with(script_of(script)?);
    }
    let drivers = drivers.with_plugins(&plugins);
    let stdout = Stdout(move |notice: &Notice| tell(output, notice));
    let notifiers = Notifiers::new().with(stdout).with_plugins(&plugins, service.project());
    let driver: Arc<dyn AgentDriver> = drivers.get(&args.driver)?;
    let log = Log::of_project(service.project()).map_err(ServiceError::from)?;
    plugins::announce_replaced(&log, "driver", drivers.replaced())?;
    plugins::announce_replaced(&log, "notifier", notifiers.replaced())?;
    plugins::announce_replaced(&log, "guard", &plugins.allow_override)?;
    let limits = AutopilotLimits {
        sessions: args.max_iterations,
        sessions_per_task: args.max_sessions,
        attempts: args.max_attempts,
        session: Duration::from_secs(args.session_timeout),
        ..AutopilotLimits::default()
    };
    let landed = block_on(async {
        if let Some(goal) = &args.goal {
            let names = if args.tasks.is_empty() { vec![name_of(goal)] } else { args.tasks.clone() };
            for name in names {
                Supervisor::of(service).enqueue(&queued(&name, goal, &args.begin)).await?;
            }
        }
        Pilot::new(service, driver, notifiers, limits).fly().await
    })??;
    report(output, &landed)
}

fn report(output: Output, landed: &AutopilotResult) -> anyhow::Result<Exit> {
    match output.is_json() {
        true => output.json(landed)?,
        false => output.line(format!(
            "after {}: {}",
            counted(landed.sessions as usize, "session"),
            one_line(&landed.reason)
        ))?,
    }
    Ok(match landed.why {
        Why::Done => Exit::Done,
        Why::Waiting => Exit::Waiting,
        Why::Halted => Exit::Refused,
        Why::Limit => Exit::Failed,
    })
}

fn script_of(path: &Path) -> anyhow::Result<ScriptedDriver> {
    let name = path.to_string_lossy();
    let text = std::fs::read_to_string(path).with_context(|| format!("the script `{name}` cannot be read"))?;
    Ok(ScriptedDriver::read(&name, &text)?)
}

/// Prints a notice on standard output, or on standard error if standard output must be one JSON value.
fn tell(output: Output, notice: &Notice) {
    let token = notice.reply_token.as_deref().map_or_else(String::new, |token| format!(" [{token}]"));
    let line = format!("{}  {}{token}", notice.task_id.as_deref().unwrap_or("-"), one_line(&notice.body));
    if output.is_json() || output.line(&line).is_err() {
        output.remark(line);
    }
}

/// Derives a task's name from the first words of a goal.
fn name_of(goal: &str) -> String {
    let words = goal.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.take(6).map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    let name: String = name.chars().take(60).collect();
    if name.is_empty() { "task".to_owned() } else { name }
}

fn status(output: Output, service: &Service) -> anyhow::Result<Exit> {
    let board = block_on(service.supervisor_log().board())??;
    let items: Vec<&Item> = board.queue.values().filter(|item| item.progress.is_open()).collect();
    let over = |progress: Progress| board.queue.values().filter(|item| item.progress == progress).count();
    let (done, failed) = (over(Progress::Done), over(Progress::Failed));
    if output.is_json() {
        let tasks: Vec<Value> = items.iter().map(|item| item_json(item, board.is_waiting(&item.task))).collect();
        output.json(&json!({ "tasks": tasks, "done": done, "failed": failed }))?;
        return Ok(Exit::Done);
    }
    let row = |item: &&Item| {
        let sessions = counted(item.sessions as usize, "session");
        vec![item.task.clone(), stands(item, board.is_waiting(&item.task)), sessions, item.goal.clone()]
    };
    if !items.is_empty() {
        output.line(table(&items.iter().map(row).collect::<Vec<_>>()))?;
    }
    output.line(format!("{} open, {done} done, {failed} called off", items.len()))?;
    Ok(Exit::Done)
}
