//! The toolsets over streamable HTTP, for many clients at once.
//!
//! ```text
//! HTTP ─access→ ─limits→ rmcp: sessions, streams, revisions ─face→ the toolsets, as over stdio
//! ```
//! Clients of 2026-07-28 have no session. Those of earlier revisions have one, which ends when the client ends it or
//! after [`IDLE`]. A run does not belong to a session: it is found by its handle or token.

mod event_metrics;
mod limits;
mod metrics;
mod open_project;
mod projects;
mod sessions;
mod step_up;
mod suspension;

pub(crate) use event_metrics::EventMetrics;
use limits::Shares;
pub(crate) use metrics::Metrics;
use open_project::Opener;
use projects::Projects;
pub(crate) use projects::{MakeProject, ProjectFolder};
use sessions::Sessions;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use portolan_runtime::service::{Service, ServiceError};
use rmcp::transport::StreamableHttpServerConfig;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::time::{interval, timeout};

use super::connection::{FAREWELL, stop_signal};
use super::several::ServedTools;
use super::toolset::Manners;
use super::transport::Bounds;
use crate::http::oauth::METADATA;
use crate::http::project_path::PROJECTS;
use crate::http::{Access, Beside, Listeners, Refusal};

/// The path at which all toolsets are served. Each is served alone at this path with its name appended.
pub(crate) const PATH: &str = "/mcp";

/// The path of the metrics.
const METRICS: &str = "/metrics";

/// How long a session can be idle before it ends.
const IDLE: Duration = Duration::from_mins(30);
/// How often idle sessions and unused projects are looked for.
const FREED_EVERY: Duration = Duration::from_secs(1);
/// How long pending calls can continue after the process was asked to end.
const DRAIN: Duration = Duration::from_secs(10);
/// The most requests that are processed at once.
const MOST_REQUESTS: usize = 256;
/// The most streams that are open at once.
const MOST_STREAMS: usize = 4_096;
/// The most sessions.
const MOST_SESSIONS: usize = 20_000;

/// A toolset, with the name of its path.
pub(crate) struct NamedTools {
    pub(crate) name: &'static str,
    pub(crate) tools: ServedTools,
}

/// What a server serves.
pub(crate) enum Content {
    /// One project, with its toolsets.
    Project(Arc<Service>, Vec<NamedTools>),
    /// The projects of a folder.
    Folder(ProjectFolder),
}

/// The state that all requests share.
struct Server {
    projects: Projects,
    access: Access,
    bounds: Bounds,
    requests: Arc<Semaphore>,
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
        let counts = self.projects.tables().into_iter().map(|table| table.count());
        counts.fold((0, 0), |all, (sessions, suspended)| (all.0 + sessions, all.1 + suspended))
    }

    /// Forgets the sessions that have ended.
    fn forget_ended_sessions(&self) {
        self.sessions.retain(&self.projects.tables().iter().flat_map(|table| table.ids()).collect());
    }

    /// Frees what idle sessions and unused projects take.
    async fn free_idle(&self) {
        for table in self.projects.tables() {
            table.suspend_idle().await;
        }
        self.projects.close_unused().await;
    }
}

/// Frees what is idle for as long as there is a server.
async fn free(server: Weak<Server>) {
    let mut interval = interval(FREED_EVERY);
    loop {
        interval.tick().await;
        let Some(server) = server.upgrade() else { return };
        server.free_idle().await;
    }
}

/// Serves clients at `listeners` until a signal arrives, and then until the pending calls are answered, for at most
/// [`DRAIN`]. What is `beside` answers at all other paths. What `metrics` counts is shown to those who may see it.
///
/// # Errors
/// Two sets have a tool of the same name, or the system accepts no more connections.
pub(crate) async fn serve(
    content: Content,
    listeners: Listeners,
    access: Access,
    beside: Option<Beside>,
    metrics: Metrics,
) -> anyhow::Result<()> {
    let (end, ending) = watch::channel(false);
    let config = config();
    let cancel = config.cancellation_token.clone();
    let (router, server) = router(content, access, config, ending.clone(), metrics).await?;
    let (router, streams) = match beside {
        Some(beside) => (router.fallback_service(beside.router), Some(beside.ending)),
        None => (router.fallback_service(nowhere(&server)), None),
    };
    tokio::spawn(free(Arc::downgrade(&server)));
    let stop = stop_signal()?;
    let mut serving = tokio::spawn(listeners.serve(router, ending));
    tokio::select! {
        () = stop => {}
        served = &mut serving => return served.map_err(io::Error::other)?.map_err(Into::into),
    }
    server.is_ending.store(true, Ordering::Relaxed);
    if let Some(streams) = streams {
        streams.send_replace(true);
    }
    // All permits are free once no call is pending. A second signal does not wait.
    let drained = server.requests.acquire_many(u32::try_from(MOST_REQUESTS).expect("a small number"));
    tokio::select! {
        _drained = timeout(DRAIN, drained) => {}
        () = stop_signal()? => {}
    }
    end.send_replace(true);
    cancel.cancel();
    let _slow = timeout(FAREWELL, serving).await;
    server.projects.close().await;
    Ok(())
}

