//! Several toolsets that are served together, each as it would be alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::diagnostic::list;
use portolan_runtime::service::ServiceError;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, CompletionInfo, GetPromptRequestParams, Implementation, Prompt,
    Resource, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::connection::serve_stdio;
use super::long_calls::{LongCalls, RecalledCall};
use super::toolset::{Answer, Completion, Manners, Messages, Recalled, Subscribed, Text, ToolsFuture, Toolset, Work};
use super::transport::Bounds;
use crate::http::Scope;

/// A toolset and its requirements.
pub(crate) struct ServedTools {
    pub(super) toolset: Arc<dyn Toolset>,
    /// The number of threads that serve calls. 0 if the thread that reads the client's messages suffices.
    pub(super) workers: usize,
    /// Work to do before clients are served.
    pub(super) beforehand: Option<Work>,
    /// Work to do while it is served.
    pub(super) meanwhile: Option<Work>,
    /// Work to do when the client has left.
    pub(super) afterwards: Option<Work>,
}

impl ServedTools {
    /// Returns the names of its tools.
    pub(crate) fn names(&self) -> Vec<String> {
        self.toolset.tools().into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// Wraps a toolset without further requirements.
    pub(super) fn alone(toolset: Arc<dyn Toolset>) -> ServedTools {
        ServedTools { toolset, workers: 0, beforehand: None, meanwhile: None, afterwards: None }
    }
}

/// Serves the client of a project at standard input and output until it leaves or a signal arrives.
///
/// # Errors
/// Two sets have a tool of the same name, or the client cannot be served.
pub(crate) fn serve(project: &Path, mut sets: Vec<ServedTools>) -> anyhow::Result<()> {
    let runtime = runtime(sets.iter().map(|set| set.workers).max().unwrap_or_default())?;
    sets.iter_mut().filter_map(|set| set.beforehand.take()).for_each(|work| runtime.block_on(work));
    sets.iter_mut().filter_map(|set| set.meanwhile.take()).for_each(|work| drop(runtime.spawn(work)));
    let afterwards: Vec<Work> = sets.iter_mut().filter_map(|set| set.afterwards.take()).collect();
    let toolset = combined(sets.into_iter().map(|set| set.toolset).collect())?;
    serve_stdio(runtime, toolset, LongCalls::of(project), async {
        for work in afterwards {
            work.await;
        }
    })
}

/// Returns a toolset with the tools of all.
///
/// # Errors
/// Two sets have a tool of the same name.
pub(super) fn combined(mut toolsets: Vec<Arc<dyn Toolset>>) -> Result<Arc<dyn Toolset>, ServiceError> {
    Ok(match toolsets.len() {
        1 => toolsets.remove(0),
        _ => Arc::new(Several::of(toolsets)?),
    })
}

fn runtime(workers: usize) -> std::io::Result<Runtime> {
    match workers {
        0 => Builder::new_current_thread().enable_all().build(),
        workers => Builder::new_multi_thread().worker_threads(workers).enable_all().build(),
    }
}

struct Several {
    sets: Vec<Arc<dyn Toolset>>,
}

impl Several {
    fn of(sets: Vec<Arc<dyn Toolset>>) -> Result<Several, ServiceError> {
        let mut distinct = BTreeSet::new();
        let names = sets.iter().flat_map(|set| set.tools()).map(|tool| tool.name.to_string());
        let twice: Vec<String> = names.filter(|name| !distinct.insert(name.clone())).collect();
        if twice.is_empty() {
            return Ok(Several { sets });
        }
        let twice: Vec<&str> = twice.iter().map(String::as_str).collect();
        let message = format!("two tools would have the name {}", list(&twice));
        Err(ServiceError::refused("duplicate_tool", message, "rename the graph, or serve the toolsets separately"))
    }

    /// Returns the set with a tool. Without one, it returns the first set, which reports the unknown tool.
    fn with(&self, name: &str) -> &Arc<dyn Toolset> {
        self.sets.iter().find(|set| set.has(name)).unwrap_or(&self.sets[0])
    }
}

impl Toolset for Several {
    fn manners(&self) -> Manners {
        let manners: Vec<Manners> = self.sets.iter().map(|set| set.manners()).collect();
        let most = |of: fn(&Manners) -> usize| manners.iter().map(of).max().unwrap_or_default();
        let bounds = Bounds { line: most(|it| it.bounds.line), values: most(|it| it.bounds.values) };
        Manners { bounds, parting: manners.iter().map(|it| it.parting).max().unwrap_or_default() }
    }

