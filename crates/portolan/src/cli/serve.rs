//! `portolan serve`: the MCP server, on standard input and output or over HTTP.

mod http;
mod log;
mod projects;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use portolan_core::dialect::RunAs;
use portolan_core::run::{Actor, Human};
use portolan_runtime::author::Author;
use portolan_runtime::definition::DefinitionError;
use portolan_runtime::graphs::Graphs;
use portolan_runtime::library::run_as;
use portolan_runtime::servers::PoolOptions;
use portolan_runtime::service::{Options, Service, ServiceError, States};

use super::check::{drawn, files_at, refuse, refuse_denied, refuse_files};
use super::output::{Output, one_line};
use super::runs::person;
use super::{Common, Denial, Exit, HumanArg, Leniency};
use crate::mcp::{self, Metrics, News};
use crate::web::StudioSettings;

pub(super) use http::{HttpArgs, serve as over_http};
pub(super) use log::LogArgs;

/// Serve workflows or graphs to agents over MCP (stdio or HTTP).
///
/// Example: claude mcp add portolan -- portolan serve
#[derive(Args)]
#[command(after_help = "The project's workflows in .flow/workflows and the catalogue are served without being named. \
        If FILE holds graphs of tool calls, each graph is a tool.")]
pub(super) struct Serve {
    /// More workflow files, or folders of them; or files of graphs.
    #[arg(value_name = "FILE|DIR")]
    definitions: Vec<PathBuf>,
    /// The toolsets to serve, separated by commas [default: by the files].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SET")]
    toolset: Vec<Toolset>,
    /// Your own file of MCP servers, for servers that a graph does not define.
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// The model for states of graphs whose file names none.
    /// For example `openai:gpt-4o-mini` or `scripted:answers.yaml`.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    model: Option<String>,
    /// Whose answer counts if a workflow asks a person.
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    human: HumanArg,
    /// Store runs in signed tokens that the agent holds (toolset `navigate`).
    #[arg(long)]
    stateless: bool,
    /// Also record the runs of tokens in the store, to detect outdated tokens.
    #[arg(long, requires = "stateless")]
    ledger: bool,
    /// The user of the toolset `navigate`.
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    profile: ProfileArg,
    /// Serve each project in this folder, at `/projects/NAME/mcp` for the folder NAME, with its own runs and trust.
    #[arg(long, requires = "http", value_name = "DIR")]
    projects: Option<PathBuf>,
    /// Also show the studio, at the address that is printed besides. Only for this machine.
    #[arg(long, requires = "http", conflicts_with = "projects")]
    studio: bool,
    #[command(flatten)]
    over_http: http::HttpArgs,
    #[command(flatten)]
    log: log::LogArgs,
    /// Serve what the official conformance suite of MCP calls by name, and nothing else.
    #[arg(long, hide = true, conflicts_with_all = ["definitions", "toolset", "mcp", "model", "stateless"])]
    conformance: bool,
    #[command(flatten)]
    leniency: Leniency,
    #[command(flatten)]
    denial: Denial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Toolset {
    /// Seven that lead an agent one step at a time: start_workflow, get_position, complete_step and others.
    Navigate,
    /// Navigator's eleven: Init, Start, Current, Next and the tools that manage workflows.
    Tasks,
    /// Seven that lead the project's task through its phases: flow_status, flow_tick and others.
    Gates,
    /// Each graph of tool calls in FILE as a tool.
    Graph,
    /// For one FILE or folder of activities: tools that show and edit a definition.
    /// Two for any format, and thirteen more that write and try graphs of tool calls.
    Author,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ProfileArg {
    /// An agent at work: it sees what it can do now, and no definition.
    #[default]
    Strict,
    /// An author of workflows: definitions can be read, too.
    Author,
}

/// How long servers may take to end by themselves once the client has left, and again once they were asked to.
pub(super) const GRACE: Duration = Duration::from_millis(200);
/// The most faults that are drawn, since each takes several lines.
const MAX_DRAWN: usize = 100;

pub(super) fn run(args: Serve, common: &Common) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.projects {
        return projects::run(&args, folder, common);
    }
    let (toolsets, files) = if args.conformance { Default::default() } else { chosen(&args)? };
    fitting(&args, &toolsets)?;
    let address = args.over_http.address()?;
    if args.studio {
        HttpArgs::must_be_own(address)?;
    }
    let has = |set| toolsets.contains(&set);
    let output = common.output();
    let over_http = address.map(|address| (address, Metrics::new()));
    let notes = args.log.notes(over_http.as_ref().map(|(_, metrics)| metrics.events()));
    let options = Options { definitions: files.led, ..args.options(common.options()?) };
    let service = Arc::new(Service::new(options)?);
    // Definitions on the command line must be sound before a client connects.
    for id in service.library().given_ids() {
        if let Err(error) = service.library().definition(&id) {
            return refuse(&output, service.library(), &id, error);
        }
        if let Some(refused) = refuse_denied(&output, service.library(), &id, &args.denial)? {
            return Ok(refused);
        }
    }
    let mut sets = Vec::new();
    if args.conformance {
        sets.push(named("conformance", mcp::conformance()));
    }
    sets.extend(leading(&service, &toolsets, args.profile, &tell(notes.clone())));
    let pool = PoolOptions { on_stderr: Some(notes.of_servers()), grace: GRACE, ..PoolOptions::default() };
    if has(Toolset::Graph) {
        let names = files.graphs.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>().join("`, `");
        let graphs = Graphs::open(files.graphs.clone(), args.mcp.clone(), service.library(), pool.clone());
        let workers = service.workers(args.model.as_deref(), std::env::current_dir()?)?;
        match graphs {
            Ok(graphs) => {
                let report = report(notes.clone(), output);
                sets.push(named("graph", mcp::graph(Arc::clone(&service), graphs, workers, &notes, report)));
            }
            Err(refused) => return refuse_files(&output, &names, refused),
        }
    }
    if has(Toolset::Author) {
        let file = one_file(&args, files.graphs)?;
        // An unreadable file of servers is reported before a client connects.
        if let Some(path) = &args.mcp {
            service.library().own_servers(path)?;
        }
        sets.push(named("author", mcp::author(Arc::clone(&service), Author::new(file, args.mcp, pool)?)));
    }
    match over_http {
        Some((address, metrics)) => {
            let page = args.studio.then(|| page(&service));
            http::serve(mcp::Content::Project(service, sets), address, &args.over_http, page, metrics, &output)?;
        }
        None => {
            greet(&output);
            mcp::serve(service.project(), sets.into_iter().map(|set| set.tools).collect())?;
        }
    }
    notes.flush();
    Ok(Exit::Done)
}

impl Serve {
    /// Returns the options of a project that is served.
    fn options(&self, of_project: Options) -> Options {
        Options {
            strictness: self.leniency.strictness(),
            human: match self.human {
                HumanArg::Attested => Human::Attested,
                HumanArg::Verified => Human::Verified,
            },
            states: match (self.stateless, self.ledger) {
                (false, _) => States::Handles,
                (true, false) => States::Tokens,
                (true, true) => States::Ledger,
            },
            is_remote: self.over_http.is_given(),
            lists_clashes: self.studio,
            ..of_project
        }
    }
}

/// Returns the studio that is served beside the tools.
fn page(service: &Arc<Service>) -> StudioSettings {
    let Actor::Person { name, .. } = person().by else { unreachable!("who sits at a terminal is a person") };
    StudioSettings { service: Arc::clone(service), person: name, port: None, read_only: false, enrols: false }
}

/// Returns the toolsets that lead agents, as far as they are chosen.
fn leading(
    service: &Arc<Service>,
    toolsets: &[Toolset],
    profile: ProfileArg,
    tell: &mcp::Tell,
) -> Vec<mcp::NamedTools> {
    let has = |set| toolsets.contains(&set);
    let mut sets = Vec::new();
    if has(Toolset::Navigate) {
        let profile = match profile {
            ProfileArg::Strict => mcp::Profile::Strict,
            ProfileArg::Author => mcp::Profile::Author,
        };
        sets.push(named("navigate", mcp::navigate(Arc::clone(service), profile)));
    }
    if has(Toolset::Tasks) {
        let draws = !has(Toolset::Navigate) || profile == ProfileArg::Author;
        sets.push(named("tasks", mcp::tasks(Arc::clone(service), draws)));
    }
    if has(Toolset::Gates) {
        sets.push(named("gates", mcp::gates(Arc::clone(service), Arc::clone(tell))));
    }
    sets
}

/// Names a toolset by its path over HTTP.
pub(super) fn named(name: &'static str, tools: mcp::ServedTools) -> mcp::NamedTools {
    mcp::NamedTools { name, tools }
}

/// The files on the command line, by kind.
#[derive(Default)]
struct NamedFiles {
    /// Files of workflows for agents.
    led: Vec<PathBuf>,
    /// Files of graphs.
    graphs: Vec<PathBuf>,
}

/// Returns the toolsets to serve, and their files. A file of unknown kind counts as a workflow, whose review reports
/// its faults.
fn chosen(args: &Serve) -> anyhow::Result<(Vec<Toolset>, NamedFiles)> {
    let mut toolsets = args.toolset.clone();
    let given = |sets: &[Toolset]| toolsets.iter().any(|set| sets.contains(set));
    let (of_graphs, leading) =
        (given(&[Toolset::Graph, Toolset::Author]), given(&[Toolset::Navigate, Toolset::Tasks, Toolset::Gates]));
    // The file of the toolset `author` need not exist yet.
    if given(&[Toolset::Author]) && !given(&[Toolset::Graph]) && !leading {
        return Ok((toolsets, NamedFiles { led: Vec::new(), graphs: args.definitions.clone() }));
    }
    let mut named = NamedFiles::default();
    let mut has_activities = false;
    for path in &args.definitions {
        if given(&[Toolset::Author]) && !path.exists() {
            named.graphs.push(path.clone());
            continue;
        }
        for file in files_at(path)? {
            let run_as = run_as(&file.path)?;
            let is_graph = run_as == Some(RunAs::Calls);
            has_activities |= run_as == Some(RunAs::Activities);
            let is_for_graphs = if of_graphs == leading { is_graph } else { of_graphs };
            if is_for_graphs { named.graphs.push(file.path) } else { named.led.push(file.path) }
        }
    }
    if toolsets.is_empty() {
        let asked_for = args.stateless || args.profile == ProfileArg::Author;
        toolsets.push(match (named.graphs.first(), named.led.first()) {
            (Some(graph), Some(led)) => return Err(mixed(graph, led).into()),
            (Some(_), None) => Toolset::Graph,
            (None, _) if has_activities || asked_for => Toolset::Navigate,
            (None, _) => Toolset::Tasks,
        });
    }
    Ok((toolsets, named))
}

fn mixed(graphs: &Path, led: &Path) -> ServiceError {
    let (graphs, led) = (graphs.display(), led.display());
    ServiceError::refused(
        "mixed_files",
        format!("`{graphs}` holds graphs of tool calls, but `{led}` holds a workflow that an agent is led through"),
        "choose the tools to serve: `--toolset navigate,graph` serves both",
    )
}

/// Refuses options that would have no effect.
fn fitting(args: &Serve, toolsets: &[Toolset]) -> Result<(), ServiceError> {
    let has = |sets: &[Toolset]| toolsets.iter().any(|set| sets.contains(set));
    let refused = |message: &str, help: &str| Err(ServiceError::refused("usage", message, help));
    if args.mcp.is_some() && !has(&[Toolset::Graph, Toolset::Author]) {
        let message = "`--mcp` names servers for graphs, but no graph is served";
        return refused(message, "leave `--mcp` out, or name a file of graphs");
    }
    if args.model.is_some() && !has(&[Toolset::Graph]) {
        let message = "`--model` works on the states of graphs, but no graph is served";
        return refused(message, "leave `--model` out, or name a file of graphs or states");
    }
    if has(&[Toolset::Graph]) && args.definitions.is_empty() {
        return Err(ServiceError::refused(
            "file_required",
            "no file of graphs is named",
            "name the files whose graphs are to be served",
        ));
    }
    if args.stateless && !has(&[Toolset::Navigate]) {
        let message = "`--stateless` applies only to the tools of `navigate`, which are not served";
        return refused(message, "add `--toolset navigate`, or leave `--stateless` out");
    }
    if args.profile == ProfileArg::Author && !has(&[Toolset::Navigate]) {
        let message = "`--profile` applies only to the tools of `navigate`, which are not served";
        return refused(message, "add `--toolset navigate`, or leave `--profile` out");
    }
    if has(&[Toolset::Navigate]) && has(&[Toolset::Author]) && args.profile == ProfileArg::Strict {
        let message = "the tools of `author` show definitions, which an agent that is led must not read";
        return refused(message, "use `--profile author`, or serve the two toolsets separately");
    }
    Ok(())
}

/// Returns the receiver of notes for the person who serves.
pub(super) fn tell(notes: mcp::Notes) -> mcp::Tell {
    Arc::new(move |what| notes.note(one_line(&format!("note: {what}"))))
}

/// Returns the receiver of changes of graph files.
fn report(notes: mcp::Notes, output: Output) -> Box<dyn Fn(News<'_>) + Send + Sync> {
    Box::new(move |news| match news {
        News::Faulty(faulty) => {
            drawings(faulty, output.has_error_colour()).into_iter().for_each(|drawing| notes.note(drawing));
            notes.note("the tools are served as they were before until the faults are fixed".to_owned());
        }
        News::LeftOut(why) => notes.note(one_line(&format!("note: {why}"))),
    })
}

/// Returns the one file or folder that the toolset `author` edits. It need not exist yet.
fn one_file(args: &Serve, graphs: Vec<PathBuf>) -> Result<PathBuf, ServiceError> {
    let refused = |message: &str, help: &str| Err(ServiceError::refused("usage", message, help));
    // With other toolsets, it may be the definition that agents follow.
    let mut named = if graphs.is_empty() { args.definitions.clone() } else { graphs };
    match (named.pop(), named.len()) {
        (None, _) => refused(
            "no file is named to write to",
            "name one, as in `portolan serve tools.yaml --toolset author`; a file of graphs need not exist yet",
        ),
        (Some(file), 0) => Ok(file),
        (Some(_), others) => refused(
            &format!("{} files are named, but only one definition is written", others + 1),
            "name one file or folder; serve each of the others with its own server",
        ),
    }
}

pub(super) fn greet(output: &Output) {
    if std::io::stdin().is_terminal() {
        output.remark(
            "serving MCP on standard input and output; an MCP client normally starts this, see `portolan serve --help`",
        );
    }
}

/// Draws the faults that keep changed files from being served.
fn drawings(faulty: &DefinitionError, colour: bool) -> Vec<String> {
    let errors = faulty.findings.iter().filter(|(_, fault)| fault.is_error());
    errors.take(MAX_DRAWN).map(|(source, fault)| drawn(source, fault, colour)).collect()
}
