//! `portolan supervisor`: questions to people, the queue, and budgets.

use clap::{Args, Subcommand, ValueEnum};
use portolan_core::value::Timestamp;
use portolan_gates::supervisor::{BudgetStatus, Item, Progress, Question, Scope, Unit, Usage};
use portolan_runtime::clock::{Clock, rfc3339};
use portolan_runtime::service::{Caller, Service, ServiceError};
use portolan_supervision::supervisor::{Ask, NotifierFailure, Raise, Supervisor, UsageReport};
use serde_json::{Value, json};

use super::output::{Output, one_line, table};
use super::person;
use super::runs;
use super::{Common, Exit, block_on};

/// Ask people, and limit what agents use.
///
/// A question blocks only its own task. Budgets limit what agents use.
///
/// Example: portolan supervisor ask --choice merge --choice wait "Merge it now?"
#[derive(Args)]
pub(super) struct SupervisorArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Ask(AskArgs),
    Reply(ReplyArgs),
    /// List the open questions, and the tasks of the queue.
    ///
    /// Example: portolan supervisor list
    List {
        /// Include answered questions, and tasks that are over.
        #[arg(long)]
        all: bool,
    },
    /// Show the task that can be worked on now.
    ///
    /// Example: portolan supervisor next
    Next,
    Budget(BudgetArgs),
    Usage(UsageArgs),
}

/// Ask a question without waiting. Only its task waits.
///
/// Prints the token that an answer quotes.
///
/// Example: portolan supervisor ask --choice merge --choice wait --default wait --within 2h "Merge?"
#[derive(Args)]
struct AskArgs {
    /// The question.
    #[arg(value_name = "TEXT")]
    body: String,
    /// The task that waits for the answer.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// The channel to ask on.
    #[arg(long, value_name = "NAME", default_value = "terminal")]
    channel: String,
    /// A possible answer; may be given several times. Without any, every text is one.
    #[arg(long = "choice", value_name = "TEXT")]
    choices: Vec<String>,
    /// The answer that counts if none is given in time.
    #[arg(long, value_name = "TEXT", requires = "within")]
    default: Option<String>,
    /// How long to wait for an answer: `90m`, `12h`, `7d`.
    #[arg(long, value_name = "TIME", value_parser = length)]
    within: Option<i64>,
}

/// Answer a question: with a choice, its number, or JSON.
///
/// Example: portolan supervisor reply q1a2b3c4d5e6 merge
#[derive(Args)]
struct ReplyArgs {
    /// The token of the question.
    #[arg(value_name = "TOKEN")]
    token: String,
    /// The answer.
    #[arg(value_name = "TEXT")]
    body: String,
}

/// Show the use of the budgets, or raise one for now.
///
/// The budgets are those of `.portolan/plugins.yaml`.
///
/// Example: portolan supervisor budget raise day costUsd --to 30 --reason "the release is today"
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
struct BudgetArgs {
    #[command(subcommand)]
    verb: Option<BudgetVerb>,
    /// The task [default: the active one].
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

#[derive(Subcommand)]
enum BudgetVerb {
    /// Raise a budget for the open window. This bypasses I-15, and is recorded.
    ///
    /// Example: portolan supervisor budget raise task turns --to 400 --reason "one more attempt"
    Raise {
        /// The scope of the budget.
        #[arg(value_enum)]
        scope: ScopeArg,
        /// The unit of the budget.
        #[arg(value_enum)]
        unit: UnitArg,
        /// The new amount.
        #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
        to: f64,
        /// The reason.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The task [default: the active one].
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
    },
}

/// Report the usage of an agent's session. Omitted amounts are unknown, not zero.
///
/// Example: portolan supervisor usage --task build-auth --session s1 --turns 12 --cost-usd 0.42
#[derive(Args)]
struct UsageArgs {
    /// The task of the session.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// The session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The reporter.
    #[arg(long, value_name = "NAME", default_value = "command")]
    driver: String,
    /// Turns of the agent.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    turns: Option<u32>,
    /// Tokens that models read.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    tokens_in: Option<u32>,
    /// Tokens that models wrote.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    tokens_out: Option<u32>,
    /// US dollars.
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    cost_usd: Option<f64>,
    /// Seconds that the agent worked.
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    wall_seconds: Option<f64>,
    /// Calls of tools.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    tool_calls: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ScopeArg {
    Task,
    Session,
    Day,
    Month,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "camelCase")]
enum UnitArg {
    Turns,
    Tokens,
    CostUsd,
    WallSeconds,
    ToolCalls,
}

/// Parses a duration, in milliseconds.
fn length(text: &str) -> Result<i64, String> {
    let wrong = || "write a duration, such as `30s`, `90m`, `12h` or `7d`".to_owned();
    let (unit, each) = [('s', 1_i64), ('m', 60), ('h', 3_600), ('d', 86_400)]
        .into_iter()
        .find_map(|(unit, each)| Some((text.strip_suffix(unit)?, each)))
        .ok_or_else(wrong)?;
    let count: u32 = unit.parse().map_err(|_| wrong())?;
    Ok(i64::from(count) * each * 1_000)
}

