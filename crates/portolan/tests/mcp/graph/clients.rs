//! The client that other programs use, in each way to begin a conversation.

use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, ServiceError};
use rmcp::transport::TokioChildProcess;
use serde_json::json;

use super::{project, tool};

#[tokio::test]
async fn the_client_of_rmcp_calls_graphs_in_every_lifecycle() {
    let add = "id: add, type: mcp, server: echo, tool: add, args: { a: { expr: $.entry.a }, b: 2 }, next: exit";
    let fail = "id: fail, type: mcp, server: echo, tool: fail, args: { message: boom }, next: exit";
    let project = project(&[tool("adds", "", &[add]), tool("fails", "", &[fail])]);
    let newest = vec![ProtocolVersion::V_2026_07_28];
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: newest.clone() },
        ClientLifecycleMode::Auto { preferred_versions: newest, legacy_version: None },
    ] {
        let command = project.command(&["serve", "g.yaml", "--toolset", "graph", "--mcp", "mcp.json"]);
        let transport = TokioChildProcess::new(tokio::process::Command::from(command)).expect("the server starts");
        let me = ClientConfig::new(ClientCapabilities::default(), Implementation::new("rmcp", "1"));
        let client = me.serve_with_lifecycle(transport, lifecycle).await.expect("they understand each other");
        assert_eq!(client.list_all_tools().await.expect("tools").len(), 2);
        let arguments = json!({ "a": 1 }).as_object().cloned().unwrap_or_default();
        let answer = client.call_tool(CallToolRequestParams::new("adds").with_arguments(arguments)).await;
        assert_eq!(answer.expect("an answer").structured_content, Some(json!({ "sum": 3 })));
        let answer = client.call_tool(CallToolRequestParams::new("fails")).await.expect("an answer");
        assert_eq!(answer.is_error, Some(true));
        let unknown = client.call_tool(CallToolRequestParams::new("nothing")).await;
        assert!(matches!(unknown, Err(ServiceError::McpError(error)) if error.code.0 == -32602));
        client.cancel().await.expect("a parting");
    }
}
