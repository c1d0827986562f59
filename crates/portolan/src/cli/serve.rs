//! `portolan serve`: the MCP server, over standard input and output.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use portolan_core::dialect::{self, Strictness};
use portolan_core::run::Human;
use portolan_runtime::author::Author;
use portolan_runtime::graphs::{Faulty, Graphs, OpenError, own_servers};
use portolan_runtime::library::read_definition;
use portolan_runtime::servers::PoolOptions;
use portolan_runtime::service::{ErrorKind, Options, Service, ServiceError};

use super::check::{draw_findings, drawn, files_at, refuse};
use super::output::{Output, one_line};
use super::{Common, Exit, HumanArg, Leniency};
use crate::mcp::{self, News};

/// Serve workflows, or graphs of tool calls, to an agent over MCP (stdio).
///
/// Example: claude mcp add portolan -- portolan serve
#[derive(Args)]
#[command(
    after_help = "The project's workflows in .flow/workflows and the catalogue are served without being named. Where FILE holds graphs of tool calls, each of them is a tool."
)]
pub(super) struct Serve {
    /// More workflow files, or folders of them; or files of graphs.
    #[arg(value_name = "FILE|DIR")]
    definitions: Vec<PathBuf>,
    /// Which tools to serve [default: what the files hold].
    #[arg(long, value_enum, value_name = "SET")]
    toolset: Option<Toolset>,
    /// Your own file of MCP servers for graphs: those that a graph does not define itself.
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// Whose answer counts where a workflow asks a person.
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    human: HumanArg,
    #[command(flatten)]
    leniency: Leniency,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Toolset {
    /// Navigator's eleven: Init, Start, Current, Next and the tools that manage workflows.
    Tasks,
    /// The graphs of tool calls in FILE, each a tool.
    Graph,
    /// Thirteen tools with which an agent writes the graphs of one FILE, and tries them.
    Author,
}

/// How long servers may take to end by themselves once the client has left, and again once they were asked to.
const GRACE: Duration = Duration::from_millis(200);
/// The most faults that are drawn: nobody reads on, and each has its lines.
const MAX_DRAWN: usize = 100;

pub(super) fn run(args: Serve, common: &Common) -> anyhow::Result<Exit> {
    if args.toolset == Some(Toolset::Author) {
        return serve_author(args, common);
    }
    let mut files = Vec::new();
    for path in &args.definitions {
        files.extend(files_at(path)?.into_iter().map(|file| file.path));
    }
    let toolset = match args.toolset {
        Some(toolset) => toolset,
        None => held(&files)?,
    };
    match toolset {
        Toolset::Tasks => serve_tasks(args, files, common),
        Toolset::Graph => serve_graphs(args, files, common),
        Toolset::Author => serve_author(args, common),
    }
}

/// The toolset for what the files hold. What cannot be told is a matter of the tasks: they say what is wrong with it.
fn held(files: &[PathBuf]) -> Result<Toolset, ServiceError> {
    let (mut graphs, mut led) = (None, None);
    for path in files {
        let source = read_definition(path)?;
        let (first, _) = dialect::parse(&source, Strictness::Lenient).first();
        match first {
            Some(graph) if graph.program.is_some() => graphs = graphs.or(Some(path)),
            Some(_) => led = led.or(Some(path)),
            None => {}
        }
    }
    match (graphs, led) {
        (Some(graphs), Some(led)) => Err(ServiceError::refused(
            "mixed_files",
            format!(
                "`{}` holds graphs of tool calls, and `{}` a workflow that an agent is led through",
                graphs.display(),
                led.display()
            ),
            "serve them apart, each as a server of its own; `--toolset` says which one is meant",
        )),
        (Some(_), None) => Ok(Toolset::Graph),
        (None, _) => Ok(Toolset::Tasks),
    }
}

fn serve_tasks(args: Serve, files: Vec<PathBuf>, common: &Common) -> anyhow::Result<Exit> {
    if args.mcp.is_some() {
        let help = "leave `--mcp` out, or name a file of graphs";
        return Err(
            ServiceError::refused("usage", "`--mcp` has servers for graphs, and no graph is served", help).into()
        );
    }
    let mut options = common.options()?;
    options.definitions = files;
    options.strictness = args.leniency.strictness();
    options.human = match args.human {
        HumanArg::Attested => Human::Attested,
        HumanArg::Verified => Human::Verified,
    };
    let output = common.output();
    let service = Service::new(options)?;
    // What is named on the command line must be sound before a client connects.
    for id in service.library().given_ids() {
        match service.library().definition(&id) {
            Ok(_) => {}
            Err(error) if error.kind == ErrorKind::InvalidDefinition => {
                return refuse(&output, service.library(), &id, &error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    greet(&output);
    mcp::serve_tasks(Arc::new(service))?;
    Ok(Exit::Done)
}

fn serve_graphs(args: Serve, files: Vec<PathBuf>, common: &Common) -> anyhow::Result<Exit> {
    if files.is_empty() {
        let help = "name the files whose graphs are to be served";
        return Err(ServiceError::refused("file_required", "no file of graphs is named", help).into());
    }
    let strictness = args.leniency.strictness();
    let output = common.output();
    let (service, notes, pool) = with_servers(strictness, common)?;
    let names = files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>().join("`, `");
    let graphs = match Graphs::open(files, args.mcp, service.library(), strictness, pool) {
        Ok(graphs) => graphs,
        Err(OpenError::Faulty(faulty)) => return draw_findings(&output, &names, &faulty.findings),
        Err(OpenError::Failed(error)) => return Err(error.into()),
    };
    greet(&output);
    let reports = notes.clone();
    let report = move |news: News<'_>| match news {
        News::Faulty(faulty) => {
            drawings(faulty, output.has_error_colour()).into_iter().for_each(|drawing| reports.note(drawing));
            reports.note("the tools are served as they were before, until the faults are mended".to_owned());
        }
        News::LeftOut(why) => reports.note(one_line(&format!("note: {why}"))),
    };
    mcp::serve_graphs(Arc::new(service), graphs, &notes, Box::new(report))?;
    notes.flush();
    Ok(Exit::Done)
}

/// What serves functions: the service, who is told of things, and how their servers are kept.
fn with_servers(strictness: Strictness, common: &Common) -> anyhow::Result<(Service, mcp::Notes, PoolOptions)> {
    let options = Options { strictness, ..common.options()? };
    let notes = mcp::Notes::to(std::io::stderr());
    let pool = PoolOptions { on_stderr: Some(notes.of_servers()), grace: GRACE, ..PoolOptions::default() };
    Ok((Service::new(options)?, notes, pool))
}

fn serve_author(args: Serve, common: &Common) -> anyhow::Result<Exit> {
    let file = one_file(args.definitions)?;
    let strictness = args.leniency.strictness();
    let output = common.output();
    let (service, notes, pool) = with_servers(strictness, common)?;
    // A file of servers that cannot be read is said before a client connects.
    if let Some(path) = &args.mcp {
        own_servers(path)?;
    }
    let author = Author::new(file, args.mcp, strictness, pool)?;
    greet(&output);
    mcp::serve_author(Arc::new(service), author)?;
    notes.flush();
    Ok(Exit::Done)
}

/// The one file that is written. It need not exist yet.
fn one_file(mut named: Vec<PathBuf>) -> Result<PathBuf, ServiceError> {
    let refused = |message: &str, help: &str| Err(ServiceError::refused("usage", message, help));
    match (named.pop(), named.len()) {
        (None, _) => refused(
            "no file is named whose graphs are to be written",
            "name one, as in `portolan serve tools.yaml --toolset author`; it need not exist yet",
        ),
        (Some(file), 0) if file.is_dir() => refused(
            &format!("`{}` is a folder, and one file of graphs is written", file.display()),
            "name the file; it need not exist yet",
        ),
        (Some(file), 0) => Ok(file),
        (Some(_), others) => refused(
            &format!("{} files are named, and one file of graphs is written", others + 1),
            "name one file; serve each of the others by a server of its own",
        ),
    }
}

fn greet(output: &Output) {
    if std::io::stdin().is_terminal() {
        output
            .remark("serving MCP on standard input and output: an MCP client starts this, see `portolan serve --help`");
    }
}

/// What keeps changed files from being served, each fault in its place.
fn drawings(faulty: &Faulty, colour: bool) -> Vec<String> {
    let errors = faulty.findings.iter().filter(|(_, fault)| fault.is_error());
    errors.take(MAX_DRAWN).map(|(source, fault)| drawn(source, fault, colour)).collect()
}
