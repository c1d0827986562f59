//! Findings about how work goes, from the event log of a project. They follow fixed rules, are recorded once, and are
//! compared with a baseline that a person stores.

use std::path::{Path, PathBuf};

use portolan_gates::findings::{Baseline, LogFinding, Sort, findings};
use portolan_gates::log_line::LogLine;
use portolan_runtime::audit::{self, Durability, Filter, Kind, Line, Log, LogEntry};
use portolan_runtime::clock::Clock;
use portolan_runtime::disk;
use portolan_runtime::error::ServiceError;
use serde_json::Value;

use portolan_runtime::supervisor_log::log_line;

/// The largest baseline that is read, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// Returns the present findings, and records the new ones in the log.
///
/// # Errors
/// The log or the baseline cannot be read, or the log cannot be written.
pub fn find(project: &Path, clock: &Clock) -> Result<Vec<LogFinding>, ServiceError> {
    let lines = lines(project)?;
    let found = findings(&all(&lines), baseline(project)?.as_ref());
    let log = Log::of_project(project)?.with_clock(clock.clone());
    for finding in &found {
        let kind = match finding.kind {
            Sort::Opportunity => Kind::Opportunity,
            Sort::Regression => Kind::RegressionDetected,
        };
        let is_it = |line: &Line| {
            let same = |name: &str, value: &str| line.data.get(name).and_then(Value::as_str) == Some(value);
            line.kind == kind.name()
                && same("rule", &finding.rule)
                && same("subject", &finding.subject)
                && same("metric", &finding.metric)
        };
        let entry = LogEntry::of(kind, finding.to_json());
        log.append_missing(&[entry], Durability::Written, is_it, |_, known| known.is_none())?;
    }
    Ok(found)
}

/// Stores the statistics of the finished tasks as a baseline for later ones.
///
/// # Errors
/// Too few tasks are over, the log cannot be read, or the baseline cannot be written.
pub fn keep_baseline(project: &Path) -> Result<Baseline, ServiceError> {
    let lines = lines(project)?;
    let Some(baseline) = Baseline::of(&all(&lines)) else {
        let help = "try again when at least five have ended";
        return Err(ServiceError::refused("too_few", "too few tasks have ended to compare others with", help));
    };
    let path = place(project);
    let text = serde_json::to_vec_pretty(&baseline).expect("numbers are JSON");
    disk::replace(&path, &text).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", path.display());
        ServiceError::failed("read_only", message, "make the project writable")
    })?;
    Ok(baseline)
}

fn lines(project: &Path) -> Result<Vec<Line>, ServiceError> {
    let lines = audit::read(&audit::project_log(project), &Filter::default())?;
    Ok(lines.collect::<Result<_, _>>()?)
}

fn all(lines: &[Line]) -> Vec<LogLine<'_>> {
    lines.iter().map(log_line).collect()
}

fn baseline(project: &Path) -> Result<Option<Baseline>, ServiceError> {
    let path = place(project);
    let damaged = |why: String| {
        let message = format!("`{}` cannot be read: {why}", path.display());
        ServiceError::failed("baseline_damaged", message, "store a new one with `portolan flow findings --baseline`")
    };
    let text = disk::beginning(&path, MAX_BYTES).map_err(|error| damaged(error.to_string()))?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| damaged(error.to_string()))
}

fn place(project: &Path) -> PathBuf {
    project.join(".portolan").join("baseline.json")
}
