//! The servers that can be tried: the user's own, those of the file, and built-in ones. They run on between calls.

use std::sync::{Arc, PoisonError};

use portolan_core::dialect;
use portolan_core::present::Redaction;
use portolan_core::source::{Source, Span, Spanned};
use serde_json::{Value, json};

use super::Author;
use super::change::Present;
use crate::definition::DefinitionError;
use crate::disk;
use crate::error::ServiceError;
use crate::servers::{ServerSetup, Servers};
use crate::service::Service;

/// The pool, and the servers that it is for.
pub(super) struct Pool {
    setups: Vec<ServerSetup>,
    servers: Arc<Servers>,
}

/// The present servers.
pub struct ServerList {
    /// The pool that starts them.
    pub servers: Arc<Servers>,
    /// The redaction of their output.
    pub hidden: Redaction,
    /// The servers that the file brings along.
    brought: Vec<String>,
    /// The person's own servers.
    own: Vec<String>,
    /// The reason why those of the file may not be started.
    untrusted: Option<ServiceError>,
}

impl ServerList {
    /// Checks whether a server may be started and called.
    ///
    /// # Errors
    /// It comes with the file, and is not trusted yet.
    pub fn may_start(&self, server: &str) -> Result<(), ServiceError> {
        match &self.untrusted {
            Some(error) if self.brought.iter().any(|name| name == server) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Returns who defines a server: the `graph`, the `person`, or `builtin`.
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
    /// Returns the servers that can be called now.
    ///
    /// # Errors
    /// A file of servers cannot be read.
    pub fn known(&self, service: &Service) -> Result<ServerList, DefinitionError> {
        let present = self.present()?;
        let servers = self.servers(service, &present)?;
        let names =
            |setups: Vec<ServerSetup>| setups.into_iter().map(|setup| setup.server.name).collect::<Vec<String>>();
        let (brought, own) = (names(self.brought(&present)), names(self.own(service)?));
        let untrusted = if brought.is_empty() { None } else { self.untrusted(service, &present) };
        let hidden =
            Redaction::default().hiding(self.setups(service, &present)?.iter().flat_map(ServerSetup::confidential));
        Ok(ServerList { servers, hidden, brought, own, untrusted })
    }

    /// Returns the pool of the servers that can be called. An existing pool is reused while the servers are the same.
    pub(super) fn servers(&self, service: &Service, present: &Present) -> Result<Arc<Servers>, DefinitionError> {
        let setups = self.setups(service, present)?;
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pool.as_ref().filter(|pool| ServerSetup::same(&pool.setups, &setups)) {
            return Ok(Arc::clone(&pool.servers));
        }
        let servers = Arc::new(Servers::new(setups.clone(), self.options.clone()));
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

    fn setups(&self, service: &Service, present: &Present) -> Result<Vec<ServerSetup>, DefinitionError> {
        let mut setups = self.brought(present);
        let ours = ["filesystem", "echo"].into_iter().filter_map(|name| {
            ServerSetup::builtin(&Spanned { value: name.to_owned(), span: Span::default() }, service.project())
        });
        self.own(service)?.into_iter().chain(ours).for_each(|setup| setup.add(&mut setups));
        Ok(setups)
    }

    fn own(&self, service: &Service) -> Result<Vec<ServerSetup>, ServiceError> {
        Ok(self.mcp.as_deref().map(|path| service.library().own_servers(path)).transpose()?.unwrap_or_default())
    }

    /// Returns the servers of the file, as far as they can be read.
    fn brought(&self, present: &Present) -> Vec<ServerSetup> {
        if present.field("mcpServers").or_else(|| present.field("servers")).is_none() {
            return Vec::new();
        }
        let folder = disk::folder_of(&self.file);
        dialect::servers(&present.source).0.iter().map(|server| ServerSetup::of(server, folder)).collect()
    }

    /// Returns why the servers of the file may not be started.
    fn untrusted(&self, service: &Service, present: &Present) -> Option<ServiceError> {
        // One function without calls suffices: trust is given to all servers of a file together.
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
            let functions = self.functions(service.library(), &source);
            for definition in functions.iter().flat_map(|functions| functions.definitions.values()) {
                match service.may_start_servers(definition) {
                    Ok(()) => return None,
                    Err(error) => why = Some(error),
                }
            }
        }
        Some(why.unwrap_or_else(|| {
            let message = format!("the servers of `{}` have faults, and are not started", present.source.name);
            ServiceError::refused("faulty_servers", message, "fix them first; `portolan check` reports what is wrong")
        }))
    }
}
