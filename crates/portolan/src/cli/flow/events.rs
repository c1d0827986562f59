//! `portolan flow events`: the event log is listed, followed or verified.

use std::path::Path;
use std::thread;
use std::time::Duration;

use clap::Args;
use portolan_runtime::audit::{self, Filter, Line, Types, project_log, read, time_of, verify};
use portolan_runtime::clock::{Clock, rfc3339};
use portolan_runtime::service::ServiceError;
use serde_json::{Value, json};

use super::super::output::{Output, is_broken_pipe, table};
use super::super::{Common, Exit};
use super::words::words;

/// How many are shown in a table when nobody says.
const SHOWN: usize = 50;
/// How often a log that is followed is looked at. Nothing tells of writers in other processes on every file system, a
/// network's among them, and whoever reads along does not notice a quarter of a second.
const INTERVAL: Duration = Duration::from_millis(250);

/// List what was put on record: phases that were left, checks, guards, what was got past, and by whom.
///
/// Example: portolan flow events --type "flow.guard.*" --since 12h
#[derive(Args)]
#[command(
    after_help = "The log is `.portolan/flow-events.jsonl` in the project, or the file that `FLOW_EVENTS_PATH` (or else \
                  `XCODER_EVENTS_PATH`) names. Exit code 1 when `--verify` finds a fault, or `--fail-if-any` an event."
)]
pub(super) struct Events {
    /// Only those of a type, or of all types that begin so: `flow.bypass`, `flow.guard.*`.
    #[arg(long = "type", value_name = "TYPE")]
    types: Option<Types>,
    /// Only those of a task.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only those of a run.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only those since then: `2026-11-22T10:00:00Z`, `2026-11-22`, or `12h` for how long ago.
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// At most so many, the newest [default: 50; with `--json`, all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: Option<u32>,
    /// Go on with what is put on record from now on, until interrupted.
    #[arg(long)]
    follow: bool,
    /// Print the lines as they are in the log, one JSON value each.
    #[arg(long)]
    json: bool,
    /// Tell instead whether the log is whole: no line changed, left out or put in between.
    #[arg(long, conflicts_with_all = ["types", "task", "run", "since", "limit", "follow", "fail_if_any"])]
    verify: bool,
    /// Fail when there is any such event.
    #[arg(long, conflicts_with = "follow")]
    fail_if_any: bool,
}

/// A time as it was given: what it means depends on when it is asked.
#[derive(Clone, Debug)]
struct Since(portolan_core::value::Timestamp);

fn since(text: &str) -> Result<Since, String> {
    time_of(text, Clock::System.now()).map(Since)
}

pub(super) fn run(args: &Events, common: &Common) -> anyhow::Result<Exit> {
    let (output, path) = (common.output(), project_log(&common.project()?));
    match args {
        Events { verify: true, .. } => verified(output, &path),
        Events { follow: true, .. } => follow(args, output, &path),
        _ => list(args, output, &path),
    }
}

impl Events {
    fn filter(&self, default: Option<usize>) -> Filter {
        Filter {
            types: self.types.clone(),
            task: self.task.clone(),
            run: self.run.clone(),
            since: self.since.as_ref().map(|since| since.0),
            limit: self.limit.map(|limit| limit as usize).or(default),
        }
    }
}

