//! The projects of a server: one, or those of a folder, each of which is open while it is used.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use portolan_runtime::service::{Service, ServiceError};
use tokio::time::Instant;

use super::open_project::{McpService, OpenProject, Opener};
use super::suspension::SessionTable;
use super::{NamedTools, PATH};
use crate::http::project_path::{is_project_name, split};
use crate::http::{Refusal, Scope};

/// How long a project without sessions is unused before it is closed.
const CLOSED_AFTER: Duration = Duration::from_mins(10);
/// The most projects that are open at once.
const MOST_OPEN: usize = 64;

/// Returns the service and the toolsets of the project in a folder.
pub(crate) type MakeProject = Box<dyn Fn(&Path) -> Result<(Arc<Service>, Vec<NamedTools>), ServiceError> + Send + Sync>;

/// A folder of projects.
pub(crate) struct ProjectFolder {
    /// Its canonical path.
    pub(crate) path: PathBuf,
    /// The names of the toolsets that each project has.
    pub(crate) toolsets: Vec<&'static str>,
    pub(crate) make: MakeProject,
}

/// The identity of a folder, which differs once it was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FolderId(u64, u64);

impl ProjectFolder {
    /// Returns the folder of a project. It must be in this one under just this name: a link could lead out, and would
    /// give a project a second name, which tokens for the first do not know.
    fn find(&self, name: &str) -> Option<(PathBuf, FolderId)> {
        let path = self.path.join(name);
        let is_own = is_project_name(name) && path.canonicalize().is_ok_and(|real| real == path);
        let metadata = path.symlink_metadata().ok().filter(|metadata| is_own && metadata.is_dir())?;
        Some((path, id_of(&metadata)))
    }

    fn has_toolset(&self, rest: &str) -> bool {
        rest == PATH
            || rest
                .strip_prefix(PATH)
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|name| self.toolsets.contains(&name))
    }
}

