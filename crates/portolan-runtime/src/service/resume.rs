//! The requirements for resuming a stored run of a function: its definition and the servers that it calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use portolan_core::diagnostic::list;
use portolan_core::graph::Kind;
use portolan_core::run::Run;

use super::Service;
use super::hold::HeldRun;
use crate::carrier::Address;
use crate::definition::Definition;
use crate::error::{ErrorKind, ServiceError};
use crate::library::servers_of;
use crate::servers::ServerSetup;
use crate::store::RunId;

/// A stored run, and its requirements.
#[derive(Clone, Debug)]
pub struct ResumableRun {
    /// The definition of the run.
    pub definition: Arc<Definition>,
    /// The run itself.
    pub run: Run,
    /// The servers that it may call.
    pub servers: Vec<ServerSetup>,
}

impl Service {
    /// Returns a stored run with its servers: those that its definition brings along, and others from `mcp`, the user's
    /// own file.
    ///
    /// # Errors
    /// The run or a server is unknown, or the servers that the definition brings along are not trusted.
    pub async fn kept_function(&self, id: &RunId, mcp: Option<&Path>) -> Result<ResumableRun, ServiceError> {
        let held = self.hold(&Address::Stored(id.clone())).await?;
        let servers = self.servers_for(&held, mcp)?;
        Ok(ResumableRun { definition: held.definition, run: held.run, servers })
    }

    /// Returns the servers of a stored run.
    ///
    /// # Errors
    /// As for [`Service::kept_function`].
    pub(super) fn servers_for(&self, held: &HeldRun, mcp: Option<&Path>) -> Result<Vec<ServerSetup>, ServiceError> {
        let HeldRun { definition, run, .. } = held;
        if let Some(lift) = self.untrusted(definition) {
            let message = format!("the run `{}` starts or contacts servers that are not trusted yet", held.name());
            return Err(ServiceError::refused(
                "not_trusted",
                message,
                format!("{}; the person at this machine decides this", self.lifted_here(&lift)),
            ));
        }
        let folder = run.opening.folder.as_ref().map_or_else(|| self.project().to_owned(), PathBuf::from);
        let mut servers = servers_of(definition, &folder, self.project());
        for own in mcp.map(|path| self.library().own_servers(path)).transpose()?.unwrap_or_default() {
            // Built-in servers give way to the user's servers of the same name, as they do when a run begins.
            let brought = definition.workflow.flows().map(|(_, flow)| &flow.settings);
            let is_brought =
                brought.into_iter().any(|settings| settings.servers.iter().any(|it| it.name == own.server.name));
            servers.retain(|known| known.server.name != own.server.name || is_brought || !known.is_builtin());
            if !servers.iter().any(|known| known.server.name == own.server.name) {
                servers.push(own);
            }
        }
        all_known(definition, &servers)?;
        Ok(servers)
    }
}

fn all_known(definition: &Definition, servers: &[ServerSetup]) -> Result<(), ServiceError> {
    let steps = definition.workflow.flows().flat_map(|(_, flow)| flow.steps.values());
    let mut unknown: Vec<&str> = steps
        .filter_map(|step| match &step.node.kind {
            Kind::Call(call) => Some(call.server.value.as_str()),
            _ => None,
        })
        .filter(|name| !servers.iter().any(|known| known.server.name == *name && !known.server.disabled))
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(ServiceError::of(
        ErrorKind::Refused,
        "unknown_server",
        format!("the run calls tools on {}, which its definition does not define", list(&unknown)),
        "name the file that defines them with `--mcp`",
    ))
}
