//! A comment on the task's issue, written with `gh`.

use std::path::PathBuf;

use portolan_runtime::repository::home::Home;

use super::command::started;
use super::{Notice, NotificationFuture, Notifier};

/// A comment on GitHub.
pub struct GitHub {
    /// Its name.
    pub id: String,
    /// The issue or pull request, or `None` for the issue of the task.
    pub issue: Option<u64>,
    /// The project, whose repository is meant.
    pub project: PathBuf,
}

impl Notifier for GitHub {
    fn id(&self) -> &str {
        &self.id
    }

    fn send<'a>(&'a self, notice: &'a Notice) -> NotificationFuture<'a> {
        Box::pin(async move {
            // A task without an issue has no place for a comment.
            let Some(issue) = self.issue.or(notice.issue) else { return Ok(()) };
            let mut argv =
                ["gh", "issue", "comment", &issue.to_string(), "--body-file", "-"].map(str::to_owned).to_vec();
            argv.extend(Home::of(&self.project).map_err(|unknown| unknown.why)?.named());
            let task = notice.task_id.as_deref().unwrap_or("the project");
            let mut body = format!("**{}** ({task})\n\n{}\n", notice.kind, notice.body);
            if let Some(token) = &notice.reply_token {
                body.push_str(&format!("\nAnswer with `portolan supervisor reply {token} …`.\n"));
            }
            started(&argv, &self.project, &body).await
        })
    }
}
