//! The MCP servers that workflows call: a pool that starts each server at its first use, once for any number of
//! concurrent calls, and starts it again if it went away.
//!
//! The pool knows how to reach a server and what it answered. It does not know how a workflow uses the answer, and does
//! not check whether a server may be started: the caller has done so.
//!
//! A server's process ends, with its whole process group, by [`Servers::close`], by dropping the pool, and with the end
//! of the runtime. If Portolan is killed (`kill -9`), the system closes the server's standard input. That ends every
//! server that follows the protocol; one that ignores it continues to run.

mod bounds;
mod client;
mod connection;
mod environment;
mod error;
mod expand;
mod face;
mod http;
mod in_flight;
mod intake;
mod lines;
mod lists;
mod message;
mod notices;
mod open;
#[cfg(unix)]
mod process;
mod rounds;
mod secrets;
mod slot;
mod sse;
mod stderr;
mod subscriptions;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use portolan_core::diagnostic::closest;
use portolan_core::graph::DEFAULT_CALL_TIMEOUT_MS;
use rmcp::model::{
    ClientRequest, CompleteRequest, CompleteRequestParams, GetPromptRequest, GetPromptRequestParams,
    ReadResourceRequest, ReadResourceRequestParams,
};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use connection::{Connection, Terms};
use rounds::complete;
use slot::Slot;

use crate::logging;

pub use crate::library::ServerSetup;
pub use client::{
    Answers, CallClient, ClientFeature, ClientFeatures, LogLevel, LogMessage, OnLog, OnQuestions, Unanswered,
};
pub use error::{CallError, CallErrorKind};
pub use lists::{Offers, Tool};
pub use notices::{OnProgress, Progress};
pub use stderr::OnStderr;

/// The options for all servers of a pool.
#[derive(Clone)]
pub struct PoolOptions {
    /// The maximum time from a server's start to the end of the handshake.
    pub handshake_timeout: Duration,
    /// The maximum size of a server's message in bytes.
    pub max_message: usize,
    /// The number of bytes of standard error that are kept for each server.
    pub stderr_bytes: usize,
    /// A listener of the servers' standard error.
    pub on_stderr: Option<OnStderr>,
    /// The wait before a restart after the second failure in a row. It doubles with each further one.
    pub backoff_first: Duration,
    /// The maximum wait before a restart.
    pub backoff_max: Duration,
    /// The time for a process to end after its standard input is closed, and again after the request to end.
    pub grace: Duration,
    /// Whether all calls are those of one client. A server is then started again when the client turns out to answer
    /// questions, instead of once more.
    pub is_for_one_client: bool,
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        PoolOptions {
            handshake_timeout: Duration::from_secs(20),
            max_message: 16 << 20,
            stderr_bytes: 64 << 10,
            on_stderr: None,
            backoff_first: Duration::from_secs(1),
            backoff_max: Duration::from_secs(30),
            grace: Duration::from_secs(2),
            is_for_one_client: false,
        }
    }
}

/// A tool call.
#[derive(Clone)]
pub struct ToolCall<'a> {
    /// The server.
    pub server: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The maximum time of the server's answer, without its start.
    pub timeout: Duration,
    /// The maximum time of the start and the answer together, if it is limited. The start continues for other calls.
    pub in_all: Option<Duration>,
    /// The `_meta` of the request, for example `traceparent`.
    pub meta: Map<String, Value>,
    /// A listener of the progress that the server reports, in the order in which it reports it, and never after the result.
    pub progress: Option<OnProgress>,
}

/// A request for what a server offers besides tools.
#[derive(Clone)]
pub struct OfferRequest<'a> {
    /// The server.
    pub server: &'a str,
    /// What is requested.
    pub wanted: OfferWanted,
    /// The maximum time of the server's answer, without its start.
    pub timeout: Duration,
    /// The `_meta` of the request.
    pub meta: Map<String, Value>,
    /// A listener of the progress that the server reports.
    pub progress: Option<OnProgress>,
}

