//! A project whose clients are served: its toolsets as MCP servers, by path.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use portolan_runtime::service::{Service, ServiceError};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::suspension::{MakeFace, SessionTable};
use super::{Metrics, NamedTools, PATH};
use crate::http::Scope;
use crate::mcp::face::Face;
use crate::mcp::long_calls::LongCalls;
use crate::mcp::several::combined;
use crate::mcp::toolset::{Toolset, Work};
use crate::mcp::transport::Bounds;

pub(super) type McpService = StreamableHttpService<Face, SessionTable>;

/// What projects need to be served.
pub(super) struct Opener {
    pub(super) config: StreamableHttpServerConfig,
    /// Becomes true when pending calls are to be dropped.
    pub(super) ending: watch::Receiver<bool>,
    pub(super) metrics: Arc<Metrics>,
}

/// A project that is served.
pub(super) struct OpenProject {
    pub(super) service: Arc<Service>,
    /// The limits of a message.
    pub(super) bounds: Bounds,
    /// The servers by path, such as `/mcp`.
    endpoints: BTreeMap<String, Endpoint>,
    /// Work beside the calls, which ends with the project.
    _meanwhile: JoinSet<()>,
    afterwards: Mutex<Vec<Work>>,
}

struct Endpoint {
    toolset: Arc<dyn Toolset>,
    service: McpService,
    table: Arc<SessionTable>,
}

impl Opener {
    /// Opens a project: does the work of its toolsets that comes before any call, and begins that beside calls.
    ///
    /// # Errors
    /// Two sets have a tool of the same name.
    pub(super) async fn open(
        &self,
        service: Arc<Service>,
        mut sets: Vec<NamedTools>,
    ) -> Result<OpenProject, ServiceError> {
        for work in sets.iter_mut().filter_map(|set| set.tools.beforehand.take()) {
            work.await;
        }
        let mut meanwhile = JoinSet::new();
        sets.iter_mut().filter_map(|set| set.tools.meanwhile.take()).for_each(|work| drop(meanwhile.spawn(work)));
        let afterwards = Mutex::new(sets.iter_mut().filter_map(|set| set.tools.afterwards.take()).collect());
        let named = |set: &NamedTools| (format!("{PATH}/{}", set.name), Arc::clone(&set.tools.toolset));
        let mut toolsets: Vec<(String, Arc<dyn Toolset>)> = sets.iter().map(named).collect();
        let all = combined(sets.into_iter().map(|set| set.tools.toolset).collect())?;
        let bounds = all.manners().bounds;
        toolsets.push((PATH.to_owned(), all));
        // A task is known at all paths of its project.
        let long_calls = LongCalls::of(service.project());
        let endpoints =
            toolsets.into_iter().map(|(path, toolset)| (path, self.endpoint(toolset, long_calls.clone()))).collect();
        Ok(OpenProject { service, bounds, endpoints, _meanwhile: meanwhile, afterwards })
    }

    fn endpoint(&self, toolset: Arc<dyn Toolset>, long_calls: LongCalls) -> Endpoint {
        let (ending, metrics) = (self.ending.clone(), Arc::clone(&self.metrics));
        let served = Arc::clone(&toolset);
        let face: MakeFace = Arc::new(move |is_restored| {
            let face = Face::measured(Arc::clone(&served), long_calls.clone(), ending.clone(), Arc::clone(&metrics));
            if is_restored { face.restored() } else { face }
        });
        let table = Arc::new(SessionTable::new(Arc::clone(&face), self.config.clone()));
        let service = StreamableHttpService::new(move || Ok(face(false)), Arc::clone(&table), self.config.clone());
        Endpoint { toolset, service, table }
    }
}

impl OpenProject {
    /// Returns the server at a path.
    pub(super) fn at(&self, path: &str) -> Option<McpService> {
        self.endpoints.get(path).map(|endpoint| endpoint.service.clone())
    }

    /// Returns the scope that a call of a tool at a path needs. `None` if there is no such tool.
    pub(super) fn scope(&self, path: &str, tool: &str) -> Option<Scope> {
        let toolset = &self.endpoints.get(path)?.toolset;
        toolset.has(tool).then(|| toolset.scope(tool))
    }

    /// Returns the sessions at a path.
    pub(super) fn table(&self, path: &str) -> Option<Arc<SessionTable>> {
        self.endpoints.get(path).map(|endpoint| Arc::clone(&endpoint.table))
    }

    /// Returns the sessions at all paths.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Arc<SessionTable>> {
        self.endpoints.values().map(|endpoint| &endpoint.table)
    }

    /// Ends its sessions, and does the work of its toolsets that comes after all calls.
    pub(super) async fn close(&self) {
        for table in self.tables() {
            table.end_all().await;
        }
        let afterwards = std::mem::take(&mut *self.afterwards.lock().unwrap_or_else(PoisonError::into_inner));
        for work in afterwards {
            work.await;
        }
    }
}
