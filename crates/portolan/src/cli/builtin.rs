//! `portolan builtin`: the built-in MCP servers, for any client.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use portolan_core::graph;
use portolan_runtime::builtin::Server;
use portolan_runtime::service::ServiceError;

use super::{Common, Exit};

/// Serve one of the built-in MCP servers (stdio).
///
/// Example: portolan builtin filesystem .
#[derive(Args)]
pub(super) struct Builtin {
    #[command(subcommand)]
    server: Which,
}

#[derive(Subcommand)]
enum Which {
    /// Reads files in a folder, and nothing outside it.
    Filesystem {
        /// The folder.
        #[arg(value_name = "ROOT")]
        root: PathBuf,
    },
    /// Returns its input, and fails, waits or floods on request.
    Echo,
}

pub(super) fn run(args: &Builtin, common: &Common) -> anyhow::Result<Exit> {
    let server = server(&args.server)?;
    if std::io::stdin().is_terminal() {
        common.output().remark("serving MCP on standard input and output; an MCP client normally starts this");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let (reader, writer) = rmcp::transport::stdio_pipes();
        server.serve(reader, writer).await
    });
    // If standard input is not a pipe, a read from it cannot be interrupted, and must not delay the end of the process.
    runtime.shutdown_background();
    served.context("the connection to the client was lost")?;
    Ok(Exit::Done)
}

fn server(which: &Which) -> Result<Server, ServiceError> {
    let here = Path::new(".");
    let (builtin, name) = match which {
        Which::Echo => (graph::Builtin::Echo, String::new()),
        Which::Filesystem { root } => {
            let Some(name) = root.to_str() else {
                let message = format!("the name of `{}` is not UTF-8", root.display());
                return Err(ServiceError::failed("bad_root", message, "serve a folder whose name is UTF-8"));
            };
            (graph::Builtin::Filesystem { root: name.to_owned() }, name.to_owned())
        }
    };
    Server::new(&builtin, here).map_err(|error| {
        let message = format!("`{name}` cannot be served: {}", super::output::plain(&error));
        ServiceError::failed("bad_root", message, "name a folder that exists")
    })
}
