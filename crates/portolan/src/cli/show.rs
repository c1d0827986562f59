//! `portolan show`: prints a workflow as an outline or a diagram.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use portolan_core::diagnostic::{clip, closest, list};
use portolan_core::dialect::Strictness;
use portolan_core::graph::{Graph, Kind, Workflow};
use portolan_core::present::{
    Drawing, DrawingInput, NodeOffsets, dot, drawing, function_word, mermaid, outline_with, svg,
};
use portolan_runtime::attachments::Origins;
use portolan_runtime::library::Library;
use portolan_runtime::service::ServiceError;
use serde_json::{Value, json};

use super::check::{files_at, is_graph, refuse};
use super::{Common, Exit, Output};

/// Show a workflow: its steps and where they lead.
///
/// Example: portolan show feature-development --diagram mermaid
#[derive(Args)]
pub(super) struct Show {
    /// A file of a workflow or of a graph, or the id of a workflow.
    /// The id is one of the project or the catalogue.
    #[arg(value_name = "FILE|ID")]
    workflow: String,
    /// The tool of a graph file; without it, the outline shows all of them.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Print a diagram instead.
    #[arg(long, value_enum, value_name = "KIND")]
    diagram: Option<Diagram>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Diagram {
    /// A Mermaid flowchart.
    Mermaid,
    /// Graphviz.
    Dot,
    /// A picture for browsers and documents.
    Svg,
    /// The outline.
    Text,
}

pub(super) fn run(args: &Show, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let project = common.project()?;
    let path = Path::new(&args.workflow);
    if is_graph(path) {
        return show_graph(&output, args, path, &project);
    }
    let (given, id) = if path.exists() { one_file(path)? } else { (Vec::new(), args.workflow.clone()) };
    let library = Library::new(&project, &given, Strictness::Lenient)?;
    if given.is_empty() && !library.list().iter().any(|listed| listed.id == id) && library.path(&id).is_none() {
        return Err(unknown(&library, &id).into());
    }
    let (workflow, origin) = match library.drawable(&id) {
        Ok(drawable) => drawable,
        Err(error) => return refuse(&output, &library, &id, error),
    };
    let sketch = library.sketch(&id, None)?;
    let origins = library.origins();
    let text = draw(&workflow, args.diagram, &sketch.graphs, &origins);
    if output.is_json() {
        let nodes = nodes_json(&workflow, &origins, |kind| kind.word());
        output.json(&json!({ "id": id, "name": workflow.root().name, "description": workflow.root().description, "source": origin.word(), "nodes": nodes, "drawn": text, "drawing": placed(&workflow, &sketch.graphs) }))?;
    } else {
        output.line(text.trim_end())?;
    }
    remark_on_faults(&output, &Library::new(&project, &given, Strictness::Strict)?, &id)?;
    Ok(Exit::Done)
}

/// Shows the tools of a graph file. A diagram shows one of them.
fn show_graph(output: &Output, args: &Show, path: &Path, project: &Path) -> anyhow::Result<Exit> {
    let library = Library::new(project, &[], Strictness::Lenient)?;
    let (tools, origins) = (library.drawable_functions(path)?, library.origins());
    let names: Vec<&str> = tools.iter().map(|tool| tool.id().as_str()).collect();
    let shown: Vec<&Workflow> = match &args.tool {
        None => tools.iter().collect(),
        Some(name) => tools.iter().filter(|tool| tool.id().as_str() == name).collect(),
    };
    let one = matches!(args.diagram, Some(Diagram::Mermaid | Diagram::Dot | Diagram::Svg));
    if shown.is_empty() || (one && shown.len() > 1) {
        return Err(no_such_tool(&names, args.tool.as_deref(), path).into());
    }
    let graphs = graphs_of(path, project)?;
    let drawn: Vec<String> = shown.iter().map(|tool| draw(tool, args.diagram, &graphs, &origins)).collect();
    if output.is_json() {
        let tools = shown.iter().zip(&drawn).map(|(tool, drawn)| tool_json(tool, drawn, &graphs, &origins));
        output.json(&json!({ "file": path, "tools": tools.collect::<Vec<_>>() }))?;
    } else {
        output.line(drawn.iter().map(|text| text.trim_end()).collect::<Vec<_>>().join("\n\n"))?;
    }
    let findings = Library::new(project, &[], Strictness::Strict)?.review_functions(path, None)?;
    // Servers that only the person's own file defines are not faults of the graph.
    let faults = findings.iter().filter(|(_, fault)| fault.is_error() && fault.code != "unknown-server").count();
    if faults > 0 {
        output.remark(noted(&args.workflow, faults));
    }
    Ok(Exit::Done)
}

fn no_such_tool(names: &[&str], wanted: Option<&str>, path: &Path) -> ServiceError {
    let (code, message) = match wanted {
        Some(name) => ("unknown_tool", format!("there is no tool `{}` that can be drawn", clip(name))),
        None if names.is_empty() => ("unknown_tool", format!("no tool of `{}` can be drawn", path.display())),
        None => ("tool_required", format!("`{}` has {} tools", path.display(), names.len())),
    };
    let near = wanted.and_then(|name| closest(name, names.iter().copied()));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "`portolan check` says what is wrong with it".to_owned(),
        None => format!("name one with `--tool`: {}", list(names)),
    };
    ServiceError::refused(code, message, help)
}

