//! `portolan checks`: the project's checks, which workflows refer to by name.

use std::path::Path;

use clap::{Args, Subcommand};
use portolan_core::graph::DEFAULT_TIMEOUT_SECONDS;
use portolan_core::run::Verdict;
use portolan_gates::project::{ProjectCheck, ProjectChecks, USUAL, line, read};
use portolan_runtime::clock::rfc3339;
use portolan_runtime::project_checks::{
    self, DetectedCheck, FILE, detect, hints, is_trusted, known, missing, perform, source,
};
use portolan_runtime::service::{Service, ServiceError};
use serde_json::{Value, json};

use super::check::draw_findings;
use super::check_progress;
use super::output::{Output, Paint, command_line, one_line, safe, table};
use super::{Common, Exit, block_on};

/// List, find or run the checks of the project.
///
/// Workflows refer to a check by a name such as `tests`, and the project defines its command.
///
/// Example: portolan checks detect --write
#[derive(Args)]
pub(super) struct Checks {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Detect(Detect),
    /// List the checks of the project, and their results for the present files.
    List,
    Run(Run),
}

/// Find the checks that the project's files suggest. Nothing is run.
#[derive(Args)]
struct Detect {
    /// Add them to `.portolan/checks.yaml`. Existing entries are kept.
    #[arg(long)]
    write: bool,
}

/// Run checks of the project, and store the results for exactly this content.
#[derive(Args)]
#[command(after_help = "Exit code 0 when all hold, 1 when one does not, 3 when one cannot be verified.")]
struct Run {
    /// The checks to run [default: all].
    #[arg(value_name = "CHECK")]
    checks: Vec<String>,
    /// Also run checks that have passed for the same content.
    #[arg(long)]
    again: bool,
}

pub(super) fn run(args: &Checks, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let project = common.project()?;
    match &args.verb {
        Verb::Detect(args) => found(args, output, &project),
        Verb::List => {
            let Some(checks) = sound(output, &project)? else { return Ok(Exit::InvalidDefinition) };
            let service = Service::new(common.options()?)?;
            list(output, &project, &checks, is_trusted(&checks, service.trust())?)
        }
        Verb::Run(args) => {
            let Some(checks) = sound(output, &project)? else { return Ok(Exit::InvalidDefinition) };
            performed(args, output, &project, &checks)
        }
    }
}

/// Reads the checks of the project. Prints all faults and returns `None` if they are invalid.
pub(super) fn sound(output: Output, project: &Path) -> anyhow::Result<Option<ProjectChecks>> {
    let Some(source) = source(project)? else { return Ok(Some(ProjectChecks::new())) };
    let (checks, faults) = read(&source);
    if faults.iter().any(|fault| fault.is_error()) {
        let findings = faults.into_iter().map(|fault| (source.clone(), fault)).collect();
        draw_findings(&output, FILE, &findings)?;
        return Ok(None);
    }
    Ok(Some(checks))
}

fn found(args: &Detect, output: Output, project: &Path) -> anyhow::Result<Exit> {
    let Some(present) = sound(output, project)? else { return Ok(Exit::InvalidDefinition) };
    let proposal = Proposal::of(project, &present);
    let written = args.write && !proposal.new.is_empty();
    if written {
        write(project, &proposal.new)?;
    }
    if output.is_json() {
        output.json(&json!({ "found": proposal.as_json(), "hints": hints(project), "written": written }))?;
        return Ok(Exit::Done);
    }
    proposal.print(output, project)?;
    if proposal.all.is_empty() {
        return Ok(Exit::Done);
    }
    match (written, proposal.new.is_empty()) {
        (true, _) => output.line(format!("written into `{FILE}`; review it, then run `portolan trust {FILE}`"))?,
        (false, true) => output.line(format!("`{FILE}` already has an entry for each"))?,
        (false, false) => output.line(format!(
            "run `portolan checks detect --write` to write the first suggestion for each check into `{FILE}`"
        ))?,
    }
    Ok(Exit::Done)
}

/// The checks that the files of a project suggest.
pub(super) struct Proposal {
    /// All suggestions. The first of each name is proposed.
    all: Vec<DetectedCheck>,
    /// The proposed checks that are not in the file yet.
    pub(super) new: Vec<DetectedCheck>,
}

impl Proposal {
    pub(super) fn of(project: &Path, present: &ProjectChecks) -> Proposal {
        let all = detect(project);
        let first = |name: &&str| all.iter().find(|one| one.name == *name).cloned();
        let proposed = USUAL.iter().filter_map(first);
        let new = proposed.filter(|one| !present.contains_key(one.name)).collect();
        Proposal { all, new }
    }

    fn proposes(&self, one: &DetectedCheck) -> bool {
        self.all.iter().find(|other| other.name == one.name) == Some(one)
    }

    pub(super) fn as_json(&self) -> Vec<Value> {
        let to_json = |one: &DetectedCheck| json!({ "check": one.name, "run": one.argv, "file": one.file, "proposed": self.proposes(one) });
        self.all.iter().map(to_json).collect()
    }

    /// Prints each suggestion with the file that it comes from.
    pub(super) fn print(&self, output: Output, project: &Path) -> anyhow::Result<()> {
        if self.all.is_empty() {
            return output.line(format!("no file here suggests a check; write checks into `{FILE}` by hand"));
        }
        let rows = self.all.iter().map(|one| {
            let name = if self.proposes(one) { one.name } else { "  or" };
            vec![name.to_owned(), command_line(&one.argv), one.file.clone()]
        });
        output.line(table(&rows.collect::<Vec<_>>()))?;
        for hint in hints(project) {
            output.remark(format!("see also {}", one_line(&hint)));
        }
        Ok(())
    }
}

