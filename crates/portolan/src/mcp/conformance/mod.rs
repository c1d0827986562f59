//! The tools, prompts and resources that the official conformance suite calls by name.
//!
//! Transport and dispatch are the product's. Only this table is the suite's: its texts and names are given by
//! `@modelcontextprotocol/conformance`.

#![expect(deprecated, reason = "the suite tests sampling, roots and logging for as long as a revision has them")]

mod content;
mod dialogs;
mod inputs;
mod long;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, CompletionInfo, ErrorData, GetPromptRequestParams, Implementation,
    Prompt, ReadResourceResult, Resource, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::face;
use super::several::ServedTools;
use super::toolset::{Answer, Completion, Messages, Text, Toolset};
use crate::http::Scope;

/// Returns the suite's tools.
pub(crate) fn serving() -> ServedTools {
    ServedTools::alone(Arc::new(Fixtures { watched: watch::Sender::new(0), states: inputs::States::default() }))
}

struct Fixtures {
    /// Changes with the watched resource, which never happens.
    watched: watch::Sender<u64>,
    /// The states that calls in several rounds have handed out.
    states: inputs::States,
}

impl Toolset for Fixtures {
    fn about(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        capabilities.resources = Some(face::resources());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("portolan-conformance", env!("CARGO_PKG_VERSION")))
    }

    fn tools(&self) -> Vec<Tool> {
        let names = content::TOOLS.iter().chain(dialogs::TOOLS).chain(inputs::TOOLS).chain(long::TOOLS);
        let mut tools: Vec<Tool> = names.map(|(name, about)| tool(name, about, json!({ "type": "object" }))).collect();
        tools.extend(content::tools_with_schemas());
        tools
    }

    fn resources(&self) -> Vec<Resource> {
        content::resources()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        content::templates()
    }

    fn read<'a>(&'a self, uri: &'a str, _context: &'a RequestContext<RoleServer>) -> Text<'a> {
        Box::pin(async move { content::read(uri).map(|contents| Ok(ReadResourceResult::new(vec![contents]))) })
    }

    fn updates(&self, uri: &str) -> Option<watch::Receiver<u64>> {
        (uri == content::WATCHED).then(|| self.watched.subscribe())
    }

    fn prompts(&self) -> Vec<Prompt> {
        content::prompts()
    }

    fn prompt<'a>(
        &'a self,
        request: &'a GetPromptRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> Messages<'a> {
        Box::pin(async move { inputs::prompt(request).or_else(|| content::prompt(request)).map(Ok) })
    }

    fn complete<'a>(
        &'a self,
        _request: &'a CompleteRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> Completion<'a> {
        Box::pin(async { CompletionInfo::default() })
    }

    fn scope(&self, _tool: &str) -> Scope {
        Scope::Run
    }

    fn patience(&self, tool: &str) -> Option<Duration> {
        long::is_long(tool).then_some(Duration::ZERO)
    }

    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_> {
        Box::pin(async move {
            if let Some(answer) = content::call(&request, &context).await {
                return Ok(answer.into());
            }
            if let Some(answer) = dialogs::call(&request, &context).await {
                return answer.map(Into::into);
            }
            if let Some(answer) = long::call(&request, &context).await {
                return answer;
            }
            match inputs::call(&self.states, &request, &context) {
                Some(answer) => answer,
                None => Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None)),
            }
        })
    }
}

fn tool(name: &'static str, about: &'static str, schema: Value) -> Tool {
    let Value::Object(schema) = schema else { unreachable!("a schema is written as an object") };
    Tool::new(name, about, Arc::new(schema))
}

/// Returns a text argument.
fn argument<'a>(arguments: Option<&'a Map<String, Value>>, name: &str) -> &'a str {
    arguments.and_then(|arguments| arguments.get(name)).and_then(Value::as_str).unwrap_or_default()
}
