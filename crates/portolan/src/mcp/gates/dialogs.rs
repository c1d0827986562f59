//! Asks the client's user open questions in dialogs, each once per session. No call waits for an answer, which is
//! handled as one of `portolan supervisor reply`.

use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::value::Timestamp;
use portolan_gates::supervisor::Question;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::Service;
use portolan_supervision::people::People;
use portolan_supervision::supervisor::Supervisor;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Tell;
use super::polling::{LOOK, QuestionWatch};
use crate::mcp::{ask, leading};

/// The most open dialogs of a client, so that unanswered ones delay few others.
const MOST: usize = 3;
/// The name of the single input.
const INPUT: &str = "answer";

/// The dialogs of a session.
#[derive(Clone)]
pub(super) struct Dialogs {
    pub(super) service: Arc<Service>,
    pub(super) watched: Arc<QuestionWatch>,
    pub(super) tell: Tell,
    pub(super) peer: Peer<RoleServer>,
}

impl Dialogs {
    /// Asks questions while it is awaited. Dialogs that are open when it is dropped are left to the client.
    pub(super) async fn put(self) {
        if !self.peer.peer_info().is_some_and(|client| leading::can_ask(&client.capabilities)) {
            return;
        }
        let mut updates = self.watched.updates();
        let mut offered = AskedQuestions::default();
        let mut open_dialogs = JoinSet::new();
        loop {
            updates.mark_unchanged();
            let Ok(open) = self.watched.open().await else {
                sleep(LOOK).await;
                continue;
            };
            while open_dialogs.len() < MOST
                && let Some(question) = offered.next(&open, Clock::System.now())
                && self.may_ask(&mut offered)
            {
                offered.tokens.insert(question.token.clone());
                open_dialogs.spawn(self.clone().ask(question.clone()));
            }
            tokio::select! {
                changed = updates.changed() => if changed.is_err() { return },
                Some(_) = open_dialogs.join_next() => {}
            }
        }
    }

    /// Returns whether the answer would be a person's. Reports the reason once if not.
    fn may_ask(&self, offered: &mut AskedQuestions) -> bool {
        let Err(error) = People::of(&self.service).client_may_ask("portolan supervisor reply") else { return true };
        if !std::mem::replace(&mut offered.is_explained, true) {
            (self.tell)(&format!("questions are not put to the client's user: {error}"));
        }
        false
    }

    async fn ask(self, question: Question) {
        let token = &question.token;
        match self.answer(&question).await {
            Ok(Some(answer)) => {
                if let Err(error) = Supervisor::of(&self.service).reply(token, &answer, &ask::user(None)).await {
                    (self.tell)(&format!("the answer to `{token}` from the client's dialog does not count: {error}"));
                }
            }
            // The question stays open, and is not asked again in this session.
            Ok(None) => {}
            Err(why) => (self.tell)(&format!("the client could not ask its user `{token}`: {why}")),
        }
    }

    /// Asks the user. Returns `None` if the user declines, or the question was answered elsewhere.
    async fn answer(&self, question: &Question) -> Result<Option<String>, String> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(question)?));
        let dialog = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut dialog = dialog.map_err(|error| error.to_string())?;
        let response = tokio::select! {
            response = &mut dialog.rx => response.map_err(|_gone| "it has disconnected".to_owned())?,
            () = self.is_over(&question.token) => {
                // A client that has left has no dialog to close.
                let _gone = dialog.cancel(Some("the question is no longer open".to_owned())).await;
                return Ok(None);
            }
        };
        match response.map_err(|error| error.to_string())? {
            ClientResult::ElicitResult(result) => Ok(form_answer(&result, question)),
            _ => Err("its reply is not an answer".to_owned()),
        }
    }

    async fn is_over(&self, token: &str) {
        let mut updates = self.watched.updates();
        while self.watched.was_open(token).await {
            if updates.changed().await.is_err() {
                return;
            }
        }
    }
}

/// The questions that the user was asked in this session.
#[derive(Default)]
struct AskedQuestions {
    tokens: BTreeSet<String>,
    /// Whether the reason for asking none was reported.
    is_explained: bool,
}

impl AskedQuestions {
    /// Returns the next question to ask. Skips those that their default has answered by now.
    fn next<'q>(&mut self, open: &'q [Question], now: Timestamp) -> Option<&'q Question> {
        self.tokens.retain(|token| open.iter().any(|question| question.token == *token));
        open.iter().find(|question| {
            let is_late = question.default.is_some() && question.deadline.is_some_and(|deadline| deadline <= now);
            !is_late && !self.tokens.contains(&question.token)
        })
    }
}

/// Returns the dialog's form.
fn form(question: &Question) -> Result<ElicitRequestParams, String> {
    let about = question.task.as_deref().map_or_else(String::new, |task| format!("About the task {}: ", clip(task)));
    let message = format!(
        "{about}{}\n\nIf you leave it open, it can be answered with `portolan supervisor reply {} …`.",
        question.body, question.token
    );
    let schema = ElicitationSchema::builder();
    let schema = match question.choices.as_slice() {
        [] => schema.required_string_with(INPUT, |text| text.title("Answer")),
        choices => schema.required_enum_schema(INPUT, EnumSchema::builder(distinct(choices)).untitled().build()),
    };
    let requested_schema = schema.build().map_err(str::to_owned)?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Removes duplicates: clients refuse a form with any.
fn distinct(choices: &[String]) -> Vec<String> {
    let mut known = BTreeSet::new();
    choices.iter().filter(|choice| known.insert(*choice)).cloned().collect()
}

/// Returns the answer of a result, or `None` if the user gave none. A value other than text can only be a choice, and
/// without choices it is an empty answer.
fn form_answer(result: &ElicitResult, question: &Question) -> Option<String> {
    if result.action != ElicitationAction::Accept {
        return None;
    }
    let answer = result.content.as_ref().and_then(|content| content.get(INPUT));
    Some(match answer {
        Some(Value::String(text)) => text.clone(),
        Some(other) if !question.choices.is_empty() => other.to_string(),
        _ => String::new(),
    })
}