/// Appends the new checks to the file.
pub(super) fn write(project: &Path, new: &[DetectedCheck]) -> Result<(), ServiceError> {
    let line = |one: &DetectedCheck| {
        let check = ProjectCheck::Run { argv: one.argv.clone(), timeout_seconds: DEFAULT_TIMEOUT_SECONDS };
        format!("  {} # {}\n", line(one.name, &check), one_line(&one.file))
    };
    let lines: String = new.iter().map(line).collect();
    let text = match source(project)?.map(|source| source.text.to_string()) {
        Some(text) if !text.trim().is_empty() => appended(&text, &lines)?,
        _ => format!(
            "# The checks of this project. A step that needs a check that is not listed here asks a person;\n# \
            `name: none` says that the project has no such check.\nchecks:\n{lines}"
        ),
    };
    project_checks::write(project, &text)
}

/// Appends checks to the text. Fails if the result would not be the old checks plus the new ones.
fn appended(text: &str, lines: &str) -> Result<String, ServiceError> {
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    let longer = format!("{text}{newline}{lines}");
    let (before, _) = read(&portolan_core::source::Source::new(FILE, text));
    let (after, faults) = read(&portolan_core::source::Source::new(FILE, longer.as_str()));
    let keeps = before.iter().all(|(name, check)| after.get(name) == Some(check));
    if faults.is_empty() && keeps && after.len() == before.len() + lines.lines().count() {
        return Ok(longer);
    }
    let message = format!("`{FILE}` is written in a form that checks cannot be appended to");
    let help =
        "add the checks that `portolan checks detect` shows by hand, or write one check per line below `checks:`";
    Err(ServiceError::refused("not_written", message, help))
}

fn list(output: Output, project: &Path, checks: &ProjectChecks, trusted: bool) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    for (name, check) in checks {
        let (command, state) = match check {
            ProjectCheck::Absent if !trusted => ("none".to_owned(), "not trusted".to_owned()),
            ProjectCheck::Absent => ("none".to_owned(), "the project has none".to_owned()),
            ProjectCheck::Run { argv, .. } => {
                let known = block_on(known(name, checks, project))?;
                let state = match (trusted, known) {
                    (false, _) => "not trusted".to_owned(),
                    (true, Some(verdict)) if verdict.ok => format!("held at {}", rfc3339(verdict.at)),
                    (true, Some(verdict)) => format!("did not hold: {}", verdict.summary),
                    (true, None) => "not run on these files".to_owned(),
                };
                (command_line(argv), state)
            }
        };
        rows.push((name, command, state));
    }
    if output.is_json() {
        let objects =
            rows.iter().map(|(name, command, state)| json!({ "check": name, "run": command, "state": state }));
        output.json(&json!({ "checks": objects.collect::<Vec<_>>(), "trusted": trusted }))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        output
            .line(format!("`{FILE}` has no checks; `portolan checks detect` finds what the project's files suggest"))?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(name, command, state)| vec![name.clone(), command, one_line(&state)]).collect();
    output.line(table(&rows))?;
    if !trusted {
        output.line(format!("a person must review them and run `portolan trust {FILE}`"))?;
    }
    Ok(Exit::Done)
}

fn performed(args: &Run, output: Output, project: &Path, checks: &ProjectChecks) -> anyhow::Result<Exit> {
    let names: Vec<&String> =
        if args.checks.is_empty() { checks.keys().collect() } else { args.checks.iter().collect() };
    if let Some(unknown) = names.iter().find(|name| !checks.contains_key(**name)) {
        let known: Vec<&str> = checks.keys().map(String::as_str).collect();
        let help = match known.as_slice() {
            [] => missing(unknown),
            known => format!("there are {}; {}", portolan_core::diagnostic::list(known), missing(unknown)),
        };
        return Err(ServiceError::refused("unknown_check", format!("there is no check `{unknown}`"), help).into());
    }
    if names.is_empty() {
        let message = format!("`{FILE}` has no checks");
        let help = "`portolan checks detect` finds what the project's files suggest";
        return Err(ServiceError::refused("no_checks", message, help).into());
    }
    let (mut worst, mut objects) = (Exit::Done, Vec::new());
    for name in names {
        if !output.is_json() {
            output.remark(format!("{name} …"));
        }
        let verdict = block_on(perform(name, project, args.again, check_progress::shown(output)))?;
        check_progress::rub_out(output);
        let (paint, word, reason, text, exit) = match &verdict {
            Verdict::Held => (Paint::Good, "holds", "", "", Exit::Done),
            Verdict::Shown { reason, .. } | Verdict::Excused { reason, .. } => {
                (Paint::Good, "holds", &**reason, "", Exit::Done)
            }
            Verdict::Broken { reason, output } => (Paint::Bad, "fails", &**reason, &**output, Exit::Failed),
            Verdict::Unknown { reason } | Verdict::ForPerson { reason } => {
                (Paint::Warn, "cannot verify", &**reason, "", Exit::UNVERIFIED)
            }
        };
        if output.is_json() {
            objects.push(json!({ "check": name, "standing": word, "reason": reason, "output": text }));
        } else {
            if !text.is_empty() {
                output.remark(safe(text.trim_end()));
            }
            let reason = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason)) };
            output.line(format!("{name} {}{reason}", output.paint(paint, word)))?;
        }
        if worst == Exit::Done || exit == Exit::Failed {
            worst = if exit == Exit::Done { worst } else { exit };
        }
    }
    if output.is_json() {
        output.json(&json!({ "checks": objects }))?;
    }
    Ok(worst)
}
