//! Portolan's drive: where runs are kept, how checks are performed, and the one [`service`] that every face calls.
//!
//! The decisions are `portolan-core`'s; this crate loads, keeps, performs and locks. It knows tokio, SQLite and
//! processes, MCP as a client of the [`servers`] that workflows call, and language [`models`]; it knows no terminal, and
//! serves no face.
//!
//! # Example
//! A workflow of the catalogue, led through in memory:
//!
//! ```
//! use portolan_runtime::service::{Act, Caller, Open, Options, Report, Request, Service, StoreAt};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let (project, data) = (folder.path().join("project"), folder.path().join("data"));
//! # std::fs::create_dir(&project)?;
//! let options = Options { store: StoreAt::Memory, trust: Some(data), ..Options::of(project) };
//! let service = Service::new(options)?;
//! let me = Caller::agent("me");
//!
//! let wanted = Open { workflow: Some("execute".into()), ..Open::default() };
//! let view = service.open(&wanted, &me).await?;
//! let view = service.act(&Request::of(view.address), &Act::Begin, &me).await?;
//! assert_eq!(view.current_step, "execute");
//!
//! let here = Request { revision: Some(view.situation.position.revision), ..Request::of(view.address) };
//! let done = Act::Report(Report::of("passed"));
//! assert_eq!(service.act(&here, &done, &me).await?.terminal, Some("success"));
//! // The same call again is refused: somebody (we) moved on meanwhile.
//! assert_eq!(service.act(&here, &done, &me).await.unwrap_err().code, "stale");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Derives the schemas of [`states::Functions::typed`].
pub use schemars;

mod address;
pub mod audit;
pub mod author;
pub mod autopilot;
pub mod builtin;
pub mod carrier;
pub mod catalog;
pub mod clock;
mod conflict;
mod control;
pub mod copy;
pub mod definition;
pub mod digest;
mod disk;
pub mod drive;
pub mod drivers;
pub mod error;
pub mod findings;
pub mod gates;
pub mod graphs;
pub mod hook;
mod http;
mod installed;
mod keys;
pub mod library;
pub mod merge_gate;
pub mod models;
mod nested;
pub mod notifiers;
pub mod ooda;
pub mod people;
pub mod pins;
pub mod plugins;
mod process;
mod program;
pub mod project_folder;
pub mod repository;
pub mod rules;
pub mod runner;
pub mod scene;
pub mod script;
pub mod servers;
pub mod service;
pub mod states;
pub mod store;
pub mod supervisor;
pub mod tasks;
pub mod telemetry;
pub mod tools;
pub mod trace;
pub mod trust;
pub mod typecheck;
mod view;
