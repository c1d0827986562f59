//! The servers that can be tried: the user's own, those of the file, and ours. They go on running from call to call.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use portolan_core::dialect;
use portolan_core::graph::Server;
use portolan_core::present::Redaction;
use portolan_core::source::{Source, Span, Spanned};
use serde_json::{Value, json};

use super::change::Present;
use super::{Author, Refused};
use crate::error::ServiceError;
use crate::graphs::{self, Graphs, builtin, folder_around, own_servers};
use crate::servers::{Servers, Setup};
use crate::service::Service;

/// The pool, and which servers it is of.
pub(super) struct Pool {
    setups: Vec<(Server, PathBuf)>,
    servers: Arc<Servers>,
}

/// The servers as they are now.
pub struct Known {
    /// The pool that starts them.
    pub servers: Arc<Servers>,
    /// What must not be shown of what they say.
    pub hidden: Redaction,
    /// Which of them the file brings along.
    brought: Vec<String>,
    /// Which are the person's own.
    own: Vec<String>,
    /// Why those may not be started.
    untrusted: Option<ServiceError>,
}

impl Known {
    /// Whether a server may be started, or asked.
    ///
    /// # Errors
    /// It comes with the file, and nobody has trusted it yet.
    pub fn may_start(&self, server: &str) -> Result<(), ServiceError> {
        match &self.untrusted {
            Some(error) if self.brought.iter().any(|name| name == server) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Who defines a server: the `graph`, the `person`, or nobody, so that it is `builtin`.
    pub fn defined_in(&self, server: &str) -> &'static str {
        let among = |names: &[String]| names.iter().any(|name| name == server);
        match (among(&self.brought), among(&self.own)) {
            (true, _) => "graph",
            (false, true) => "person",
            (false, false) => "builtin",
        }
    }
}

impl Author {
    /// The servers that can be called now.
    ///
    /// # Errors
    /// A file of servers cannot be read.
    pub fn known(&self, service: &Service) -> Result<Known, Refused> {
        let present = self.present()?;
        let servers = self.servers(service, &present)?;
        let brought: Vec<String> = self.brought(&present).into_iter().map(|(server, _)| server.name).collect();
        let untrusted = if brought.is_empty() { None } else { self.untrusted(service, &present, &servers) };
        let setups = self.setups(service, &present)?;
        let hidden = Redaction::default().hiding(graphs::setups(&setups).iter().flat_map(Setup::confidential));
        let own = self.own()?.into_iter().map(|setup| setup.server.name).collect();
        Ok(Known { servers, hidden, brought, own, untrusted })
    }

    /// The pool of the servers that can be called: the one there was, as long as they are the same.
    pub(super) fn servers(&self, service: &Service, present: &Present) -> Result<Arc<Servers>, Refused> {
        let setups = self.setups(service, present)?;
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pool.as_ref().filter(|pool| graphs::same(&pool.setups, &setups)) {
            return Ok(Arc::clone(&pool.servers));
        }
        let servers = Arc::new(Servers::new(graphs::setups(&setups), self.options.clone()));
        *pool = Some(Pool { setups, servers: Arc::clone(&servers) });
        Ok(servers)
    }

    /// Ends the servers.
    pub async fn close(&self) {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(pool) = pool {
            pool.servers.close().await;
        }
    }

    fn setups(&self, service: &Service, present: &Present) -> Result<Vec<(Server, PathBuf)>, Refused> {
        let mut setups = self.brought(present);
        let own = self.own()?.into_iter().map(|setup| (setup.server, setup.folder));
        let ours = ["filesystem", "echo"].into_iter().filter_map(|name| {
            let server = builtin(&Spanned { value: name.to_owned(), span: Span::default() })?;
            Some((server, service.project().to_owned()))
        });
        for (server, folder) in own.chain(ours) {
            if !setups.iter().any(|(known, _)| known.name == server.name) {
                setups.push((server, folder));
            }
        }
        Ok(setups)
    }

    fn own(&self) -> Result<Vec<Setup>, Refused> {
        Ok(match &self.mcp {
            Some(path) => own_servers(path)?,
            None => Vec::new(),
        })
    }

    /// The servers of the file, as far as they can be understood.
    fn brought(&self, present: &Present) -> Vec<(Server, PathBuf)> {
        if present.field("mcpServers").or_else(|| present.field("servers")).is_none() {
            return Vec::new();
        }
        let folder = folder_around(&self.file);
        dialect::servers(&present.source).0.into_iter().map(|server| (server, folder.clone())).collect()
    }

    /// Why the servers of the file may not be started.
    fn untrusted(&self, service: &Service, present: &Present, servers: &Arc<Servers>) -> Option<ServiceError> {
        // A function that calls nobody stands for all: trust is given to all servers of a file together.
        let mut probe = json!({
            "version": "1.0",
            "server": { "name": "probe", "version": "1.0" },
            "tools": [{
                "name": "probe", "description": "calls nobody",
                "inputSchema": { "type": "object" }, "outputSchema": { "type": "object" },
                "nodes": [{ "id": "entry", "type": "entry", "next": "exit" }, { "id": "exit", "type": "exit" }],
            }],
        });
        probe["mcpServers"] = present.field("mcpServers").or_else(|| present.field("servers")).unwrap_or(Value::Null);
        let found = [Source::new(&*present.source.name, probe.to_string()), present.source.clone()];
        let mut why = None;
        for source in found {
            let (mcp, library) = (self.mcp.as_deref(), service.library());
            let loaded = Graphs::as_if(&self.file, &source, mcp, library, self.strictness, Arc::clone(servers));
            for definition in loaded.iter().flat_map(|loaded| loaded.functions.values().map(move |one| (loaded, one))) {
                match service.may_start_servers(definition.0, definition.1) {
                    Ok(()) => return None,
                    Err(error) => why = Some(error),
                }
            }
        }
        Some(why.unwrap_or_else(|| {
            let message = format!("the servers of `{}` have faults, and are not started", present.source.name);
            ServiceError::refused("faulty_servers", message, "mend them first; `portolan check` says what is wrong")
        }))
    }
}
