//! `portolan gate`: other MCP servers behind the gates.

mod parked;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use portolan_core::diagnostic::clip;
use portolan_runtime::audit::{self, Filter, Kind, Line, project_log, time_of};
use portolan_runtime::clock::{Clock, rfc3339};
use portolan_runtime::servers::{PoolOptions, ServerSetup, Servers};
use portolan_runtime::service::{Options, Service, ServiceError};
use portolan_runtime::store::RunId;
use portolan_runtime::trust::{digest_of, server_commands};
use portolan_supervision::gateway::{
    Gateway, HOST, KeptCall, KeptCalls, ParkedDecision, SuspiciousTool, ToolPins, WithheldTool,
};
use serde_json::{Value, json};
use similar::TextDiff;

use super::output::{safe, table};
use super::serve::{GRACE, HttpArgs, LogArgs, greet, named, over_http, tell};
use super::{Common, Exit, person};
use crate::mcp::{self, Metrics};

/// Offer the tools of other MCP servers, and judge each call.
///
/// A call that the present step of a run does not allow is refused. Calls and results are recorded; a tool whose
/// description changes is withheld until a person has seen it.
///
/// Example: portolan gate --mcp servers.json
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(
    after_help = "Runs that are begun through it bind its clients; `--run` names one more run. Credentials in the \
        file of servers stay in this process."
)]
pub(super) struct Gate {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Args)]
struct Serve {
    /// The file of MCP servers whose tools are offered, with `mcpServers` as in other clients.
    #[arg(long, value_name = "FILE", required = true)]
    mcp: Option<PathBuf>,
    /// The run whose steps decide about all calls.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// The tools of Portolan's own that are offered too, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SET", default_value = "tasks")]
    toolset: Vec<OwnTools>,
    /// List only the tools that the open steps allow, and announce changes.
    /// Clients of MCP 2026-07-28, whose lists must not vary, see all.
    #[arg(long)]
    hide: bool,
    /// What holds for a call that no step allows or denies by name.
    #[arg(long, value_enum, value_name = "DECISION", default_value = "allow")]
    default: DefaultDecision,
    #[command(flatten)]
    over_http: HttpArgs,
    #[command(flatten)]
    log: LogArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OwnTools {
    /// Navigator's eleven: Init, Start, Current, Next and the tools that manage workflows.
    Tasks,
    /// Seven that lead an agent one step at a time: start_workflow, get_position, complete_step and others.
    Navigate,
    /// Seven that lead the project's task through its phases: flow_status, flow_tick and others.
    Gates,
    /// None.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DefaultDecision {
    /// It is allowed, unless a guard objects.
    Allow,
    /// It is refused, also if there is no run.
    Deny,
}

#[derive(Subcommand)]
enum Verb {
    Log(Log),
    Diff(Diff),
    Accept(Accept),
    Waiting(Waiting),
    Allow(Allow),
    Refuse(Refuse),
}

/// List the calls, with their decisions and results.
///
/// Example: portolan gate log --since 12h
#[derive(Args)]
struct Log {
    /// Only calls of a run.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only entries since a time.
    /// `2026-11-22T10:00:00Z`, `2026-11-22`, or `12h` for how long ago.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// The most entries, the newest ones.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: u32,
    /// Show the arguments and the results of calls that a rule of `records` keeps.
    #[arg(long)]
    whole: bool,
}

/// Show the tools that are withheld: those that are new, have changed, or hide characters.
///
/// It also reports descriptions that look like instructions to a model, which are not withheld.
///
/// Exit code 1 if there are any.
///
/// Example: portolan gate diff
#[derive(Args)]
struct Diff {}

/// Accept withheld tools as they are described now.
///
/// Example: portolan gate accept database
#[derive(Args)]
struct Accept {
    /// Servers, or tools as `server/tool`.
    #[arg(value_name = "SERVER|SERVER/TOOL", required = true)]
    which: Vec<String>,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

/// Show the calls that wait for a person, with their arguments.
///
/// Example: portolan gate waiting
#[derive(Args)]
struct Waiting {}

/// Allow a call that waits. The same call passes once when it is made again.
///
/// Example: portolan gate allow q1a2b3c4d5e6
#[derive(Args)]
struct Allow {
    /// The token of the call, as `portolan gate waiting` shows it.
    #[arg(value_name = "TOKEN")]
    token: String,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

/// Refuse a call that waits.
///
/// Example: portolan gate refuse q1a2b3c4d5e6
#[derive(Args)]
struct Refuse {
    /// The token of the call, as `portolan gate waiting` shows it.
    #[arg(value_name = "TOKEN")]
    token: String,
}

pub(super) fn run(args: &Gate, common: &Common) -> anyhow::Result<Exit> {
    match &args.verb {
        None => serve(&args.serve, common),
        Some(Verb::Log(args)) => log(args, common),
        Some(Verb::Diff(Diff {})) => diff(common),
        Some(Verb::Accept(args)) => accept(args, common),
        Some(Verb::Waiting(Waiting {})) => parked::list(common),
        Some(Verb::Allow(args)) => parked::decide(&args.token, ParkedDecision::Allow, args.yes, common),
        Some(Verb::Refuse(args)) => parked::decide(&args.token, ParkedDecision::Refuse, true, common),
    }
}

fn serve(args: &Serve, common: &Common) -> anyhow::Result<Exit> {
    let address = args.over_http.address()?;
    let output = common.output();
    let served = address.map(|address| (address, Metrics::new()));
    let notes = args.log.notes(served.as_ref().map(|(_, metrics)| metrics.events()));
    let options = Options { is_remote: address.is_some(), is_gateway: true, ..common.options()? };
    let service = Arc::new(Service::new(options)?);
    let file = args.mcp.as_deref().expect("clap requires it");
    let setups = service.library().own_servers(file)?;
    if setups.is_empty() {
        let message = format!("`{}` names no servers", file.display());
        return Err(ServiceError::refused("no_servers", message, "add some under `mcpServers`").into());
    }
    trusted(&service, file, &setups)?;
    let is_for_one_client = address.is_none();
    let pool =
        PoolOptions { on_stderr: Some(notes.of_servers()), grace: GRACE, is_for_one_client, ..PoolOptions::default() };
    let servers = Arc::new(Servers::new(setups, pool));
    let mut sets = Vec::new();
    let mut chosen = args.toolset.clone();
    chosen.dedup();
    for own in &chosen {
        let service = Arc::clone(&service);
        match own {
            OwnTools::Tasks => sets.push(named("tasks", mcp::tasks(service, true))),
            OwnTools::Navigate => sets.push(named("navigate", mcp::navigate(service, mcp::Profile::Strict))),
            OwnTools::Gates => sets.push(named("gates", mcp::gates(service, tell(notes.clone())))),
            OwnTools::None if chosen.len() == 1 => {}
            OwnTools::None => {
                let message = "`--toolset none` excludes all others, but others are named";
                return Err(ServiceError::refused("usage", message, "leave `none` out, or the others").into());
            }
        }
    }
    let taken: BTreeSet<String> = sets.iter().flat_map(|set| set.tools.names()).collect();
    let run = args.run.as_deref().map(run_of).transpose()?;
    let mut gateway = super::block_on(Gateway::new(Arc::clone(&service), servers, run, taken, tell(notes.clone())))??;
    if args.default == DefaultDecision::Deny {
        gateway = gateway.denying_by_default();
    }
    if args.hide {
        gateway = gateway.hiding();
    }
    sets.push(named("gate", mcp::gateway(Arc::clone(&service), Arc::new(gateway))));
    match served {
        Some((address, metrics)) => {
            over_http(mcp::Content::Project(service, sets), address, &args.over_http, None, metrics, &output)?
        }
        None => {
            greet(&output);
            mcp::serve(service.project(), sets.into_iter().map(|set| set.tools).collect())?;
        }
    }
    notes.flush();
    Ok(Exit::Done)
}

/// Refuses a file in the project that nobody has trusted: whoever can write there could start any program.
pub(super) fn trusted(service: &Service, file: &Path, setups: &[ServerSetup]) -> Result<(), ServiceError> {
    let is_inside = file.canonicalize().is_ok_and(|file| file.starts_with(service.project()));
    let commands = server_commands(setups.iter().map(|setup| &setup.server));
    if !is_inside || commands.is_empty() || service.trust().is_trusted(&digest_of(&commands)).unwrap_or(false) {
        return Ok(());
    }
    let message = format!("`{}` starts or contacts servers that are not trusted yet", file.display());
    let help = format!("read it, then run `portolan trust {}`, or keep it outside of the project", file.display());
    Err(ServiceError::refused("not_trusted", message, help))
}

fn run_of(run: &str) -> Result<RunId, ServiceError> {
    RunId::parse(run).ok_or_else(|| {
        let message = format!("`{}` is not a valid run id", clip(run));
        ServiceError::refused("bad_id", message, "`portolan runs list` shows the runs")
    })
}

fn log(args: &Log, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let since = args.since.as_deref().map(|text| time_of(text, Clock::System.now())).transpose();
    let since =
        since.map_err(|why| ServiceError::refused("usage", why, "write a time, or a duration such as `12h`"))?;
    let filter = Filter { run: args.run.clone(), since, ..Filter::default() };
    let mut lines = Vec::new();
    for line in audit::read(&project_log(&common.project()?), &filter).map_err(ServiceError::from)? {
        let line = line.map_err(ServiceError::from)?;
        if line.data["host"] == HOST {
            lines.push(line);
        }
    }
    lines.drain(..lines.len().saturating_sub(args.limit as usize));
    let whole = if args.whole { whole_texts(&lines, common)? } else { vec![WholeTexts::default(); lines.len()] };
    if output.is_json() {
        let lines: Vec<Value> = lines.iter().zip(&whole).map(|(line, whole)| entry(line, whole)).collect();
        output.json(&json!({ "entries": lines }))?;
        return Ok(Exit::Done);
    }
    if lines.is_empty() {
        output.line("no calls are recorded")?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let call = line.data["call"].as_str().unwrap_or_default().to_owned();
            vec![rfc3339(line.at), line.run.clone().unwrap_or_default(), call, describe_entry(line)]
        })
        .collect();
    let table = table(&rows);
    for (line, whole) in table.trim_end().lines().zip(&whole) {
        output.line(line)?;
        for (name, text) in whole {
            output.line(format!("    {name}: {}", safe(text)))?;
        }
    }
    Ok(Exit::Done)
}

/// The texts that an entry of the log stands for, with what each is.
type WholeTexts = Vec<(&'static str, String)>;

/// Returns the arguments of each call that is kept whole, and the result where the call has ended.
fn whole_texts(lines: &[Line], common: &Common) -> anyhow::Result<Vec<WholeTexts>> {
    let kept = KeptCalls::of(&Service::new(common.options()?)?)?.list()?;
    let whole = |line: &Line| {
        let is_begun = line.kind == Kind::ToolInvoked.name();
        if !is_begun && line.kind != Kind::ToolAnswered.name() {
            return WholeTexts::new();
        }
        let recorded = line.data["recordDigest"].as_str();
        match kept.find(line.data["call"].as_str().unwrap_or_default(), recorded) {
            Ok(Some(call)) if is_begun => vec![("arguments", call.arguments)],
            Ok(Some(KeptCall { result: Some(result), .. })) => vec![("result", result)],
            Ok(_) => WholeTexts::new(),
            Err(error) => vec![("error", format!("{}; {}", error.message, error.help))],
        }
    };
    Ok(lines.iter().map(whole).collect())
}

fn entry(line: &Line, whole: &WholeTexts) -> Value {
    let mut entry =
        json!({ "at": rfc3339(line.at), "type": line.kind, "run": line.run, "phase": line.phase, "data": line.data });
    for (name, text) in whole {
        entry[*name] = serde_json::from_str(text).unwrap_or_else(|_cut| json!(text));
    }
    entry
}

/// Returns an entry in words.
fn describe_entry(line: &Line) -> String {
    let text = |name: &str| line.data[name].as_str().unwrap_or_default().to_owned();
    match line.kind.as_str() {
        "flow.tool.invoked" => {
            let client = line.data["agent"].as_str().unwrap_or("a client");
            format!("{client} called {}: {}", text("toolName"), text("decision"))
        }
        "flow.tool.answered" if line.data["outcome"] == "failed" => {
            format!("{} of {} failed: {}", text("toolName"), text("server"), text("reason"))
        }
        "flow.tool.answered" if line.data["outcome"] == "cancelled" => {
            format!("{} of {} was cancelled after {} ms", text("toolName"), text("server"), line.data["ms"])
        }
        "flow.tool.asked" => format!("{} of {} asked its client: {}", text("toolName"), text("server"), methods(line)),
        "flow.tool.replied" => {
            let (tool, server, why) = (text("toolName"), text("server"), text("reason"));
            let why = if why.is_empty() { why } else { format!(": {why}") };
            format!("the client of {tool} of {server}: {}{why}", text("outcome"))
        }
        "flow.tool.suspicious" => {
            let (tool, server) = (text("toolName"), text("server"));
            format!("a {} of {tool} of {server} looks like instructions: `{}`", text("where"), text("sign"))
        }
        "flow.tool.answered" => format!(
            "{} of {} answered: {}, {} bytes in {} ms",
            text("toolName"),
            text("server"),
            text("outcome"),
            line.data["bytes"],
            line.data["ms"]
        ),
        _ => format!("{}: {}", text("guardId"), text("reason")),
    }
}

/// Returns what a tool asked, as the protocol names it.
fn methods(line: &Line) -> String {
    let questions = line.data["questions"].as_array().into_iter().flatten();
    questions.filter_map(|question| question["method"].as_str()).collect::<Vec<_>>().join(", ")
}

fn diff(common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let pins = ToolPins::of(&Service::new(common.options()?)?)?;
    let (withheld, suspicious) = (pins.withheld()?, pins.suspicious()?);
    if output.is_json() {
        let tools: Vec<Value> = withheld
            .iter()
            .map(|tool| {
                json!({ "server": tool.server, "tool": tool.described.name, "reason": tool.why().reason(),
                    "accepted": tool.accepted, "described": tool.described })
            })
            .collect();
        let found = suspicious
            .iter()
            .map(|SuspiciousTool { server, tool, sign }| json!({ "server": server, "tool": tool, "sign": sign }));
        output.json(&json!({ "withheld": tools, "suspicious": found.collect::<Vec<_>>() }))?;
    } else {
        for tool in &withheld {
            output.line(shown(tool))?;
        }
        match withheld.is_empty() {
            true => output.line("no tools are withheld")?,
            false => output.remark("`portolan gate accept SERVER/TOOL` accepts a tool as it is described now"),
        }
        for SuspiciousTool { server, tool, sign } in &suspicious {
            let name = format!("{}/{}", clip(server), clip(tool));
            output.remark(safe(&format!("{name}: its description looks like instructions to a model: `{sign}`")));
        }
    }
    Ok(if withheld.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Returns a withheld tool as a person reads it: the difference from what was accepted, with invisible characters
/// escaped.
fn shown(tool: &WithheldTool) -> String {
    let text = |tool: &_| format!("{}\n", serde_json::to_string_pretty(tool).expect("a tool is JSON"));
    let (old, new) = (tool.accepted.as_ref().map(text).unwrap_or_default(), text(&tool.described));
    let changes = TextDiff::from_lines(&old, &new);
    let difference = changes.unified_diff().context_radius(3).to_string();
    safe(&format!("{}: {}\n{difference}", tool.name(), tool.why().reason()))
}

fn accept(args: &Accept, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let service = Service::new(common.options()?)?;
    person::confirmed(&service, "may accept the tools of servers")?;
    let pins = ToolPins::of(&service)?;
    let withheld = pins.withheld()?;
    let is_meant = |tool: &WithheldTool, word: &str| {
        word == tool.server
            || word.strip_prefix(tool.server.as_str()).and_then(|rest| rest.strip_prefix('/'))
                == Some(&tool.described.name)
    };
    if let Some(word) = args.which.iter().find(|word| !withheld.iter().any(|tool| is_meant(tool, word))) {
        let message = format!("no tool of `{}` is withheld", clip(word));
        return Err(ServiceError::refused("not_withheld", message, "`portolan gate diff` shows those that are").into());
    }
    let wanted: Vec<WithheldTool> =
        withheld.into_iter().filter(|tool| args.which.iter().any(|word| is_meant(tool, word))).collect();
    for tool in &wanted {
        output.remark(shown(tool));
    }
    if !person::consented("Accept these tools?", args.yes)? {
        return Ok(Exit::Refused);
    }
    pins.accept(&wanted)?;
    let names: Vec<String> = wanted.iter().map(WithheldTool::name).collect();
    match output.is_json() {
        true => output.json(&json!({ "accepted": names }))?,
        false => output.line(safe(&format!("accepted: {}", names.join(", "))))?,
    }
    Ok(Exit::Done)
}
