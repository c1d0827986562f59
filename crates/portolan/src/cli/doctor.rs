//! `portolan doctor`: checks that the installed hooks still work.

use std::path::Path;

use clap::Args;
use portolan_runtime::gates::review;
use portolan_runtime::pins::Pins;
use portolan_runtime::rules;
use portolan_runtime::service::{Service, ServiceError};
use portolan_supervision::gateway::ToolPins;
use serde_json::json;

use super::output::{Paint, one_line};
use super::{Common, Exit, block_on, people};
use crate::install::{ExaminationContext, Finding, Record, State, examine, gate, this};

/// Check whether what was installed works.
///
/// Hooks must be present and switched on, and must refuse forbidden calls.
///
/// Example: portolan doctor
#[derive(Args)]
#[command(
    after_help = "Each hook is run as its host would run it, with a forbidden call. The exit code is 1 when something is wrong."
)]
pub(super) struct Doctor {
    /// Print JSON, as with `--format json`.
    #[arg(long)]
    json: bool,
}

/// Checks that the active task is in the state that its journal and the event log say.
fn task(common: &Common) -> Option<Finding> {
    let finding = |state, message: String| Some(Finding { about: "task".to_owned(), state, message });
    let failed = |error: ServiceError| finding(State::Wrong, format!("{}; {}", error.message, error.help));
    let service = match common.options().and_then(Service::new) {
        Ok(service) => service,
        Err(error) => return failed(error),
    };
    let active = match block_on(service.flow().active()) {
        Ok(Ok(active)) => active?,
        Ok(Err(error)) => return failed(error),
        Err(error) => return finding(State::Wrong, error.to_string()),
    };
    match block_on(service.flow().strays()) {
        Ok(Ok(None)) => finding(State::Good, format!("`{}` is in the state that its journal records", active.task)),
        Ok(Ok(Some(why))) => finding(State::Wrong, format!("`{}` was tampered with: {why}", active.task)),
        Ok(Err(error)) => failed(error),
        Err(error) => finding(State::Wrong, error.to_string()),
    }
}

/// Checks whether the review model that the rules name may be shown changes.
fn reviewer(common: &Common) -> Option<Finding> {
    let finding = |state, message: String| Some(Finding { about: "review".to_owned(), state, message });
    // The finding about the task reports an error of the service.
    let service = common.options().and_then(Service::new).ok()?;
    let guidelines = match rules::rules(service.project()) {
        Ok(guidelines) => guidelines,
        Err(error) => return finding(State::Wrong, format!("{}; {}", error.message, error.help)),
    };
    let model = guidelines.review.model.as_deref()?;
    let digest = review::digest(&guidelines)?;
    let allow = format!("run `portolan trust {}`", rules::FILE);
    match (review::may_look(model), service.trust().is_trusted_here(&digest)) {
        (Err(error), _) => finding(State::Wrong, format!("{}; {}", error.message, error.help)),
        (Ok(()), Ok(true)) => finding(State::Good, format!("`{model}` is allowed to see changes")),
        (Ok(()), Ok(false)) => {
            let caveat = "it is not yet allowed to see changes, so a person is asked instead";
            finding(State::Doubtful, format!("`{model}`: {caveat}; {allow}"))
        }
        (Ok(()), Err(error)) => finding(State::Wrong, format!("{}; {}", error.message, error.help)),
    }
}

/// Checks whether the gate withholds tools of other servers, if it is used in the project.
fn withheld(common: &Common) -> Option<Finding> {
    let finding = |state, message: String| Some(Finding { about: "gate".to_owned(), state, message });
    // The finding about the task reports an error of the service.
    let service = common.options().and_then(Service::new).ok()?;
    match ToolPins::of(&service).and_then(|pins| pins.withheld()) {
        Ok(tools) if tools.is_empty() => None,
        Ok(tools) => {
            let message = format!("{} tools are withheld: `portolan gate diff` shows them", tools.len());
            finding(State::Doubtful, message)
        }
        Err(error) => finding(State::Wrong, format!("{}; {}", error.message, error.help)),
    }
}

/// Checks that the servers that were moved behind the gate can be started there.
fn behind_gate(common: &Common, record: &Record) -> Option<Finding> {
    record.files.iter().find(|installed| installed.file == Path::new(gate::FILE))?;
    let finding = |state, message: String| Some(Finding { about: "gate".to_owned(), state, message });
    // The finding about the task reports an error of the service.
    let service = common.options().and_then(Service::new).ok()?;
    let path = service.project().join(gate::FILE);
    let trusted = service
        .library()
        .own_servers(&path)
        .and_then(|setups| super::gate::trusted(&service, &path, &setups).map(|()| setups.len()));
    match trusted {
        Ok(count) => finding(State::Good, format!("{count} servers are behind the gate")),
        Err(error) => finding(State::Wrong, format!("{}; {}", error.message, error.help)),
    }
}

pub(super) fn run(args: &Doctor, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let here = common.project()?;
    // Linked worktrees use what was installed in their main worktree.
    let elsewhere = Pins::around(&here).ok().flatten().map(|(project, _)| project).filter(|project| *project != here);
    let project = elsewhere.clone().unwrap_or_else(|| here.clone());
    let record = Record::load(&project)?;
    let mut environment: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    environment.sort();
    let program = this();
    let looking = ExaminationContext { program: program.as_deref(), variables: &environment };
    let mut findings = block_on(examine(&project, &record, looking))?;
    findings.extend(people::findings(common));
    findings.extend(task(common));
    findings.extend(reviewer(common));
    findings.extend(withheld(common));
    findings.extend(behind_gate(common, &record));
    let wrong = findings.iter().any(|finding| finding.state == State::Wrong);
    if args.json || output.is_json() {
        output.json(&json!({ "good": !wrong, "findings": findings }))?;
    } else {
        if let Some(project) = &elsewhere {
            output.remark(format!("the installation recorded in `{}` also applies here", project.display()));
        }
        for Finding { about, state, message } in &findings {
            let word = match state {
                State::Good => output.paint(Paint::Good, "good"),
                State::Doubtful => output.paint(Paint::Warn, "doubtful"),
                State::Wrong => output.paint(Paint::Bad, "wrong"),
            };
            output.line(format!("{word}  {about}: {}", one_line(message)))?;
        }
        if record.files.is_empty() {
            output.remark("nothing is installed in this project: see `portolan install --help`");
        }
    }
    Ok(if wrong { Exit::Failed } else { Exit::Done })
}
