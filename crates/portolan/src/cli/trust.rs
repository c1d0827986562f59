//! `portolan trust`: a person allows the commands of a definition.

use std::path::{Path, PathBuf};

use clap::Args;
use portolan_runtime::clock::{Clock, rfc3339};
use portolan_runtime::library::{Library, workflow_files};
use portolan_runtime::service::{Service, ServiceError};
use portolan_runtime::trust::{Command, Digest, Entry, Trust, commands, commands_digest};
use serde_json::json;

use super::output::Output;
use super::{Common, Exit};

/// Allow the commands that a definition's acceptance checks run, in this project.
///
/// Example: portolan trust .flow/workflows/release.json
#[derive(Args)]
#[command(
    after_help = "Nothing that a repository names is run before this. It is recorded outside the repository; a changed command must be trusted anew."
)]
pub(super) struct TrustArgs {
    /// Workflow files.
    #[arg(value_name = "FILE", required_unless_present = "list")]
    files: Vec<PathBuf>,
    /// Take it back instead.
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    /// List what is trusted, in every project.
    #[arg(long, conflicts_with = "files")]
    list: bool,
}

pub(super) fn run(args: &TrustArgs, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let options = common.options()?;
    let service = Service::new(options)?;
    if args.list {
        return list(&output, service.trust());
    }
    let mut report = Vec::new();
    for file in &args.files {
        report.push(one(&output, &service, file, args.revoke)?);
    }
    if output.is_json() {
        output.json(&json!({ "files": report }))?;
    }
    Ok(Exit::Done)
}

fn one(output: &Output, service: &Service, file: &Path, revoke: bool) -> anyhow::Result<serde_json::Value> {
    let found = workflow_files(file)?;
    let [found] = found.as_slice() else {
        return Err(ServiceError::refused(
            "not_a_file",
            format!("`{}` is a folder", file.display()),
            "name the files one by one: each is looked at",
        )
        .into());
    };
    let library =
        Library::new(service.project(), std::slice::from_ref(&found.path), portolan_core::dialect::Strictness::Strict)?;
    let definition = library.definition(&found.id)?;
    let Some(digest) = commands_digest(&definition.workflow) else {
        if !output.is_json() {
            output.line(format!("{}: runs no commands, so that there is nothing to trust", file.display()))?;
        }
        return Ok(json!({ "file": file, "trusted": false, "commands": [] }));
    };
    let runs = commands(&definition.workflow);
    let (source, _) = library.text(&found.id)?;
    let entry = Entry {
        project: service.project().to_owned(),
        commands: digest,
        file: Digest::of(source.text.as_bytes()),
        path: file.to_string_lossy().into_owned(),
        at: Clock::System.now(),
        runs: runs.clone(),
    };
    let trusted = if revoke {
        service.trust().revoke(&entry.key()).map_err(trust_error)?;
        false
    } else {
        service.trust().record(entry).map_err(trust_error)?;
        true
    };
    if !output.is_json() {
        output.line(format!(
            "{}: {}",
            file.display(),
            if trusted { "these commands may run in this project" } else { "these commands may not run any more" }
        ))?;
        for command in &runs {
            output.line(format!("  {}", line(command)))?;
        }
    }
    Ok(json!({ "file": file, "trusted": trusted, "commands": runs }))
}

fn line(command: &Command) -> String {
    format!("{}/{}: {}  (at most {} s)", command.node, command.check, command.argv.join(" "), command.timeout_seconds)
}

fn list(output: &Output, trust: &Trust) -> anyhow::Result<Exit> {
    let (entries, faults) = trust.list();
    if output.is_json() {
        output.json(&json!({ "trusted": entries }))?;
    } else {
        for entry in &entries {
            output.line(format!("{}  {}  in {}", rfc3339(entry.at), entry.path, entry.project.display()))?;
            for command in &entry.runs {
                output.line(format!("  {}", line(command)))?;
            }
        }
    }
    for fault in &faults {
        output.error(fault.code(), &fault.message, &fault.help);
    }
    Ok(if faults.is_empty() { Exit::Done } else { Exit::Failed })
}

fn trust_error(error: portolan_runtime::trust::TrustError) -> ServiceError {
    ServiceError::failed(error.code(), error.message, error.help)
}
