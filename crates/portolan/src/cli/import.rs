//! `portolan import`: the rules of another program become those of this project.

use std::path::Path;

use clap::{Args, ValueEnum};
use portolan_core::gates::guidelines::{write, xcoder};
use portolan_core::source::Source;
use portolan_runtime::gates::rules;
use portolan_runtime::library::read_definition;
use portolan_runtime::service::ServiceError;
use serde_json::json;

use super::check::drawn;
use super::output::Output;
use super::{Common, Exit};

/// Take over the rules that a project wrote down for another program.
///
/// Example: portolan import xcoder
#[derive(Args)]
#[command(
    after_help = "The rules are printed, and what could not be taken over is told on standard error. Nothing is written without \
                  `--write`, and no rules that are there are replaced."
)]
pub(super) struct Import {
    /// Whose rules: those of xCoder are in `.xcoder/guidelines.yaml` and in `.claude/settings.json`.
    #[arg(value_enum, value_name = "PROGRAM")]
    program: Program,
    /// Write them to `.portolan/guidelines.yaml`.
    #[arg(long)]
    write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Program {
    /// xCoder.
    Xcoder,
}

const GUIDELINES: &str = ".xcoder/guidelines.yaml";
const SETTINGS: &str = ".claude/settings.json";

pub(super) fn run(args: &Import, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let project = common.project()?;
    let Program::Xcoder = args.program;
    let (guidelines, settings) = (source(&project, GUIDELINES)?, source(&project, SETTINGS)?);
    if guidelines.is_none() && settings.is_none() {
        let message = format!("there is neither `{GUIDELINES}` nor `{SETTINGS}`");
        return Err(ServiceError::refused("nothing_to_import", message, "name the project with `--project`").into());
    }
    let imported = xcoder::import(guidelines.as_ref(), settings.as_ref());
    let text = write(&imported.rules);
    let text = if text.is_empty() { "# Everything is as usual.\n".to_owned() } else { text };
    let faulty = imported.notes.iter().any(|(_, note)| note.is_error());
    if args.write && !faulty {
        rules::begin(&project, &text)?;
    }
    tell(output, &text, &imported)?;
    Ok(if faulty { Exit::InvalidDefinition } else { Exit::Done })
}

fn source(project: &Path, file: &str) -> Result<Option<Source>, ServiceError> {
    let path = project.join(file);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    read_definition(&path).map(|source| Some(Source::new(file, &source.text)))
}

fn tell(output: Output, text: &str, imported: &xcoder::Imported) -> anyhow::Result<()> {
    if output.is_json() {
        let notes = imported.notes.iter().map(|(source, note)| {
            let at = note.span.map(|span| source.location(span.start));
            json!({
                "file": &*source.name,
                "line": at.map(|at| at.line),
                "column": at.map(|at| at.column),
                "message": note.message,
                "help": note.help,
            })
        });
        return output.json(&json!({ "guidelines": text, "notTakenOver": notes.collect::<Vec<_>>() }));
    }
    for (source, note) in &imported.notes {
        output.remark(drawn(source, note, output.has_error_colour()));
        output.remark("");
    }
    output.line(text.trim_end())
}
