//! A call of a tool: the connection that it uses, and the rounds of a server that asks for input between requests.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, InputRequiredResult, InputResponses};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::client::{CallClient, ClientFeatures};
use super::connection::{Connection, Terms};
use super::in_flight::MAX_QUESTIONS;
use super::{CallError, CallErrorKind, Servers, ToolCall, seconds};

/// The most requests of one call.
const MAX_ROUNDS: usize = 10;
/// The most sets of features for which a server is started again.
const MAX_ASKING: usize = 8;

impl Servers {
    pub(super) async fn result_of_call(
        &self,
        call: ToolCall<'_>,
        client: Option<CallClient>,
        began: Instant,
    ) -> Result<Value, CallError> {
        let features = client.as_ref().map(|client| client.features.clone()).unwrap_or_default();
        let connection = match call.in_all {
            None => self.connection_for(call.server, &features).await?,
            Some(limit) => match timeout(limit, self.connection_for(call.server, &features)).await {
                Ok(connection) => connection?,
                Err(_elapsed) => return Err(late_start(&call, limit)),
            },
        };
        let left = call.in_all.map_or(call.timeout, |limit| limit.saturating_sub(began.elapsed()).min(call.timeout));
        Rounds { connection: &connection, call: &call, client, limit: left }.result().await
    }

    /// Returns a connection whose server may ask what `features` has.
    async fn connection_for(&self, server: &str, features: &ClientFeatures) -> Result<Arc<Connection>, CallError> {
        let slot = self.slot(server)?;
        let connection = slot.connection().await?;
        if features.is_empty() || connection.has_no_handshake() || connection.features() == features {
            return Ok(connection);
        }
        if self.is_for_one_client {
            return slot.connection_with(features).await;
        }
        let asking = {
            let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (server.to_owned(), features.clone());
            let has_room = asking.keys().filter(|(name, _)| name == server).count() < MAX_ASKING;
            match asking.get(&key) {
                Some(slot) => Some(Arc::clone(slot)),
                None if has_room => {
                    let slot = slot.asking(features.clone());
                    asking.insert(key, Arc::clone(&slot));
                    Some(slot)
                }
                None => None,
            }
        };
        match asking {
            Some(slot) => slot.connection().await,
            // It is not told that it may ask, and does not.
            None => Ok(connection),
        }
    }
}

/// The requests of one call.
struct Rounds<'a> {
    connection: &'a Connection,
    call: &'a ToolCall<'a>,
    client: Option<CallClient>,
    /// The time for each.
    limit: Duration,
}

impl Rounds<'_> {
    /// Calls the tool, and again with the input that its server asks for, until the call is complete.
    async fn result(&self) -> Result<Value, CallError> {
        let call = self.call;
        let what = format!("tool `{}`", call.tool);
        let mut params = CallToolRequestParams::new(call.tool.to_owned()).with_arguments(call.arguments.clone());
        let mut question_count = 0;
        for _round in 0..MAX_ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            let result = self.connection.request(&what, request, self.terms()).await?;
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") || self.client.is_none() {
                return complete(self.connection, &what, result);
            }
            let required: InputRequiredResult = serde_json::from_value(result).map_err(|error| {
                self.refused(&what, &format!("asks for input in a form that is not MCP's: {error}"))
            })?;
            question_count += required.input_requests.as_ref().map_or(0, BTreeMap::len);
            if question_count > MAX_QUESTIONS {
                return Err(self.refused(&what, &format!("asks more than {MAX_QUESTIONS} questions")));
            }
            params.input_responses = self.answers(&what, &required).await?;
            params.request_state = required.request_state;
        }
        Err(self.refused(&what, &format!("asks for input more than {MAX_ROUNDS} times")))
    }

    fn terms(&self) -> Terms {
        let call = self.call;
        let (meta, progress) = (call.meta.clone(), call.progress.clone());
        Terms { meta, limit: self.limit, progress, client: self.client.clone() }
    }

    /// Returns the client's answers to the questions of a result.
    async fn answers(&self, what: &str, required: &InputRequiredResult) -> Result<Option<InputResponses>, CallError> {
        let Some(questions) = required.input_requests.clone().filter(|questions| !questions.is_empty()) else {
            return Ok(None);
        };
        let missing =
            |client: &CallClient| questions.values().find_map(|question| client.features.missing_for(question));
        let answering = match &self.client {
            Some(client) => match (missing(client), &client.on_questions) {
                (None, Some(answer)) => answer(questions.clone()),
                (missing, _) => return Err(self.not_asked(what, missing.unwrap_or("answers to questions"))),
            },
            None => return Err(self.not_asked(what, "answers to questions")),
        };
        answering.await.map(Some).map_err(|unanswered| {
            let message = format!("{what} of server `{}` asked its client: {}", self.call.server, unanswered.message);
            self.connection.error(CallErrorKind::Unusable, message, &unanswered.help)
        })
    }

    fn not_asked(&self, what: &str, missing: &str) -> CallError {
        let message = format!(
            "{what} of server `{}` asks for {missing}, which the client that calls has not declared",
            self.call.server
        );
        let help = "use a client that can answer it, or call another tool";
        self.connection.error(CallErrorKind::Unusable, message, help)
    }

    fn refused(&self, what: &str, why: &str) -> CallError {
        let message = format!("{what} of server `{}` {why}", self.call.server);
        self.connection.error(CallErrorKind::Unusable, message, "report this to the author of the server")
    }
}

/// Returns a result that is complete, and refuses one that requires another request.
pub(super) fn complete(connection: &Connection, what: &str, result: Value) -> Result<Value, CallError> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => Ok(result),
        Some(other) => {
            let server = &connection.server;
            let message = format!("{what} of server `{server}` did not complete in a single call (`{other}`)");
            let help = "call a tool that answers at once: further input cannot be provided";
            Err(connection.error(CallErrorKind::Unusable, message, help))
        }
    }
}

fn late_start(call: &ToolCall<'_>, limit: Duration) -> CallError {
    let (server, tool) = (call.server, call.tool);
    let message = format!(
        "server `{server}` did not complete the handshake within {}, the time limit of the call of `{tool}`",
        seconds(limit)
    );
    let help = "give the call more time; the server keeps starting, and a later call can use it";
    CallError::new(CallErrorKind::Timeout, server, message, help)
}