fn list(args: &Events, output: Output, path: &Path) -> anyhow::Result<Exit> {
    let mut any = false;
    let printed = match args.json {
        true => stream(args, output, path, &mut any),
        false => shown(args, output, path, &mut any),
    };
    match printed {
        Ok(0) => {}
        Ok(skipped) => {
            output.remark(format!("{skipped} lines of the log are no events; `--verify` says where they begin"));
        }
        // Whoever closed the pipe has read enough; whether there is any is told by the status all the same.
        Err(error) if args.fail_if_any && is_broken_pipe(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(if args.fail_if_any && any { Exit::Failed } else { Exit::Done })
}

/// Prints lines as they are; how many lines were no events. `any` becomes true when there is one, printed or not.
fn stream(args: &Events, output: Output, path: &Path, any: &mut bool) -> anyhow::Result<u64> {
    let mut lines = read(path, &args.filter(None)).map_err(ServiceError::from)?;
    for line in &mut lines {
        let line = line.map_err(ServiceError::from)?;
        *any = true;
        output.line(line.text)?;
    }
    Ok(lines.skipped())
}

/// Prints a table, or one JSON value.
fn shown(args: &Events, output: Output, path: &Path, any: &mut bool) -> anyhow::Result<u64> {
    let mut filter = args.filter(Some(SHOWN));
    let limit = filter.limit.unwrap_or(SHOWN);
    filter.limit = Some(limit + 1);
    let mut lines = read(path, &filter).map_err(ServiceError::from)?;
    let mut found = lines.by_ref().collect::<Result<Vec<Line>, _>>().map_err(ServiceError::from)?;
    *any = !found.is_empty();
    let more = found.len() > limit;
    if more {
        found.remove(0);
    }
    if output.is_json() {
        let events: Vec<Value> = found.iter().filter_map(|line| serde_json::from_str(&line.text).ok()).collect();
        output.json(&json!({ "events": events, "more": more }))?;
    } else if found.is_empty() {
        output.remark("nothing of that sort is on record");
    } else {
        output.line(rows(&found))?;
    }
    if more && !output.is_json() {
        output.remark(format!("there are more than {limit}: `--limit` shows them"));
    }
    Ok(lines.skipped())
}

fn follow(args: &Events, output: Output, path: &Path) -> anyhow::Result<Exit> {
    // Before what is there is read, so that nothing is missed in between.
    let mut reader = audit::follow(path, &args.filter(None)).map_err(ServiceError::from)?;
    let before = read(path, &args.filter(Some(SHOWN))).map_err(ServiceError::from)?;
    let mut news = before.collect::<Result<Vec<Line>, _>>().map_err(ServiceError::from)?;
    let mut last = 0;
    loop {
        news.retain(|line| line.seq > last);
        last = news.last().map_or(last, |line| line.seq);
        if args.json || output.is_json() {
            news.iter().try_for_each(|line| output.line(&line.text))?;
        } else if !news.is_empty() {
            output.line(rows(&news))?;
        }
        #[expect(clippy::disallowed_methods, reason = "nothing wakes the reader of a log that other processes write")]
        thread::sleep(INTERVAL);
        news = reader.look().map_err(ServiceError::from)?;
    }
}

fn rows(lines: &[Line]) -> String {
    let absent = || "-".to_owned();
    let row = |line: &Line| {
        let phase = line.phase.clone().unwrap_or_else(absent);
        vec![rfc3339(line.at), line.kind.clone(), phase, line.task.clone().unwrap_or_else(absent), words(line)]
    };
    table(&lines.iter().map(row).collect::<Vec<_>>())
}

fn verified(output: Output, path: &Path) -> anyhow::Result<Exit> {
    let found = verify(path).map_err(ServiceError::from)?;
    if output.is_json() {
        let fault = found.first_fault.as_ref();
        let fault = fault.map(|fault| json!({ "file": fault.segment, "line": fault.line, "what": fault.what }));
        output.json(&json!({ "lines": found.lines, "head": found.head, "fault": fault }))?;
        return Ok(if found.first_fault.is_some() { Exit::Failed } else { Exit::Done });
    }
    if let Some(fault) = found.first_fault {
        let message =
            format!("the event log is not whole: `{}`, line {}: {}", fault.segment.display(), fault.line, fault.what);
        let help = format!("the {} lines before are; keep a copy, and find out who changed the file", found.lines);
        output.error("log_broken", &message, &help);
        return Ok(Exit::Failed);
    }
    match found.head {
        Some(head) => output.line(format!("{} lines, all whole; the last one is {head}", found.lines))?,
        None => output.remark("nothing is on record in this project"),
    }
    Ok(Exit::Done)
}
