//! `portolan store`: looks at the store of runs, verifies it, and copies it.

mod copy;
mod status;
mod verify;

use clap::{Args, Subcommand};
use portolan_runtime::service::{Service, StoreAt};

use super::runs::must_exist;
use super::{Common, Exit, block_on};
pub(super) use copy::remark_left_out;

/// Look after the store of runs: state, faults, copies.
///
/// `--store` or `PORTOLAN_STORE` names another store than the project's.
///
/// Example: portolan store status
#[derive(Args)]
pub(super) struct StoreArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show which store it is, its version, and what is in it.
    ///
    /// Changes nothing. Exit code 1 if the store can only be read.
    ///
    /// Example: portolan store status
    Status,
    /// Verify every run against its journal.
    ///
    /// Folds the records of each run and compares the result with the snapshot, the lists and the definition, and checks
    /// the file of a SQLite store. Exit code 1 if there is a fault.
    ///
    /// Example: portolan store verify
    Verify,
    Export(copy::Export),
    Import(copy::Import),
    /// Bring the tables of the store to the version of this release.
    ///
    /// Every other command that opens a store does this as well, except `store status`.
    ///
    /// Example: portolan store migrate
    Migrate,
}

pub(super) fn run(args: &StoreArgs, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let options = common.options()?;
    let creates = matches!(args.verb, Verb::Import(_)) && !matches!(options.store, StoreAt::Memory);
    if common.named_store().is_some() && !creates {
        must_exist(&options.store)?;
    }
    let service = Service::new(options)?;
    block_on(async {
        match &args.verb {
            Verb::Status => status::status(output, &service).await,
            Verb::Verify => verify::verify(output, &service).await,
            Verb::Export(args) => copy::export(output, &service, args).await,
            Verb::Import(args) => copy::import(output, &service, args).await,
            Verb::Migrate => status::migrate(output, &service).await,
        }
    })?
}
