//! `portolan run`: runs a graph from the shell.

mod drive;
mod input;
mod live;
mod outcome;
mod progress;
mod rows;
mod steps;
mod waterfall;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use portolan_core::diagnostic::closest;
use portolan_core::graph::Kind;
use portolan_core::value::NodeId;
use portolan_runtime::catalog;
use portolan_runtime::definition::{Definition, DefinitionError};
use portolan_runtime::drive::Breakpoint;
use portolan_runtime::graphs::GraphVersion;
use portolan_runtime::library::{FunctionFiles, is_plain};
use portolan_runtime::ooda;
use portolan_runtime::script;
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::{Options, Service, ServiceError, StoreAt};
use portolan_runtime::states::ModelBindings;
use portolan_runtime::tools::RecordedAnswers;

use super::check::refuse_files;
use super::output::one_line;
use super::{Common, Exit, Leniency};
use crate::mcp::awaited;

pub(super) use drive::{Look, Over, drive, left};
pub(super) use outcome::{OutcomeReport, tell, width};
pub(super) use waterfall::waterfall;

use drive::PreparedRun;

/// Run a graph of tool calls, or states that models work on.
///
/// The result is printed as JSON.
///
/// Example: portolan run count.yaml folder=.
#[derive(Args)]
#[command(
    after_help = "Faults in the file or the input are reported before any server is started. Exit code 1 when the run fails."
)]
pub(super) struct Run {
    /// The file of the graph, or the name of a workflow.
    /// The workflow is one of the project, or of the catalogue, such as `ooda`.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The input, one field per argument.
    /// A value is JSON unless the input schema has a string.
    #[arg(value_name = "KEY=VALUE", conflicts_with = "input")]
    fields: Vec<String>,
    /// The tool of the file; required if it has several.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The whole input: JSON, `@file`, or `-` for standard input.
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
    /// Begin with the variables, the history and the `state` of this file.
    /// It is a context that fsm-agent-flow has saved, or the `context` of `portolan runs show --format json`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "mock", "record"])]
    context: Option<PathBuf>,
    /// Your own file of MCP servers, for servers that the graph does not define.
    /// It has the format of other MCP clients.
    #[arg(long, value_name = "FILE")]
    mcp: Option<PathBuf>,
    /// The model for states whose file names none.
    /// For example `openai:gpt-4o-mini`, `ollama:llama3@http://localhost:11434`, `scripted:answers.yaml`.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    model: Option<String>,
    /// The tools of the catalogue's `ooda`, separated by commas.
    /// `server/tool` with a server of `--mcp`, or `run:workflow`.
    #[arg(long, value_delimiter = ',', value_name = "TOOL")]
    tools: Vec<String>,
    /// Show every node with its time afterwards.
    #[arg(long)]
    trace: bool,
    /// Show the next calls without making them.
    #[arg(long)]
    dry_run: bool,
    /// Take answers from this file first: an object `mock` as in a test.
    #[arg(long, value_name = "FILE")]
    mock: Option<PathBuf>,
    /// Store the run, so that `portolan runs resume` can continue it.
    #[arg(long, conflicts_with_all = ["dry_run", "mock"])]
    durable: bool,
    /// Store the run and let a `portolan worker` of the same store drive it. The handle of the run is printed.
    #[arg(long, conflicts_with_all = ["dry_run", "mock", "record", "step", "breaks", "trace", "model"])]
    detach: bool,
    /// Write a test of this run, for `portolan test`.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    record: Option<PathBuf>,
    /// Wait before each node.
    /// Enter continues by one node, `c` to the end, `p` shows the context, `q` stops.
    #[arg(long)]
    step: bool,
    /// Wait before this node; may be given several times.
    #[arg(long = "break", value_name = "NODE")]
    breaks: Vec<String>,
    #[command(flatten)]
    leniency: Leniency,
}

pub(super) fn run(args: &Run, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    if args.file.is_dir() {
        let message = format!("`{}` is a folder", args.file.display());
        return Err(ServiceError::refused("not_a_file", message, "name the file of a graph").into());
    }
    let options = options(args, common)?;
    let service = Service::new(options.clone())?;
    let loaded = match opened(args, &service) {
        Ok(loaded) => loaded,
        Err(refused) => return refuse_files(&output, &args.file.to_string_lossy(), refused),
    };
    let definition = loaded.functions.called(args.tool.as_deref())?.clone();
    // This warning is printed at each run, since another implementation runs than the file names. Others are left to
    // `portolan check`.
    for (_, fault) in loaded.functions.warnings.iter().filter(|(_, fault)| fault.code == "not-imported") {
        output.remark(one_line(&format!("warning: {}", fault.message)));
    }
    let input = input::read(args, &definition)?;
    let written = match &args.mock {
        None => None,
        Some(path) => match script::answers(path, &loaded.functions) {
            Ok(answers) => Some(Arc::new(RecordedAnswers::of(&answers))),
            Err(refused) => return refuse_files(&output, &path.to_string_lossy(), refused),
        },
    };
    let breaks = breaks(args, &definition)?;
    let remembered = args.context.as_deref().map(|path| input::remembered(path, &definition)).transpose()?;
    let kept = keeps(args, &options, &definition) || remembered.is_some();
    if !kept {
        needs_nobody(&definition)?;
    }
    // A worker opens the models of a run that it drives.
    let cast = cast(&service, args.model.as_deref(), has_states(&definition) && !args.detach)?;
    let driven = PreparedRun {
        output,
        service: &service,
        options: &options,
        loaded: &loaded,
        definition: &definition,
        input,
        remembered,
        written,
        breaks,
        cast,
        kept,
        hidden: loaded.redaction(&definition),
    };
    if args.dry_run {
        return drive::dry_run(driven, args);
    }
    service.may_start_servers(&definition)?;
    if args.detach {
        return drive::detach(driven);
    }
    drive::run(driven, args)
}

