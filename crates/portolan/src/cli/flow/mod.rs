//! `portolan flow`: the phases of a project's work, and what was put on record at its gates.

mod events;
mod findings;
mod words;

use clap::{Args, Subcommand};

use super::{Common, Exit};

/// Look at what was put on record at the gates of a project.
///
/// Example: portolan flow events --type flow.bypass
#[derive(Args)]
pub(super) struct Flow {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Events(events::Events),
    Findings(findings::Findings),
}

pub(super) fn run(args: &Flow, common: &Common) -> anyhow::Result<Exit> {
    match &args.verb {
        Verb::Events(args) => events::run(args, common),
        Verb::Findings(args) => findings::run(args, common),
    }
}
