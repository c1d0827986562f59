//! Notifies people of questions through the project's notifiers: once when a question is asked, and once when it is
//! overdue. The question is recorded before, and stays open if a notifier fails.

use portolan_gates::supervisor::Question;
use portolan_runtime::audit::Kind;
use portolan_runtime::error::ServiceError;

use super::{Ask, Supervisor};
use crate::notifiers::{Notice, Notifiers};
use portolan_runtime::plugins;

/// The name of a notifier that failed, and why.
pub type NotifierFailure = (String, String);

impl Supervisor<'_> {
    /// Asks a question and notifies people of it. Returns the token that a reply must quote, and the notifiers that
    /// failed.
    ///
    /// # Errors
    /// As for [`ask`](Supervisor::ask).
    pub async fn ask_people(&self, ask: &Ask) -> Result<(String, Vec<NotifierFailure>), ServiceError> {
        let token = self.ask(ask).await?;
        let body = match ask.choices.is_empty() {
            true => ask.body.trim().to_owned(),
            false => format!("{} ({})", ask.body.trim(), ask.choices.join(" | ")),
        };
        let untold = self.send_notice(Kind::QuestionSent, ask.task.as_deref(), body, &token).await;
        Ok((token, untold))
    }

    /// Answers overdue questions with their defaults, and reminds people of those without one. Returns the notifiers
    /// that failed.
    ///
    /// # Errors
    /// As for [`settle_deadlines`](Supervisor::settle_deadlines).
    pub async fn remind_people(&self) -> Result<Vec<NotifierFailure>, ServiceError> {
        let mut untold = Vec::new();
        for Question { task, body, token, .. } in self.settle_deadlines().await? {
            let body = format!("not answered in time: {body}");
            untold.extend(self.send_notice(Kind::QuestionOverdue, task.as_deref(), body, &token).await);
        }
        Ok(untold)
    }

    async fn send_notice(&self, kind: Kind, task: Option<&str>, body: String, token: &str) -> Vec<NotifierFailure> {
        let notifiers = match self.notifiers() {
            Ok(notifiers) => notifiers,
            Err(error) => return vec![(plugins::FILE.to_owned(), format!("{}; {}", error.message, error.help))],
        };
        let state = self.service.flow().status().await;
        let issue = state.ok().filter(|state| state.task_id.as_deref() == task).and_then(|state| state.issue_number);
        let notice = Notice {
            kind: kind.name().to_owned(),
            at_ms: self.log.now().0,
            task_id: task.map(str::to_owned),
            issue,
            body,
            reply_token: Some(token.to_owned()),
        };
        notifiers.tell(&notice).await
    }

    /// Returns the notifiers of the project. Fails if the user has not trusted what they run.
    fn notifiers(&self) -> Result<Notifiers, ServiceError> {
        let plugins = plugins::load(self.service.project())?;
        if plugins.notifiers.is_empty() {
            return Ok(Notifiers::new());
        }
        plugins::must_be_trusted(&plugins, self.service.trust())?;
        Ok(Notifiers::new().with_plugins(&plugins, self.service.project()))
    }
}
