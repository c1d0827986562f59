//! A passkey is enrolled, by a page that the terminal of a person has opened. No other studio takes it: its token may be an
//! agent's.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use portolan_core::run::Actor;
use portolan_runtime::people::{Passkey, RP_ID, Registration};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Studio;
use super::answer::{Answer, Body, Refusal};
use super::definitions::broken;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// What a browser needs to make a passkey.
pub(super) async fn challenge(State(studio): State<Arc<Studio>>, Body(Nothing {}): Body<Nothing>) -> Answer<Value> {
    studio.enrols()?;
    let name = match &studio.person.by {
        Actor::Person { name, .. } => name.clone(),
        Actor::Agent(_) | Actor::Engine => unreachable!("who sits before a studio is a person"),
    };
    let begun = tokio::task::spawn_blocking(move || studio.service.people().begin_enrolment(&studio.challenges));
    let begun = begun.await.map_err(broken)??;
    Ok(Json(json!({
        "challenge": begun.challenge,
        "rpId": RP_ID,
        "user": { "id": begun.user, "name": name },
        "exclude": begun.exclude,
    })))
}

/// Keeps the passkey that the browser has made. The server ends with that.
pub(super) async fn enrol(State(studio): State<Arc<Studio>>, Body(given): Body<Registration>) -> Answer<Value> {
    studio.enrols()?;
    let kept = tokio::task::spawn_blocking(move || {
        let enrolled = studio.enrolled.as_ref();
        let kept = studio.service.people().enrol(&studio.challenges, &studio.origin, &given)?;
        enrolled.map(|enrolled| enrolled.send_replace(Some(kept.clone())));
        Ok::<Passkey, Refusal>(kept)
    });
    let kept = kept.await.map_err(broken)??;
    Ok(Json(json!({ "name": kept.name, "id": kept.id })))
}

impl Studio {
    /// Refuses where no person has begun this in a terminal.
    fn enrols(&self) -> Result<(), Refusal> {
        let begins = "a person begins it in a terminal: `portolan people passkey`";
        let message = "a passkey is not enrolled on the page of this studio, whose token is no person";
        match self.enrolled {
            Some(_) => Ok(()),
            None => Err(Refusal::new(StatusCode::FORBIDDEN, "needs_person", message, begins)),
        }
    }
}
