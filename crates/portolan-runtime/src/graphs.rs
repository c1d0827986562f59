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
//! use portolan_runtime::service::{FunctionCall, How, Options, Service, StoreAt};
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
//! let call = FunctionCall {
//!     definition,
//!     input: json!({ "n": 21 }),
//!     by: Actor::Engine,
//!     how: How::with(tools),
//!     kept: false,
//! };
//! let finished = service.call_function(call).await?;
//! assert_eq!(finished.outcome, Outcome::Done(Some(Arc::new(json!({ "twice": 42 })))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use indexmap::IndexMap;
use portolan_core::diagnostic::{Diagnostic, closest};
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::{Builtin, Face, Kind, Server, Transport, Workflow};
use portolan_core::present::Redaction;
use portolan_core::source::{Source, Span, Spanned};
use portolan_core::validate;

use crate::definition::{Bundle, Definition, Findings, Parsed};
use crate::library::{Family, Library, bare, read_definition, subflows};
use crate::servers::{PoolOptions, Servers, Setup};
use crate::service::{ErrorKind, ServiceError};

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
            Err(error) => state.faulty = Some(Arc::new(error.into_faulty(&self.files))),
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
            let at = source.location(fault.span.map_or(0, |span| span.start));
            let line = if nth > 0 { "\n" } else { "" };
            write!(f, "{line}{}:{}:{}: {} ({})", source.name, at.line, at.column, fault.message, fault.code)?;
        }
        Ok(())
    }
}

impl From<ServiceError> for OpenError {
    fn from(error: ServiceError) -> OpenError {
        OpenError::Failed(error)
    }
}

/// Whether these are the same servers, wherever in their files they stand.
pub(crate) fn same(one: &[(Server, PathBuf)], other: &[(Server, PathBuf)]) -> bool {
    let placeless = |setups: &[(Server, PathBuf)]| -> Vec<(Server, PathBuf)> {
        let placeless =
            |(server, folder): &(Server, PathBuf)| (Server { span: Span::default(), ..server.clone() }, folder.clone());
        setups.iter().map(placeless).collect()
    };
    placeless(one) == placeless(other)
}

pub(crate) fn setups(setups: &[(Server, PathBuf)]) -> Vec<Setup> {
    setups.iter().map(|(server, folder)| Setup { server: server.clone(), folder: folder.clone() }).collect()
}

/// The servers that a definition calls, where all that is known of it is itself: those that it brings along, whose paths
/// start from `folder`, and ours.
pub fn servers_of(definition: &Definition, folder: &Path, project: &Path) -> Vec<Setup> {
    let mut setups: Vec<Setup> = Vec::new();
    for (_, flow) in definition.workflow.flows() {
        for server in flow.program.iter().flat_map(|program| &program.servers) {
            if !setups.iter().any(|known| known.server.name == server.name) {
                setups.push(Setup { server: server.clone(), folder: folder.to_owned() });
            }
        }
    }
    for (_, flow) in definition.workflow.flows() {
        for step in flow.steps.values() {
            let Kind::Call(call) = &step.node.kind else { continue };
            if !setups.iter().any(|known| known.server.name == call.server.value)
                && let Some(server) = builtin(&call.server)
            {
                setups.push(Setup { server, folder: project.to_owned() });
            }
        }
    }
    setups
}

/// What is not shown of the runs of a definition that calls these servers.
pub fn redaction(definition: &Definition, servers: &[Setup]) -> Redaction {
    Redaction::of_workflow(&definition.workflow).hiding(servers.iter().flat_map(Setup::confidential))
}

