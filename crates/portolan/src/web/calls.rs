//! Calls that wait for a person at `portolan gate`. Only a person's own decision counts, so a passkey confirms each one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use portolan_core::diagnostic::clip;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::digest::Digest;
use portolan_runtime::disk::Marks;
use portolan_runtime::service::ServiceError;
use portolan_supervision::gateway::{ParkedCall, ParkedCalls, ParkedDecision};
use portolan_supervision::people::{Assertion, DecisionContent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Studio;
use super::answer::{Answer, Body, InPath};
use super::confirming::needs_passkey;
use super::definitions::broken;
use crate::http::Refusal;
use crate::invisible::{one_line, safe};
use crate::words::call_command_anywhere;

/// The maximum number of calls that are listed.
const MAX_LISTED: usize = 100;
/// The longest arguments that are shown, in bytes. Nobody confirms here what the page does not show.
const MAX_SHOWN: usize = 32 << 10;

/// A call that waits, as a person reads it: invisible characters are escaped.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WaitingCall {
    token: String,
    server: String,
    tool: String,
    /// The arguments as indented JSON. `None` if they are too long to be shown.
    arguments: Option<String>,
    client: String,
    reason: String,
    since: String,
    /// The digest that a decision quotes.
    digest: Digest,
    /// Whether a passkey may confirm a decision on this page.
    passkey: bool,
    /// The commands with which a person decides, from any folder.
    commands: Commands,
}

#[derive(Serialize)]
struct Commands {
    allow: String,
    refuse: String,
}

/// A decision: one that a passkey has yet to confirm, or one that it has confirmed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionRequest {
    decision: ParkedDecision,
    /// The digest of the call as the person read it.
    digest: Digest,
    passkey: Option<Assertion>,
}

/// Creates the challenge that a passkey signs to confirm exactly this decision.
pub(super) async fn challenge(
    State(studio): State<Arc<Studio>>,
    InPath(token): InPath<String>,
    Body(given): Body<DecisionRequest>,
) -> Answer<Value> {
    let call = studio.decidable(token, &given).await?;
    let (decision, digest) = (given.decision.word(), &call.digest());
    studio.challenge(DecisionContent { token: &call.token, decision, call: digest }.confirmed()).await
}

/// Allows or refuses a call that waits.
pub(super) async fn answer(
    State(studio): State<Arc<Studio>>,
    InPath(token): InPath<String>,
    Body(given): Body<DecisionRequest>,
) -> Answer<Value> {
    let call = studio.decidable(token, &given).await?;
    let decision = given.decision;
    let Some(passkey) = given.passkey else {
        let command = call_command_anywhere(studio.service.project(), decision.word(), &call.token);
        return Err(needs_passkey("decision counts for this call", &command));
    };
    let content = DecisionContent { token: &call.token, decision: decision.word(), call: &call.digest() }.confirmed();
    let caller = studio.confirmed(content, passkey).await?;
    ParkedCalls::of(&studio.service)?.decide(&call, decision, &caller).await?;
    Ok(Json(json!({ "token": call.token, "decision": decision.word() })))
}

impl Studio {
    /// Returns the calls that wait, the oldest first.
    pub(super) async fn waiting_calls(self: &Arc<Self>) -> Result<Vec<ParkedCall>, Refusal> {
        let studio = Arc::clone(self);
        let waiting = tokio::task::spawn_blocking(move || ParkedCalls::of(&studio.service)?.waiting());
        let mut waiting = waiting.await.map_err(broken)??;
        waiting.truncate(MAX_LISTED);
        Ok(waiting)
    }

    /// Returns what differs after a call was parked or decided. `None` if the calls cannot be read.
    pub(super) fn marks_of_calls(&self) -> Option<Marks> {
        ParkedCalls::of(&self.service).and_then(|calls| calls.marks()).ok()
    }

    /// Returns the call that a decision is about, if it still waits as the person read it.
    async fn decidable(self: &Arc<Self>, token: String, given: &DecisionRequest) -> Result<ParkedCall, Refusal> {
        let studio = Arc::clone(self);
        let found = tokio::task::spawn_blocking(move || ParkedCalls::of(&studio.service)?.find(&token));
        let call = found.await.map_err(broken)??;
        if call.digest() != given.digest {
            let help = "read the call again with `GET /api/v1/inbox`, and quote its `digest`";
            return Err(ServiceError::refused("stale", "the decision is about another call", help).into());
        }
        if shown(&call).is_none() {
            let command = call_command_anywhere(self.service.project(), given.decision.word(), &call.token);
            let help = format!("a person decides in a terminal: `{command}`");
            return Err(ServiceError::refused("too_large", "the call is too large to be shown here", help).into());
        }
        Ok(call)
    }

    /// Returns a call as a person reads it. `passkeys` tells whether a passkey may confirm something here.
    pub(super) fn waiting_call(&self, call: &ParkedCall, passkeys: bool) -> WaitingCall {
        let arguments = shown(call);
        let command = |word| call_command_anywhere(self.service.project(), word, &call.token);
        WaitingCall {
            token: call.token.clone(),
            server: one_line(&clip(&call.server)),
            tool: one_line(&clip(&call.tool)),
            client: one_line(&clip(&call.client)),
            reason: safe(&call.reason),
            since: rfc3339(call.at),
            digest: call.digest(),
            passkey: passkeys && arguments.is_some(),
            arguments,
            commands: Commands { allow: command("allow"), refuse: command("refuse") },
        }
    }
}

/// Returns the arguments of a call as a person reads them. `None` if they are too long to be shown.
fn shown(call: &ParkedCall) -> Option<String> {
    let text = safe(&serde_json::to_string_pretty(&call.arguments).expect("JSON"));
    (text.len() <= MAX_SHOWN).then_some(text)
}
