//! `portolan init`: the first command in a project. Writes down the project's checks, and shows the next commands.

use std::path::Path;

use clap::Args;
use portolan_core::diagnostic::list;
use portolan_gates::project::ProjectChecks;
use portolan_runtime::project_checks::{self, FILE, hints, is_trusted};
use portolan_runtime::service::Service;
use portolan_supervision::people::People;
use serde_json::{Value, json};

use super::checks::{self, Proposal};
use super::output::{Output, command_line, one_line, table};
use super::{Common, Exit, person, trust};

/// Begin in a project.
///
/// It finds the project's checks, writes them down for workflows, and shows the next commands.
///
/// Example: portolan init --yes
#[derive(Args)]
#[command(after_help = "Nothing is run, and existing entries of `.portolan/checks.yaml` are kept. Only a person can \
        allow its commands, here or with `portolan trust`.")]
pub(super) struct Init {
    /// Write without asking. This does not allow the commands.
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(args: &Init, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let project = common.project()?;
    let Some(present) = checks::sound(output, &project)? else { return Ok(Exit::InvalidDefinition) };
    let proposal = Proposal::of(&project, &present);
    if !output.is_json() {
        shown(output, &project, &proposal, &present)?;
    }
    let wanted = match proposal.new.is_empty() {
        true => Ok(false),
        false => person::consented(&format!("Write these checks into `{FILE}`?"), args.yes),
    };
    let written = wanted.as_ref().is_ok_and(|wanted| *wanted);
    if written {
        checks::write(&project, &proposal.new)?;
    }
    if written && !output.is_json() {
        output.line(format!("written into `{FILE}`"))?;
    }
    let service = Service::new(common.options()?)?;
    let checks = project_checks::load(&project)?;
    let trusted =
        !checks.is_empty() && (is_trusted(&checks, service.trust())? || offered(args, output, &service, &checks)?);
    let unwritten = !proposal.new.is_empty() && !written;
    let next = next(unwritten, !checks.is_empty() && !trusted);
    if output.is_json() {
        output.json(&result_json(&project, &proposal, &present, (written, trusted), &next))?;
    } else if wanted.is_ok() {
        print_next(output, &next)?;
    }
    wanted?;
    Ok(if unwritten { Exit::Refused } else { Exit::Done })
}

/// Prints the suggested checks with their sources, and the existing ones.
fn shown(output: Output, project: &Path, proposal: &Proposal, present: &ProjectChecks) -> anyhow::Result<()> {
    proposal.print(output, project)?;
    let names: Vec<&str> = present.keys().map(String::as_str).collect();
    if !proposal.new.is_empty() {
        let new: Vec<&str> = proposal.new.iter().map(|one| one.name).collect();
        output.line(format!("to be written into `{FILE}`: {}", list(&new)))?;
    }
    if !names.is_empty() {
        output.line(format!("`{FILE}` already has {}; existing entries are kept", list(&names)))?;
    }
    Ok(())
}

/// The act that only a person may do.
const ACT: &str = "may trust what a project runs";

/// Asks whether the person at this terminal allows the commands. Returns `false` if there is no person to ask.
fn offered(args: &Init, output: Output, service: &Service, checks: &ProjectChecks) -> anyhow::Result<bool> {
    let is_asked = !args.yes && !output.is_json() && person::at_terminal(ACT).is_ok();
    if !is_asked || People::of(service).must_be_person(ACT).is_err() {
        return Ok(false);
    }
    // The existing commands have not been shown yet.
    for command in project_checks::commands(checks) {
        output.line(format!("  {}: {}", one_line(&command.check), command_line(&command.argv)))?;
    }
    if !person::consented(&format!("Allow the commands of `{FILE}` to run in this project?"), false)? {
        return Ok(false);
    }
    person::confirmed(service, ACT)?;
    trust::allow(&output, service, FILE)?;
    Ok(true)
}

/// Returns the next commands and their purposes.
fn next(unwritten: bool, untrusted: bool) -> Vec<(&'static str, &'static str)> {
    let write = unwritten.then_some(("portolan init --yes", "write these checks down"));
    let trust =
        untrusted.then_some(("portolan trust .portolan/checks.yaml", "allow these commands; only a person may"));
    let always = [
        ("portolan install claude-code", "have your coding agent ask before it acts; `--help` lists other agents"),
        ("portolan show feature-development", "see what checks the steps of a workflow"),
        ("portolan runs start feature-development", "start it, then let your agent continue"),
    ];
    write.into_iter().chain(trust).chain(always).collect()
}

fn print_next(output: Output, next: &[(&str, &str)]) -> anyhow::Result<()> {
    output.line("next:")?;
    let row = |(command, what): &(&str, &str)| vec![format!("  {command}"), (*what).to_owned()];
    output.line(table(&next.iter().map(row).collect::<Vec<_>>()))
}

fn result_json(
    project: &Path,
    proposal: &Proposal,
    present: &ProjectChecks,
    (written, trusted): (bool, bool),
    next: &[(&str, &str)],
) -> Value {
    let next: Vec<&str> = next.iter().map(|(command, _)| *command).collect();
    let present: Vec<&String> = present.keys().collect();
    json!({
        "found": proposal.as_json(),
        "hints": hints(project),
        "present": present,
        "written": written,
        "trusted": trusted,
        "next": next,
    })
}