/// The user's own servers.
///
/// # Errors
/// The file cannot be read, or has faults.
pub fn own_servers(path: &Path) -> Result<Vec<Setup>, ServiceError> {
    let source = read_definition(path)?;
    let (servers, faults) = dialect::servers(&source);
    if let Some(fault) = faults.iter().find(|fault| fault.is_error()) {
        let at = fault.span.map_or_else(String::new, |span| {
            let at = source.location(span.start);
            format!(":{}:{}", at.line, at.column)
        });
        let message = format!("{}{at}: {}", source.name, fault.message);
        let help = fault.help.clone().unwrap_or_else(|| "mend the file".to_owned());
        return Err(ServiceError::of(ErrorKind::InvalidDefinition, "faulty_servers", message, help));
    }
    let folder = folder_around(path);
    Ok(servers.into_iter().map(|server| Setup { server, folder: folder.clone() }).collect())
}

/// The folder that a file lies in. The parent of a bare name is no path at all, and nothing can be started there.
pub(crate) fn folder_around(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

/// Whether a file holds functions, as far as it can be understood.
///
/// # Errors
/// It cannot be read.
pub fn holds_functions(path: &Path) -> Result<bool, ServiceError> {
    let source = read_definition(path)?;
    let graphs = dialect::parse(&source, Strictness::Lenient).graphs;
    Ok(graphs.iter().any(|graph| graph.program.is_some()))
}

/// Everything that is found in a file of functions, by the source it stands in.
///
/// # Errors
/// It cannot be read.
pub fn review(
    file: &Path,
    mcp: Option<&Path>,
    library: &Library,
    strictness: Strictness,
) -> Result<Findings, ServiceError> {
    let files = [file.to_owned()];
    match (Reading { files: &files, mcp, library, strictness, served: true, text: None }).read(&mut Seen::default()) {
        Ok(read) => Ok(read.warnings),
        Err(OpenError::Faulty(faulty)) => Ok(faulty.findings),
        Err(OpenError::Failed(error)) => Err(error),
    }
}

/// The functions of a file for drawing, in the order written. They may have faults: the pictures show what lenient
/// reading makes of them; one that cannot even be drawn is left out.
///
/// # Errors
/// The file cannot be read.
pub fn drawable(file: &Path, library: &Library) -> Result<Vec<Workflow>, ServiceError> {
    let source = read_definition(file)?;
    let graphs = dialect::parse(&source, Strictness::Lenient).graphs;
    let parsed: Vec<Parsed> =
        graphs.into_iter().map(|graph| Parsed { source: source.clone(), graph, faults: Vec::new() }).collect();
    let files = [file.to_owned()];
    let strictness = Strictness::Lenient;
    let reading = Reading { files: &files, mcp: None, library, strictness, served: false, text: None };
    let others = reading.others(&parsed, &mut Seen::default()).members;
    let find = |name: &str| parsed.iter().find(|one| one.graph.id.value == name).or_else(|| others.get(name));
    Ok(parsed.iter().filter_map(|one| one.check(&find, strictness).0).collect())
}

/// The server of ours that goes by a name.
pub(crate) fn builtin(name: &Spanned<String>) -> Option<Server> {
    let builtin = match name.value.as_str() {
        "filesystem" => Builtin::Filesystem { root: ".".to_owned() },
        "echo" => Builtin::Echo,
        _ => return None,
    };
    let transport = Transport::Builtin(builtin);
    Some(Server { name: name.value.clone(), span: name.span, transport, timeout_ms: None, disabled: false })
}

/// One reading of the files.
struct Reading<'r> {
    files: &'r [PathBuf],
    mcp: Option<&'r Path>,
    library: &'r Library,
    strictness: Strictness,
    /// Whether servers are called, so that all of them must be known.
    served: bool,
    /// What counts instead of the first file's own text.
    text: Option<&'r Source>,
}

/// What a reading came to.
struct Read {
    functions: IndexMap<String, Arc<Definition>>,
    face: Face,
    warnings: Findings,
    files: BTreeMap<String, String>,
    setups: Vec<(Server, PathBuf)>,
}

impl Read {
    fn into_loaded(self, servers: Arc<Servers>) -> Loaded {
        let Read { functions, face, warnings, files, setups } = self;
        Loaded { functions, servers, face, warnings, files, setups }
    }
}

