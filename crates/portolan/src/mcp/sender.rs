//! The sender of a request: its name in journals, and what it may do.
//!
//! The client at standard input and output may do everything. Over HTTP, the token decides.

use axum::http::request::Parts;
use portolan_core::diagnostic::clip;
use portolan_core::run::Actor;
use portolan_runtime::service::ServiceError;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use crate::http::{Principal, Scope};

/// Returns the holder of the token of a request over HTTP.
pub(super) fn principal(context: &RequestContext<RoleServer>) -> Option<&Principal> {
    context.extensions.get::<Parts>()?.extensions.get::<Principal>()
}

/// Checks whether the sender has a scope.
pub(super) fn has(context: &RequestContext<RoleServer>, scope: Scope) -> bool {
    // Requests over HTTP always have their head, and a head without a principal was not admitted.
    match context.extensions.get::<Parts>() {
        None => true,
        Some(_) => principal(context).is_some_and(|principal| principal.scopes.has(scope)),
    }
}

/// Refuses a sender without a scope to call a tool.
pub(super) fn may_call(context: &RequestContext<RoleServer>, tool: &str, scope: Scope) -> Result<(), ServiceError> {
    if has(context, scope) {
        return Ok(());
    }
    let message = format!("`{}` needs the scope `{}`, and {}", clip(tool), scope.name(), described(context));
    Err(ServiceError::refused("needs_scope", message, "ask whoever issued the token, or leave this to another client"))
}

/// Refuses a sender that may not read about runs.
pub(super) fn may_read(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    match has(context, Scope::Read) {
        true => Ok(()),
        false => {
            let message = format!("this needs the scope `{}`, and {}", Scope::Read.name(), described(context));
            Err(ErrorData::invalid_request(message, None))
        }
    }
}

fn described(context: &RequestContext<RoleServer>) -> String {
    let scopes = principal(context).map(|principal| principal.scopes).unwrap_or_default();
    format!("the token of this client has {scopes}")
}

/// Returns the calling agent: the name that its token was issued to, and the name that the client gives itself.
pub(super) fn agent(context: &RequestContext<RoleServer>) -> Actor {
    let client = context.client_info().map_or_else(|| "unknown".to_owned(), |client| clip(&client.name));
    Actor::Agent(match principal(context).and_then(|principal| principal.name.as_deref()) {
        Some(name) => format!("{name} ({client})"),
        None => client,
    })
}
