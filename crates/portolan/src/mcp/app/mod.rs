//! The app `ui://portolan/run`: a page in the client's conversation that shows a run live, and on which a person answers.
//!
//! It is offered only to clients that declare MCP Apps (the extension `io.modelcontextprotocol/ui`); others see neither
//! the page nor its tools. An answer from the page has no more weight than a call of the client's agent: a server
//! cannot tell which of the two has made a call. Where only a person's own answer counts, the person confirms it in the
//! client's dialog, as without the page.

mod answer;
mod codes;
mod page;
mod schemas;
mod show;

use std::sync::Arc;

use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Service, ServiceError};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, MetaObject, Tool};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::ask::PendingQuestions;
use super::face;
use codes::Codes;

pub(super) use page::{contents, resource};
pub(super) use schemas::{Names, tools};

/// The address of the page.
pub(super) const URI: &str = "ui://portolan/run";
/// The extension that a client declares.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The media type of pages, which the client must be able to show.
const PAGE: &str = "text/html;profile=mcp-app";
/// The key of the tools' metadata that belongs to the extension.
const UI: &str = "ui";

/// What the page of a toolset needs: the runs, the codes of its buttons, and the questions in dialogs.
pub(super) struct App {
    service: Arc<Service>,
    names: Names,
    /// Whether steps that the run has not reached are shown.
    shows_definitions: bool,
    codes: Codes,
    pending: PendingQuestions,
}

impl App {
    pub(super) fn new(service: Arc<Service>, names: Names, shows_definitions: bool) -> App {
        App { service, names, shows_definitions, codes: Codes::default(), pending: PendingQuestions::default() }
    }

    /// Calls one of the page's tools. Returns `None` if the call is of another tool, or the client shows no pages.
    pub(super) async fn call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResponse> {
        if !self.names.has(&request.name) || !is_shown_by(context) {
            return None;
        }
        let arguments = Arguments::new(request.arguments.clone());
        let done = match request.name == self.names.show {
            true => self.show(arguments, context).await.map(Into::into),
            false => self.answer(arguments, request, context).await,
        };
        Some(done.unwrap_or_else(|error| face::refused(&error)))
    }

    /// Takes the run that a call names. Its errors are reported after those of the arguments' types.
    fn address(arguments: &mut Arguments) -> Result<Address, ServiceError> {
        let state = arguments.string("state");
        let (run, task_file) = (arguments.string("run"), arguments.string("taskFilePath"));
        match state {
            None => Service::address(run.as_deref(), task_file.as_deref()),
            Some(state) => match Address::parse(&state) {
                // What is no handle can only be a token. Files are named by `taskFilePath`.
                Address::Task(_) => Ok(Address::State(state)),
                address => Ok(address),
            },
        }
    }
}

/// Returns whether the client of a request shows pages.
pub(super) fn is_shown_by(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    let settings = capabilities.as_ref().and_then(|it| it.extensions.as_ref()?.get(EXTENSION));
    let kinds = settings.and_then(|settings| settings.get("mimeTypes")).and_then(Value::as_array);
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == PAGE))
}

/// Names the page as the view of a tool's results.
pub(super) fn shown(tool: Tool) -> Tool {
    let mut meta = MetaObject::new();
    meta.insert(UI.to_owned(), json!({ "resourceUri": URI }));
    tool.with_meta(meta)
}

/// Removes the page, and the tools that only the page may call, from the list for a client without pages.
pub(super) fn hide(tools: &mut Vec<Tool>) {
    tools.retain_mut(|tool| {
        let Some(ui) = tool.meta.as_ref().and_then(|meta| meta.get(UI)) else { return true };
        if ui["resourceUri"] != URI {
            return true;
        }
        let is_for_model = ui.get("visibility").is_none();
        tool.meta = None;
        is_for_model
    });
}
