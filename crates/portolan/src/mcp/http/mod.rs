//! The toolsets over streamable HTTP, for many clients at once.
//!
//! ```text
//! HTTP ─access→ ─limits→ rmcp: sessions, streams, revisions ─face→ the toolsets, as over stdio
//! ```
//! Clients of 2026-07-28 have no session. Those of earlier revisions have one, which ends when the client ends it or
//! after [`IDLE`]. A run does not belong to a session: it is found by its handle or token.

mod limits;
mod metrics;
mod sessions;
mod suspension;

use limits::Shares;
pub(super) use metrics::Metrics;
use sessions::Sessions;
use suspension::{MakeFace, SessionTable};

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use portolan_runtime::service::{Service, ServiceError};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::time::{interval, timeout};

use super::connection::{FAREWELL, stop_signal};
use super::face::Face;
use super::several::{ServedTools, combined};
use super::toolset::Toolset;
use super::transport::Bounds;
use crate::http::oauth::METADATA;
use crate::http::{Access, Listeners, Refusal};

/// The path at which all toolsets are served. Each is served alone at this path with its name appended.
pub(crate) const PATH: &str = "/mcp";

/// The path of the metrics.
const METRICS: &str = "/metrics";

/// How long a session can be idle before it ends.
const IDLE: Duration = Duration::from_mins(30);
/// How often idle sessions are looked for.
const SUSPENSION: Duration = Duration::from_secs(1);
/// How long pending calls can continue after the process was asked to end.
const DRAIN: Duration = Duration::from_secs(10);
/// The most requests that are processed at once.
const MOST_REQUESTS: usize = 256;
/// The most streams that are open at once.
const MOST_STREAMS: usize = 4_096;
/// The most sessions.
const MOST_SESSIONS: usize = 20_000;

type McpService = StreamableHttpService<Face, SessionTable>;

/// A toolset, with the name of its path.
pub(crate) struct NamedTools {
    pub(crate) name: &'static str,
    pub(crate) tools: ServedTools,
}

/// The state that all requests share.
struct Server {
    service: Arc<Service>,
    access: Access,
    bounds: Bounds,
    requests: Arc<Semaphore>,
    /// The sessions of each path at which MCP is served.
    tables: BTreeMap<String, Arc<SessionTable>>,
    sessions: Sessions,
    /// The permits of open streams, which are no calls, and which the end of the server does not wait for.
    streams: Arc<Semaphore>,
    request_shares: Arc<Shares>,
    stream_shares: Arc<Shares>,
    metrics: Arc<Metrics>,
    is_ending: AtomicBool,
}

impl Server {
    /// Returns the number of sessions at all paths, and how many of them are suspended.
    fn session_count(&self) -> (usize, usize) {
        let counts = self.tables.values().map(|table| table.count());
        counts.fold((0, 0), |all, (sessions, suspended)| (all.0 + sessions, all.1 + suspended))
    }

    /// Forgets the sessions that have ended.
    fn forget_ended_sessions(&self) {
        self.sessions.retain(&self.tables.values().flat_map(|table| table.ids()).collect());
    }

    /// Suspends the sessions that have been idle for a while, and ends those that have been idle for long.
    async fn suspend_idle(&self) {
        for table in self.tables.values() {
            table.suspend_idle().await;
        }
    }
}

/// Suspends idle sessions for as long as there is a server.
async fn suspend(server: Weak<Server>) {
    let mut interval = interval(SUSPENSION);
    loop {
        interval.tick().await;
        let Some(server) = server.upgrade() else { return };
        server.suspend_idle().await;
    }
}

/// Serves clients at `listeners` until a signal arrives, and then until the pending calls are answered, for at most
/// [`DRAIN`].
///
/// # Errors
/// Two sets have a tool of the same name, or the system accepts no more connections.
pub(crate) async fn serve(
    service: Arc<Service>,
    mut sets: Vec<NamedTools>,
    listeners: Listeners,
    access: Access,
) -> anyhow::Result<()> {
    for work in sets.iter_mut().filter_map(|set| set.tools.beforehand.take()) {
        work.await;
    }
    sets.iter_mut().filter_map(|set| set.tools.meanwhile.take()).for_each(|work| drop(tokio::spawn(work)));
    let afterwards: Vec<_> = sets.iter_mut().filter_map(|set| set.tools.afterwards.take()).collect();
    let (end, ending) = watch::channel(false);
    let config = config();
    let cancel = config.cancellation_token.clone();
    let (router, server) = router(service, sets, access, &config, &ending)?;
    tokio::spawn(suspend(Arc::downgrade(&server)));
    let stop = stop_signal()?;
    let mut serving = tokio::spawn(listeners.serve(router, ending.clone()));
    tokio::select! {
        () = stop => {}
        served = &mut serving => return served.map_err(io::Error::other)?.map_err(Into::into),
    }
    server.is_ending.store(true, Ordering::Relaxed);
    // All permits are free once no call is pending. A second signal does not wait.
    let drained = server.requests.acquire_many(u32::try_from(MOST_REQUESTS).expect("a small number"));
    tokio::select! {
        _drained = timeout(DRAIN, drained) => {}
        () = stop_signal()? => {}
    }
    end.send_replace(true);
    cancel.cancel();
    let _slow = timeout(FAREWELL, serving).await;
    for work in afterwards {
        work.await;
    }
    Ok(())
}

