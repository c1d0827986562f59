//! `portolan runs`: what runs there are, where they are, what happened; and a person's answers.

use std::io::{self, BufRead, IsTerminal};

use clap::{Args, Subcommand};
use portolan_core::diagnostic::list;
use portolan_core::present::{Situation, State, history};
use portolan_core::run::{Actor, Channel};
use portolan_core::value::Outcome;
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::service::{Caller, ErrorKind, Move, Service, ServiceError, View};
use serde_json::json;

use super::output::{Output, Paint, table};
use super::{Common, Exit, block_on};

/// Look at runs, and answer the questions that only a person may.
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
        /// Also those that are over.
        #[arg(long)]
        all: bool,
        /// At most so many.
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
    },
    /// Show where a run is and what would be accepted. Exit code 4 while it waits for a person.
    ///
    /// Example: portolan runs show k7m2qx4p
    Show {
        /// A handle, or the path of a task file.
        run: String,
    },
    /// Show everything that happened to a run.
    ///
    /// Example: portolan runs events k7m2qx4p
    Events {
        /// A handle, or the path of a task file.
        run: String,
    },
    /// Answer the question at which a run waits for a person.
    ///
    /// Example: portolan runs answer k7m2qx4p passed --note "the key is in the vault now"
    Answer {
        /// A handle, or the path of a task file.
        run: String,
        /// One of the answers that `runs show` offers; without it, it is asked for.
        answer: Option<String>,
        /// Which branch, when several wait.
        #[arg(long, value_name = "BRANCH")]
        branch: Option<String>,
        /// What the agent should know.
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Call a run off.
    ///
    /// Example: portolan runs cancel k7m2qx4p --reason "not needed any more"
    Cancel {
        /// A handle, or the path of a task file.
        run: String,
        /// Why: it is kept on the record.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(super) fn run(args: &Runs, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let service = common.service()?;
    block_on(async {
        match &args.verb {
            Verb::List { all, limit } => list_runs(&output, &service, *all, *limit).await,
            Verb::Show { run } => show(&output, &service, run).await,
            Verb::Events { run } => events(&output, &service, run).await,
            Verb::Answer { run, answer, branch, note } => {
                let given = Given { run, answer: answer.as_deref(), branch: branch.as_deref(), note: note.as_deref() };
                self::answer(&output, &service, &given).await
            }
            Verb::Cancel { run, reason } => cancel(&output, &service, run, reason).await,
        }
    })?
}

/// The person at this terminal.
fn person() -> Caller {
    let name = ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|key| std::env::var(key).ok())
        .unwrap_or_else(|| "unknown".to_owned());
    Caller { by: Actor::Person { name, via: Channel::CommandLine }, can_ask: true }
}

async fn list_runs(output: &Output, service: &Service, all: bool, limit: usize) -> anyhow::Result<Exit> {
    let runs = service.runs(!all, limit).await?;
    if output.is_json() {
        output.json(&json!({ "runs": runs }))?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        output.remark(if all {
            "there are no runs in this project"
        } else {
            "no run is open; `--all` shows those that are over too"
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
                run.description.clone().unwrap_or_default(),
            ]
        })
        .collect();
    output.line(table(&rows))?;
    Ok(Exit::Done)
}

async fn show(output: &Output, service: &Service, run: &str) -> anyhow::Result<Exit> {
    let view = service.current(&Address::parse(run), None, &person()).await?;
    print_view(output, &view)?;
    Ok(if view.situation.state == State::Waiting { Exit::Waiting } else { Exit::Done })
}

fn print_view(output: &Output, view: &View) -> anyhow::Result<()> {
    if output.is_json() {
        return output
            .json(&json!({ "run": view.address.to_string(), "situation": view.situation, "metadata": view.metadata }));
    }
    let position = &view.situation.position;
    let state = match view.situation.state {
        State::Working => output.paint(Paint::Good, "working"),
        State::Checking => output.paint(Paint::Warn, "checking"),
        State::Waiting => output.paint(Paint::Warn, "waiting for a person"),
        State::Ended => output.paint(Paint::Strong, "ended"),
    };
    output.line(format!("{} · {} · {} · {state}", view.address, position.workflow, position.step))?;
    output.line("")?;
    output.line(view.instructions())?;
    let actions = print_actions(output, &view.situation);
    if !actions.is_empty() {
        output.line("")?;
        output.line(actions)?;
    }
    Ok(())
}

/// The actions of a situation, one a line.
pub(super) fn print_actions(output: &Output, situation: &Situation) -> String {
    let call = |action: &portolan_core::present::Action| {
        let arguments = serde_json::Value::Object(action.arguments.clone());
        format!("{} {arguments}", action.tool)
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for action in &situation.actions.required {
        rows.push(vec!["required".to_owned(), action.title.clone(), call(action)]);
    }
    for action in &situation.actions.optional {
        rows.push(vec!["optional".to_owned(), action.title.clone(), call(action)]);
    }
    for blocked in &situation.actions.blocked {
        rows.push(vec!["blocked".to_owned(), blocked.action.title.clone(), format!("until {}", blocked.lifted_by)]);
    }
    output.paint(Paint::Faint, &table(&rows))
}

async fn events(output: &Output, service: &Service, run: &str) -> anyhow::Result<Exit> {
    let records = service.records(&Address::parse(run)).await?;
    if output.is_json() {
        output.json(&json!({ "run": run, "records": records }))?;
        return Ok(Exit::Done);
    }
    for record in &records {
        let line = history(&record.event, &record.changes);
        output.line(format!("{:>4}  {}  {line}", record.seq, output.paint(Paint::Faint, &rfc3339(record.event.at))))?;
    }
    Ok(Exit::Done)
}

struct Given<'a> {
    run: &'a str,
    answer: Option<&'a str>,
    branch: Option<&'a str>,
    note: Option<&'a str>,
}

async fn answer(output: &Output, service: &Service, given: &Given<'_>) -> anyhow::Result<Exit> {
    let address = Address::parse(given.run);
    let caller = person();
    let view = service.question(&address, given.branch, &caller).await?;
    let offered = offered(&view.situation);
    let answer = match given.answer {
        Some(answer) => answer.to_owned(),
        None => prompt(output, &view, &offered)?,
    };
    let wanted = Move {
        address,
        branch: view.situation.position.branch.clone(),
        revision: Some(view.situation.position.revision),
        outcome: Outcome::from(answer),
        note: given.note.map(str::to_owned),
    };
    let view = service.next(&wanted, &caller).await?;
    print_view(output, &view)?;
    Ok(Exit::Done)
}

fn offered(situation: &Situation) -> Vec<(String, String)> {
    let actions = situation.actions.required.iter().chain(&situation.actions.optional);
    actions
        .filter_map(|action| Some((action.arguments.get("result")?.as_str()?.to_owned(), action.title.clone())))
        .collect()
}

/// Asks at the terminal. A script must say the answer.
fn prompt(output: &Output, view: &View, offered: &[(String, String)]) -> Result<String, ServiceError> {
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
    output.remark(view.instructions());
    for (word, title) in offered {
        output.remark(format!("  {word}: {title}"));
    }
    output.remark("answer:");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let answer = line.trim();
    if read.is_err() || answer.is_empty() { Err(missing()) } else { Ok(answer.to_owned()) }
}

async fn cancel(output: &Output, service: &Service, run: &str, reason: &str) -> anyhow::Result<Exit> {
    let view = service.cancel(&Address::parse(run), reason, &person()).await?;
    print_view(output, &view)?;
    Ok(Exit::Done)
}
