//! Files of functions, as they are served and run: read again when they change, and the last sound version kept when
//! the new one is not.
//!
//! # Example
//! A function is called by a program:
//!
//! ```
//! use portolan_core::dialect::Strictness;
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
//! let graphs = Graphs::open(vec![file], None, service.library(), Strictness::Strict, PoolOptions::default())?;
//!
//! let loaded = graphs.current(service.library());
//! let definition = loaded.function(Some("double"))?.clone();
//! service.may_start_servers(&loaded, &definition)?;
//! let tools = Arc::new(Tools::of(loaded.servers.clone()));
//! let call = FunctionRun::Called { definition, input: json!({ "n": 21 }), by: Actor::Engine };
//! let finished = service.drive(call, How::with(tools)).await?;
//! assert_eq!(finished.outcome, Outcome::Done(Some(Arc::new(json!({ "twice": 42 })))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reading;
mod setups;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use indexmap::IndexMap;
use portolan_core::diagnostic::{Diagnostic, closest};
use portolan_core::dialect::Strictness;
use portolan_core::graph::{Face, Server};
use portolan_core::present::Redaction;
use portolan_core::source::Source;

use crate::definition::{Definition, Findings};
use crate::error::ServiceError;
use crate::library::Library;
use crate::servers::{PoolOptions, Servers};

use reading::Reading;
pub use reading::{drawable, holds_functions, review};
pub(crate) use setups::{builtin, folder_around, same, setups};
pub use setups::{own_servers, redaction, servers_of};

/// The functions of one or several files.
pub struct Graphs {
    files: Vec<PathBuf>,
    mcp: Option<PathBuf>,
    strictness: Strictness,
    options: PoolOptions,
    state: Mutex<State>,
}

struct State {
    loaded: Arc<Loaded>,
    seen: Seen,
    /// What is wrong with the files as they are now, when that is not what is served.
    faulty: Option<Arc<Faulty>>,
}

/// What a file looked like when it was read: when either changes, it is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp(Option<(SystemTime, u64)>);

impl Stamp {
    fn of(path: &Path) -> Stamp {
        let seen = std::fs::metadata(path).and_then(|data| Ok((data.modified()?, data.len())));
        Stamp(seen.ok())
    }
}

/// The files that were read, those of workflows that the named ones run included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen(Vec<(PathBuf, Stamp)>);

impl Seen {
    /// To be called before the file is read: what changes meanwhile is then read again.
    fn look_at(&mut self, path: &Path) {
        self.0.push((path.to_owned(), Stamp::of(path)));
    }

    fn is_current(&self) -> bool {
        self.0.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }
}

/// A version of the files that can be run.
pub struct Loaded {
    /// The functions, by name, in the order written.
    pub functions: IndexMap<String, Arc<Definition>>,
    /// The servers that they call.
    pub servers: Arc<Servers>,
    /// How the files present themselves: as the first of them says.
    pub face: Face,
    /// What was found in reading them that keeps nothing from being run.
    pub warnings: Findings,
    /// The file in which each function stands.
    files: BTreeMap<String, String>,
    setups: Vec<(Server, PathBuf)>,
}

/// Files that cannot be run.
#[derive(Debug)]
pub struct Faulty {
    /// Everything that is wrong with them, by the source it stands in.
    pub findings: Findings,
}

impl Loaded {
    /// The file that a function stands in, as it was named.
    pub fn file_of(&self, definition: &Definition) -> Option<String> {
        self.files.get(definition.workflow.id().as_str()).cloned()
    }

    /// The folder that the paths of a function's servers start from.
    pub fn folder_of(&self, definition: &Definition) -> PathBuf {
        self.file_of(definition).map_or_else(|| PathBuf::from("."), |file| folder_around(Path::new(&file)))
    }

    /// What is not shown of the runs of a function, with what its servers are told in confidence.
    pub fn redaction(&self, definition: &Definition) -> Redaction {
        redaction(definition, &setups(&self.setups))
    }

    /// The function called `name`; without a name, the only one.
    ///
    /// # Errors
    /// There is none of that name, or there are several and none is named.
    pub fn function(&self, name: Option<&str>) -> Result<&Arc<Definition>, ServiceError> {
        let names: Vec<&str> = self.functions.keys().map(String::as_str).collect();
        let listed = || format!("there {} `{}`", if names.len() == 1 { "is" } else { "are" }, names.join("`, `"));
        match name {
            Some(name) => self.functions.get(name).ok_or_else(|| {
                let help = match closest(name, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => listed(),
                };
                let name = portolan_core::diagnostic::clip(name);
                ServiceError::refused("unknown_tool", format!("there is no tool `{name}`"), help)
            }),
            None if self.functions.len() == 1 => Ok(&self.functions[0]),
            None => Err(ServiceError::refused(
                "tool_required",
                "the file has several tools",
                format!("name one; {}", listed()),
            )),
        }
    }
}

