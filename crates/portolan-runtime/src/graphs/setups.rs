//! Which servers the functions of files call, and how each is to be started or reached.

use std::path::{Path, PathBuf};

use portolan_core::dialect;
use portolan_core::graph::{Builtin, Kind, Server, Transport};
use portolan_core::present::Redaction;
use portolan_core::source::{Span, Spanned};

use crate::definition::Definition;
use crate::error::{ErrorKind, ServiceError};
use crate::library::read_definition;
use crate::servers::Setup;

/// Whether these are the same servers, wherever in their files they stand.
pub(crate) fn same(one: &[(Server, PathBuf)], other: &[(Server, PathBuf)]) -> bool {
    let placeless = |setups: &[(Server, PathBuf)]| -> Vec<(Server, PathBuf)> {
        let placeless =
            |(server, folder): &(Server, PathBuf)| (Server { span: Span::default(), ..server.clone() }, folder.clone());
        setups.iter().map(placeless).collect()
    };
    placeless(one) == placeless(other)
}

pub(crate) fn setups(setups: &[(Server, PathBuf)]) -> Vec<Setup> {
    setups.iter().map(|(server, folder)| Setup { server: server.clone(), folder: folder.clone() }).collect()
}

/// The servers that a definition calls, where all that is known of it is itself: those that it brings along, whose paths
/// start from `folder`, and ours.
pub fn servers_of(definition: &Definition, folder: &Path, project: &Path) -> Vec<Setup> {
    let mut setups: Vec<Setup> = Vec::new();
    for (_, flow) in definition.workflow.flows() {
        for server in &flow.settings.servers {
            if !setups.iter().any(|known| known.server.name == server.name) {
                setups.push(Setup { server: server.clone(), folder: folder.to_owned() });
            }
        }
    }
    for (_, flow) in definition.workflow.flows() {
        for step in flow.steps.values() {
            let Kind::Call(call) = &step.node.kind else { continue };
            if !setups.iter().any(|known| known.server.name == call.server.value)
                && let Some(server) = builtin(&call.server)
            {
                setups.push(Setup { server, folder: project.to_owned() });
            }
        }
    }
    setups
}

/// What is not shown of the runs of a definition that calls these servers.
pub fn redaction(definition: &Definition, servers: &[Setup]) -> Redaction {
    Redaction::of_workflow(&definition.workflow).hiding(servers.iter().flat_map(Setup::confidential))
}

/// The user's own servers.
///
/// # Errors
/// The file cannot be read, or has faults.
pub fn own_servers(path: &Path) -> Result<Vec<Setup>, ServiceError> {
    let source = read_definition(path)?;
    let (servers, faults) = dialect::servers(&source);
    if let Some(fault) = faults.iter().find(|fault| fault.is_error()) {
        let at = fault.span.map_or_else(String::new, |span| {
            let at = source.location(span.start);
            format!(":{}:{}", at.line, at.column)
        });
        let message = format!("{}{at}: {}", source.name, fault.message);
        let help = fault.help.clone().unwrap_or_else(|| "mend the file".to_owned());
        return Err(ServiceError::of(ErrorKind::InvalidDefinition, "faulty_servers", message, help));
    }
    let folder = folder_around(path);
    Ok(servers.into_iter().map(|server| Setup { server, folder: folder.clone() }).collect())
}

/// The folder that a file lies in. The parent of a bare name is no path at all, and nothing can be started there.
pub(crate) fn folder_around(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

/// The server of ours that goes by a name.
pub(crate) fn builtin(name: &Spanned<String>) -> Option<Server> {
    let builtin = match name.value.as_str() {
        "filesystem" => Builtin::Filesystem { root: ".".to_owned() },
        "echo" => Builtin::Echo,
        _ => return None,
    };
    let transport = Transport::Builtin(builtin);
    Some(Server { name: name.value.clone(), span: name.span, transport, timeout_ms: None, disabled: false })
}
