//! The virtual objects: what Restate calls. Each handler is one short invocation that reads and writes the state of its
//! object, and waits for nothing else.

mod definition;
mod index;
mod run;
mod shared;

use restate_sdk::endpoint::Builder;
use restate_sdk::prelude::Endpoint;

pub(crate) use definition::PortolanDefinition;
pub(crate) use index::{PortolanIndex, PortolanIndexClient};
pub(crate) use run::PortolanRun;
pub(crate) use shared::PortolanShared;

/// Returns an endpoint with all objects, for Restate's servers to call.
pub fn bind(builder: Builder) -> Endpoint {
    builder.bind(PortolanRun).bind(PortolanIndex).bind(PortolanDefinition).bind(PortolanShared).build()
}