/// Loads the file, or the workflow of that name if there is no such file.
fn opened(args: &Run, service: &Service) -> Result<GraphVersion, DefinitionError> {
    let library = service.library();
    let name = args.file.to_str().filter(|name| is_plain(name) && !args.file.exists());
    let shipped = name.filter(|name| library.path(name).is_none()).and_then(catalog::workflow);
    if !args.tools.is_empty() && shipped.is_none_or(|entry| entry.id != ooda::ID) {
        let message = format!(
            "`--tools` is for `{}` of the catalogue, and `{}` is another workflow",
            ooda::ID,
            args.file.display()
        );
        let help = "name the tools in its file, under `tools` of the states that may use them";
        return Err(ServiceError::refused("usage", message, help).into());
    }
    let source = shipped.map(|entry| if entry.id == ooda::ID { ooda::source(&args.tools) } else { entry.source() });
    let file = match &source {
        Some(source) => PathBuf::from(&*source.name),
        None => name.and_then(|name| library.path(name)).unwrap_or_else(|| args.file.clone()),
    };
    let files = [file];
    let wanted = FunctionFiles { text: source.as_ref(), ..FunctionFiles::served(&files, args.mcp.as_deref()) };
    let functions = library.functions(wanted)?;
    let servers = Arc::new(Servers::new(functions.servers.clone(), PoolOptions::default()));
    Ok(GraphVersion { functions, servers })
}

fn options(args: &Run, common: &Common) -> Result<Options, ServiceError> {
    let mut options = common.options()?;
    if args.dry_run || args.mock.is_some() {
        options.store = StoreAt::Memory;
    } else if (args.durable || args.detach) && matches!(options.store, StoreAt::Memory) {
        let wanted = if args.detach { "--detach" } else { "--durable" };
        return Err(ServiceError::refused(
            "no_store",
            "a store in memory keeps nothing beyond this process",
            format!("leave out `--store memory`, or `{wanted}`"),
        ));
    }
    options.strictness = args.leniency.strictness();
    Ok(options)
}

/// Returns whether the run is stored: on request, and if models work in it. Their answers have cost money, and a state
/// may wait for a person at any time.
fn keeps(args: &Run, options: &Options, definition: &Definition) -> bool {
    args.durable || args.detach || (has_states(definition) && !matches!(options.store, StoreAt::Memory))
}

/// Returns whether a definition has states, which models work on.
fn has_states(definition: &Definition) -> bool {
    let mut steps = definition.workflow.flows().flat_map(|(_, flow)| flow.steps.values());
    steps.any(|step| matches!(step.node.kind, Kind::State(_)))
}

/// Returns the nodes to wait before.
fn breaks(args: &Run, definition: &Definition) -> Result<Vec<Breakpoint>, ServiceError> {
    let nodes = || definition.workflow.flows().flat_map(|(_, flow)| flow.steps.keys());
    if (args.step || !args.breaks.is_empty()) && args.input.as_deref() == Some("-") {
        return Err(ServiceError::refused(
            "usage",
            "standard input cannot hold both the input and the commands of `--step` and `--break`",
            "give the input as `--input @FILE`",
        ));
    }
    for name in &args.breaks {
        if !nodes().any(|node| node.as_str() == name) {
            let help = match closest(name, nodes().map(NodeId::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`portolan show` lists all nodes".to_owned(),
            };
            return Err(ServiceError::refused(
                "unknown_step",
                format!("there is no node `{name}` to wait before"),
                help,
            ));
        }
    }
    Ok(args.breaks.iter().map(|name| name.as_str().into()).collect())
}

/// Returns the models that work on states. The named one is opened before anything begins.
pub(super) fn cast(service: &Service, model: Option<&str>, has_states: bool) -> anyhow::Result<ModelBindings> {
    if !has_states && model.is_none() {
        return Ok(ModelBindings::default());
    }
    Ok(service.cast(model, std::env::current_dir()?)?)
}

/// Refuses an unstored run that may wait for an agent or a person.
fn needs_nobody(definition: &Definition) -> Result<(), ServiceError> {
    let Some((who, node)) = awaited(&definition.workflow) else { return Ok(()) };
    Err(ServiceError::refused(
        "durable_required",
        format!("the run can wait for {who} at `{node}`, and would then be lost"),
        "use `--durable` to keep it until it is continued",
    ))
}

/// Returns the folder of the functions' file, in the form that a run stores.
fn folder(definition: &Definition) -> PathBuf {
    let folder = definition.folder();
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}