impl Reading<'_> {
    fn read(&self, seen: &mut Seen) -> Result<Read, OpenError> {
        self.files.iter().map(PathBuf::as_path).chain(self.mcp).for_each(|path| seen.look_at(path));
        let mut findings: Findings = Vec::new();
        let own = self.own_servers(&mut findings)?;
        let mut parsed: Vec<Parsed> = Vec::new();
        let mut folders: BTreeMap<String, PathBuf> = BTreeMap::new();
        for (nth, path) in self.files.iter().enumerate() {
            let source = match self.text.filter(|_| nth == 0) {
                Some(text) => text.clone(),
                None => read_definition(path)?,
            };
            let folder = folder_around(path);
            folders.insert(source.name.to_string(), folder);
            let dialect::File { graphs, faults } = dialect::parse(&source, self.strictness);
            findings.extend(faults.into_iter().map(|fault| (source.clone(), fault)));
            for graph in graphs {
                if graph.program.is_none() {
                    let message = format!("`{}` is led by an agent, and cannot be served as a tool", graph.id.value);
                    let fault = Diagnostic::error("no-function", message).at(graph.id.span);
                    findings.push((source.clone(), fault.help("serve it with `--toolset tasks`")));
                }
                if let Some(other) = parsed.iter().find(|other| other.graph.id.value == graph.id.value) {
                    let message = format!(
                        "`{}` and `{}` both define the tool `{}`",
                        other.source.name, source.name, graph.id.value
                    );
                    if other.source.name != source.name {
                        let fault = Diagnostic::error("duplicate-id", message).at(graph.id.span);
                        findings.push((source.clone(), fault.help("rename one of them")));
                    }
                    continue;
                }
                parsed.push(Parsed { source: source.clone(), graph, faults: Vec::new() });
            }
        }
        self.link(parsed, own, &folders, findings, seen)
    }

    /// The user's own servers, with the folder that their paths are relative to.
    fn own_servers(&self, findings: &mut Findings) -> Result<Vec<(Server, PathBuf)>, OpenError> {
        let Some(path) = self.mcp else { return Ok(Vec::new()) };
        let source = read_definition(path)?;
        let (servers, faults) = dialect::servers(&source);
        findings.extend(faults.into_iter().map(|fault| (source.clone(), fault)));
        let folder = folder_around(path);
        Ok(servers.into_iter().map(|server| (server, folder.clone())).collect())
    }
}