/// What is requested of a server's resources and prompts.
#[derive(Clone, Debug)]
pub enum OfferWanted {
    /// The contents of a resource.
    Resource {
        /// Its address.
        uri: String,
    },
    /// The messages of a prompt.
    Prompt {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// The values that complete an argument of a prompt, or a variable of a resource's address: the parameters of the
    /// method `completion/complete`.
    Completion(Box<CompleteRequestParams>),
}

impl OfferWanted {
    fn request(self) -> (String, ClientRequest) {
        match self {
            OfferWanted::Resource { uri } => (
                format!("resource `{uri}`"),
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(ReadResourceRequestParams::new(uri))),
            ),
            OfferWanted::Prompt { name, arguments } => (
                format!("prompt `{name}`"),
                ClientRequest::GetPromptRequest(GetPromptRequest::new(
                    GetPromptRequestParams::new(name).with_arguments(arguments),
                )),
            ),
            OfferWanted::Completion(params) => {
                ("`completion/complete`".to_owned(), ClientRequest::CompleteRequest(CompleteRequest::new(*params)))
            }
        }
    }
}

/// What a server reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAbout {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its instructions for use.
    pub instructions: Option<String>,
}

/// A pool of servers. Share it in an `Arc`. Calls may be concurrent, from the tasks of one tokio runtime with I/O and
/// time enabled. Dropping it kills the servers' processes.
pub struct Servers {
    slots: IndexMap<String, Arc<Slot>>,
    /// Further slots of servers that are told what they may ask when they are started.
    asking: Mutex<BTreeMap<AskingServer, Arc<Slot>>>,
    is_for_one_client: bool,
    grace: Grace,
}

/// A server, and what it may ask.
type AskingServer = (String, ClientFeatures);

impl Servers {
    /// Returns a pool of these servers. Of several with one name the last counts. Nothing is started.
    pub fn new(setups: Vec<ServerSetup>, options: PoolOptions) -> Servers {
        let (grace, is_for_one_client) = (Grace::of(options.grace), options.is_for_one_client);
        let options = Arc::new(options);
        let slot =
            |setup: ServerSetup| (setup.server.name.clone(), Slot::new(setup, Arc::clone(&options), grace.clone()));
        let slots = setups.into_iter().map(slot).collect();
        Servers { slots, asking: Mutex::default(), is_for_one_client, grace }
    }

    /// Returns the time limit of a call from the server's entry, in milliseconds.
    pub fn timeout_ms(&self, server: &str) -> Option<u64> {
        self.slots.get(server)?.setup.server.timeout_ms
    }

