//! `portolan runs`: lists, shows, begins and ends runs, and gives a person's answers.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use portolan_core::diagnostic::{clip, list};
use portolan_core::present::{Act as Offered, RunStatus, Situation, history};
use portolan_core::run::{Actor, Channel};
use portolan_core::value::Outcome;
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::service::{
    Act, Caller, ErrorKind, Fork, History, Onto, Report, Request, Service, ServiceError, StoreAt, View, archived_run,
};
use portolan_runtime::store::Record;
use serde_json::{Map, Value, json};

use super::assignment::assignment;
use super::output::{Output, Paint, command_line, one_line, safe, table};
use super::person;
use super::prune::{Prune, prune};
use super::resume::{Resume, handle, resume};
use super::start::{Start, start};
use super::stored_graph::{JournaledRun, show_trace};
use super::token_run;
use super::{Common, Exit, block_on};
use crate::words::tasks as words;

/// Look at runs, and answer the questions of a person.
///
/// Example: portolan runs list
#[derive(Args)]
pub(super) struct Runs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the runs of this project.
    ///
    /// Example: portolan runs list --all
    List {
        /// Include runs that are over.
        #[arg(long)]
        all: bool,
        /// The most runs to list.
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
    },
    /// Begin a run for an agent.
    ///
    /// Example: portolan runs start bug-fix --at write_fix --description "the login fails"
    Start(Start),
    /// Show a run's position and what it accepts.
    ///
    /// Exit code 4 while it waits for a person.
    ///
    /// Example: portolan runs show k7m2qx4p
    Show {
        /// A handle, the path of a task file, or a token.
        run: String,
        /// Show instead what each node of a graph did, and when.
        #[arg(long)]
        trace: bool,
        /// Show a run of an archive: a file of `store export` or `runs prune`.
        #[arg(long, value_name = "FILE")]
        archive: Option<PathBuf>,
    },
    /// Continue an interrupted run of a graph.
    ///
    /// It does not repeat calls that were answered.
    ///
    /// Example: portolan runs resume k7m2qx4p
    Resume(Resume),
    /// Show all records of a run.
    ///
    /// Example: portolan runs events k7m2qx4p
    Events {
        /// A handle, or the path of a task file.
        run: String,
        /// Show a run of an archive: a file of `store export` or `runs prune`.
        #[arg(long, value_name = "FILE")]
        archive: Option<PathBuf>,
    },
    /// Answer the question at which a run waits for a person.
    ///
    /// Example: portolan runs answer k7m2qx4p passed --note "the key is in the vault now"
    Answer {
        /// A handle, the path of a task file, or a token.
        /// The answer to a token prints the token to continue with.
        run: String,
        /// One of the answers that `runs show` offers [default: asks for it].
        answer: Option<String>,
        /// The branch, if several wait.
        #[arg(long, value_name = "BRANCH")]
        branch: Option<String>,
        /// A note for the agent.
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// A new value for a variable that was in the way: JSON, or else text.
        /// Only if the run could not continue.
        #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
        set: Vec<(String, Value)>,
    },
    /// Move the run of a token to the current version of its workflow.
    ///
    /// Prints the token to continue with. A run otherwise continues with the version that it began with. The move is
    /// refused if a check, a gate or a question that the run has passed was added, changed or removed.
    ///
    /// Example: portolan runs migrate "$STATE"
    Migrate {
        /// The token.
        state: String,
    },
    /// Begin a run with the past of another, up to one of its records.
    ///
    /// The other run does not change.
    ///
    /// Example: portolan runs fork k7m2qx4p --at 3
    Fork {
        /// A handle, or the path of a task file.
        run: String,
        /// The last common record, by its number in `runs events`.
        #[arg(long, value_name = "RECORD", value_parser = clap::value_parser!(u64).range(1..))]
        at: u64,
        /// A new value for a variable, or a new output for a node of a function.
        /// The value is JSON, or else text.
        #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
        set: Vec<(String, Value)>,
        /// The definition of the new run: the other run's, or its current version.
        ///
        /// `current` is refused if a check, a gate or a question that the run has passed was added, changed or removed,
        /// or if its present step was removed.
        #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
        definition: Which,
    },
    /// Cancel a run.
    ///
    /// Example: portolan runs cancel k7m2qx4p --reason "not needed any more"
    Cancel {
        /// A handle, or the path of a task file.
        run: String,
        /// The reason, for the record.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    Prune(Prune),
}