impl Reading<'_> {
    /// Checks every function with what it runs, and gathers the servers.
    fn link(
        &self,
        parsed: Vec<Parsed>,
        own: Vec<(Server, PathBuf)>,
        folders: &BTreeMap<String, PathBuf>,
        mut findings: Findings,
        seen: &mut Seen,
    ) -> Result<Read, OpenError> {
        let others = self.others(&parsed, seen);
        findings.extend(others.broken.iter().map(|error| {
            let fault = Diagnostic::error("duplicate-id", error.message.clone()).help(error.help.clone());
            (parsed[0].source.clone(), fault)
        }));
        let others = others.members;
        let find = |name: &str| parsed.iter().find(|parsed| parsed.graph.id.value == name).or_else(|| others.get(name));
        let mut functions = IndexMap::new();
        let mut setups: Vec<(Server, PathBuf)> = Vec::new();
        for one in &parsed {
            let (workflow, faults) = one.check(&find, self.strictness);
            findings.extend(faults.into_iter().map(|fault| (one.source.clone(), fault)));
            let folder = folders.get(&*one.source.name).cloned().unwrap_or_default();
            let brought = one.graph.program.iter().flat_map(|program| &program.servers);
            for server in brought {
                add(&mut setups, server, &folder, &one.source, &mut findings);
            }
            if let Some(workflow) = workflow {
                let definition = Definition::new(Bundle::of(one, &find), workflow);
                functions.insert(one.graph.id.value.clone(), Arc::new(definition));
            }
        }
        let own_names: Vec<String> = own.iter().map(|(server, _)| server.name.clone()).collect();
        for (server, folder) in own {
            if !setups.iter().any(|(known, _)| known.name == server.name) {
                setups.push((server, folder));
            }
        }
        for one in parsed.iter().chain(others.values()) {
            self.builtins(one, &mut setups);
            if !self.served {
                continue;
            }
            let names = known(one, &own_names, &setups);
            let faults = validate::servers(&one.graph, &names);
            findings.extend(faults.into_iter().map(|fault| (one.source.clone(), fault)));
        }
        if findings.iter().any(|(_, fault)| fault.is_error()) || functions.len() < parsed.len() {
            return Err(OpenError::Faulty(Faulty { findings }));
        }
        let face = parsed.first().and_then(|one| one.graph.program.as_ref()).map(|program| program.face.clone());
        let file = |one: &Parsed| (one.graph.id.value.clone(), one.source.name.to_string());
        let files = parsed.iter().map(file).collect();
        Ok(Read { functions, face: face.unwrap_or_default(), warnings: findings, files, setups })
    }

    /// A server that nobody defines and that is called like one of ours is that one, on the project's own folder.
    fn builtins(&self, one: &Parsed, setups: &mut Vec<(Server, PathBuf)>) {
        for node in &one.graph.nodes {
            let Kind::Call(call) = &node.kind else { continue };
            if setups.iter().any(|(server, _)| server.name == call.server.value) {
                continue;
            }
            let Some(server) = builtin(&call.server) else { continue };
            setups.push((server, self.library.project().to_owned()));
        }
    }

    /// The workflows of other files that these run, and that those run.
    fn others(&self, parsed: &[Parsed], seen: &mut Seen) -> Family {
        let mut others = Family::default();
        let mut waiting: Vec<String> = parsed.iter().flat_map(subflows).collect();
        while let Some(name) = waiting.pop() {
            let is_known = |name: &str| parsed.iter().any(|one| one.graph.id.value == name);
            if others.members.contains_key(&name) || is_known(&name) {
                continue;
            }
            if let Some(path) = self.library.path(&name) {
                seen.look_at(&path);
            }
            // That a workflow is not known, or has faults, is said where it is named.
            let Ok((source, _)) = self.library.text(&name) else { continue };
            let Ok(one) = Parsed::read_one(source, bare(&name), self.strictness) else { continue };
            waiting.extend(others.add(name, one, self.strictness));
        }
        for one in parsed {
            others.meets(one);
        }
        others
    }
}

/// The servers that the nodes of a file may call: its own, the user's, and ours. Those of another file are not among
/// them: whoever trusted this file has not seen that one.
fn known<'s>(one: &'s Parsed, own: &'s [String], setups: &'s [(Server, PathBuf)]) -> Vec<&'s str> {
    let brought = one.graph.program.iter().flat_map(|program| &program.servers);
    let mut names: Vec<&str> = brought.filter(|server| !server.disabled).map(|server| server.name.as_str()).collect();
    names.extend(own.iter().map(String::as_str));
    let builtin = setups.iter().filter(|(server, _)| matches!(server.transport, Transport::Builtin(_)));
    names.extend(builtin.map(|(server, _)| server.name.as_str()));
    names
}

/// Adds a server that a file brings along. Two files may bring the same one, but not two of one name.
fn add(setups: &mut Vec<(Server, PathBuf)>, server: &Server, folder: &Path, source: &Source, findings: &mut Findings) {
    match setups.iter().find(|(known, _)| known.name == server.name) {
        None => setups.push((server.clone(), folder.to_owned())),
        Some((known, _)) if known.transport == server.transport && known.timeout_ms == server.timeout_ms => {}
        Some(_) => {
            let message = format!("another file defines the server `{}` differently", server.name);
            let fault = Diagnostic::error("duplicate-id", message).at(server.span);
            findings.push((source.clone(), fault.help("give one of them another name")));
        }
    }
}
