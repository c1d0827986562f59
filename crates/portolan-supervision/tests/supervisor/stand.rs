//! A project with a workflow of phases, a clock that is set by hand, and what is on record.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use portolan_core::run::{Actor, Channel};
use portolan_runtime::audit::{self, Filter};
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Caller, Options, Service, ServiceError};
use portolan_supervision::supervisor::{Ask, Supervisor, Task};
use tempfile::TempDir;

/// Phases whose checks look at files.
pub(crate) const SMALL: &str = "
id: small
iterationCap: 2
fields:
  branch: { type: string, until: begin }
phases:
  - id: idle
  - id: begin
    prompt: Begin it.
    accept: [{ id: ready, file: ready, invariant: X-1 }]
  - id: work
    prompt: Do it.
    accept: [{ id: made, file: made, invariant: X-2 }]
";

pub(crate) struct Stand {
    folder: TempDir,
    pub(crate) at: Arc<AtomicI64>,
}

impl Stand {
    pub(crate) fn new() -> Stand {
        let folder = tempfile::tempdir().expect("a folder");
        let stand = Stand { folder, at: Arc::new(AtomicI64::new(1_700_000_000_000)) };
        stand.put(".flow/workflows/small.yaml", SMALL);
        stand
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// A service that has been started anew.
    pub(crate) fn service(&self) -> Service {
        let clock = Clock::Stepping(self.at.clone());
        let options = Options { trust: Some(self.folder.path().join("data")), clock, ..Options::of(self.project()) };
        Service::new(options).expect("a service")
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, seconds: i64) {
        self.at.fetch_add(seconds * 1_000, Ordering::Relaxed);
    }

    pub(crate) async fn queue(&self, tasks: &[&str]) {
        for name in tasks {
            let task = Task {
                name: (*name).to_owned(),
                goal: format!("do {name}"),
                workflow: Some("small".to_owned()),
                at: None,
            };
            Supervisor::of(&self.service()).enqueue(&task).await.expect("queued");
        }
    }

    pub(crate) async fn ask(&self, task: &str, choices: &[&str]) -> String {
        Supervisor::of(&self.service()).ask(&question(task, choices)).await.expect("asked")
    }

    pub(crate) async fn reply(&self, token: &str, body: &str) -> String {
        match Supervisor::of(&self.service()).reply(token, body, &me()).await {
            Ok(replied) => format!("{}{}", replied.answer, if replied.again { " again" } else { "" }),
            Err(error) => error.code.to_owned(),
        }
    }

    pub(crate) async fn next(&self) -> Option<String> {
        Supervisor::of(&self.service()).next_task().await.expect("it is known").map(|item| item.task)
    }

    /// The types of what is on record, each with its task.
    pub(crate) fn log(&self, prefix: &str) -> Vec<String> {
        let lines = audit::read(&audit::project_log(&self.project()), &Filter::default()).expect("a log");
        let lines = lines.map(|line| line.expect("a line")).filter(|line| line.kind.starts_with(prefix));
        lines.map(|line| format!("{} {}", line.kind, line.task.unwrap_or_default())).collect()
    }
}

pub(crate) fn question(task: &str, choices: &[&str]) -> Ask {
    Ask {
        task: Some(task.to_owned()),
        channel: "terminal".to_owned(),
        body: "How?".to_owned(),
        choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
        ..Ask::default()
    }
}

pub(crate) fn me() -> Caller {
    Caller { by: Actor::Person { name: "me".to_owned(), via: Channel::CommandLine }, can_ask: false }
}

pub(crate) fn error_text(error: &ServiceError) -> String {
    format!("{}: {}; {}", error.code, error.message, error.help)
}
