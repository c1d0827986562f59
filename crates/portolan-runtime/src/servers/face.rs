//! What a server sees of this client: what it may ask, and the answers to its questions.

#![expect(deprecated, reason = "servers of earlier revisions ask for the client's model and folders, and write logs")]

use std::sync::Arc;

use rmcp::model::{
    ClientConfig, ClientRequest, CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, Implementation, InputRequest, ListRootsRequest, ListRootsResult,
    ProtocolVersion, SetLevelRequest, SetLevelRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde::de::DeserializeOwned;

use super::client::{ClientFeatures, LogLevel};
use super::notices::Notices;

pub(super) struct Face {
    pub(super) features: ClientFeatures,
    pub(super) notices: Arc<Notices>,
}

impl Face {
    /// Passes a question to the client of the call under way, until the server takes it back.
    async fn ask<T: DeserializeOwned>(
        &self,
        question: InputRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<T, ErrorData> {
        let answer = tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the question was cancelled", None)),
            answer = self.notices.calls.ask(question) => answer?,
        };
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(format!("the answer of the client is not one: {error}"), None))
    }
}

impl ClientHandler for Face {
    fn get_info(&self) -> ClientConfig {
        // Servers that know nothing newer accept a handshake with this version.
        ClientConfig::new(self.features.declared(), Implementation::new("portolan", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.ask(InputRequest::Elicitation(ElicitRequest::new(request)), context).await
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.ask(InputRequest::CreateMessage(CreateMessageRequest::new(params)), context).await
    }

    async fn list_roots(&self, context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.ask(InputRequest::ListRoots(ListRootsRequest::default()), context).await
    }
}

/// Returns the request for log messages of a level, and of more severe ones.
pub(super) fn level_request(level: LogLevel) -> ClientRequest {
    let level = serde_json::to_value(level).and_then(serde_json::from_value).expect("both have the same names");
    ClientRequest::SetLevelRequest(SetLevelRequest::new(SetLevelRequestParams::new(level)))
}