/// Returns the parameters of rmcp's part. The hosts, origins and sizes of requests are checked before it.
fn config() -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(usize::MAX)
}

fn router(
    service: Arc<Service>,
    sets: Vec<NamedTools>,
    access: Access,
    config: &StreamableHttpServerConfig,
    ending: &watch::Receiver<bool>,
) -> Result<(Router, Arc<Server>), ServiceError> {
    let mut paths: Vec<(String, Arc<dyn Toolset>)> =
        sets.iter().map(|set| (format!("{PATH}/{}", set.name), Arc::clone(&set.tools.toolset))).collect();
    let all = combined(sets.into_iter().map(|set| set.tools.toolset).collect())?;
    let bounds = all.manners().bounds;
    paths.push((PATH.to_owned(), all));
    let (mut mcp, mut tables, metrics) = (Router::new(), BTreeMap::new(), Arc::new(Metrics::new()));
    for (path, toolset) in paths {
        let (service, table) = endpoint(toolset, config.clone(), ending.clone(), Arc::clone(&metrics));
        mcp = mcp.route_service(&path, service);
        tables.insert(path, table);
    }
    let requests = Arc::new(Semaphore::new(MOST_REQUESTS));
    let is_ending = AtomicBool::new(false);
    let streams = Arc::new(Semaphore::new(MOST_STREAMS));
    let (request_shares, stream_shares) = (Shares::of_requests(), Shares::of_streams());
    let server = Server {
        service,
        access,
        bounds,
        requests,
        tables,
        sessions: Sessions::new()?,
        streams,
        request_shares,
        stream_shares,
        metrics,
        is_ending,
    };
    let server = Arc::new(server);
    let router = mcp
        .layer(from_fn_with_state(Arc::clone(&server), limits::limit))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route(METRICS, get(metrics::all))
        .route(METADATA, get(resource_metadata))
        .route(&format!("{METADATA}/{{*path}}"), get(resource_metadata))
        .fallback(nothing)
        .layer(from_fn_with_state(Arc::clone(&server), limits::admit))
        .with_state(Arc::clone(&server));
    Ok((router, server))
}

fn endpoint(
    toolset: Arc<dyn Toolset>,
    config: StreamableHttpServerConfig,
    ending: watch::Receiver<bool>,
    metrics: Arc<Metrics>,
) -> (McpService, Arc<SessionTable>) {
    let face: MakeFace = Arc::new(move |is_restored| {
        let face = Face::measured(Arc::clone(&toolset), ending.clone(), Arc::clone(&metrics));
        if is_restored { face.restored() } else { face }
    });
    let table = Arc::new(SessionTable::new(Arc::clone(&face), config.clone()));
    (StreamableHttpService::new(move || Ok(face(false)), Arc::clone(&table), config), table)
}

async fn healthy() -> &'static str {
    "ok\n"
}

/// Answers whether calls can be served: the store answers, and the server is not about to end.
async fn ready(State(server): State<Arc<Server>>) -> Result<&'static str, Refusal> {
    if server.is_ending.load(Ordering::Relaxed) {
        return Err(limits::ending());
    }
    match server.service.store().version().await {
        Ok(_version) => Ok("ok\n"),
        Err(error) => {
            let message = format!("the store of runs is not available: {error}");
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", message, "`portolan doctor` checks it"))
        }
    }
}

/// Answers who issues tokens for this server. The rest of the path is that of the resource.
async fn resource_metadata(State(server): State<Arc<Server>>, uri: Uri) -> Result<Json<Value>, Refusal> {
    let path = uri.path().strip_prefix(METADATA).unwrap_or_default();
    let is_served = path.is_empty() || server.tables.contains_key(path);
    let oauth = server.access.oauth().filter(|_| is_served).ok_or_else(nothing_there)?;
    Ok(Json(oauth.metadata(path)))
}

async fn nothing() -> Refusal {
    nothing_there()
}

fn nothing_there() -> Refusal {
    let help = "MCP is served at `/mcp`, and one toolset alone at `/mcp/<toolset>`";
    Refusal::new(StatusCode::NOT_FOUND, "unknown_path", "nothing is served at this path", help)
}
