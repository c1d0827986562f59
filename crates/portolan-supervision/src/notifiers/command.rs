//! A program that receives the notice as JSON on its standard input.

use std::path::PathBuf;
use std::time::Duration;

use super::{Notice, NotificationFuture, Notifier};
use crate::drivers::process::{Program, run};

/// The timeout.
const DEADLINE: Duration = Duration::from_secs(20);

/// A program.
pub struct NotifierCommand {
    /// Its name.
    pub id: String,
    /// The program and its arguments. An argument that equals `{type}` or `{body}` is replaced by that field.
    pub argv: Vec<String>,
    /// The project, in which it is started.
    pub project: PathBuf,
}

impl Notifier for NotifierCommand {
    fn id(&self) -> &str {
        &self.id
    }

    fn send<'a>(&'a self, notice: &'a Notice) -> NotificationFuture<'a> {
        Box::pin(async move {
            let word = |word: &String| match word.as_str() {
                "{type}" => notice.kind.clone(),
                "{body}" => notice.body.clone(),
                _ => word.clone(),
            };
            let argv: Vec<String> = self.argv.iter().map(word).collect();
            let input = serde_json::to_string(notice).map_err(|error| error.to_string())?;
            started(&argv, &self.project, &input).await
        })
    }
}

/// Starts a program, and waits for its end.
pub(super) async fn started(argv: &[String], folder: &std::path::Path, input: &str) -> Result<(), String> {
    match run(Program { argv, folder, input, deadline: DEADLINE, secrets: true }).await {
        Ok(printed) => printed.failure(argv.first().map_or("", String::as_str)).map_or(Ok(()), Err),
        Err(failed) => Err(failed.failed.unwrap_or_default()),
    }
}
