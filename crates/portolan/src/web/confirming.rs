//! What only a person may say is confirmed with a passkey: the page's token does not identify a person.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use portolan_core::run::{Actor, Channel};
use portolan_runtime::service::{Caller, ServiceError};
use portolan_supervision::people::{Assertion, CHALLENGE_SECONDS, ConfirmedContent, People, RP_ID};
use serde_json::{Value, json};

use super::Studio;
use super::answer::Answer;
use super::definitions::broken;
use crate::http::Refusal;

/// The help if no passkey is enrolled.
const ENROL: &str = "run `portolan people passkey` in a terminal to enrol one";

impl Studio {
    /// Creates the challenge that a passkey signs to confirm exactly this content.
    pub(super) async fn challenge(self: &Arc<Self>, content: ConfirmedContent) -> Answer<Value> {
        let studio = Arc::clone(self);
        let blocking_task = tokio::task::spawn_blocking(move || {
            let people = People::of(&studio.service);
            let credentials = people.credentials()?;
            if credentials.is_empty() {
                let message = "no passkey is enrolled for this project";
                return Err(ServiceError::refused("no_passkey", message, ENROL));
            }
            let challenge = people.challenge(&studio.challenges, &content)?;
            Ok(json!({
                "challenge": challenge, "rpId": RP_ID, "credentials": credentials, "seconds": CHALLENGE_SECONDS,
            }))
        });
        Ok(Json(blocking_task.await.map_err(broken)??))
    }

    /// Verifies the passkey's confirmation of a content and returns the person as the caller.
    pub(super) async fn confirmed(
        self: &Arc<Self>,
        content: ConfirmedContent,
        passkey: Assertion,
    ) -> Result<Caller, Refusal> {
        let Actor::Person { name, .. } = self.person.by.clone() else {
            unreachable!("who sits before a studio is a person")
        };
        let studio = Arc::clone(self);
        let confirmed = tokio::task::spawn_blocking(move || {
            let people = People::of(&studio.service);
            people.confirm_by_passkey(&studio.challenges, &content, &studio.origin, &passkey)
        });
        confirmed.await.map_err(broken)??;
        Ok(Caller { by: Actor::Person { name, via: Channel::Passkey }, can_ask: true })
    }
}

/// Refuses what only a person may say, if no passkey confirms it. `what` is what counts, and `command` says it in a
/// terminal.
pub(super) fn needs_passkey(what: &str, command: &str) -> Refusal {
    Refusal::new(
        StatusCode::FORBIDDEN,
        "needs_person",
        format!("only a person's own {what}, and a page does not identify a person"),
        &format!("confirm it with a passkey, or answer in a terminal: `{command}`"),
    )
}