    /// Returns the names of all enabled servers, in the order of the setups.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().filter(|(_, slot)| !slot.setup.server.disabled).map(|(name, _)| name.as_str())
    }

    /// Calls a tool and returns the `tools/call` result as the server wrote it. Dropping the future cancels the call.
    pub async fn call(&self, call: ToolCall<'_>) -> Result<Value, CallError> {
        self.call_for(call, None).await
    }

    /// Calls a tool for a client that the server may ask. The time of its answers is not the server's.
    pub async fn call_for(&self, call: ToolCall<'_>, client: Option<CallClient>) -> Result<Value, CallError> {
        let (began, server, tool) = (Instant::now(), call.server, call.tool);
        let result = self.result_of_call(call, client, began).await;
        let code = match &result {
            Ok(result) if result["isError"] == true => Some("tool_error"),
            Ok(_) => None,
            Err(error) => Some(error.code),
        };
        logging::server_answered(server, ("tools/call", Some(tool)), began.into_std(), code);
        result
    }

    /// Requests what a server offers besides tools, and returns the result as the server wrote it. Dropping the future
    /// cancels the request.
    pub async fn request(&self, request: OfferRequest<'_>) -> Result<Value, CallError> {
        let (began, server) = (Instant::now(), request.server);
        let (what, wanted) = request.wanted.request();
        let method = wanted.method().to_owned();
        let terms = Terms { meta: request.meta, limit: request.timeout, progress: request.progress, client: None };
        let result = async {
            let connection = self.connection(server).await?;
            complete(&connection, &what, connection.request(&what, wanted, terms).await?)
        };
        let result = result.await;
        logging::server_answered(
            server,
            (&method, None),
            began.into_std(),
            result.as_ref().err().map(|error| error.code),
        );
        result
    }

    /// Returns the tools of a server. They are cached until the server reports a change, or, if it does not report
    /// changes, for the time that it allowed.
    pub async fn tools(&self, server: &str) -> Result<Arc<[Tool]>, CallError> {
        let limit = self.limit(server)?;
        self.connection(server).await?.tools(limit).await
    }

    /// Returns the resources and prompts of a server. They are cached as the tools are.
    pub async fn offers(&self, server: &str) -> Result<Arc<Offers>, CallError> {
        let limit = self.limit(server)?;
        self.connection(server).await?.offers(limit).await
    }

    /// Subscribes to a resource of a server. Returns a receiver that changes with each update, and when updates may have been
    /// missed. The server is subscribed once for all receivers of the resource, until the last is dropped, and again after
    /// each of its starts.
    pub async fn subscribe(&self, server: &str, uri: &str) -> Result<watch::Receiver<u64>, CallError> {
        let limit = self.limit(server)?;
        self.slot(server)?.subscribe(uri, limit).await
    }

    /// Returns the time limit of a list.
    fn limit(&self, server: &str) -> Result<Duration, CallError> {
        let limit = self.slot(server)?.setup.server.timeout_ms.unwrap_or(DEFAULT_CALL_TIMEOUT_MS);
        Ok(Duration::from_millis(limit))
    }

    /// Returns what a server reported about itself when it was started.
    pub async fn about(&self, server: &str) -> Result<ServerAbout, CallError> {
        Ok(self.connection(server).await?.about())
    }

    /// Ends all servers, and waits until their processes are gone. Every later call is refused.
    pub async fn close(&self) {
        let patience = self.grace.in_all();
        let mut closing = JoinSet::new();
        for slot in self.all_slots() {
            closing.spawn(slot.close().left(patience));
        }
        closing.join_all().await;
    }

    /// Does the same within a time limit: a process has at most `grace` to end after its standard input is closed, and
    /// again after the request to end.
    pub async fn close_within(&self, grace: Duration) {
        self.grace.shorten(grace);
        self.close().await;
    }

    fn all_slots(&self) -> Vec<Arc<Slot>> {
        let asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        self.slots.values().chain(asking.values()).cloned().collect()
    }

    fn slot(&self, server: &str) -> Result<&Arc<Slot>, CallError> {
        match self.slots.get(server) {
            Some(slot) if slot.setup.server.disabled => {
                let message = format!("server `{server}` is disabled");
                let help = "remove `disabled` from its entry, or call another server";
                Err(CallError::new(CallErrorKind::Disabled, server, message, help))
            }
            Some(slot) => Ok(slot),
            None => Err(self.unknown(server)),
        }
    }

    async fn connection(&self, server: &str) -> Result<Arc<Connection>, CallError> {
        self.slot(server)?.connection().await
    }

    fn unknown(&self, server: &str) -> CallError {
        let names: Vec<&str> = self.names().collect();
        let help = match closest(server, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None if names.is_empty() => "no servers are configured; add one under `mcpServers`".to_owned(),
            None => format!("configured are `{}`", names.join("`, `")),
        };
        CallError::new(CallErrorKind::UnknownServer, server, format!("there is no server `{server}`"), help)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for slot in self.all_slots() {
            // Dropping a connection kills its process.
            drop(slot.close());
        }
    }
}

/// The time for a process to end, in milliseconds. It may be shortened while the process runs.
#[derive(Clone)]
struct Grace(Arc<AtomicU64>);

impl Grace {
    fn of(grace: Duration) -> Grace {
        Grace(Arc::new(AtomicU64::new(millis(grace))))
    }

    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    /// Returns the time for closing the input, the request to end, and the kill.
    fn in_all(&self) -> Duration {
        self.get().saturating_mul(3) + Duration::from_secs(1)
    }

    fn shorten(&self, grace: Duration) {
        self.0.fetch_min(millis(grace), Ordering::Relaxed);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a duration as messages show it.
fn seconds(duration: Duration) -> String {
    match duration.as_millis() {
        millis if millis < 1000 => format!("{millis} ms"),
        millis if millis % 1000 == 0 => format!("{} s", millis / 1000),
        millis => format!("{:.1} s", millis as f64 / 1000.0),
    }
}
