//! The parts that the toolsets for leading agents share: server information, the caller, and the error of an unknown
//! tool.

use portolan_core::diagnostic::{clip, closest};
use portolan_runtime::service::{Caller, Service, ServiceError};
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, Implementation, JsonObject, PromptsCapability, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;

use super::face;

pub(super) fn about(instructions: &str) -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
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
    let can_ask =
        !service.is_remote() && context.client_capabilities().is_some_and(|capabilities| can_ask(&capabilities));
    Caller { by: face::caller(context), can_ask }
}

/// Returns whether a client can show a form to its user.
pub(super) fn can_ask(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.as_ref().is_some_and(|asks| asks.form.is_some() || asks.url.is_none())
}

/// Returns the error of an unknown tool.
pub(super) fn unknown<'t>(name: &str, tools: impl Iterator<Item = &'t str>) -> ServiceError {
    let near = closest(name, tools).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let help = format!("{near}tools/list returns them all");
    ServiceError::refused("unknown_tool", format!("there is no tool `{}`", clip(name)), help)
}
