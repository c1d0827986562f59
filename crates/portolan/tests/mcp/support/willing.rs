//! A client with a user, by rmcp: it stands for those that people use.

use std::process::Command;

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, Implementation,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::json;

/// A user who gives the same answer to everything.
pub(crate) struct Willing(pub(crate) &'static str);

impl Willing {
    /// Has the server started, and greets it.
    pub(crate) async fn meets(
        self,
        server: Command,
        lifecycle: ClientLifecycleMode,
    ) -> RunningService<RoleClient, Willing> {
        let server = TokioChildProcess::new(tokio::process::Command::from(server)).expect("the server starts");
        self.serve_with_lifecycle(server, lifecycle).await.expect("they understand each other")
    }
}

impl ClientHandler for Willing {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("willing", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        assert!(matches!(request, ElicitRequestParams::FormElicitationParams { .. }));
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "answer": self.0 })))
    }
}
