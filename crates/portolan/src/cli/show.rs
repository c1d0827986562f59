//! `portolan show`: a workflow as an outline, or as a picture.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use portolan_core::graph::Workflow;
use portolan_core::present::{dot, mermaid, outline};
use portolan_runtime::library::Library;
use serde_json::json;

use super::check::files_at;
use super::{Common, Exit};

/// Show a workflow: its steps and where they lead.
///
/// Example: portolan show feature-development --diagram mermaid
#[derive(Args)]
pub(super) struct Show {
    /// A workflow file, or the id of a workflow of the project or the catalogue.
    #[arg(value_name = "FILE|ID")]
    workflow: String,
    /// Draw it instead.
    #[arg(long, value_enum, value_name = "KIND")]
    diagram: Option<Diagram>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Diagram {
    /// A Mermaid flowchart.
    Mermaid,
    /// Graphviz.
    Dot,
    /// The outline.
    Text,
}

pub(super) fn run(args: &Show, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let options = common.options()?;
    let path = Path::new(&args.workflow);
    let (given, id): (Vec<PathBuf>, String) = if path.exists() {
        let files = files_at(path)?;
        let id = files[0].id.clone();
        (files.into_iter().map(|file| file.path).collect(), id)
    } else {
        (Vec::new(), args.workflow.clone())
    };
    let library = Library::new(&options.project, &given, portolan_core::dialect::Strictness::Lenient)?;
    let (workflow, origin) = library.drawable(&id)?;
    let text = draw(&workflow, args.diagram);
    if output.is_json() {
        let nodes = workflow
            .root()
            .steps
            .values()
            .map(|step| json!({ "id": step.node.id, "name": step.node.name, "kind": step.node.kind.word() }));
        let nodes: Vec<_> = nodes.collect();
        output.json(&json!({ "id": id, "name": workflow.root().name, "description": workflow.root().description, "source": origin.word(), "nodes": nodes, "drawn": text }))?;
    } else {
        output.line(text.trim_end())?;
    }
    Ok(Exit::Done)
}

fn draw(workflow: &Workflow, diagram: Option<Diagram>) -> String {
    match diagram {
        Some(Diagram::Mermaid) => mermaid(workflow, None),
        Some(Diagram::Dot) => dot(workflow),
        Some(Diagram::Text) | None => outline(workflow),
    }
}
