//! Portolan's runtime: stores runs, performs checks, and contains the one [`service`] that every interface calls.
//!
//! `portolan-core` makes the decisions; this crate loads, stores, performs and locks. It uses tokio, SQLite, processes,
//! MCP as a client of the [`servers`] that workflows call, and language [`models`]. It does not use a terminal, and
//! serves no interface.
//!
//! # Example
//! Opens a run of a catalogue workflow, moves it to its end, and performs the requested work:
//!
//! ```
//! use portolan_runtime::{Act, Caller, Open, Options, Report, Request, Service, StoreAt};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let (project, data) = (folder.path().join("project"), folder.path().join("data"));
//! # std::fs::create_dir(&project)?;
//! let me = Caller::agent("me");
//! let wanted = Open { workflow: Some("execute".into()), ..Open::default() };
//!
//! let service = Service::new(Options { store: StoreAt::Memory, trust: Some(data), ..Options::of(project) })?;
//! let opened = service.open(&wanted, &me).await?;
//! let at_work = service.act(&Request::at(&opened), &Act::Begin, &me).await?;
//! // The step is left with a value by a schema, as the situation says.
//! let result = serde_json::json!({ "result": { "done": "the login works", "check": "cargo test", "exit_status": 0 } });
//! let report = Report { outputs: Some(result.into()), ..Report::of("passed") };
//! let ended = service.act(&Request::at(&at_work), &Act::Report(report), &me).await?;
//! assert_eq!(ended.terminal, Some("success"));
//! // The same call again is refused: somebody (we) moved on meanwhile.
//! let again = service.act(&Request::at(&at_work), &Act::Report(Report::of("passed")), &me).await;
//! assert_eq!(again.unwrap_err().code, "stale");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Derives the schemas of [`states::Functions::typed`].
pub use schemars;

mod address;
#[doc(hidden)]
pub mod attachments;
#[doc(hidden)]
pub mod audit;
#[doc(hidden)]
pub mod author;
#[doc(hidden)]
pub mod bindings;
#[doc(hidden)]
pub mod builtin;
pub mod carrier;
pub mod catalog;
pub mod clock;
mod conflict;
mod control;
#[doc(hidden)]
pub mod copy;
pub mod definition;
#[doc(hidden)]
pub mod digest;
#[doc(hidden)]
pub mod disk;
pub mod drive;
pub mod error;
pub mod gates;
pub mod graphs;
pub mod http;
#[doc(hidden)]
pub mod inspection;
#[doc(hidden)]
pub mod installation;
mod keys;
pub mod library;
mod logging;
#[doc(hidden)]
pub mod merge_gate;
pub mod models;
mod nesting;
pub mod ooda;
#[doc(hidden)]
pub mod pins;
#[doc(hidden)]
pub mod plugins;
#[doc(hidden)]
pub mod process;
#[doc(hidden)]
pub mod program;
#[doc(hidden)]
pub mod project_checks;
pub mod project_folder;
pub mod proof;
#[doc(hidden)]
pub mod repository;
#[doc(hidden)]
pub mod rules;
#[doc(hidden)]
pub mod runner;
#[doc(hidden)]
pub mod script;
pub mod servers;
pub mod service;
pub mod states;
pub mod store;
#[doc(hidden)]
pub mod supervisor_log;
#[doc(hidden)]
pub mod tasks;
pub mod telemetry;
pub mod tools;
pub mod trace;
pub mod trust;
#[doc(hidden)]
pub mod typecheck;
mod view;

pub use carrier::Address;
pub use definition::Definition;
pub use drive::{Control, ExecutionObserver};
pub use drive::{Drive, Keep, Perform, Performers};
pub use error::{ErrorKind, ServiceError};
pub use graphs::Graphs;
pub use library::Library;
pub use service::{Act, Caller, FunctionResult, FunctionRun, How, Open, Options, Report, Request, Service, View};
pub use states::{Assistant, Functions, Workers};
pub use store::{Lease, MemoryStore, Record, RunId, SqliteStore, Store, StoreAt, StoreError};
pub use tools::Tools;
pub use trust::Trust;
