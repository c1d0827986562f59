//! `portolan import`: converts another program's files of a project.

mod states;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use portolan_core::source::Source;
use portolan_gates::guidelines::{write, xcoder};
use portolan_gates::merge::Policy;
use portolan_runtime::library::read_definition;
use portolan_runtime::rules;
use portolan_runtime::service::ServiceError;
use serde_json::json;

use super::check::drawn;
use super::output::{Output, safe};
use super::{Common, Exit};

/// Import rules or workflows of another program.
///
/// Example: portolan import xcoder
#[derive(Args)]
#[command(after_help = "What is imported is printed, and what could not be imported is reported on standard error. \
        Nothing is written without `--write`, and no existing file is replaced.")]
pub(super) struct Import {
    /// The other program.
    /// The rules of xCoder are in `.xcoder/guidelines.yaml`, `.xcoder/merge-policy.yaml` and `.claude/settings.json`; a
    /// workflow of fsm-agent-flow is in FILE.
    #[arg(value_enum, value_name = "PROGRAM")]
    program: Program,
    /// The workflow, as fsm-agent-flow writes it.
    #[arg(value_name = "FILE", required_if_eq("program", "fsm-agent-flow"))]
    file: Option<PathBuf>,
    /// Write the imported files into the project.
    /// Rules go to `.portolan/guidelines.yaml` and `.portolan/merge-policy.yaml`, a workflow to `.flow/workflows`.
    #[arg(long)]
    write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Program {
    /// xCoder.
    Xcoder,
    /// fsm-agent-flow, version 2.0 of its JSON.
    FsmAgentFlow,
}

const GUIDELINES: &str = ".xcoder/guidelines.yaml";
const SETTINGS: &str = ".claude/settings.json";
const POLICY: &str = ".xcoder/merge-policy.yaml";
const OUR_POLICY: &str = ".portolan/merge-policy.yaml";

pub(super) fn run(args: &Import, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let project = common.project()?;
    match (args.program, &args.file) {
        (Program::FsmAgentFlow, Some(file)) => return states::run(output, &project, file, args.write),
        (Program::Xcoder, Some(file)) => {
            let message =
                format!("`{}` is not read: the rules of xCoder are read from where xCoder keeps them", file.display());
            return Err(ServiceError::refused(
                "usage",
                message,
                "leave the file out, and name the project with `--project`",
            )
            .into());
        }
        (_, None) => {}
    }
    let (guidelines, settings) = (source(&project, GUIDELINES)?, source(&project, SETTINGS)?);
    let policy = source(&project, POLICY)?;
    if guidelines.is_none() && settings.is_none() && policy.is_none() {
        let message = format!("none of `{GUIDELINES}`, `{SETTINGS}` and `{POLICY}` exists");
        return Err(ServiceError::refused("nothing_to_import", message, "name the project with `--project`").into());
    }
    let mut imported = xcoder::import(guidelines.as_ref(), settings.as_ref());
    // Both programs use the same format of a merge policy, so a valid one is copied unchanged.
    let faults = policy.as_ref().map(|policy| Policy::read(policy).1).unwrap_or_default();
    imported.notes.extend(policy.iter().flat_map(|policy| faults.iter().map(|fault| (policy.clone(), fault.clone()))));
    let text = write(&imported.rules);
    let text = if text.is_empty() { "# All settings have their default values.\n".to_owned() } else { text };
    let faulty = imported.notes.iter().any(|(_, note)| note.is_error());
    if args.write && !faulty {
        if policy.is_some() && project.join(OUR_POLICY).symlink_metadata().is_ok() {
            return Err(policy_exists().into());
        }
        if guidelines.is_some() || settings.is_some() {
            rules::begin(&project, &text)?;
        }
        if let Some(policy) = &policy {
            begin_policy(&project, &policy.text)?;
        }
    }
    let policy = policy.as_ref().filter(|_| !faulty).map(|policy| &*policy.text);
    tell(output, &text, policy, &imported)?;
    Ok(if faulty { Exit::InvalidDefinition } else { Exit::Done })
}

fn source(project: &Path, file: &str) -> Result<Option<Source>, ServiceError> {
    let path = project.join(file);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    read_definition(&path).map(|source| Some(Source::new(file, &source.text)))
}

fn policy_exists() -> ServiceError {
    let message = format!("`{OUR_POLICY}` already exists");
    ServiceError::refused("policy_exists", message, "move it away first, or copy what is missing into it")
}

/// Writes the merge policy of a project that has none.
fn begin_policy(project: &Path, text: &str) -> Result<(), ServiceError> {
    begin(&project.join(OUR_POLICY), text).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => policy_exists(),
        _ => unwritable("policy_unwritable", OUR_POLICY, &error),
    })
}

/// Creates a file, which must not exist.
fn begin(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    File::options().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

fn unwritable(code: &'static str, place: &str, error: &io::Error) -> ServiceError {
    let message = format!("`{place}` cannot be written ({error})");
    ServiceError::failed(code, message, "check the permissions of the project")
}

fn tell(output: Output, text: &str, policy: Option<&str>, imported: &xcoder::ImportResult) -> anyhow::Result<()> {
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
        return output
            .json(&json!({ "guidelines": text, "mergePolicy": policy, "notTakenOver": notes.collect::<Vec<_>>() }));
    }
    for (source, note) in &imported.notes {
        output.remark(drawn(source, note, output.has_error_colour()));
        output.remark("");
    }
    output.line(text.trim_end())?;
    match policy {
        Some(policy) => output.line(format!("\n# {OUR_POLICY}\n{}", safe(policy.trim_end()))),
        None => Ok(()),
    }
}
