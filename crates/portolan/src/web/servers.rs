//! The servers that the project's definitions call: their list, the tools of each, and single calls of a tool.
//!
//! A server is started for one request and ended after it, and only if a person has trusted the file that names it.
//! Requests to it are limited in time, and its responses in size. Values that its entry hides are never shown.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use portolan_core::dialect::RunAs;
use portolan_core::graph::Transport;
use portolan_core::present::Redaction;
use portolan_runtime::library::{FunctionFiles, FunctionSet, run_as};
use portolan_runtime::servers::{CallError, PoolOptions, ServerSetup, Servers, ToolCall};
use portolan_runtime::service::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Studio;
use super::answer::{Answer, Body};
use super::definitions::{broken, shown_name};
use super::replies::faulty;
use crate::http::Refusal;

/// How long a server may take to start, and to answer.
const LONGEST: Duration = Duration::from_secs(30);
/// How long a server's process may take to end.
const GRACE: Duration = Duration::from_secs(2);
/// The largest response accepted from a server, in bytes.
const LARGEST: usize = 4 << 20;
/// The most bytes of a response that are shown.
const SHOWN: usize = 256 << 10;
/// The most tools that are listed.
const MOST_TOOLS: usize = 500;

/// A server and the definition that calls it.
#[derive(Serialize)]
struct Line {
    definition: String,
    file: String,
    name: String,
    /// Its command or URL. `None` for a server that is built in.
    reaches: Option<String>,
    disabled: bool,
    /// Why it may not be started. `None` if it may.
    refused: Option<Why>,
}

#[derive(Serialize)]
struct Why {
    message: String,
    help: String,
}

/// Lists the servers of all definitions of the project.
pub(super) async fn list(State(studio): State<Arc<Studio>>) -> Answer<Value> {
    let blocking_task = tokio::task::spawn_blocking(move || {
        let library = studio.service.library();
        let mut lines = Vec::new();
        let mut ids: Vec<String> = library.project_ids().into_iter().chain(library.given_ids()).collect();
        ids.sort();
        ids.dedup();
        for (id, path) in ids.into_iter().filter_map(|id| library.path(&id).map(|path| (id, path))) {
            // The list of definitions reports one that cannot be read.
            let Ok(functions) = read(&studio, &path) else { continue };
            let refused = may_start(&studio, &functions).err();
            for ServerSetup { server, .. } in &functions.servers {
                let is_ours = matches!(server.transport, Transport::Builtin(_));
                let why = refused.as_ref().filter(|_| !is_ours);
                lines.push(Line {
                    definition: id.clone(),
                    file: shown_name(library, &path.to_string_lossy()),
                    name: server.name.clone(),
                    reaches: reaches(&server.transport),
                    disabled: server.disabled,
                    refused: why.map(|why| Why { message: why.message.clone(), help: why.help.clone() }),
                });
            }
        }
        lines
    });
    Ok(Json(json!({ "servers": blocking_task.await.map_err(broken)? })))
}

/// Returns the command or URL as written, without variables filled in.
fn reaches(transport: &Transport) -> Option<String> {
    match transport {
        Transport::Stdio { command, args, .. } => Some([std::slice::from_ref(command), args].concat().join(" ")),
        Transport::Http { url, .. } | Transport::Sse { url, .. } => Some(url.clone()),
        Transport::Builtin(_) => None,
    }
}

fn read(studio: &Studio, path: &Path) -> Result<FunctionSet, Refusal> {
    if run_as(path)? != Some(RunAs::Calls) {
        return Err(Refusal::from(ServiceError::refused(
            "no_servers",
            "it calls no servers",
            "choose another definition",
        )));
    }
    let files = [path.to_owned()];
    studio.service.library().functions(FunctionFiles::served(&files, None)).map_err(faulty)
}

/// Checks whether the servers of a file may be started. They are trusted together.
fn may_start(studio: &Studio, functions: &FunctionSet) -> Result<(), ServiceError> {
    functions.definitions.values().try_for_each(|definition| studio.service.may_start_servers(definition))
}

/// One server of a definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedServer {
    definition: String,
    server: String,
}

/// A server that was started for one request.
struct StartedServer {
    servers: Servers,
    name: String,
    hidden: Redaction,
}

