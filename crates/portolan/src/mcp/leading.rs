//! The parts that the toolsets for leading agents share: server information, the caller, and the error of an unknown
//! tool.

use portolan_core::diagnostic::{clip, closest};
use portolan_core::present::RunStatus;
use portolan_runtime::service::{Caller, Service, ServiceError, View};
use portolan_supervision::people::People;
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, Implementation, JsonObject, PromptsCapability, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;

use super::{face, sender};
use crate::http::Scope;

pub(super) fn about(instructions: &str) -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
        .with_server_info(Implementation::new("portolan", env!("CARGO_PKG_VERSION")))
        .with_instructions(instructions)
}

/// Returns the server information of a set that offers prompts and resources of the project.
pub(super) fn about_with_project(instructions: &str) -> ServerConfig {
    let mut about = about(instructions);
    about.capabilities.prompts = Some(PromptsCapability::default());
    about.capabilities.resources = Some(face::resources());
    about.capabilities.completions = Some(JsonObject::new());
    about
}

/// Returns the caller, and whether the client can ask its user.
pub(super) fn caller(service: &Service, context: &RequestContext<RoleServer>) -> Caller {
    let is_person = !service.is_remote() || sender::principal(context).is_some_and(|it| it.scopes.has(Scope::Person));
    let can_ask = is_person && context.client_capabilities().is_some_and(|capabilities| can_ask(&capabilities));
    Caller { by: sender::agent(context), can_ask }
}

/// Returns the scope that a call of one of `tools` needs, which lead runs.
pub(super) fn scope(tools: &[Tool], name: &str) -> Scope {
    let tool = tools.iter().find(|tool| tool.name == name);
    let hints = tool.and_then(|tool| tool.annotations.as_ref());
    if hints.is_some_and(|hints| hints.read_only_hint == Some(true)) { Scope::Read } else { Scope::Navigate }
}

/// Refuses to take the answer of the client's dialog for a person's. `command` is what the person runs instead.
pub(super) fn client_may_ask(
    service: &Service,
    context: &RequestContext<RoleServer>,
    command: &str,
) -> Result<(), ServiceError> {
    let is_person = sender::principal(context).is_some_and(|it| it.scopes.has(Scope::Person));
    if is_person { People::of(service).dialog_may_ask(command) } else { People::of(service).client_may_ask(command) }
}

/// Returns whether a client can show a form to its user.
pub(super) fn can_ask(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.as_ref().is_some_and(|asks| asks.form.is_some() || asks.url.is_none())
}

/// Returns the error of a call whose checks an earlier process began, if the run still waits for them.
pub(super) fn interrupted(view: &View) -> Option<ServiceError> {
    let message = "the server ended while the checks of the step were performed, so nothing decides about it yet";
    let error = ServiceError::refused("interrupted", message, "send one of the actions: it performs the checks again");
    (view.situation.state == RunStatus::Checking).then(|| error.at(view.clone()))
}

/// What replaces the result of a call of an earlier process.
pub(super) const RECALLED: &str =
    "the server was started again while the call was under way: this is where the run is now";

/// Returns the error of an unknown tool.
pub(super) fn unknown<'t>(name: &str, tools: impl Iterator<Item = &'t str>) -> ServiceError {
    let near = closest(name, tools).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let help = format!("{near}tools/list returns them all");
    ServiceError::refused("unknown_tool", format!("there is no tool `{}`", clip(name)), help)
}
