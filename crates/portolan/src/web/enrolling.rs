//! Enrolment of a passkey, by a page that a person has opened from the terminal. Other studios refuse it: an agent may
//! have their token.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use portolan_core::run::Actor;
use portolan_supervision::people::{Passkey, People, RP_ID, Registration};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Studio;
use super::answer::{Answer, Body};
use super::definitions::broken;
use crate::http::Refusal;

/// The help if no person has begun an enrolment.
const BEGINS: &str = "a person must begin it in a terminal: `portolan people passkey`";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Returns the options with which a browser creates a passkey.
pub(super) async fn challenge(State(studio): State<Arc<Studio>>, Body(Nothing {}): Body<Nothing>) -> Answer<Value> {
    studio.enrols()?;
    let name = match &studio.person.by {
        Actor::Person { name, .. } => name.clone(),
        Actor::Agent(_) | Actor::Engine => unreachable!("who sits before a studio is a person"),
    };
    let begun = tokio::task::spawn_blocking(move || People::of(&studio.service).begin_enrolment(&studio.challenges));
    let begun = begun.await.map_err(broken)??;
    Ok(Json(json!({
        "challenge": begun.challenge,
        "rpId": RP_ID,
        "user": { "id": begun.user, "name": name },
        "exclude": begun.exclude,
    })))
}

/// Stores the passkey that the browser has created, and ends the server.
pub(super) async fn enrol(State(studio): State<Arc<Studio>>, Body(given): Body<Registration>) -> Answer<Value> {
    let kept = tokio::task::spawn_blocking(move || {
        // The terminal reports one passkey: another one, sent while the server ends, would be stored unreported.
        let mut kept =
            Err(Refusal::new(StatusCode::FORBIDDEN, "needs_person", "a passkey was enrolled already", BEGINS));
        studio.enrols()?.send_if_modified(|enrolled| {
            if enrolled.is_none() {
                kept = People::of(&studio.service)
                    .enrol(&studio.challenges, &studio.origin, &given)
                    .map_err(Refusal::from);
                *enrolled = kept.as_ref().ok().cloned();
            }
            enrolled.is_some()
        });
        kept
    });
    let kept = kept.await.map_err(broken)??;
    Ok(Json(json!({ "name": kept.name, "id": kept.id })))
}

impl Studio {
    /// Returns the enrolment's channel, or refuses if no person has begun one in a terminal.
    fn enrols(&self) -> Result<&watch::Sender<Option<Passkey>>, Refusal> {
        let message = "a passkey cannot be enrolled on the page of this studio, whose token does not identify a person";
        let refused = || Refusal::new(StatusCode::FORBIDDEN, "needs_person", message, BEGINS);
        self.enrolled.as_ref().ok_or_else(refused)
    }
}
