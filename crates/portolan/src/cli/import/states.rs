//! Imports a workflow of fsm-agent-flow: writes the same definition in YAML, and reports what behaves differently here.

use std::io::ErrorKind;
use std::path::Path;

use portolan_core::diagnostic::{Diagnostic, clip};
use portolan_core::dialect::{self, Strictness};
use portolan_core::source::{Format, Source, convert, parse};
use portolan_core::validate;
use portolan_runtime::copy::inside;
use portolan_runtime::library::{is_plain, read_definition};
use portolan_runtime::service::ServiceError;
use serde_json::json;

use crate::cli::check::{Lines, drawn, fault_json};
use crate::cli::output::safe;
use crate::cli::{Exit, Output};

/// The folder of a project's workflows.
const WORKFLOWS: &str = ".flow/workflows";

pub(super) fn run(output: Output, project: &Path, file: &Path, write: bool) -> anyhow::Result<Exit> {
    let source = read_definition(file)?;
    let (tree, _) = parse(&source);
    let original = dialect::of(&source).and_then(|dialect| dialect.original);
    if tree.is_some() && original.is_none() {
        let message = format!("`{}` has no `states`: it is not a workflow of fsm-agent-flow", file.display());
        return Err(ServiceError::refused(
            "nothing_to_import",
            message,
            "name a file that was written by its `to_json`",
        )
        .into());
    }
    let (graph, mut faults) = dialect::parse(&source, Strictness::Strict).first();
    if let Some(graph) = &graph {
        faults.extend(validate::validate(graph, &validate::no_library, Strictness::Strict).1);
    }
    faults.extend(original.into_iter().zip(&tree).flat_map(|(original, tree)| (original.unlike)(tree)));
    let text = convert(&source, Format::Yaml).unwrap_or_default();
    let is_faulty = faults.iter().any(Diagnostic::is_error) || text.is_empty();
    let written = match graph.filter(|_| write && !is_faulty) {
        Some(graph) if is_plain(&graph.id.value) => Some(begin(project, &graph.id.value, &text)?),
        Some(graph) => {
            let message = format!("`{}` cannot be the name of a file in `{WORKFLOWS}`", clip(&graph.id.value));
            let help = "give the workflow an `id` of letters, digits and `-`";
            return Err(ServiceError::refused("bad_id", message, help).into());
        }
        None => None,
    };
    tell(output, &source, (&text, written.as_deref()), &faults)?;
    if write && is_faulty && !output.is_json() {
        output.remark("nothing was written: fix the errors in the file, and import it again");
    }
    Ok(if is_faulty { Exit::InvalidDefinition } else { Exit::Done })
}

/// Creates the file of a workflow. It must not exist, and must be inside the project after links are resolved.
fn begin(project: &Path, id: &str, text: &str) -> Result<String, ServiceError> {
    let name = format!("{id}.yaml");
    let (path, place) = (inside(project, Path::new(WORKFLOWS))?.join(&name), format!("{WORKFLOWS}/{name}"));
    super::begin(&path, text).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let message = format!("`{place}` already exists");
            ServiceError::refused("workflow_exists", message, "move it away first, or give the file another name")
        }
        _ => super::unwritable("workflow_unwritable", &place, &error),
    })?;
    Ok(place)
}

fn tell(
    output: Output,
    source: &Source,
    (text, written): (&str, Option<&str>),
    faults: &[Diagnostic],
) -> anyhow::Result<()> {
    if output.is_json() {
        let lines = Lines::of(source);
        let notes: Vec<_> = faults.iter().map(|fault| fault_json(fault, &lines)).collect();
        return output.json(&json!({ "workflow": text, "written": written, "notes": notes }));
    }
    for fault in faults {
        output.remark(drawn(source, fault, output.has_error_colour()));
        output.remark("");
    }
    match written {
        Some(place) => output.line(format!("wrote {place}")),
        None => output.line(safe(text.trim_end())),
    }
}
