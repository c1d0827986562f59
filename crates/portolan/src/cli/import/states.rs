//! A workflow of fsm-agent-flow becomes one of the project: the same definition in YAML, and what is something else here.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use portolan_core::diagnostic::{Diagnostic, clip};
use portolan_core::dialect::{self, Strictness, unlike_original};
use portolan_core::source::{Source, Spelling, convert, parse};
use portolan_core::validate;
use portolan_runtime::library::{is_plain, read_definition};
use portolan_runtime::service::ServiceError;
use serde_json::json;

use crate::cli::check::drawn;
use crate::cli::output::safe;
use crate::cli::{Exit, Output};

/// Where the workflows of a project are.
const WORKFLOWS: &str = ".flow/workflows";

pub(super) fn run(output: Output, project: &Path, file: &Path, write: bool) -> anyhow::Result<Exit> {
    let source = read_definition(file)?;
    let (tree, _) = parse(&source);
    if tree.as_ref().is_some_and(|tree| tree.get("states").is_none()) {
        let message = format!("`{}` has no `states`: it is no workflow of fsm-agent-flow", file.display());
        return Err(
            ServiceError::refused("nothing_to_import", message, "name a file that its `to_json` has written").into()
        );
    }
    let (graph, mut faults) = dialect::parse(&source, Strictness::Strict).first();
    if let Some(graph) = &graph {
        faults.extend(validate::validate(graph, &validate::no_library, Strictness::Strict).1);
    }
    faults.extend(tree.iter().flat_map(unlike_original));
    let text = convert(&source, Spelling::Yaml).unwrap_or_default();
    let is_faulty = faults.iter().any(Diagnostic::is_error) || text.is_empty();
    let place = match graph.filter(|_| write && !is_faulty) {
        Some(graph) if is_plain(&graph.id.value) => Some(format!("{WORKFLOWS}/{}.yaml", graph.id.value)),
        Some(graph) => {
            let message = format!("`{}` cannot be the name of a file in `{WORKFLOWS}`", clip(&graph.id.value));
            return Err(ServiceError::refused(
                "bad_id",
                message,
                "give the workflow an `id` of letters, digits and `-`",
            )
            .into());
        }
        None => None,
    };
    let written = place.as_deref().map(|place| begin(project, place, &text)).transpose()?;
    tell(output, &source, (&text, written), &faults)?;
    if write && is_faulty && !output.is_json() {
        output.remark("nothing was written: mend the errors in the file, and import it again");
    }
    Ok(if is_faulty { Exit::InvalidDefinition } else { Exit::Done })
}

/// Writes a workflow that is not there yet; where.
fn begin<'p>(project: &Path, place: &'p str, text: &str) -> Result<&'p str, ServiceError> {
    let path = project.join(place);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        file.write_all(text.as_bytes())
    });
    written.map(|()| place).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let message = format!("`{place}` is there already");
            ServiceError::refused("workflow_exists", message, "move it away first, or give the file another name")
        }
        _ => {
            let message = format!("`{place}` cannot be written ({error})");
            ServiceError::failed("workflow_unwritable", message, "check the permissions of the project")
        }
    })
}

fn tell(
    output: Output,
    source: &Source,
    (text, written): (&str, Option<&str>),
    faults: &[Diagnostic],
) -> anyhow::Result<()> {
    if output.is_json() {
        let notes = faults.iter().map(|fault| {
            let at = fault.span.map(|span| source.location(span.start));
            json!({
                "code": fault.code,
                "line": at.map(|at| at.line),
                "column": at.map(|at| at.column),
                "message": fault.message,
                "help": fault.help,
            })
        });
        return output.json(&json!({ "workflow": text, "written": written, "notes": notes.collect::<Vec<_>>() }));
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
