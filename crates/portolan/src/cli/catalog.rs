//! `portolan catalog`: lists and copies the workflows and agent templates of the program.

use clap::{Args, Subcommand};
use portolan_runtime::catalog::{self, AgentCard};
use portolan_runtime::copy::{self, CopyResult};
use portolan_runtime::library::{WorkflowLine, catalogue, shown};
use serde_json::json;

use super::output::{Output, one_line, table};
use super::{Common, Exit};

/// List or copy the workflows that come with Portolan.
///
/// It has templates for agents, too.
///
/// Example: portolan catalog copy bug-fix
#[derive(Args)]
pub(super) struct Catalog {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the workflows and the agent templates.
    ///
    /// Example: portolan catalog list
    List,
    /// Copy workflows or agent templates into the project, to change them there.
    ///
    /// Workflows are copied to .flow/workflows, agent templates to .claude/agents.
    ///
    /// Example: portolan catalog copy bug-fix quick-task
    Copy(CopyArgs),
}

#[derive(Args)]
struct CopyArgs {
    /// The ids to copy; none means all.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Copy agent templates instead of workflows.
    #[arg(long)]
    agents: bool,
    /// The target folder of agent templates, inside the project.
    #[arg(long, value_name = "DIR", requires = "agents")]
    target: Option<String>,
    /// Also replace files that were edited after they were copied.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Catalog, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    match &args.verb {
        Verb::List => list(&output),
        Verb::Copy(args) => {
            let project = common.options()?.project;
            let report = if args.agents {
                copy::agents(&project, args.target.as_deref(), &args.ids, args.force)?
            } else {
                copy::workflows(&project, &args.ids, args.force)?
            };
            copied(&output, &report)
        }
    }
}

fn list(output: &Output) -> anyhow::Result<Exit> {
    let functions = catalog::functions().filter_map(|entry| shown(&entry));
    let workflows: Vec<WorkflowLine> = catalogue().iter().cloned().chain(functions).collect();
    let agents: Vec<(&str, AgentCard)> =
        catalog::AGENTS.iter().map(|entry| (entry.id, AgentCard::read(entry))).collect();
    if output.is_json() {
        let workflows: Vec<_> = workflows
            .iter()
            .map(|workflow| json!({ "id": workflow.id, "name": workflow.name, "description": workflow.description, "steps": workflow.steps }))
            .collect();
        let agents: Vec<_> = agents
            .iter()
            .map(|(id, card)| json!({ "id": id, "name": card.name, "description": card.description, "model": card.model }))
            .collect();
        output.json(&json!({ "workflows": workflows, "agents": agents }))?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = workflows
        .iter()
        .map(|workflow| vec![workflow.id.clone(), format!("{} steps", workflow.steps), workflow.description.clone()])
        .collect();
    output.line(table(&rows))?;
    output.line("")?;
    let rows: Vec<Vec<String>> =
        agents.iter().map(|(id, card)| vec![(*id).to_owned(), card.description.clone()]).collect();
    output.line(table(&rows))?;
    Ok(Exit::Done)
}

fn copied(output: &Output, report: &CopyResult) -> anyhow::Result<Exit> {
    if output.is_json() {
        let errors: Vec<_> = report.errors.iter().map(|(id, error)| json!({ "id": id, "error": error })).collect();
        output.json(
            &json!({ "path": report.path, "copied": report.copied, "unchanged": report.unchanged, "errors": errors }),
        )?;
    } else {
        for id in &report.copied {
            output.line(format!("copied     {id}"))?;
        }
        for id in &report.unchanged {
            output.line(format!("unchanged  {id}"))?;
        }
        for (id, error) in &report.errors {
            output.remark(one_line(&format!("error: {id}: {error}")));
        }
        output.remark(format!("to {}", report.path.display()));
    }
    Ok(if report.errors.is_empty() { Exit::Done } else { Exit::Refused })
}