impl Verb {
    /// Returns the archive to read and the run in it.
    fn archived(&self) -> Option<(&Path, &str)> {
        match self {
            Verb::Show { run, archive, .. } | Verb::Events { run, archive } => Some((archive.as_deref()?, run)),
            _ => None,
        }
    }
}

/// The definition that a fork is pinned to.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Which {
    /// The definition that the other run began with.
    #[default]
    Pinned,
    /// The current version of the workflow.
    Current,
}

pub(super) fn run(args: &Runs, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let mut options = common.options()?;
    if let Some((file, run)) = args.verb.archived() {
        options.store = StoreAt::Custom(block_on(archived_run(file, &handle(run)?))??);
    } else if common.named_store().is_some() {
        must_exist(&options.store)?;
    }
    let service = Service::new(options)?;
    block_on(async {
        match &args.verb {
            Verb::List { all, limit } => list_runs(&output, &service, *all, *limit as usize).await,
            Verb::Start(args) => start(&output, &service, args).await,
            Verb::Show { run, trace: true, .. } => show_trace(output, &service, handle(run)?).await,
            Verb::Show { run, trace: false, .. } => show(&output, &service, run).await,
            Verb::Resume(args) => resume(output, &service, args).await,
            Verb::Events { run, .. } => events(&output, &service, run).await,
            Verb::Answer { run, answer, branch, note, set } => {
                let (answer, branch, note) = (answer.as_deref(), branch.as_deref(), note.as_deref());
                let given = PersonInput { run, answer, branch, note, set };
                self::answer(&output, &service, &given).await
            }
            Verb::Migrate { state } => token_run::migrate(&output, &service, state).await,
            Verb::Fork { run, at, set, definition } => {
                let onto = match definition {
                    Which::Pinned => Onto::Pinned,
                    Which::Current => Onto::Current,
                };
                fork(&output, &service, run, Fork { onto, ..Fork::at(*at) }, set).await
            }
            Verb::Cancel { run, reason } => cancel(&output, &service, run, reason).await,
            Verb::Prune(args) => prune(output, &service, args).await,
        }
    })?
}

/// Requires that a named store exists: otherwise the empty list of a new store would pass for an answer.
pub(super) fn must_exist(store: &StoreAt) -> Result<(), ServiceError> {
    let refused =
        |message: String| ServiceError::refused("no_store", message, "name the file that `serve` keeps runs in");
    match store {
        StoreAt::Memory => Err(refused("a store in memory ends with its process: there is nothing to show".into())),
        StoreAt::File(path) if !path.exists() => Err(refused(format!("there is no store at `{}`", path.display()))),
        StoreAt::File(_) | StoreAt::Postgres(_) | StoreAt::Restate(_) | StoreAt::Custom(_) => Ok(()),
    }
}

/// Parses an argument that names a run.
pub(super) fn address(text: &str) -> Result<Address, ServiceError> {
    match Address::parse(text) {
        Address::Task(path) if !path.contains(['/', '\\', '.']) => Err(ServiceError::refused(
            "unknown_run",
            format!("`{}` is neither the handle of a run nor the path of a task file", clip(&path)),
            "`portolan runs list` shows the existing runs",
        )),
        address => Ok(address),
    }
}

/// Replaces help for agents by help for a shell.
fn at_a_shell(error: ServiceError) -> ServiceError {
    let help = match error.code {
        "task_not_found" => "check the path; `portolan runs list` shows the existing runs",
        "no_workflow" => "an agent starts it with Init; `portolan runs list` shows the existing runs",
        "stale" => "check the question with `portolan runs show`, then answer again",
        _ => return error,
    };
    ServiceError { help: help.to_owned(), ..error }
}

/// The act that is refused if a question is only for a person.
pub(super) const ANSWERS: &str = "may answer this question";

/// Returns the person at this terminal.
pub(super) fn person() -> Caller {
    let name = ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|key| std::env::var(key).ok())
        .unwrap_or_else(|| "unknown".to_owned());
    Caller { by: Actor::Person { name, via: Channel::CommandLine }, can_ask: true }
}