    fn about(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if self.changes().is_some() {
            capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        }
        let each: Vec<ServerCapabilities> = self.sets.iter().map(|set| set.about().capabilities).collect();
        // If one set supports subscriptions, all do: a resource that never changes cannot be subscribed to.
        let resources = each.iter().filter_map(|set| set.resources.clone());
        capabilities.resources = resources.max_by_key(|resources| resources.subscribe == Some(true));
        capabilities.prompts = each.iter().find_map(|set| set.prompts.clone());
        if self.offer_changes().is_some() {
            capabilities.resources.get_or_insert_default().list_changed = Some(true);
            capabilities.prompts.get_or_insert_default().list_changed = Some(true);
        }
        capabilities.logging = each.iter().find_map(|set| set.logging.clone());
        capabilities.completions = each.iter().find_map(|set| set.completions.clone());
        capabilities.extensions = each.iter().find_map(|set| set.extensions.clone());
        let texts: Vec<String> = self.sets.iter().filter_map(|set| set.about().instructions).collect();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("portolan", env!("CARGO_PKG_VERSION")))
            .with_instructions(texts.join("\n\n"))
    }

    /// Lists the tools of all sets. Hides a graph that is renamed to a tool of an earlier set.
    fn tools(&self) -> Vec<Tool> {
        let mut names = BTreeSet::new();
        self.sets.iter().flat_map(|set| set.tools()).filter(|tool| names.insert(tool.name.clone())).collect()
    }

    fn open_tools(&self) -> ToolsFuture<'_> {
        Box::pin(async {
            let (mut names, mut tools) = (BTreeSet::new(), Vec::new());
            for set in &self.sets {
                tools.extend(set.open_tools().await.into_iter().filter(|tool| names.insert(tool.name.clone())));
            }
            tools
        })
    }

    fn has(&self, tool: &str) -> bool {
        self.sets.iter().any(|set| set.has(tool))
    }

    /// Returns the changes of the only list that can change: that of graphs, or of other servers' tools.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        self.sets.iter().find_map(|set| set.changes())
    }

    /// Returns the changes of the only lists that a client is notified of: those of other servers.
    fn offer_changes(&self) -> Option<watch::Receiver<u64>> {
        self.sets.iter().find_map(|set| set.offer_changes())
    }

    fn resources(&self) -> Vec<Resource> {
        let mut uris = BTreeSet::new();
        let all = self.sets.iter().flat_map(|set| set.resources());
        all.filter(|resource| uris.insert(resource.uri.clone())).collect()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let mut uris = BTreeSet::new();
        let all = self.sets.iter().flat_map(|set| set.templates());
        all.filter(|template| uris.insert(template.uri_template.clone())).collect()
    }

    fn read<'a>(&'a self, uri: &'a str, context: &'a RequestContext<RoleServer>) -> Text<'a> {
        Box::pin(async move {
            for set in &self.sets {
                if let Some(text) = set.read(uri, context).await {
                    return Some(text);
                }
            }
            None
        })
    }

    fn prompts(&self) -> Vec<Prompt> {
        let mut names = BTreeSet::new();
        self.sets.iter().flat_map(|set| set.prompts()).filter(|prompt| names.insert(prompt.name.clone())).collect()
    }

    fn prompt<'a>(
        &'a self,
        request: &'a GetPromptRequestParams,
        context: &'a RequestContext<RoleServer>,
    ) -> Messages<'a> {
        Box::pin(async move {
            for set in &self.sets {
                if let Some(messages) = set.prompt(request, context).await {
                    return Some(messages);
                }
            }
            None
        })
    }

    fn complete<'a>(
        &'a self,
        request: &'a CompleteRequestParams,
        context: &'a RequestContext<RoleServer>,
    ) -> Completion<'a> {
        Box::pin(async move {
            for set in &self.sets {
                let completion = set.complete(request, context).await;
                if !completion.values.is_empty() {
                    return completion;
                }
            }
            CompletionInfo::default()
        })
    }

    fn has_updates(&self, uri: &str) -> bool {
        self.sets.iter().any(|set| set.has_updates(uri))
    }

    fn subscribe<'a>(&'a self, uri: &'a str, context: &'a RequestContext<RoleServer>) -> Subscribed<'a> {
        Box::pin(async move {
            for set in &self.sets {
                if let Some(updates) = set.subscribe(uri, context).await {
                    return Some(updates);
                }
            }
            None
        })
    }

    /// Returns the work of the gates, the only set that works beside its calls.
    fn beside(&self, peer: Peer<RoleServer>) -> Option<Work> {
        self.sets.iter().find_map(|set| set.beside(peer.clone()))
    }

    fn scope(&self, tool: &str) -> Scope {
        self.with(tool).scope(tool)
    }

    fn patience(&self, tool: &str) -> Option<Duration> {
        self.with(tool).patience(tool)
    }

    fn recall<'a>(&'a self, call: &'a RecalledCall, context: &'a RequestContext<RoleServer>) -> Recalled<'a> {
        self.with(&call.tool).recall(call, context)
    }

    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_> {
        self.with(&request.name).call(request, context)
    }
}
