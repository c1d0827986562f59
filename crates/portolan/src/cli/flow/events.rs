//! `portolan flow events`: lists, follows or verifies the event log.

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

/// The default number of events in a table.
const SHOWN: usize = 50;
/// How often a followed log is polled. Some file systems, such as network ones, do not report writers in other
/// processes. A reader does not notice a delay of a quarter second.
const INTERVAL: Duration = Duration::from_millis(250);

/// List recorded events: transitions, checks, guards, bypasses, and actors.
///
/// Example: portolan flow events --type "flow.guard.*" --since 12h
#[derive(Args)]
#[command(after_help = "The log is `.portolan/flow-events.jsonl` in the project, or the file that `FLOW_EVENTS_PATH` \
        (or else `XCODER_EVENTS_PATH`) names. Exit code 1 when `--verify` finds a fault, or `--fail-if-any` \
        finds an event.")]
pub(super) struct Events {
    /// Only events of a type, or of all types with a prefix.
    /// For example `flow.bypass`, `flow.guard.*`.
    #[arg(long = "type", value_name = "TYPE")]
    types: Option<Types>,
    /// Only events of a task.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only events of a run.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only events since a time.
    /// `2026-11-22T10:00:00Z`, `2026-11-22`, or `12h` for how long ago.
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// The most events, the newest ones [default: 50; with `--json`, all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: Option<u32>,
    /// Continue with new events until interrupted.
    #[arg(long)]
    follow: bool,
    /// Print the lines as they are in the log, one JSON value each.
    #[arg(long)]
    json: bool,
    /// Verify the log instead: no line was changed, removed or inserted.
    #[arg(long, conflicts_with_all = ["types", "task", "run", "since", "limit", "follow", "fail_if_any"])]
    verify: bool,
    /// Fail if there is any such event.
    #[arg(long, conflicts_with = "follow")]
    fail_if_any: bool,
}

/// A time, resolved against the clock when the argument is parsed.
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
            output.remark(format!("{skipped} lines of the log are not events; `--verify` says where they begin"));
        }
        // A reader that closed the pipe has read enough. The exit code still says whether there is any event.
        Err(error) if args.fail_if_any && is_broken_pipe(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(if args.fail_if_any && any { Exit::Failed } else { Exit::Done })
}

/// Prints lines as they are, and returns the number of lines that are not events. Sets `any` if there is an event.
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
        output.remark("no such event is recorded");
    } else {
        output.line(rows(&found))?;
    }
    if more && !output.is_json() {
        output.remark(format!("there are more than {limit}: raise `--limit` to see them"));
    }
    Ok(lines.skipped())
}

fn follow(args: &Events, output: Output, path: &Path) -> anyhow::Result<Exit> {
    // Opened before the present lines are read, so that none is missed in between.
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
            format!("the event log is not intact: `{}`, line {}: {}", fault.segment.display(), fault.line, fault.what);
        let help =
            format!("the {} lines before it are intact; keep a copy, and find out who changed the file", found.lines);
        output.error("log_broken", &message, &help);
        return Ok(Exit::Failed);
    }
    match found.head {
        Some(head) => output.line(format!("{} lines, all intact; the last one is {head}", found.lines))?,
        None => output.remark("no event is recorded in this project"),
    }
    Ok(Exit::Done)
}
