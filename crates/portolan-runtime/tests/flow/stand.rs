//! A project with a workflow of phases, and how its task is told.

use std::path::Path;

use portolan_core::run::{Actor, BypassSource, Channel};
use portolan_runtime::audit::{self, Filter};
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Caller, FlowState, Options, Override, Service, ServiceError, Start, Tick};
use serde_json::Value;
use tempfile::TempDir;

/// Phases whose checks look at files: `ready` and `tested`.
pub(crate) const SMALL: &str = "
id: small
iterationCap: 1
fields:
  branch: { type: string, until: begin }
  prNumber: { type: number, from: ship, until: ship }
phases:
  - id: idle
  - id: begin
    accept: [{ id: ready, file: ready, invariant: X-1 }, { id: open, file: open, invariant: X-2 }]
  - id: work
  - id: test
    back: work
    accept: [{ id: tested, file: tested, invariant: X-3 }]
  - id: ship
    back: work
";

/// A project, and what is kept of its user.
pub(crate) struct Stand {
    folder: TempDir,
}

impl Stand {
    pub(crate) fn new() -> Stand {
        let folder = tempfile::tempdir().expect("a folder");
        let stand = Stand { folder };
        std::fs::create_dir_all(stand.project().join(".flow/workflows")).expect("a folder");
        stand.put(".flow/workflows/small.yaml", SMALL);
        stand
    }

    pub(crate) fn project(&self) -> std::path::PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// A service that has been started anew.
    pub(crate) fn service(&self) -> Service {
        let clock = Clock::Still(portolan_core::value::Timestamp(1_700_000_000_000));
        let options = Options { trust: Some(self.folder.path().join("data")), clock, ..Options::of(self.project()) };
        Service::new(options).expect("a service")
    }

    pub(crate) async fn start(&self, task: &str, at: Option<&str>) -> Result<FlowState, ServiceError> {
        let start = Start { task: task.to_owned(), at: at.map(str::to_owned), workflow: Some("small".to_owned()) };
        self.service().flow().start(&start, &me()).await
    }

    pub(crate) async fn tick(&self) -> Tick {
        self.service().flow().tick(&me()).await.expect("a tick")
    }

    pub(crate) async fn state(&self) -> FlowState {
        self.service().flow().status().await.expect("a state")
    }

    /// The log, a line each: type, phase, task and the data without the numbers of records and lines.
    pub(crate) fn log(&self) -> String {
        log_text(&self.project())
    }
}

pub(crate) fn log_text(project: &Path) -> String {
    let lines = audit::read(&audit::project_log(project), &Filter::default()).expect("a log");
    let mut text = String::new();
    for line in lines {
        let line = line.expect("a line");
        let mut data = line.data.clone();
        for key in ["record", "more", "definition", "version"] {
            data.as_object_mut().map(|data| data.remove(key));
        }
        let phase = line.phase.unwrap_or_default();
        text.push_str(&format!("{} {} {} {}\n", line.kind, phase, line.task.unwrap_or_default(), short(&data)));
    }
    text
}

fn short(data: &Value) -> String {
    let pairs = data.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    pairs.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

pub(crate) fn me() -> Caller {
    Caller { by: Actor::Agent("me".to_owned()), can_ask: false }
}

/// Whoever may get past a rule.
pub(super) fn person() -> Caller {
    Caller { by: Actor::Person { name: "me".to_owned(), via: Channel::CommandLine }, can_ask: true }
}

pub(crate) fn line(tick: &Tick) -> String {
    let sign = if tick.advanced { "on" } else { "no" };
    let reason = tick.reason.split("runs answer ").next().unwrap_or_default();
    format!("{sign} {} > {}: {reason}", tick.from, tick.to)
}

pub(crate) fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

/// A rule is got past in the present phase, for the whole of it.
pub(super) fn past(invariant: &str) -> Override {
    Override {
        invariant: invariant.to_owned(),
        reason: "a spike".to_owned(),
        phase: None,
        source: BypassSource::Command,
        identifier: "flow override".to_owned(),
        expires_at: None,
        once: false,
    }
}