/// Returns the graphs of a file as written, by name.
fn graphs_of(path: &Path, project: &Path) -> Result<Graphs, ServiceError> {
    let (given, id) = one_file(path)?;
    Ok(Library::new(project, &given, Strictness::Lenient)?.sketch(&id, None)?.graphs.clone())
}

/// Returns the nodes of a workflow as JSON, with their checks.
fn nodes_json(workflow: &Workflow, origins: &Origins, word: impl Fn(&Kind) -> &'static str) -> Vec<Value> {
    let nodes = workflow.root().steps.values().map(|step| &step.node);
    let objects = nodes.map(|node| {
        let mut object = json!({ "id": node.id, "name": node.name, "kind": word(&node.kind) });
        if let Some(verification) = node.verification() {
            object["verification"] = json!(verification);
            object["checks"] = json!(origins.checks(workflow.id().as_str(), node));
        }
        object
    });
    objects.collect()
}

fn tool_json(tool: &Workflow, drawn: &str, graphs: &Graphs, origins: &Origins) -> Value {
    let flow = tool.root();
    let program = flow.interface.as_ref();
    let input = program.and_then(|program| program.input.as_ref()).map(|schema| schema.value.value());
    let output = program.and_then(|program| program.output.as_ref()).map(|schema| schema.value.value());
    json!({
        "id": tool.id(),
        "description": flow.description,
        "inputSchema": input,
        "outputSchema": output,
        "nodes": nodes_json(tool, origins, function_word),
        "drawn": drawn,
        "drawing": placed(tool, graphs),
    })
}

fn noted(id: &str, faults: usize) -> String {
    let them = if faults == 1 { "1 fault".to_owned() } else { format!("{faults} faults") };
    format!("note: `{id}` has {them} and is shown repaired; `portolan check` says what is wrong")
}

/// Warns about faults: the diagram shows the repaired workflow of the lenient reading, not the written one.
fn remark_on_faults(output: &Output, strict: &Library, id: &str) -> anyhow::Result<()> {
    let faults = strict.review(id)?.faults.iter().filter(|fault| fault.is_error()).count();
    if faults > 0 {
        output.remark(noted(id, faults));
    }
    Ok(())
}

/// Returns the one workflow at a path.
pub(super) fn one_file(path: &Path) -> Result<(Vec<PathBuf>, String), ServiceError> {
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

pub(super) fn unknown(library: &Library, id: &str) -> ServiceError {
    if id.contains(['/', '\\'])
        || Path::new(id).extension().is_some_and(|ending| ["json", "yaml", "yml"].iter().any(|known| ending == *known))
    {
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

/// Graphs by the names by which they are called.
type Graphs = BTreeMap<String, Graph>;

fn draw(workflow: &Workflow, diagram: Option<Diagram>, graphs: &Graphs, origins: &Origins) -> String {
    match diagram {
        Some(Diagram::Mermaid) => mermaid(workflow, None),
        Some(Diagram::Dot) => dot(workflow),
        Some(Diagram::Svg) => placed(workflow, graphs).map(|drawing| svg(&drawing)).unwrap_or_default(),
        Some(Diagram::Text) | None => {
            outline_with(workflow, &|flow, node, check| origins.line(flow.as_str(), node, check))
        }
    }
}

/// Computes the drawing, with activities and loops open, and other workflows folded.
fn placed(workflow: &Workflow, graphs: &Graphs) -> Option<Drawing> {
    let none = BTreeSet::new();
    let graph = graphs.get(workflow.id().as_str())?;
    let find = |name: &str| graphs.get(name);
    Some(drawing(&DrawingInput {
        graph,
        workflow: Some(workflow),
        find: &find,
        folded: &none,
        opened: &none,
        moved: &NodeOffsets::new(),
    }))
}
