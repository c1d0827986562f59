//! Open questions are put to the client's user in a dialog, each once in a session. No call waits for that: whoever asked
//! has gone on, and the answer goes the way of `portolan supervisor reply`.

use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_core::diagnostic::clip;
use portolan_core::value::Timestamp;
use portolan_gates::supervisor::Question;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::Service;
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
use super::watched::{LOOK, Watched};
use crate::mcp::{ask, leading};

/// How many dialogs a client may have open: what it never answers holds up few others.
const MOST: usize = 3;
/// The name of the one input that is asked for.
const INPUT: &str = "answer";

/// Whom open questions are put to.
#[derive(Clone)]
pub(super) struct Dialogs {
    pub(super) service: Arc<Service>,
    pub(super) watched: Arc<Watched>,
    pub(super) tell: Tell,
    pub(super) peer: Peer<RoleServer>,
}

impl Dialogs {
    /// Puts questions for as long as it is awaited; dialogs that are open then are left to the client.
    pub(super) async fn put(self) {
        if !self.peer.peer_info().is_some_and(|client| leading::can_ask(&client.capabilities)) {
            return;
        }
        let mut updates = self.watched.updates();
        let mut offered = Offered::default();
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

    /// Whether it is a person who would answer; why not is said once.
    fn may_ask(&self, offered: &mut Offered) -> bool {
        let Err(error) = self.service.people().client_may_ask("portolan supervisor reply") else { return true };
        if !std::mem::replace(&mut offered.is_explained, true) {
            (self.tell)(&format!("questions are not put to the client's user: {error}"));
        }
        false
    }

    async fn ask(self, question: Question) {
        let token = &question.token;
        match self.answer(&question).await {
            Ok(Some(answer)) => {
                if let Err(error) = self.service.supervisor().reply(token, &answer, &ask::user()).await {
                    (self.tell)(&format!("the answer to `{token}` from the client's dialog does not count: {error}"));
                }
            }
            // It stays open, and is not put again in this session.
            Ok(None) => {}
            Err(why) => (self.tell)(&format!("the client could not ask its user `{token}`: {why}")),
        }
    }

    /// What the user answers; nothing where they do not want to, or somebody else has answered.
    async fn answer(&self, question: &Question) -> Result<Option<String>, String> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(question)?));
        let asked = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut asked = asked.map_err(|error| error.to_string())?;
        let response = tokio::select! {
            response = &mut asked.rx => response.map_err(|_gone| "it has left".to_owned())?,
            () = self.is_over(&question.token) => {
                // A client that has left has no dialog to close.
                let _gone = asked.cancel(Some("the question is not open any more".to_owned())).await;
                return Ok(None);
            }
        };
        match response.map_err(|error| error.to_string())? {
            ClientResult::ElicitResult(result) => Ok(said(&result, question)),
            _ => Err("its answer is none".to_owned()),
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

/// What was put to the user in this session.
#[derive(Default)]
struct Offered {
    tokens: BTreeSet<String>,
    /// Whether it was said why nothing is.
    is_explained: bool,
}

impl Offered {
    /// The next question to be put. One that its default has answered by now is none.
    fn next<'q>(&mut self, open: &'q [Question], now: Timestamp) -> Option<&'q Question> {
        self.tokens.retain(|token| open.iter().any(|question| question.token == *token));
        open.iter().find(|question| {
            let is_late = question.default.is_some() && question.deadline.is_some_and(|deadline| deadline <= now);
            !is_late && !self.tokens.contains(&question.token)
        })
    }
}

/// The question as the user reads it.
fn form(question: &Question) -> Result<ElicitRequestParams, String> {
    let about = question.task.as_deref().map_or_else(String::new, |task| format!("About the task {}: ", clip(task)));
    let message = format!(
        "{about}{}\n\nLeft open, it is answered with `portolan supervisor reply {} …`.",
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

/// No word twice: clients refuse such a form.
fn distinct(choices: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    choices.iter().filter(|choice| seen.insert(*choice)).cloned().collect()
}

/// The answer that a result brings; nothing where the user gives none. What is no text can only be one of the choices,
/// and where there are none it is no answer.
fn said(result: &ElicitResult, question: &Question) -> Option<String> {
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
