//! Notifiers report to people what the supervisor does: on the terminal, in a file, by a program, by a webhook, or as a
//! comment on GitHub. A failure of one stops nothing.

mod command;
mod file;
mod github;
mod ssrf;
mod stdout;
mod webhook;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use indexmap::IndexMap;
use portolan_gates::plugins::{Plugins, Way};
use serde::Serialize;

pub use command::NotifierCommand;
pub use file::File;
pub use github::GitHub;
pub use stdout::Stdout;
pub use webhook::Webhook;

/// A notification in progress. Its error says why it failed.
pub type NotificationFuture<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// A channel for notices.
pub trait Notifier: Send + Sync {
    /// Returns the name of the notifier.
    fn id(&self) -> &str;

    /// Sends a notice.
    fn send<'a>(&'a self, notice: &'a Notice) -> NotificationFuture<'a>;
}

/// A notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The type of the event, as in the log.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The task.
    pub task_id: Option<String>,
    /// The issue of the task, if it is known.
    pub issue: Option<u64>,
    /// The text, for people.
    pub body: String,
    /// The token that an answer must quote, if an answer is expected.
    pub reply_token: Option<String>,
}

/// The registered notifiers, in the order of registration.
#[derive(Clone, Default)]
pub struct Notifiers {
    known: IndexMap<String, Arc<dyn Notifier>>,
    replaced: Vec<String>,
}

impl Notifiers {
    /// Returns an empty registry.
    pub fn new() -> Notifiers {
        Notifiers::default()
    }

    /// Adds a notifier. It replaces one of the same name, in its position.
    #[must_use]
    pub fn with(mut self, notifier: impl Notifier + 'static) -> Notifiers {
        let id = notifier.id().to_owned();
        if self.known.insert(id.clone(), Arc::new(notifier)).is_some() {
            self.replaced.push(id);
        }
        self
    }

    /// Adds the notifiers that a project declares. The caller must have checked that they are trusted.
    #[must_use]
    pub fn with_plugins(self, plugins: &Plugins, project: &std::path::Path) -> Notifiers {
        plugins.notifiers.iter().fold(self, |notifiers, notifier| {
            let (id, project): (String, PathBuf) = (notifier.id.clone(), project.to_owned());
            match notifier.way.clone() {
                Way::Command { argv } => notifiers.with(NotifierCommand { id, argv, project }),
                Way::Webhook { url, allow_private } => notifiers.with(Webhook { id, url, allow_private }),
                Way::File { path } => notifiers.with(File { id, path, project }),
                Way::GitHub { issue } => notifiers.with(GitHub { id, issue, project }),
            }
        })
    }

    /// Sends a notice through all notifiers, one after the other. Returns the names of those that failed, and why.
    pub async fn tell(&self, notice: &Notice) -> Vec<(String, String)> {
        let mut failed = Vec::new();
        for (id, notifier) in &self.known {
            if let Err(why) = notifier.send(notice).await {
                failed.push((id.clone(), why));
            }
        }
        failed
    }

    /// Returns the names of notifiers that replaced another.
    pub fn replaced(&self) -> &[String] {
        &self.replaced
    }
}