impl Graphs {
    /// Reads files of functions. `mcp` is the user's own file of servers: it adds those that a file does not define.
    ///
    /// # Errors
    /// A file cannot be read, or has faults: see [`Graphs::faulty`] for what they are.
    pub fn open(
        files: Vec<PathBuf>,
        mcp: Option<PathBuf>,
        library: &Library,
        strictness: Strictness,
        options: PoolOptions,
    ) -> Result<Graphs, OpenError> {
        let reading = Reading { files: &files, mcp: mcp.as_deref(), library, strictness, served: true, text: None };
        let mut seen = Seen::default();
        let read = reading.read(&mut seen)?;
        let servers = Arc::new(Servers::new(setups(&read.setups), options.clone()));
        let loaded = Arc::new(read.into_loaded(servers));
        let state = Mutex::new(State { loaded, seen, faulty: None });
        Ok(Graphs { files, mcp, strictness, options, state })
    }

    /// Reads a file of functions of which no server will be called: they need not be known.
    ///
    /// # Errors
    /// The file cannot be read, or has faults.
    pub fn unserved(file: &Path, library: &Library, strictness: Strictness) -> Result<Loaded, OpenError> {
        let files = [file.to_owned()];
        let read = Reading { files: &files, mcp: None, library, strictness, served: false, text: None }
            .read(&mut Seen::default())?;
        Ok(read.into_loaded(Arc::new(Servers::new(Vec::new(), PoolOptions::default()))))
    }

    /// Reads a text as if it stood in a file: what would come of it, before it is written. `servers` answer its calls.
    ///
    /// # Errors
    /// The text has faults, or the user's own servers cannot be read.
    pub fn as_if(
        file: &Path,
        text: &Source,
        mcp: Option<&Path>,
        library: &Library,
        strictness: Strictness,
        servers: Arc<Servers>,
    ) -> Result<Loaded, OpenError> {
        let files = [file.to_owned()];
        let reading = Reading { files: &files, mcp, library, strictness, served: true, text: Some(text) };
        Ok(reading.read(&mut Seen::default())?.into_loaded(servers))
    }

    /// What is served now: read again first, when a file has changed and is sound.
    pub fn current(&self, library: &Library) -> Arc<Loaded> {
        self.refresh(library);
        self.loaded()
    }

    /// What is served now. The files are not looked at.
    pub fn loaded(&self) -> Arc<Loaded> {
        self.state().loaded.clone()
    }

    /// What is wrong with the files as they are now, when that is not what is served.
    pub fn faulty(&self) -> Option<Arc<Faulty>> {
        self.state().faulty.clone()
    }

    /// Reads the files again when they have changed; whether something else is served now, or something new is wrong.
    pub fn refresh(&self, library: &Library) -> bool {
        let before = self.state().seen.clone();
        if before.is_current() {
            return false;
        }
        let (mcp, strictness) = (self.mcp.as_deref(), self.strictness);
        let reading = Reading { files: &self.files, mcp, library, strictness, served: true, text: None };
        let mut seen = Seen::default();
        let read = reading.read(&mut seen);
        let mut state = self.state();
        if state.seen != before {
            // Somebody else has read them meanwhile, and tells of it.
            return false;
        }
        state.seen = seen;
        match read {
            Ok(read) => {
                // Servers whose entries are what they were go on: what they remember is not lost.
                let servers = if same(&read.setups, &state.loaded.setups) {
                    state.loaded.servers.clone()
                } else {
                    Arc::new(Servers::new(setups(&read.setups), self.options.clone()))
                };
                state.loaded = Arc::new(read.into_loaded(servers));
                state.faulty = None;
            }
            Err(error) => {
                let faulty = Arc::new(error.into_faulty(&self.files));
                // A file that was looked at while it was written is read again, and has the same faults.
                let known = state.faulty.replace(faulty.clone());
                return known.is_none_or(|known| known.to_string() != faulty.to_string());
            }
        }
        true
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why files could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// They have faults.
    Faulty(Faulty),
    /// They could not be read.
    Failed(ServiceError),
}

impl OpenError {
    fn into_faulty(self, files: &[PathBuf]) -> Faulty {
        match self {
            OpenError::Faulty(faulty) => faulty,
            OpenError::Failed(error) => {
                let name = files.first().map_or_else(String::new, |file| file.display().to_string());
                let fault = Diagnostic::error("unreadable", error.message).help(error.help);
                Faulty { findings: vec![(Source::new(name, ""), fault)] }
            }
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Faulty(faulty) => write!(f, "{faulty}"),
            OpenError::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl fmt::Display for Faulty {
    /// Each error in a line of its own, with its place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.findings.iter().filter(|(_, fault)| fault.is_error());
        for (nth, (source, fault)) in errors.enumerate() {
            let place = source.place(fault.span.map_or(0, |span| span.start));
            let line = if nth > 0 { "\n" } else { "" };
            write!(f, "{line}{place}: {} ({})", fault.message, fault.code)?;
        }
        Ok(())
    }
}

impl From<ServiceError> for OpenError {
    fn from(error: ServiceError) -> OpenError {
        OpenError::Failed(error)
    }
}