impl StartedServer {
    async fn of(studio: &Arc<Studio>, wanted: NamedServer) -> Result<StartedServer, Refusal> {
        studio.may_change()?;
        let NamedServer { definition, server } = wanted;
        let asking = Arc::clone(studio);
        let setup =
            tokio::task::spawn_blocking(move || asking.startable(&definition, &server)).await.map_err(broken)??;
        let hidden = Redaction::default().hiding(setup.confidential());
        let name = setup.server.name.clone();
        let options =
            PoolOptions { handshake_timeout: LONGEST, max_message: LARGEST, grace: GRACE, ..PoolOptions::default() };
        Ok(StartedServer { servers: Servers::new(vec![setup], options), name, hidden })
    }

    fn failed(&self, error: &CallError) -> Refusal {
        let mut message = self.hidden.text(&error.message);
        if let Some(last_line) = error.stderr.trim_end().lines().next_back() {
            message += &format!("; its last line of output: {}", self.hidden.text(last_line));
        }
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error.code, message, &self.hidden.text(&error.help))
    }
}

impl Studio {
    /// Returns a server that may be started, or the reason why it may not.
    fn startable(&self, definition: &str, server: &str) -> Result<ServerSetup, Refusal> {
        let unknown = |what: String| ServiceError::refused("unknown_server", what, "load the list of servers again");
        let path = self.service.library().path(definition);
        let path = path.ok_or_else(|| unknown(format!("there is no definition `{definition}` in the project")))?;
        let functions = read(self, &path)?;
        let setup = functions.servers.iter().find(|setup| setup.server.name == server);
        let setup = setup.ok_or_else(|| unknown(format!("`{definition}` calls no server `{server}`")))?.clone();
        if !matches!(setup.server.transport, Transport::Builtin(_)) {
            may_start(self, &functions)?;
        }
        Ok(setup)
    }
}

/// Lists the tools of a server, with their input schemas.
pub(super) async fn tools(State(studio): State<Arc<Studio>>, Body(wanted): Body<NamedServer>) -> Answer<Value> {
    let started = StartedServer::of(&studio, wanted).await?;
    let listed = tokio::time::timeout(LONGEST * 2, started.servers.tools(&started.name)).await;
    let answer = match listed {
        Ok(Ok(tools)) => {
            let shown = tools.iter().take(MOST_TOOLS).map(|tool| {
                let (title, description) = (&tool.title, &tool.description);
                json!({ "name": tool.name, "title": title, "description": description, "inputSchema": tool.input_schema })
            });
            let shown = started.hidden.value(&Value::Array(shown.collect()));
            Ok(Json(json!({ "tools": shown, "more": tools.len().saturating_sub(MOST_TOOLS) })))
        }
        Ok(Err(error)) => Err(started.failed(&error)),
        Err(_late) => Err(late()),
    };
    started.servers.close_within(GRACE).await;
    answer
}

/// A tool and its arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallRequest {
    definition: String,
    server: String,
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Calls a tool once.
pub(super) async fn call(State(studio): State<Arc<Studio>>, Body(wanted): Body<CallRequest>) -> Answer<Value> {
    let CallRequest { definition, server, tool, arguments } = wanted;
    let started = StartedServer::of(&studio, NamedServer { definition, server }).await?;
    let begun = Instant::now();
    let called = started.servers.call(ToolCall {
        server: &started.name,
        tool: &tool,
        arguments,
        timeout: LONGEST,
        in_all: Some(LONGEST * 2),
        meta: Map::new(),
        progress: None,
    });
    let answer = match called.await {
        Ok(reply) => {
            let (text, cut) = shown(&started.hidden.value(&reply));
            let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            Ok(Json(json!({ "text": text, "cut": cut, "isError": reply["isError"] == true, "tookMs": took })))
        }
        Err(error) => Err(started.failed(&error)),
    };
    started.servers.close_within(GRACE).await;
    answer
}

fn late() -> Refusal {
    let message = format!("the server did not answer within {} s", (LONGEST * 2).as_secs());
    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "call-timeout", message, "check whether it starts in a terminal")
}

/// Renders a reply: text parts as they are, everything else as JSON. The flag says whether the text was cut.
fn shown(reply: &Value) -> (String, bool) {
    let written = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let parts = reply["content"].as_array().map_or(&[][..], Vec::as_slice);
    let mut texts: Vec<String> =
        parts.iter().map(|part| part["text"].as_str().map_or_else(|| written(part), str::to_owned)).collect();
    if let Some(value) = reply.get("structuredContent").filter(|_| texts.is_empty()) {
        texts.push(written(value));
    }
    let mut text = texts.join("\n");
    let cut = text.len() > SHOWN;
    text.truncate(text.floor_char_boundary(SHOWN));
    (text, cut)
}
