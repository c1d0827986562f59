//! `portolan flow`: the phases of a project's work, and the records of its gates.

mod attach;
mod events;
mod findings;
mod invariants;
mod task;
mod words;

use clap::{Args, Subcommand};

use super::{Common, Exit};

/// Lead a task through its phases.
///
/// It shows the records of a project's gates, too.
///
/// Example: portolan flow status
#[derive(Args)]
pub(super) struct Flow {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Start(task::StartArgs),
    /// Show the state of the task.
    ///
    /// Example: portolan flow status
    Status,
    /// Move the task to its next phase, if the repository satisfies the present one.
    ///
    /// Exit code 1 if it does not.
    ///
    /// Example: portolan flow tick
    Tick,
    Patch(task::PatchArgs),
    #[command(visible_aliases = ["reenter", "rework"])]
    Back(task::BackArgs),
    Abort(task::AbortArgs),
    Override(task::OverrideArgs),
    Events(events::Events),
    /// List the rules, what enforces them, and who may bypass them.
    ///
    /// Example: portolan flow invariants
    Invariants,
    Attach(attach::Attach),
    Findings(findings::Findings),
}

pub(super) fn run(args: &Flow, common: &Common) -> anyhow::Result<Exit> {
    match &args.verb {
        Verb::Start(args) => task::run(&task::TaskAction::Start(args), common),
        Verb::Status => task::run(&task::TaskAction::Status, common),
        Verb::Tick => task::run(&task::TaskAction::Tick, common),
        Verb::Patch(args) => task::run(&task::TaskAction::Patch(args), common),
        Verb::Back(args) => task::run(&task::TaskAction::Back(args), common),
        Verb::Abort(args) => task::run(&task::TaskAction::Abort(args), common),
        Verb::Override(args) => task::run(&task::TaskAction::Override(args), common),
        Verb::Events(args) => events::run(args, common),
        Verb::Invariants => invariants::run(common),
        Verb::Attach(args) => attach::run(args, common),
        Verb::Findings(args) => findings::run(args, common),
    }
}
