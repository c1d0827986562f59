//! `portolan show`: a workflow as an outline, or as a picture.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use portolan_core::diagnostic::{clip, closest, list};
use portolan_core::dialect::Strictness;
use portolan_core::graph::Workflow;
use portolan_core::present::{dot, mermaid, outline};
use portolan_runtime::library::Library;
use portolan_runtime::service::{ErrorKind, ServiceError};
use serde_json::json;

use super::check::{files_at, refuse};
use super::{Common, Exit, Output};

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
    let project = common.project()?;
    let path = Path::new(&args.workflow);
    let (given, id) = if path.exists() { one_file(path)? } else { (Vec::new(), args.workflow.clone()) };
    let library = Library::new(&project, &given, Strictness::Lenient)?;
    if given.is_empty() && !library.list().iter().any(|listed| listed.id == id) && library.path(&id).is_none() {
        return Err(unknown(&library, &id).into());
    }
    let (workflow, origin) = match library.drawable(&id) {
        Ok(drawable) => drawable,
        Err(error) if error.kind == ErrorKind::InvalidDefinition => return refuse(&output, &library, &id, &error),
        Err(error) => return Err(error.into()),
    };
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
    remark_on_faults(&output, &Library::new(&project, &given, Strictness::Strict)?, &id)?;
    Ok(Exit::Done)
}

/// A workflow that has faults is drawn as lenient reading repairs it, which must not be taken for what is written.
fn remark_on_faults(output: &Output, strict: &Library, id: &str) -> anyhow::Result<()> {
    let faults = strict.review(id)?.faults.iter().filter(|fault| fault.is_error()).count();
    if faults > 0 {
        let them = if faults == 1 { "1 fault".to_owned() } else { format!("{faults} faults") };
        output.remark(format!("note: `{id}` has {them} and is shown repaired; `portolan check` says what is wrong"));
    }
    Ok(())
}

/// The one workflow at a path.
fn one_file(path: &Path) -> Result<(Vec<PathBuf>, String), ServiceError> {
    let files = files_at(path)?;
    let [file] = files.as_slice() else {
        let ids: Vec<&str> = files.iter().map(|file| file.id.as_str()).collect();
        return Err(ServiceError::refused(
            "several_workflows",
            format!("`{}` holds {} workflows: {}", path.display(), files.len(), list(&ids)),
            "name the file of one of them",
        ));
    };
    Ok((vec![file.path.clone()], file.id.clone()))
}

fn unknown(library: &Library, id: &str) -> ServiceError {
    if id.contains(['/', '\\']) || Path::new(id).extension().is_some_and(|extension| extension == "json") {
        let message = format!("there is no file `{}`", clip(id));
        return ServiceError::failed("unreadable", message, "check the path, or name a workflow by its id");
    }
    let ids: Vec<String> = library.list().into_iter().map(|listed| listed.id).collect();
    let help = match closest(id, ids.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "`portolan catalog list` shows what comes with Portolan; a project has its own in `.flow/workflows`".into()
        }
    };
    ServiceError::refused(
        "unknown_workflow",
        format!("`{}` is neither a file nor the id of a workflow", clip(id)),
        help,
    )
}

fn draw(workflow: &Workflow, diagram: Option<Diagram>) -> String {
    match diagram {
        Some(Diagram::Mermaid) => mermaid(workflow, None),
        Some(Diagram::Dot) => dot(workflow),
        Some(Diagram::Text) | None => outline(workflow),
    }
}
