//! The servers that functions call, and the folders of their entries.

use std::path::{Path, PathBuf};

use portolan_core::dialect;
use portolan_core::graph::{Builtin, Graph, Kind, Server, Transport};
use portolan_core::source::{Span, Spanned};

use super::Library;
use super::lookups::{Lookup, Lookups};
use crate::definition::{Definition, Findings};
use crate::disk;
use crate::error::{ErrorKind, ServiceError};

/// A server's entry, and its folder.
#[derive(Clone, Debug)]
pub struct ServerSetup {
    /// The entry.
    pub server: Server,
    /// The base folder of its relative paths. The server runs there, unless its entry says otherwise.
    pub folder: PathBuf,
}

impl ServerSetup {
    pub(crate) fn of(server: &Server, folder: &Path) -> ServerSetup {
        ServerSetup { server: server.clone(), folder: folder.to_owned() }
    }

    /// Returns the built-in server of a name, on the project's own folder.
    pub(crate) fn builtin(name: &Spanned<String>, project: &Path) -> Option<ServerSetup> {
        let builtin = match name.value.as_str() {
            "filesystem" => Builtin::Filesystem { root: ".".to_owned() },
            "echo" => Builtin::Echo,
            _ => return None,
        };
        let transport = Transport::Builtin(builtin);
        let server = Server { name: name.value.clone(), span: name.span, transport, timeout_ms: None, disabled: false };
        Some(ServerSetup { server, folder: project.to_owned() })
    }

    pub(crate) fn is_builtin(&self) -> bool {
        matches!(self.server.transport, Transport::Builtin(_))
    }

    /// Checks whether the servers are the same, regardless of their positions in the files.
    pub(crate) fn same(ours: &[ServerSetup], theirs: &[ServerSetup]) -> bool {
        let placeless =
            |setup: &ServerSetup| (Server { span: Span::default(), ..setup.server.clone() }, setup.folder.clone());
        ours.iter().map(placeless).eq(theirs.iter().map(placeless))
    }

    /// Adds a server, unless there is one with its name.
    pub(crate) fn add(self, setups: &mut Vec<ServerSetup>) {
        if !setups.iter().any(|known| known.server.name == self.server.name) {
            setups.push(self);
        }
    }
}

/// Returns the servers that a stored definition calls: those that it brings along, with paths relative to `folder`, and
/// built-in ones.
pub fn servers_of(definition: &Definition, folder: &Path, project: &Path) -> Vec<ServerSetup> {
    let mut setups: Vec<ServerSetup> = Vec::new();
    for (_, flow) in definition.workflow.flows() {
        flow.settings.servers.iter().for_each(|server| ServerSetup::of(server, folder).add(&mut setups));
    }
    let steps = definition.workflow.flows().flat_map(|(_, flow)| flow.steps.values());
    add_builtins(steps.map(|step| &step.node.kind), project, &mut setups);
    setups
}

/// Adds built-in servers for names that no file defines.
pub(super) fn add_builtins<'k>(kinds: impl Iterator<Item = &'k Kind>, project: &Path, setups: &mut Vec<ServerSetup>) {
    for kind in kinds {
        let names: Vec<Spanned<String>> = match kind {
            Kind::Call(call) => vec![call.server.clone()],
            Kind::State(state) => {
                state.servers().map(|(name, span)| Spanned { value: name.to_owned(), span }).collect()
            }
            _ => continue,
        };
        let builtin = names.iter().filter_map(|name| ServerSetup::builtin(name, project));
        builtin.for_each(|setup| setup.add(setups));
    }
}

/// Returns the servers that the nodes of a file may call: its own, the user's, and built-in ones. Those of another file
/// are excluded, because trust in this file does not cover them.
pub(super) fn known<'s>(graph: &'s Graph, own: &'s [ServerSetup], setups: &'s [ServerSetup]) -> Vec<&'s str> {
    let brought = graph.settings.servers.iter().filter(|server| !server.disabled);
    let others = own.iter().chain(setups.iter().filter(|setup| setup.is_builtin())).map(|setup| &setup.server);
    brought.chain(others).map(|server| server.name.as_str()).collect()
}

impl Library {
    /// Returns the user's own servers, from the file that other clients use too.
    ///
    /// # Errors
    /// The file cannot be read, or has faults.
    pub fn own_servers(&self, path: &Path) -> Result<Vec<ServerSetup>, ServiceError> {
        let mut findings = Findings::new();
        let servers = self.own_servers_with_lookups(Some(path), &mut Lookups::default(), &mut findings)?;
        let Some((source, fault)) = findings.iter().find(|(_, fault)| fault.is_error()) else { return Ok(servers) };
        let at = fault.span.map_or_else(|| source.name.to_string(), |span| source.place(span.start));
        let help = fault.help.clone().unwrap_or_else(|| "fix the file".to_owned());
        let message = format!("{at}: {}", fault.message);
        Err(ServiceError::of(ErrorKind::InvalidDefinition, "faulty_servers", message, help))
    }

    pub(super) fn own_servers_with_lookups(
        &self,
        path: Option<&Path>,
        lookups: &mut Lookups,
        findings: &mut Findings,
    ) -> Result<Vec<ServerSetup>, ServiceError> {
        let Some(path) = path else { return Ok(Vec::new()) };
        let (source, _) = self.note(lookups, Lookup::File(path.to_owned()))?;
        let (servers, faults) = dialect::servers(&source);
        findings.extend(faults.into_iter().map(|fault| (source.clone(), fault)));
        Ok(servers.iter().map(|server| ServerSetup::of(server, disk::folder_of(path))).collect())
    }
}
