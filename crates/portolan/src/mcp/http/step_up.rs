//! Calls of tools that the token of an authorization server does not allow: the client is told which scopes to ask for, and
//! can then repeat the call with another token (the step-up flow of MCP's authorization).
//!
//! The face refuses such calls as well, for clients whose tokens are no business of an authorization server.

use std::borrow::Cow;

use axum::extract::Request;
use axum::http::StatusCode;
use portolan_core::diagnostic::clip;
use serde::Deserialize;

use super::Server;
use super::open_project::OpenProject;
use crate::http::{Principal, Refusal};

/// The tool that a message calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CalledTool(String);

impl CalledTool {
    /// Returns the tool that a message calls, if it is a call.
    pub(super) fn of(message: &[u8]) -> Option<CalledTool> {
        #[derive(Deserialize)]
        struct Call<'m> {
            #[serde(borrow)]
            method: Cow<'m, str>,
            params: Parameters,
        }
        #[derive(Deserialize)]
        struct Parameters {
            name: String,
        }
        let call: Call<'_> = serde_json::from_slice(message).ok()?;
        (call.method == "tools/call").then_some(CalledTool(call.params.name))
    }
}

/// Returns the refusal of a call whose tool needs a scope that the token does not have.
pub(super) fn lacking_scope(server: &Server, project: &OpenProject, request: &Request) -> Option<Refusal> {
    let oauth = server.access.oauth()?;
    let (CalledTool(tool), principal) = (request.extensions().get()?, request.extensions().get::<Principal>()?);
    let path = request.uri().path();
    let needed = server.projects.scope(project, path, tool)?;
    if principal.scopes.has(needed) {
        return None;
    }
    let message =
        format!("`{}` needs the scope `{}`, and the token has {}", clip(tool), needed.name(), principal.scopes);
    let help = "ask the authorization server for a token with the scopes of `WWW-Authenticate`";
    let refusal = Refusal::new(StatusCode::FORBIDDEN, "needs_scope", message, help);
    Some(refusal.challenging(&oauth.insufficient_scope(path, principal.scopes, needed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_of_a_call_is_read_from_its_message() {
        let called = |message: &str| CalledTool::of(message.as_bytes()).map(|CalledTool(tool)| tool);
        let call =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"name":"x"},"name":"Init"}}"#;
        assert_eq!(called(call).as_deref(), Some("Init"));
        let escaped = call.replace("tools/call", r"tools\/call");
        assert_eq!(called(&escaped).as_deref(), Some("Init"), "another spelling of the same");
        for other in [
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"Init"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"[{"method":"tools/call","params":{"name":"Init"}}]"#,
            "{",
        ] {
            assert_eq!(called(other), None, "{other}");
        }
    }
}
