//! `portolan flow`: the phases of a project's work, and what was put on record at its gates.

mod attach;
mod events;
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
    Attach(attach::Attach),
}

pub(super) fn run(args: &Flow, common: &Common) -> anyhow::Result<Exit> {
    match &args.verb {
        Verb::Events(args) => events::run(args, common),
        Verb::Attach(args) => attach::run(args, common),
    }
}
