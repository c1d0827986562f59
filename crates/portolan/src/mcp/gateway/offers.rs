//! Resources and prompts of the servers: each request is judged, then passed on or refused with the present situation.

use portolan_gates::Decision;
use portolan_runtime::servers::{CallError, CallErrorKind};
use portolan_supervision::gateway::{GatewayCall, JudgedCall};
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, ReadResourceResult, ResultType,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::{Refusal, Server, branch_of, typed};
use crate::http::Scope;
use crate::mcp::subscriptions::ResourceUpdates;
use crate::mcp::{leading, sender};

/// The longest address of a resource that is subscribed to, in bytes.
const MAX_ADDRESS: usize = 8 << 10;

impl Server {
    /// Reads a resource, or returns `None` if no server can have it.
    pub(super) async fn read_resource(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<ReadResourceResult, ErrorData>> {
        let call = self.gateway.reading(uri, &self.client(context))?;
        let read = self.requested(call, context).await;
        Some(read.and_then(|read| {
            let mut read: ReadResourceResult = of_server(uri, read)?;
            read.result_type.get_or_insert(ResultType::COMPLETE);
            Ok(read)
        }))
    }

    /// Returns the messages of a prompt, or `None` if no server has it.
    pub(super) async fn get_prompt(
        &self,
        request: &GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<GetPromptResponse, ErrorData>> {
        let arguments = request.arguments.clone().unwrap_or_default();
        let call = self.gateway.prompting(&request.name, arguments, &self.client(context))?;
        let messages = self.requested(call, context).await;
        Some(messages.and_then(|messages| {
            let mut messages: GetPromptResult = of_server(&request.name, messages)?;
            messages.result_type.get_or_insert(ResultType::COMPLETE);
            Ok(messages.into())
        }))
    }

    /// Returns the values that complete an argument. `None` if no server has it, or they are refused: a client shows no
    /// error there.
    pub(super) async fn completed(
        &self,
        request: &CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<CompletionInfo> {
        let call = self.gateway.completing(request, &self.client(context))?;
        let completed = self.requested(call, context).await.ok()?;
        let CompleteResult { completion, .. } = serde_json::from_value(completed).ok()?;
        (completion.values.len() <= CompletionInfo::MAX_VALUES).then_some(completion)
    }

    /// Subscribes to a resource, or returns `None` if no server can have it.
    pub(super) async fn subscribe_to(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<ResourceUpdates, ErrorData>> {
        let client = self.client(context);
        let call = self.gateway.subscribing(uri, &client)?;
        let subscribed = async {
            let place = (uri.len() <= MAX_ADDRESS).then(|| self.subscribed.take(&client)).flatten();
            let Some(place) = place else {
                let message = "this client has too many subscriptions, or the address is too long: end some of them";
                return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None));
            };
            let judged = self.permitted(call, context).await?;
            let updates = self.gateway.subscribe(judged).await.map_err(not_done)?;
            Ok(ResourceUpdates::of(updates, Some(place)))
        };
        Some(subscribed.await)
    }

    fn client(&self, context: &RequestContext<RoleServer>) -> String {
        leading::caller(&self.service, context).name().to_owned()
    }

    /// Judges a request, and passes it on if it is allowed.
    async fn requested(&self, call: GatewayCall, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
        let judged = self.permitted(call, context).await?;
        self.passed_on(judged, context).await.map_err(not_done)
    }

    /// Judges a request. Returns the error of one that is refused.
    async fn permitted(
        &self,
        mut call: GatewayCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<JudgedCall, ErrorData> {
        if !sender::has(context, Scope::Run) {
            let help = "the person who serves can give your token the scope `run`";
            let message =
                format!("requests to other servers need the scope `run`, which your token does not have: {help}");
            return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None));
        }
        call.branch = branch_of(context);
        let mut judged = self.gateway.judge(call).await;
        let may_pass = match judged.answer.decision {
            Decision::Allow => true,
            Decision::Block => false,
            // A dialog belongs to a call of a tool.
            Decision::Ask => self.is_allowed_before(&mut judged).await.map_err(|error| failed(error.to_string()))?,
        };
        if !may_pass {
            let Refusal { text, data } = self.refusal(&judged, &leading::caller(&self.service, context)).await;
            return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, text, Some(data)));
        }
        Ok(judged)
    }
}

/// Returns the error of a request that its server did not fulfil.
fn not_done(error: CallError) -> ErrorData {
    match error.kind {
        CallErrorKind::Protocol { code } => ErrorData::new(ErrorCode(code), error.message, None),
        _ => failed(format!("{}; {}", error.message, error.help)),
    }
}

fn failed(message: String) -> ErrorData {
    ErrorData::internal_error(message, None)
}

fn of_server<T: serde::de::DeserializeOwned>(what: &str, result: Value) -> Result<T, ErrorData> {
    typed(what, result).map_err(|error| failed(error.to_string()))
}
