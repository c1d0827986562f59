//! Answers to the questions of a run: with the page's token, which anyone who has it may use, or with a person's
//! passkey.

use std::sync::Arc;

use axum::extract::State;
use portolan_core::value::Outcome;
use portolan_runtime::service::{Act, Report, Request};
use portolan_supervision::people::{AnswerContent, Assertion};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Studio;
use super::answer::{Answer, Body, InPath};
use super::confirming::needs_passkey;
use super::runs::address;
use crate::http::Refusal;
use crate::words::answer_command_anywhere;

/// An answer: one that a passkey has yet to confirm, one that it has confirmed, or one that needs no passkey.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerRequest {
    revision: u64,
    branch: Option<String>,
    outcome: String,
    note: Option<String>,
    set: Option<Map<String, Value>>,
    passkey: Option<Assertion>,
}

impl AnswerRequest {
    /// Returns the content that a passkey confirms. An empty `set` equals a missing one.
    fn content<'a>(&'a self, run: &'a str) -> AnswerContent<'a> {
        AnswerContent {
            run,
            branch: self.branch.as_deref(),
            revision: self.revision,
            outcome: &self.outcome,
            note: self.note.as_deref(),
            values: self.set.as_ref().filter(|set| !set.is_empty()),
        }
    }

    fn request(&self, run: &str) -> Result<Request, Refusal> {
        let (branch, revision) = (self.branch.clone(), Some(self.revision));
        Ok(Request { branch, revision, asked: true, ..Request::of(address(run)?) })
    }
}

/// Creates the challenge that a passkey signs to confirm exactly this answer.
pub(super) async fn challenge(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    Body(given): Body<AnswerRequest>,
) -> Answer<Value> {
    // Fails early, before the person uses the passkey, if the run is unknown or the question was answered meanwhile.
    studio.service.view(&given.request(&run)?, &studio.person).await?;
    studio.challenge(given.content(&run).confirmed()).await
}

/// Answers the question at which a run waits.
pub(super) async fn answer(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    Body(given): Body<AnswerRequest>,
) -> Answer<Value> {
    let request = given.request(&run)?;
    // The rule of the command line. It tells a person from an agent; a token does not.
    let view = studio.service.view(&request, &studio.person).await?;
    let caller = match given.passkey.clone() {
        Some(passkey) => studio.confirmed(given.content(&run).confirmed(), passkey).await?,
        None if view.asks_person => {
            let command = answer_command_anywhere(studio.service.project(), &view);
            return Err(needs_passkey("answer counts for this question", &command));
        }
        None => studio.person.clone(),
    };
    let outputs = given.set.filter(|set| !set.is_empty()).map(|set| Arc::new(Value::Object(set)));
    let report = Report { outcome: Outcome::from(given.outcome), note: given.note, outputs };
    studio.service.act(&request, &Act::Report(report), &caller).await?;
    studio.run_json(&run).await
}
