//! `portolan` without a command: shows the project's state and the next commands.

use portolan_core::diagnostic::{clip, list};
use portolan_runtime::library::workflow_files;
use portolan_runtime::project_checks::{self, FILE, is_trusted};
use portolan_runtime::service::RunLine;
use portolan_supervision::gateway::ParkedCalls;
use serde::Serialize;

use super::output::{Output, one_line, table};
use super::{Common, Exit};
use crate::install::Record;

/// The most open runs that are shown.
const MAX_RUNS: usize = 5;

/// The state of a project.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProjectStatus {
    project: String,
    /// The workflows of the project itself.
    workflows: Vec<String>,
    /// The names of its checks.
    checks: Vec<String>,
    /// Whether the commands of its checks may run.
    checks_allowed: bool,
    /// The targets of installed hooks: hosts, and `git`.
    hooks: Vec<String>,
    /// The active task, and its phase.
    task: Option<Task>,
    /// The open runs, the latest first.
    runs: Vec<RunLine>,
    /// Whether there are more.
    more_runs: bool,
    /// The number of calls that wait for a person.
    waiting_calls: usize,
    next: Vec<Next>,
}

#[derive(Serialize)]
struct Task {
    id: String,
    phase: String,
}

/// A command, and its purpose.
#[derive(Serialize)]
struct Next {
    command: String,
    what: &'static str,
}

pub(super) async fn run(common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let standing = ProjectStatus::of(common).await?;
    if output.is_json() {
        output.json(&standing)?;
    } else {
        standing.print(output)?;
    }
    Ok(Exit::Done)
}

impl ProjectStatus {
    async fn of(common: &Common) -> anyhow::Result<ProjectStatus> {
        let service = common.service_of_task()?;
        let project = service.project();
        let flows = project.join(".flow").join("workflows");
        let workflows = if flows.is_dir() { workflow_files(&flows)? } else { Vec::new() };
        let checks = project_checks::load(project)?;
        let mut hooks: Vec<String> = Record::load(project)?.files.into_iter().map(|file| file.host).collect();
        hooks.sort();
        hooks.dedup();
        let task = match service.flow().active().await? {
            Some(active) => Some(Task { id: active.task, phase: service.flow().status().await?.phase }),
            None => None,
        };
        let mut runs = service.list(true, MAX_RUNS + 1).await?;
        let more_runs = runs.len() > MAX_RUNS;
        runs.truncate(MAX_RUNS);
        let mut standing = ProjectStatus {
            project: project.display().to_string(),
            workflows: workflows.into_iter().map(|file| file.id).collect(),
            checks_allowed: !checks.is_empty() && is_trusted(&checks, service.trust())?,
            checks: checks.keys().cloned().collect(),
            hooks,
            task,
            runs,
            more_runs,
            // `portolan gate waiting` reports why they cannot be read.
            waiting_calls: ParkedCalls::of(&service).and_then(|calls| calls.waiting()).map_or(0, |calls| calls.len()),
            next: Vec::new(),
        };
        standing.next = standing.next();
        Ok(standing)
    }

    /// Returns the next commands, the most urgent first.
    fn next(&self) -> Vec<Next> {
        let mut next = Vec::new();
        let mut say = |wanted: bool, command: &str, what| {
            next.extend(wanted.then(|| Next { command: command.to_owned(), what }));
        };
        for run in self.runs.iter().filter(|run| run.status == "waiting") {
            say(true, &format!("portolan runs answer {}", run.run), "it waits for a person");
        }
        say(self.waiting_calls > 0, "portolan gate waiting", "a call waits for a person");
        say(self.task.is_some(), "portolan flow status", "see what the task needs");
        say(self.checks.is_empty(), "portolan init", "find what the project checks");
        let untrusted = !self.checks.is_empty() && !self.checks_allowed;
        say(untrusted, "portolan trust .portolan/checks.yaml", "allow the commands of the checks; only a person may");
        say(self.hooks.is_empty(), "portolan install claude-code", "have your coding agent ask before it acts");
        let idle = self.runs.is_empty() && self.task.is_none();
        say(idle, "portolan runs start feature-development", "start a run, then let your agent continue");
        say(!idle, "portolan studio --open", "watch in the browser");
        next
    }

    fn print(&self, output: Output) -> anyhow::Result<()> {
        let named = |names: &[String], nothing: &str| match names {
            [] => nothing.to_owned(),
            names => list(&names.iter().map(String::as_str).collect::<Vec<_>>()),
        };
        let allowed = if self.checks_allowed { "" } else { ": not allowed yet" };
        let checks = match self.checks.is_empty() {
            true => format!("none in `{FILE}`"),
            false => format!("{}{allowed}", named(&self.checks, "")),
        };
        let task = self.task.as_ref().map_or("none".to_owned(), |task| format!("{}, in phase {}", task.id, task.phase));
        let runs = if self.runs.is_empty() { "none" } else { "" };
        let rows = [
            ("project", self.project.clone()),
            ("workflows", named(&self.workflows, "none of its own; `portolan catalog list` lists others")),
            ("checks", checks),
            ("hooks", named(&self.hooks, "none")),
            ("task", task),
            ("open runs", runs.to_owned()),
        ];
        let row = |(name, what): &(&str, String)| vec![(*name).to_owned(), one_line(&clip(what))];
        output.line(table(&rows.iter().map(row).collect::<Vec<_>>()))?;
        if !self.runs.is_empty() {
            let row = |run: &RunLine| {
                let described = run.description.as_deref().map(clip).unwrap_or_default();
                [format!("  {}", run.run), run.status.clone(), run.workflow.clone(), run.step.clone(), described]
                    .to_vec()
            };
            output.line(table(&self.runs.iter().map(row).collect::<Vec<_>>()))?;
        }
        if self.more_runs {
            output.line("  and more: `portolan runs list`")?;
        }
        output.line("")?;
        output.line("next:")?;
        let row = |next: &Next| vec![format!("  {}", next.command), next.what.to_owned()];
        output.line(table(&self.next.iter().map(row).collect::<Vec<_>>()))?;
        output.remark("`portolan --help` lists the commands");
        Ok(())
    }
}
