//! Notifiers tell people of what the supervisor does: on the terminal, in a file, by a program, by a webhook, or as a
//! comment on GitHub. One that fails holds up nothing.

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

/// What telling somebody comes to, later: nothing, or why it could not be done.
pub type Telling<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Tells somebody.
pub trait Notifier: Send + Sync {
    /// Its name.
    fn id(&self) -> &str;

    /// Tells of something.
    fn send<'a>(&'a self, notice: &'a Notice) -> Telling<'a>;
}

/// What somebody is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The type of the event: that of its line in the log.
    #[serde(rename = "type")]
    pub kind: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The task.
    pub task_id: Option<String>,
    /// The issue of the task, where it is known.
    pub issue: Option<u64>,
    /// What there is to say, for people.
    pub body: String,
    /// What an answer quotes, where one is waited for.
    pub reply_token: Option<String>,
}

/// The notifiers that there are, in the order in which they were registered.
#[derive(Clone, Default)]
pub struct Notifiers {
    known: IndexMap<String, Arc<dyn Notifier>>,
    replaced: Vec<String>,
}

impl Notifiers {
    /// None.
    pub fn new() -> Notifiers {
        Notifiers::default()
    }

    /// The same with another one. One of the same name is replaced, in its place.
    #[must_use]
    pub fn with(mut self, notifier: impl Notifier + 'static) -> Notifiers {
        let id = notifier.id().to_owned();
        if self.known.insert(id.clone(), Arc::new(notifier)).is_some() {
            self.replaced.push(id);
        }
        self
    }

    /// The same with those that a project adds. Whoever calls has asked whether they are trusted.
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

    /// Tells everybody, one after the other. Returns who could not be told, and why.
    pub async fn tell(&self, notice: &Notice) -> Vec<(String, String)> {
        let mut failed = Vec::new();
        for (id, notifier) in &self.known {
            if let Err(why) = notifier.send(notice).await {
                failed.push((id.clone(), why));
            }
        }
        failed
    }

    /// The names of those that took the place of another.
    pub fn replaced(&self) -> &[String] {
        &self.replaced
    }
}