async fn list_runs(output: &Output, service: &Service, all: bool, limit: usize) -> anyhow::Result<Exit> {
    let mut runs = service.list(!all, limit + 1).await?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    if output.is_json() {
        output.json(&json!({ "runs": runs, "more": more }))?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        output.remark(if all {
            "there are no runs in this project"
        } else {
            "no run is open; use `--all` to include those that have ended"
        });
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            vec![
                run.run.clone(),
                run.status.clone(),
                run.workflow.clone(),
                run.step.clone(),
                run.updated_at.clone(),
                run.description.as_deref().map(clip).unwrap_or_default(),
            ]
        })
        .collect();
    output.line(table(&rows))?;
    if more {
        output.remark(format!("there are more than {limit}: raise `--limit` to see them"));
    }
    Ok(Exit::Done)
}

async fn show(output: &Output, service: &Service, run: &str) -> anyhow::Result<Exit> {
    if token_run::is_token(run) {
        return token_run::show(output, service, run).await;
    }
    let address = address(run)?;
    let view = service.view(&Request::of(address.clone()), &person()).await.map_err(at_a_shell)?;
    if let Some(kept) = JournaledRun::of(service, &address, output.is_json()).await? {
        return kept.show(*output, as_json(&view));
    }
    print_view(output, &view)?;
    Ok(if asks(&view.situation) { Exit::Waiting } else { Exit::Done })
}

/// Returns whether a person is asked, at the position or in one of its branches.
fn asks(situation: &Situation) -> bool {
    situation.state == RunStatus::Waiting || situation.position.branches.iter().any(|branch| branch.state == "waiting")
}

pub(super) fn print_view(output: &Output, view: &View) -> anyhow::Result<()> {
    if output.is_json() {
        return output.json(&as_json(view));
    }
    let position = &view.situation.position;
    let state = match view.situation.state {
        RunStatus::Working => output.paint(Paint::Good, "working"),
        RunStatus::Checking => output.paint(Paint::Warn, "checking"),
        RunStatus::Waiting => output.paint(Paint::Warn, "waiting for a person"),
        RunStatus::Ended => output.paint(Paint::Strong, "ended"),
    };
    output.line(one_line(&format!("{} · {} · {} · ", view.address, position.workflow, position.step)) + &state)?;
    output.line("")?;
    output.line(safe(&words::instructions(view)))?;
    let actions = actions(output, view);
    if !actions.is_empty() {
        output.line("")?;
        output.line(actions)?;
    }
    Ok(())
}

fn as_json(view: &View) -> Value {
    json!({ "run": view.address.to_string(), "situation": words::task_situation(view), "metadata": view.metadata })
}

/// Formats the agent's calls, or the answers of the person who is asked, one per line.
fn actions(output: &Output, view: &View) -> String {
    let [mut required, mut optional, mut blocked] = [Vec::new(), Vec::new(), Vec::new()];
    for offer in &view.situation.offers {
        let Some((action, lifted_by)) = words::call(view, offer) else { continue };
        let (list, word) = match (&lifted_by, offer.leads_on) {
            (Some(_), _) => (&mut blocked, "blocked"),
            (None, true) => (&mut required, "required"),
            (None, false) => (&mut optional, "optional"),
        };
        let (word, how) = match (lifted_by, &offer.act) {
            (Some(lifted_by), _) => (word, format!("until {lifted_by}")),
            (None, Offered::Answer { outcome, .. }) => ("answer", at_the_shell(view, outcome.as_str())),
            (None, _) => (word, format!("{} {}", action.tool, Value::Object(action.arguments))),
        };
        list.push(vec![word.to_owned(), action.title, how]);
    }
    output.paint(Paint::Faint, &table(&[required, optional, blocked].concat()))
}

/// Returns the command with which a person gives an answer.
fn at_the_shell(view: &View, answer: &str) -> String {
    let mut words = vec!["portolan".to_owned(), "runs".to_owned(), "answer".to_owned(), view.address.to_string()];
    words.push(answer.to_owned());
    if let Some(branch) = &view.situation.position.branch {
        words.extend(["--branch".to_owned(), branch.clone()]);
    }
    command_line(&words)
}

async fn events(output: &Output, service: &Service, run: &str) -> anyhow::Result<Exit> {
    let address = address(run)?;
    // Only values that the definition allows are shown.
    let History { records, hidden, .. } = service.history(&address).await.map_err(at_a_shell)?;
    let shown = |record: &Record| serde_json::to_value(record).map(|record| hidden.record(&record));
    if output.is_json() {
        let records = records.iter().map(shown).collect::<Result<Vec<Value>, _>>()?;
        output.json(&json!({ "run": run, "records": records }))?;
        return Ok(Exit::Done);
    }
    for record in &records {
        // Masks before formatting, since a formatted line may cut a secret in two.
        let shown = shown(record).and_then(serde_json::from_value).unwrap_or_else(|_| record.clone());
        let line = one_line(&hidden.text(&history(&shown.event, &shown.changes)));
        output.line(format!("{:>4}  {}  {line}", record.seq, output.paint(Paint::Faint, &rfc3339(record.event.at))))?;
    }
    Ok(Exit::Done)
}