/// Returns the parameters of rmcp's part. The hosts, origins and sizes of requests are checked before it.
fn config() -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(usize::MAX)
}

async fn router(
    content: Content,
    access: Access,
    config: StreamableHttpServerConfig,
    ending: watch::Receiver<bool>,
    metrics: Metrics,
) -> Result<(Router, Arc<Server>), ServiceError> {
    let metrics = Arc::new(metrics);
    let opener = Opener { config, ending, metrics: Arc::clone(&metrics) };
    let (projects, bounds) = match content {
        Content::Project(service, sets) => {
            let project = opener.open(service, sets).await?;
            let bounds = project.bounds;
            (Projects::one(project, opener), bounds)
        }
        Content::Folder(folder) => (Projects::of(folder, opener), Manners::default().bounds),
    };
    let requests = Arc::new(Semaphore::new(MOST_REQUESTS));
    let is_ending = AtomicBool::new(false);
    let streams = Arc::new(Semaphore::new(MOST_STREAMS));
    let (request_shares, stream_shares) = (Shares::of_requests(), Shares::of_streams());
    let server = Server {
        projects,
        access,
        bounds,
        requests,
        sessions: Sessions::new()?,
        streams,
        request_shares,
        stream_shares,
        metrics,
        is_ending,
    };
    let server = Arc::new(server);
    let router = Router::new()
        .route(PATH, any(mcp))
        .route(&format!("{PATH}/{{toolset}}"), any(mcp))
        .route(&format!("{PROJECTS}/{{*path}}"), any(mcp))
        .layer(from_fn_with_state(Arc::clone(&server), limits::limit))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route(METRICS, get(metrics::all))
        .route(METADATA, get(resource_metadata))
        .route(&format!("{METADATA}/{{*path}}"), get(resource_metadata))
        .layer(from_fn_with_state(Arc::clone(&server), limits::admit))
        .with_state(Arc::clone(&server));
    Ok((router, server))
}

/// Answers at paths that do not exist.
fn nowhere(server: &Arc<Server>) -> Router {
    let admitted = from_fn_with_state(Arc::clone(server), limits::admit);
    Router::new().fallback(nothing).layer(admitted).with_state(Arc::clone(server))
}

/// Serves the MCP of the project at the path of the request.
async fn mcp(State(server): State<Arc<Server>>, request: Request) -> Response {
    match server.projects.find(request.uri().path()).await {
        Ok((project, service)) => {
            if let Some(refusal) = step_up::lacking_scope(&server, &project, &request) {
                return refusal.into_response();
            }
            let mut response = service.handle(request).await.map(Body::new);
            response.extensions_mut().insert(project);
            response
        }
        Err(refusal) if refusal.status == StatusCode::SERVICE_UNAVAILABLE => limits::later(refusal),
        Err(refusal) => refusal.into_response(),
    }
}

async fn healthy() -> &'static str {
    "ok\n"
}

/// Answers whether calls can be served: the store answers, or the folder of projects can be read, and the server is not
/// about to end.
async fn ready(State(server): State<Arc<Server>>) -> Result<&'static str, Refusal> {
    if server.is_ending.load(Ordering::Relaxed) {
        return Err(limits::ending());
    }
    let refused =
        |message| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", message, "`portolan doctor` checks it");
    if let Some(folder) = server.projects.folder() {
        // A project whose own store fails must not keep clients from the others.
        return match folder.read_dir() {
            Ok(_readable) => Ok("ok\n"),
            Err(error) => Err(refused(format!("the folder of projects cannot be read: {error}"))),
        };
    }
    for service in server.projects.services() {
        let version = service.store().version().await;
        version.map_err(|error| refused(format!("the store of runs is not available: {error}")))?;
    }
    Ok("ok\n")
}

/// Answers who issues tokens for this server. The rest of the path is that of the resource.
async fn resource_metadata(State(server): State<Arc<Server>>, uri: Uri) -> Result<Json<Value>, Refusal> {
    let path = uri.path().strip_prefix(METADATA).unwrap_or_default();
    let is_served = path.is_empty() || server.projects.may_serve(path);
    let oauth = server.access.oauth().filter(|_| is_served).ok_or_else(|| server.projects.nothing_there())?;
    Ok(Json(oauth.metadata(path)))
}

async fn nothing(State(server): State<Arc<Server>>) -> Refusal {
    server.projects.nothing_there()
}
