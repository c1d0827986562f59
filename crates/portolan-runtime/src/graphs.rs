//! Files of functions that are served and run: read again when they change. If the new version has faults, the last
//! sound version is kept.
//!
//! # Example
//! A program calls a function:
//!
//! ```
//! use portolan_core::run::Actor;
//! use portolan_runtime::drive::Outcome;
//! use portolan_runtime::graphs::Graphs;
//! use portolan_runtime::servers::PoolOptions;
//! use portolan_runtime::service::{FunctionRun, How, Options, Service, StoreAt};
//! use portolan_runtime::tools::Tools;
//! use serde_json::json;
//! use std::sync::Arc;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let (project, data) = (folder.path().join("project"), folder.path().join("data"));
//! # std::fs::create_dir(&project)?;
//! let file = project.join("double.yaml");
//! std::fs::write(&file, r#"
//! version: "1.0"
//! server: {name: numbers, version: "1"}
//! tools:
//!   - name: double
//!     description: Doubles a number
//!     inputSchema: {type: object, properties: {n: {type: number}}, required: [n]}
//!     outputSchema: {type: object}
//!     nodes:
//!       - {id: entry, type: entry, next: twice}
//!       - {id: twice, type: transform, transform: {expr: '{"twice": 2 * $.entry.n}'}, next: exit}
//!       - {id: exit, type: exit}
//! "#)?;
//! let options = Options { store: StoreAt::Memory, trust: Some(data), ..Options::of(project) };
//! let service = Service::new(options)?;
//! let graphs = Graphs::open(vec![file], None, service.library(), PoolOptions::default())?;
//!
//! let loaded = graphs.current(service.library());
//! let definition = loaded.functions.called(Some("double"))?.clone();
//! service.may_start_servers(&definition)?;
//! let tools = Arc::new(Tools::of(loaded.servers.clone()));
//! let call = FunctionRun::Called { definition, input: json!({ "n": 21 }), by: Actor::Engine };
//! let finished = service.drive(call, How::with(tools)).await?;
//! assert_eq!(finished.outcome, Outcome::Done(Some(Arc::new(json!({ "twice": 42 })))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::diagnostic::Diagnostic;
use portolan_core::present::Redaction;
use portolan_core::source::Source;

use crate::definition::{Definition, DefinitionError};
use crate::library::{FunctionFiles, FunctionSet, Library, Lookups};
use crate::servers::{PoolOptions, ServerSetup, Servers};

/// The functions of one or several files.
pub struct Graphs {
    files: Vec<PathBuf>,
    mcp: Option<PathBuf>,
    options: PoolOptions,
    state: Mutex<State>,
}

struct State {
    loaded: Arc<GraphVersion>,
    /// The lookups of the last reading.
    lookups: Arc<Lookups>,
    /// The faults of the present files, if they are not what is served.
    faulty: Option<Arc<DefinitionError>>,
}

/// A version of the files that can be run.
pub struct GraphVersion {
    /// The functions.
    pub functions: FunctionSet,
    /// The servers that they call.
    pub servers: Arc<Servers>,
}

impl GraphVersion {
    /// Returns the redaction for the runs of a function, including the secrets of its servers.
    pub fn redaction(&self, definition: &Definition) -> Redaction {
        redaction(definition, &self.functions.servers)
    }
}

/// Returns the redaction for the runs of a definition that calls these servers.
pub fn redaction(definition: &Definition, servers: &[ServerSetup]) -> Redaction {
    Redaction::of_workflow(&definition.workflow).hiding(servers.iter().flat_map(ServerSetup::confidential))
}

impl Graphs {
    /// Reads files of functions. `mcp` is the user's own file of servers: it adds servers that a file does not define.
    ///
    /// # Errors
    /// A file cannot be read, or has faults.
    pub fn open(
        files: Vec<PathBuf>,
        mcp: Option<PathBuf>,
        library: &Library,
        options: PoolOptions,
    ) -> Result<Graphs, DefinitionError> {
        let (lookups, read) = library.functions_with_lookups(FunctionFiles::served(&files, mcp.as_deref()));
        let functions = read?;
        let servers = Arc::new(Servers::new(functions.servers.clone(), options.clone()));
        let state =
            State { loaded: Arc::new(GraphVersion { functions, servers }), lookups: Arc::new(lookups), faulty: None };
        Ok(Graphs { files, mcp, options, state: Mutex::new(state) })
    }

    /// Returns the version that is served, after reading changed files again.
    pub fn current(&self, library: &Library) -> Arc<GraphVersion> {
        self.refresh(library);
        self.loaded()
    }

    /// Returns the version that is served, without checking the files.
    pub fn loaded(&self) -> Arc<GraphVersion> {
        self.state().loaded.clone()
    }

    /// Returns the faults of the present files, if they are not what is served.
    pub fn faulty(&self) -> Option<Arc<DefinitionError>> {
        self.state().faulty.clone()
    }

    /// Reads the files again if they have changed. Returns whether another version is served now, or there is a new
    /// fault.
    pub fn refresh(&self, library: &Library) -> bool {
        let before = self.state().lookups.clone();
        if before.is_current(library) {
            return false;
        }
        let (lookups, read) = library.functions_with_lookups(FunctionFiles::served(&self.files, self.mcp.as_deref()));
        let mut state = self.state();
        if !Arc::ptr_eq(&state.lookups, &before) {
            // Another caller has read them meanwhile, and reports the change.
            return false;
        }
        state.lookups = Arc::new(lookups);
        match read {
            Ok(functions) => {
                // Unchanged servers keep running, so that they keep their state.
                let servers = if ServerSetup::same(&functions.servers, &state.loaded.functions.servers) {
                    state.loaded.servers.clone()
                } else {
                    Arc::new(Servers::new(functions.servers.clone(), self.options.clone()))
                };
                state.loaded = Arc::new(GraphVersion { functions, servers });
                state.faulty = None;
                true
            }
            Err(error) => {
                let faulty = Arc::new(self.placed(error));
                // A file that was read while it was written is read again, and has the same faults.
                let known = state.faulty.replace(faulty.clone());
                known.is_none_or(|known| known.to_string() != faulty.to_string())
            }
        }
    }

    /// Reports an unreadable file as a fault at its beginning.
    fn placed(&self, mut error: DefinitionError) -> DefinitionError {
        if error.findings.is_empty() {
            let name = self.files.first().map_or_else(String::new, |file| file.display().to_string());
            let fault = Diagnostic::error("unreadable", error.error.message.clone()).help(error.error.help.clone());
            error.findings.push((Source::new(name, ""), fault));
        }
        error
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