#[cfg(unix)]
fn id_of(metadata: &std::fs::Metadata) -> FolderId {
    use std::os::unix::fs::MetadataExt;
    FolderId(metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn id_of(_metadata: &std::fs::Metadata) -> FolderId {
    FolderId(0, 0)
}

/// The projects of a server.
pub(super) struct Projects {
    /// Those that are open, by name. The name of a server's only project is empty.
    open: Mutex<BTreeMap<String, Entry>>,
    /// Where the others are. `None` if there is only one.
    folder: Option<Arc<ProjectFolder>>,
    opener: Opener,
    /// Held while a project is opened, so that none is opened twice.
    opening: tokio::sync::Mutex<()>,
}

struct Entry {
    project: Arc<OpenProject>,
    id: FolderId,
    used: Instant,
}

impl Entry {
    /// Checks whether nobody waits for a response or listens to a stream.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.project) == 1 && self.project.tables().all(|table| !table.is_in_use())
    }

    fn has_sessions(&self) -> bool {
        self.project.tables().any(|table| table.count().0 > 0)
    }
}

impl Projects {
    /// Returns the only project of a server.
    pub(super) fn one(project: OpenProject, opener: Opener) -> Projects {
        let entry = Entry { project: Arc::new(project), id: FolderId(0, 0), used: Instant::now() };
        Projects {
            open: Mutex::new([(String::new(), entry)].into()),
            folder: None,
            opener,
            opening: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the projects of a folder, none of which is open yet.
    pub(super) fn of(folder: ProjectFolder, opener: Opener) -> Projects {
        Projects {
            open: Mutex::default(),
            folder: Some(Arc::new(folder)),
            opener,
            opening: tokio::sync::Mutex::default(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the services of the projects that are open.
    pub(super) fn services(&self) -> Vec<Arc<Service>> {
        self.entries().values().map(|entry| Arc::clone(&entry.project.service)).collect()
    }

    /// Returns the sessions of the projects that are open.
    pub(super) fn tables(&self) -> Vec<Arc<SessionTable>> {
        self.entries().values().flat_map(|entry| entry.project.tables()).cloned().collect()
    }

    /// Closes all projects.
    pub(super) async fn close(&self) {
        let closed = std::mem::take(&mut *self.entries());
        for entry in closed.into_values() {
            entry.project.close().await;
        }
    }

    /// Returns the folder of the projects, if there can be several.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(|folder| &*folder.path)
    }

    /// Checks whether MCP may be served at a path. It does not say which projects there are.
    pub(super) fn may_serve(&self, path: &str) -> bool {
        match &self.folder {
            None => self.table(path).is_some(),
            Some(folder) => split(path).is_some_and(|(_name, rest)| folder.has_toolset(rest)),
        }
    }

    /// Returns the sessions at a path.
    pub(super) fn table(&self, path: &str) -> Option<Arc<SessionTable>> {
        let (name, rest) = self.split(path)?;
        self.entries().get(name)?.project.table(rest)
    }

    /// Returns the scope that a call of a tool of a project needs at a path. `None` if there is no such tool.
    pub(super) fn scope(&self, project: &OpenProject, path: &str, tool: &str) -> Option<Scope> {
        project.scope(self.split(path)?.1, tool)
    }

    /// Returns the server at a path, whose project is opened if it is not open.
    pub(super) async fn find(&self, path: &str) -> Result<(Arc<OpenProject>, McpService), Refusal> {
        let (name, rest) = self.split(path).ok_or_else(|| self.nothing_there())?;
        let project = match &self.folder {
            None => self.entries().get(name).map(|entry| Arc::clone(&entry.project)),
            Some(folder) if !folder.has_toolset(rest) => None,
            Some(folder) => Some(self.open(folder, name).await?),
        };
        let found = project.and_then(|project| project.at(rest).map(|service| (project, service)));
        found.ok_or_else(|| self.nothing_there())
    }

    /// Splits a path into the name of its project and the rest.
    fn split<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        if self.folder.is_some() { split(path) } else { Some(("", path)) }
    }

    async fn open(&self, folder: &Arc<ProjectFolder>, name: &str) -> Result<Arc<OpenProject>, Refusal> {
        if let Some(project) = self.current(folder, name).await? {
            return Ok(project);
        }
        let _one = self.opening.lock().await;
        if let Some(project) = self.current(folder, name).await? {
            return Ok(project);
        }
        self.make_room().await?;
        let Some((path, id)) = folder.find(name) else { return Err(unknown()) };
        let made = {
            let folder = Arc::clone(folder);
            tokio::task::spawn_blocking(move || (folder.make)(&path)).await
        };
        let (service, sets) =
            made.map_err(|_panicked| ServiceError::failed("not_opened", "the project cannot be opened", "try again"))??;
        let project = Arc::new(self.opener.open(service, sets).await?);
        let entry = Entry { project: Arc::clone(&project), id, used: Instant::now() };
        self.entries().insert(name.to_owned(), entry);
        Ok(project)
    }

    /// Returns a project that is open, and closes it if its folder is not what it was.
    async fn current(&self, folder: &ProjectFolder, name: &str) -> Result<Option<Arc<OpenProject>>, Refusal> {
        let found = folder.find(name);
        let replaced = {
            let mut entries = self.entries();
            match entries.get_mut(name) {
                Some(entry) if found.as_ref().is_some_and(|(_, id)| *id == entry.id) => {
                    entry.used = Instant::now();
                    return Ok(Some(Arc::clone(&entry.project)));
                }
                Some(_) => entries.remove(name),
                None => None,
            }
        };
        if let Some(entry) = replaced {
            entry.project.close().await;
        }
        if found.is_some() { Ok(None) } else { Err(unknown()) }
    }

    /// Closes the project that was unused for longest if no more can be opened.
    async fn make_room(&self) -> Result<(), Refusal> {
        let closed = {
            let mut entries = self.entries();
            if entries.len() < MOST_OPEN {
                return Ok(());
            }
            let unused = entries.iter().filter(|(_, entry)| entry.is_unused());
            let name = unused.min_by_key(|(_, entry)| entry.used).map(|(name, _)| name.clone());
            name.and_then(|name| entries.remove(&name))
        };
        let closed = closed.ok_or_else(|| {
            let message = format!("{MOST_OPEN} projects are in use");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message, "try again in a second")
        })?;
        closed.project.close().await;
        Ok(())
    }

    /// Closes the projects of a folder that were unused for a while and have no sessions.
    pub(super) async fn close_unused(&self) {
        if self.folder.is_none() {
            return;
        }
        let mut closed = Vec::new();
        let now = Instant::now();
        self.entries().retain(|_name, entry| {
            let is_over = now.duration_since(entry.used) >= CLOSED_AFTER && entry.is_unused() && !entry.has_sessions();
            if is_over {
                closed.push(Arc::clone(&entry.project));
            }
            !is_over
        });
        for project in closed {
            project.close().await;
        }
    }

    /// Returns the refusal of a path at which nothing is served.
    pub(super) fn nothing_there(&self) -> Refusal {
        let help = match self.folder {
            None => "MCP is served at `/mcp`, and one toolset alone at `/mcp/<toolset>`",
            Some(_) => {
                "the MCP of a project is served at `/projects/<name>/mcp`, and one toolset alone at `/projects/<name>/mcp/<toolset>`"
            }
        };
        Refusal::new(StatusCode::NOT_FOUND, "unknown_path", "nothing is served at this path", help)
    }
}

fn unknown() -> Refusal {
    let help = "name a folder of the server's folder of projects, as in `/projects/<name>/mcp`; links do not count";
    Refusal::new(StatusCode::NOT_FOUND, "unknown_project", "there is no such project", help)
}