pub(super) fn run(args: &SupervisorArgs, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let service = common.service_of_task()?;
    let caller = runs::person();
    match &args.verb {
        Verb::Ask(args) => ask(args, output, &service),
        Verb::Reply(args) => reply(args, output, &service, &caller),
        Verb::List { all } => list(*all, output, &service),
        Verb::Next => next(output, &service),
        Verb::Budget(BudgetArgs { verb: None, task }) => budgets(task.as_deref(), output, &service),
        Verb::Budget(BudgetArgs { verb: Some(verb), .. }) => raise(verb, output, &service, &caller),
        Verb::Usage(args) => usage(args, output, &service),
    }
}

fn ask(args: &AskArgs, output: Output, service: &Service) -> anyhow::Result<Exit> {
    let now = Clock::System.now();
    let ask = Ask {
        task: args.task.clone(),
        channel: args.channel.clone(),
        body: args.body.clone(),
        choices: args.choices.clone(),
        default: args.default.clone(),
        deadline: args.within.map(|within| Timestamp(now.0.saturating_add(within))),
    };
    let (token, untold) = block_on(Supervisor::of(service).ask_people(&ask))??;
    complain(output, &untold);
    match output.is_json() {
        true => output.json(&json!({ "replyToken": token }))?,
        false => output.line(&token)?,
    }
    Ok(Exit::Done)
}

/// Prints the recipients that could not be notified. The question is open nevertheless.
fn complain(output: Output, untold: &[NotifierFailure]) {
    for (id, why) in untold {
        output.remark(format!("note: `{}` was not notified: {}", one_line(id), one_line(why)));
    }
}

fn reply(args: &ReplyArgs, output: Output, service: &Service, caller: &Caller) -> anyhow::Result<Exit> {
    let replied = block_on(Supervisor::of(service).reply(&args.token, &args.body, caller))??;
    if output.is_json() {
        output.json(&json!({ "answer": replied.answer, "again": replied.again }))?;
    } else {
        let again = if replied.again { " (as before)" } else { "" };
        output.line(format!("answered: {}{again}", one_line(&replied.answer)))?;
    }
    Ok(Exit::Done)
}

fn list(all: bool, output: Output, service: &Service) -> anyhow::Result<Exit> {
    complain(output, &block_on(Supervisor::of(service).remind_people())??);
    let board = block_on(service.supervisor_log().board())??;
    let questions: Vec<&Question> = board.questions.values().filter(|q| all || q.answer.is_none()).collect();
    let tasks: Vec<&Item> = board.queue.values().filter(|item| all || item.progress.is_open()).collect();
    if output.is_json() {
        let tasks: Vec<Value> = tasks.iter().map(|item| item_json(item, board.is_waiting(&item.task))).collect();
        output.json(&json!({ "questions": questions, "tasks": tasks }))?;
        return Ok(Exit::Done);
    }
    let absent = || "-".to_owned();
    let row = |q: &&Question| {
        let answer = q.answer.as_ref().map_or_else(|| q.choices.join(" | "), |answer| format!("→ {}", answer.body));
        vec![q.token.clone(), q.task.clone().unwrap_or_else(absent), rfc3339(q.asked_at), q.body.clone(), answer]
    };
    if !questions.is_empty() {
        output.line(table(&questions.iter().map(row).collect::<Vec<_>>()))?;
    }
    let row = |item: &&Item| vec![item.task.clone(), stands(item, board.is_waiting(&item.task)), item.goal.clone()];
    if !tasks.is_empty() {
        output.line(table(&tasks.iter().map(row).collect::<Vec<_>>()))?;
    }
    if questions.is_empty() && tasks.is_empty() {
        output.remark("no question is open, and the queue is empty");
    }
    Ok(Exit::Done)
}

/// Returns the state of a task as a word.
pub(super) fn stands(item: &Item, is_waiting: bool) -> String {
    let word = match item.progress {
        _ if is_waiting => "waiting-for-reply",
        Progress::Queued => "queued",
        Progress::Active => "active",
        Progress::Parked => "parked",
        Progress::Done => "done",
        Progress::Failed => "failed",
    };
    word.to_owned()
}

pub(super) fn item_json(item: &Item, is_waiting: bool) -> Value {
    json!({
        "task": item.task,
        "goal": item.goal,
        "status": stands(item, is_waiting),
        "runId": item.run,
        "sessions": item.sessions,
    })
}

fn next(output: Output, service: &Service) -> anyhow::Result<Exit> {
    complain(output, &block_on(Supervisor::of(service).remind_people())??);
    let next = block_on(Supervisor::of(service).next_task())??;
    match (&next, output.is_json()) {
        (next, true) => output.json(&json!({ "task": next.as_ref().map(|item| item_json(item, false)) }))?,
        (Some(item), false) => output.line(format!("{}  {}", item.task, one_line(&item.goal)))?,
        (None, false) => output.remark("no task can be worked on now"),
    }
    Ok(Exit::Done)
}