/// The options of `portolan runs answer`.
pub(super) struct PersonInput<'a> {
    pub(super) run: &'a str,
    pub(super) answer: Option<&'a str>,
    pub(super) branch: Option<&'a str>,
    pub(super) note: Option<&'a str>,
    set: &'a [(String, Value)],
}

impl PersonInput<'_> {
    /// Returns the new values of variables, or `None` if there are none.
    pub(super) fn outputs(&self) -> Option<Arc<Value>> {
        let set: Map<String, Value> = self.set.iter().cloned().collect();
        (!set.is_empty()).then(|| Arc::new(Value::Object(set)))
    }
}

async fn answer(output: &Output, service: &Service, given: &PersonInput<'_>) -> anyhow::Result<Exit> {
    if token_run::is_token(given.run) {
        return token_run::answer(output, service, given).await;
    }
    let address = address(given.run)?;
    let branch = given.branch.map(str::to_owned);
    let request = Request { branch, asked: true, ..Request::of(address.clone()) };
    let view = service.view(&request, &person()).await.map_err(at_a_shell)?;
    let caller = if view.asks_person { person::confirmed(service, ANSWERS)? } else { person() };
    let offered = offered(&view.situation);
    let answer = match given.answer {
        Some(answer) => answer.to_owned(),
        None => pick(output, &words::instructions(&view), &offered)?,
    };
    let position = &view.situation.position;
    let (branch, revision) = (position.branch.clone(), Some(position.revision));
    let (note, outputs) = (given.note.map(str::to_owned), given.outputs());
    let report = Act::Report(Report { outcome: Outcome::from(answer), note, outputs });
    let here = Request { branch, revision, ..Request::of(address) };
    let view = service.act(&here, &report, &caller).await.map_err(at_a_shell)?;
    print_view(output, &view)?;
    Ok(Exit::Done)
}

fn offered(situation: &Situation) -> Vec<(String, String)> {
    let open = situation.offers.iter().filter(|offer| offer.blocked_by.is_none());
    open.filter(|offer| matches!(offer.act, Offered::Answer { .. }))
        .filter_map(|offer| Some((offer.outcome()?.to_string(), words::title(offer))))
        .collect()
}

/// Asks at the terminal. A script must name the answer.
pub(super) fn pick(output: &Output, question: &str, offered: &[(String, String)]) -> Result<String, ServiceError> {
    let words: Vec<&str> = offered.iter().map(|(word, _)| word.as_str()).collect();
    let missing = || {
        ServiceError::of(
            ErrorKind::Refused,
            "answer_required",
            "no answer was given",
            format!("name one of {}", list(&words)),
        )
    };
    if !io::stdin().is_terminal() {
        return Err(missing());
    }
    output.remark(safe(question));
    for (word, title) in offered {
        output.remark(one_line(&format!("  {word}: {title}")));
    }
    output.remark("answer:");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let answer = line.trim();
    if read.is_err() || answer.is_empty() { Err(missing()) } else { Ok(answer.to_owned()) }
}

async fn fork(
    output: &Output,
    service: &Service,
    run: &str,
    wanted: Fork,
    set: &[(String, Value)],
) -> anyhow::Result<Exit> {
    let address = address(run)?;
    let values: Map<String, Value> = set.iter().cloned().collect();
    let values = (!values.is_empty()).then(|| Arc::new(Value::Object(values)));
    let caller = person::confirmed(service, "may fork a run")?;
    let view = service.fork(&address, Fork { values, ..wanted }, &caller).await.map_err(at_a_shell)?;
    print_view(output, &view)?;
    Ok(Exit::Done)
}

async fn cancel(output: &Output, service: &Service, run: &str, reason: &str) -> anyhow::Result<Exit> {
    let end = Act::End { reason: reason.to_owned() };
    let view = service.act(&Request::of(address(run)?), &end, &person()).await.map_err(at_a_shell)?;
    print_view(output, &view)?;
    Ok(Exit::Done)
}
