//! Answers to the questions of a run: with the page's token, which anyone who has it may use, or with a person's
//! passkey.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use portolan_core::run::{Actor, Channel};
use portolan_core::value::Outcome;
use portolan_runtime::people::{AnswerContent, Assertion, CHALLENGE_SECONDS, RP_ID};
use portolan_runtime::service::{Act, Caller, Report, Request, ServiceError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Studio;
use super::answer::{Answer, Body, InPath};
use super::definitions::broken;
use super::runs::address;
use crate::http::Refusal;
use crate::words::answer_command_anywhere;

/// The help if no passkey is enrolled.
const ENROL: &str = "run `portolan people passkey` in a terminal to enrol one";

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
    let told = tokio::task::spawn_blocking(move || {
        let people = studio.service.people();
        let credentials = people.credentials()?;
        if credentials.is_empty() {
            let message = "no passkey is enrolled for this project";
            return Err(ServiceError::refused("no_passkey", message, ENROL));
        }
        let challenge = people.challenge(&studio.challenges, &given.content(&run))?;
        Ok(json!({
            "challenge": challenge, "rpId": RP_ID, "credentials": credentials, "seconds": CHALLENGE_SECONDS,
        }))
    });
    Ok(Json(told.await.map_err(broken)??))
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
    let (given, caller) = match given.passkey.clone() {
        Some(passkey) => confirmed(&studio, &run, given, passkey).await?,
        None if view.asks_person => {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "needs_person",
                "only a person's own answer counts for this question, and a page does not identify a person",
                &format!(
                    "confirm it with a passkey, or answer in a terminal: `{}`",
                    answer_command_anywhere(studio.service.project(), &view)
                ),
            ));
        }
        None => (given, studio.person.clone()),
    };
    let outputs = given.set.filter(|set| !set.is_empty()).map(|set| Arc::new(Value::Object(set)));
    let report = Report { outcome: Outcome::from(given.outcome), note: given.note, outputs };
    studio.service.act(&request, &Act::Report(report), &caller).await?;
    studio.told(&run).await
}

/// Verifies the passkey's confirmation of this answer and returns the person as the caller.
async fn confirmed(
    studio: &Arc<Studio>,
    run: &str,
    given: AnswerRequest,
    passkey: Assertion,
) -> Result<(AnswerRequest, Caller), Refusal> {
    let Actor::Person { name, .. } = studio.person.by.clone() else {
        unreachable!("who sits before a studio is a person")
    };
    let (studio, run) = (Arc::clone(studio), run.to_owned());
    let given = tokio::task::spawn_blocking(move || {
        let people = studio.service.people();
        people.confirm_by_passkey(&studio.challenges, &given.content(&run), &studio.origin, &passkey)?;
        Ok::<_, ServiceError>(given)
    });
    let by = Actor::Person { name, via: Channel::Passkey };
    Ok((given.await.map_err(broken)??, Caller { by, can_ask: true }))
}