fn budgets(task: Option<&str>, output: Output, service: &Service) -> anyhow::Result<Exit> {
    let active = block_on(service.flow().active())??.map(|active| active.task);
    let standings = block_on(service.supervisor_log().standings(task.or(active.as_deref())))??;
    show(&standings, output)
}

fn show(standings: &[BudgetStatus], output: Output) -> anyhow::Result<Exit> {
    let word = |standing: &BudgetStatus| match (standing.halts, standing.warns) {
        (true, _) => "halted",
        (false, true) => "warning",
        (false, false) => "fine",
    };
    if output.is_json() {
        let with_status = |standing: &BudgetStatus| {
            let mut object = standing.to_json();
            object["status"] = json!(word(standing));
            object
        };
        output.json(&json!({ "budgets": standings.iter().map(with_status).collect::<Vec<_>>() }))?;
    } else if standings.is_empty() {
        output.remark("no budget is open; budgets are defined in `.portolan/plugins.yaml`");
    } else {
        let row = |standing: &BudgetStatus| {
            let used = standing.used.map_or_else(|| "unknown".to_owned(), |used| standing.unit.shown(used).to_string());
            let cap = standing.unit.shown(standing.cap);
            vec![
                standing.window.clone(),
                format!("{used} of {cap} {}", standing.unit.name()),
                word(standing).to_owned(),
            ]
        };
        output.line(table(&standings.iter().map(row).collect::<Vec<_>>()))?;
    }
    Ok(Exit::Done)
}

fn raise(verb: &BudgetVerb, output: Output, service: &Service, caller: &Caller) -> anyhow::Result<Exit> {
    let BudgetVerb::Raise { scope, unit, to, reason, task } = verb;
    let (scope, unit) = (scope_of(*scope), unit_of(*unit));
    let to = counted(unit, *to, "--to")?;
    let raise = Raise { scope, unit, to, reason: reason.clone(), task: task.clone() };
    let caller = match service.flow().needs_person("I-15")? {
        true => person::confirmed(service, "may bypass I-15")?,
        false => caller.clone(),
    };
    match block_on(Supervisor::of(service).raise(&raise, &caller))?? {
        Some(unsent) => {
            complain_unsent(output, &unsent);
            Ok(Exit::Done)
        }
        None => budgets(task.as_deref(), output, service),
    }
}

fn usage(args: &UsageArgs, output: Output, service: &Service) -> anyhow::Result<Exit> {
    let amount = |unit: Unit, amount: Option<f64>, name| amount.map(|amount| counted(unit, amount, name)).transpose();
    let task = match &args.task {
        // What is used is recorded also while the store of runs is away.
        Some(task) => Some(task.clone()),
        None => block_on(service.flow().active())??.map(|active| active.task),
    };
    let report = UsageReport {
        task,
        phase: None,
        session: args.session.clone(),
        driver: args.driver.clone(),
        usage: Usage {
            turns: args.turns.map(u64::from),
            tokens_in: args.tokens_in.map(u64::from),
            tokens_out: args.tokens_out.map(u64::from),
            cost_micros: amount(Unit::CostUsd, args.cost_usd, "--cost-usd")?,
            wall_ms: amount(Unit::WallSeconds, args.wall_seconds, "--wall-seconds")?,
            tool_calls: args.tool_calls.map(u64::from),
        },
    };
    let recorded = block_on(Supervisor::of(service).record_usage(&report))??;
    recorded.unsent.iter().for_each(|unsent| complain_unsent(output, unsent));
    show(&recorded.budgets, output)
}

/// Says that a record does not count on other machines yet.
fn complain_unsent(output: Output, unsent: &ServiceError) {
    let why = one_line(&unsent.message);
    output
        .remark(format!("note: it is recorded here, and is sent with the next request that needs the budgets: {why}"));
}

fn counted(unit: Unit, amount: f64, name: &str) -> Result<u64, ServiceError> {
    unit.counted(amount).ok_or_else(|| {
        let message = format!("`{name} {amount}` is not a valid amount of {}", unit.name());
        ServiceError::refused(
            "bad_input",
            message,
            "write a number that is 0 or more, and whole except for money and time",
        )
    })
}

fn scope_of(scope: ScopeArg) -> Scope {
    match scope {
        ScopeArg::Task => Scope::Task,
        ScopeArg::Session => Scope::Session,
        ScopeArg::Day => Scope::Day,
        ScopeArg::Month => Scope::Month,
    }
}

fn unit_of(unit: UnitArg) -> Unit {
    match unit {
        UnitArg::Turns => Unit::Turns,
        UnitArg::Tokens => Unit::Tokens,
        UnitArg::CostUsd => Unit::CostUsd,
        UnitArg::WallSeconds => Unit::WallSeconds,
        UnitArg::ToolCalls => Unit::ToolCalls,
    }
}
