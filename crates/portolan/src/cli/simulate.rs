//! `portolan simulate`: replays a written run with the engine, without any effects.

use std::path::{Path, PathBuf};

use clap::Args;
use portolan_core::diagnostic::{clip, list};
use portolan_core::dialect::Strictness;
use portolan_core::prove::Counterexample;
use portolan_runtime::library::{Library, read_definition};
use portolan_runtime::proof::{ReplayResult, replay};
use portolan_runtime::service::ServiceError;
use serde_json::json;

use super::check::{is_graph, refuse};
use super::output::one_line;
use super::show::{one_file, unknown};
use super::{Common, Exit, Output};

/// Replay a written run.
///
/// `portolan check --counterexamples` writes such runs.
///
/// The engine decides on each event as in a real run; nothing is called, checked or stored.
///
/// Example: portolan simulate trapped.yaml --replay runs/trapped-cannot-finish-1.json
#[derive(Args)]
#[command(after_help = "Exit code 1 when the definition no longer allows the run.")]
pub(super) struct Simulate {
    /// A file of a workflow or of a graph, or the id of a workflow.
    /// The id is one of the project or the catalogue [default: the workflow that the run names].
    #[arg(value_name = "FILE|ID")]
    workflow: Option<String>,
    /// The file of the run.
    #[arg(long, value_name = "FILE")]
    replay: PathBuf,
}

pub(super) fn run(args: &Simulate, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let counterexample = read(&args.replay)?;
    let named = counterexample.opening.workflow.to_string();
    let wanted = args.workflow.as_deref().unwrap_or(&named);
    let path = Path::new(wanted);
    let project = common.project()?;
    let workflow = if is_graph(path) {
        let graphs = Library::new(&project, &[], Strictness::Lenient)?.drawable_functions(path)?;
        let ids: Vec<String> = graphs.iter().map(|graph| graph.id().to_string()).collect();
        graphs.into_iter().find(|graph| graph.id().as_str() == named).ok_or_else(|| other(path, &named, &ids))?
    } else {
        let (given, id) = if path.exists() { one_file(path)? } else { (Vec::new(), wanted.to_owned()) };
        let library = Library::new(&project, &given, Strictness::Lenient)?;
        if given.is_empty() && !library.list().iter().any(|listed| listed.id == id) && library.path(&id).is_none() {
            return Err(unknown(&library, &id).into());
        }
        match library.drawable(&id) {
            Ok((workflow, _)) => workflow,
            Err(error) => return refuse(&output, &library, &id, error),
        }
    };
    let replayed = replay(&workflow, &counterexample);
    print(&output, &replayed, &counterexample)?;
    Ok(if replayed.refused.is_none() { Exit::Done } else { Exit::Failed })
}

fn read(file: &Path) -> Result<Counterexample, ServiceError> {
    let text = read_definition(file)?.text;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("`{}` is not a recorded run: {error}", file.display());
        ServiceError::failed(
            "not_a_run",
            message,
            "name a file that was written by `portolan check --counterexamples DIR`",
        )
    })
}

fn other(path: &Path, named: &str, ids: &[String]) -> ServiceError {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let message = format!("`{}` has no tool `{}`, which the run belongs to", path.display(), clip(named));
    ServiceError::refused("unknown_tool", message, format!("it has {}", list(&ids)))
}

fn print(output: &Output, replayed: &ReplayResult, counterexample: &Counterexample) -> anyhow::Result<()> {
    let ReplayResult { lines, at, is_over, refused } = replayed;
    if output.is_json() {
        let refused =
            refused.as_ref().map(|why| json!({ "event": lines.len() + 1, "message": why.message, "help": why.help }));
        let at: Vec<_> = at.iter().map(|(node, offers)| json!({ "node": node, "offers": offers })).collect();
        return output.json(&json!({
            "workflow": counterexample.opening.workflow, "lines": lines, "refused": refused, "over": is_over, "at": at,
            "assumes": counterexample.assumes,
        }));
    }
    for (number, line) in lines.iter().enumerate() {
        output.line(format!("  {:>3}  {}", number + 1, one_line(line)))?;
    }
    for assumed in &counterexample.assumes {
        output.line(format!("       supposing that {}", one_line(assumed)))?;
    }
    if let Some(why) = refused {
        let (number, message) = (lines.len() + 1, one_line(&why.message));
        output.remark(format!("event {number} is refused: {message}; {}", one_line(&why.help)));
    }
    for (node, offers) in at {
        let offers: Vec<&str> = offers.iter().map(String::as_str).collect();
        let next = if offers.is_empty() { "the engine continues by itself".to_owned() } else { list(&offers) };
        output.line(match is_over {
            true => format!("it has ended, at `{}`", one_line(node)),
            false => format!("it is at `{}`; next: {next}", one_line(node)),
        })?;
    }
    Ok(())
}
