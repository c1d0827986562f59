//! `portolan serve`: the MCP server, over standard input and output.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use portolan_core::run::Human;
use portolan_runtime::service::{ErrorKind, Service};

use super::check::{files_at, refuse};
use super::{Common, Exit, HumanArg, Leniency};
use crate::mcp;

/// Serve workflows to an agent over MCP (stdio).
///
/// Example: claude mcp add portolan -- portolan serve
#[derive(Args)]
#[command(after_help = "The project's workflows in .flow/workflows and the catalogue are served without being named.")]
pub(super) struct Serve {
    /// More workflow files, or folders of them.
    #[arg(value_name = "FILE|DIR")]
    definitions: Vec<PathBuf>,
    /// Which tools to serve.
    #[arg(long, value_enum, default_value_t, value_name = "SET")]
    toolset: Toolset,
    /// Whose answer counts where a workflow asks a person.
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    human: HumanArg,
    #[command(flatten)]
    leniency: Leniency,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Toolset {
    /// Navigator's eleven: Init, Start, Current, Next and the tools that manage workflows.
    #[default]
    Tasks,
}

pub(super) fn run(args: Serve, common: &Common) -> anyhow::Result<Exit> {
    let mut options = common.options()?;
    for path in &args.definitions {
        options.definitions.extend(files_at(path)?.into_iter().map(|file| file.path));
    }
    options.strictness = args.leniency.strictness();
    options.human = match args.human {
        HumanArg::Attested => Human::Attested,
        HumanArg::Verified => Human::Verified,
    };
    let output = common.output();
    let service = Service::new(options)?;
    // What is named on the command line must be sound before a client connects.
    for id in service.library().given_ids() {
        match service.library().definition(&id) {
            Ok(_) => {}
            Err(error) if error.kind == ErrorKind::InvalidDefinition => {
                return refuse(&output, service.library(), &id, &error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    if std::io::stdin().is_terminal() {
        output
            .remark("serving MCP on standard input and output: an MCP client starts this, see `portolan serve --help`");
    }
    let Toolset::Tasks = args.toolset;
    mcp::serve_stdio(Arc::new(service))?;
    Ok(Exit::Done)
}
