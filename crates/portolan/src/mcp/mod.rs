//! The MCP face: toolsets over stdio or streamable HTTP. It translates calls and answers. The service makes every decision.
//!
//! ```text
//! stdio ─transport→ messages ─connection, face→ requests ─navigate | tasks | gates | graph | author→ the service
//! ```
//! `transport`, `connection`, `face`, `sender`, `subscriptions`, `long_calls`, `several` and `arguments` know the protocol and no
//! tools.
//! `leading`, `project` and `app` have what the sets for leading agents share. Each toolset knows its own tools and little else.

mod app;
mod arguments;
mod ask;
mod author;
mod conformance;
mod connection;
mod face;
mod gates;
mod gateway;
mod graph;
mod http;
mod leading;
mod long_calls;
mod navigate;
mod progress;
mod project;
mod schema;
mod sender;
mod several;
mod subscriptions;
mod tasks;
mod toolset;
mod transport;

pub(crate) use author::serving as author;
#[cfg(test)]
pub(crate) use author::tools as author_tools;
pub(crate) use conformance::serving as conformance;
#[cfg(test)]
pub(crate) use gates::tools as gates_tools;
pub(crate) use gates::{Tell, serving as gates};
pub(crate) use gateway::serving as gateway;
pub(crate) use graph::{News, Notes, awaited, serving as graph};
pub(crate) use http::{
    Content, EventMetrics, MakeProject, Metrics, NamedTools, PATH as HTTP_PATH, ProjectFolder, serve as serve_http,
};
#[cfg(test)]
pub(crate) use navigate::tools as navigate_tools;
pub(crate) use navigate::{Profile, serving as navigate};
pub(crate) use several::{ServedTools, serve};
pub(crate) use tasks::serving as tasks;
#[cfg(test)]
pub(crate) use tasks::tools;
