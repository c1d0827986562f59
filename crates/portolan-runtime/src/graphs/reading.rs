//! Reading files of functions: their own graphs, the workflows that these run, the servers that they call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::{self, RunAs, Strictness};
use portolan_core::graph::{Face, Kind, Server, Transport, Workflow};
use portolan_core::source::Source;
use portolan_core::validate;

use super::{Faulty, Loaded, OpenError, Seen, builtin, folder_around};
use crate::definition::{Bundle, Definition, Findings, Parsed};
use crate::error::ServiceError;
use crate::library::{Family, Library, bare, read_definition, subflows};
use crate::servers::Servers;

/// Whether a file is written in a dialect of functions, faults or not.
///
/// # Errors
/// It cannot be read.
pub fn holds_functions(path: &Path) -> Result<bool, ServiceError> {
    Ok(dialect::of(&read_definition(path)?).is_some_and(|dialect| dialect.run_as == RunAs::Calls))
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

/// One reading of the files.
pub(super) struct Reading<'r> {
    pub(super) files: &'r [PathBuf],
    pub(super) mcp: Option<&'r Path>,
    pub(super) library: &'r Library,
    pub(super) strictness: Strictness,
    /// Whether servers are called, so that all of them must be known.
    pub(super) served: bool,
    /// What counts instead of the first file's own text.
    pub(super) text: Option<&'r Source>,
}

/// What a reading came to.
pub(super) struct Read {
    pub(super) functions: IndexMap<String, Arc<Definition>>,
    pub(super) face: Face,
    pub(super) warnings: Findings,
    pub(super) files: BTreeMap<String, String>,
    pub(super) setups: Vec<(Server, PathBuf)>,
}

impl Read {
    pub(super) fn into_loaded(self, servers: Arc<Servers>) -> Loaded {
        let Read { functions, face, warnings, files, setups } = self;
        Loaded { functions, servers, face, warnings, files, setups }
    }
}

impl Reading<'_> {
    pub(super) fn read(&self, seen: &mut Seen) -> Result<Read, OpenError> {
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
                if graph.interface.is_none() {
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
            let brought = one.graph.settings.servers.iter();
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
        let face = parsed.first().map(|one| one.graph.settings.face.clone());
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
                // A file that comes or goes changes its folder.
                for file in self.library.activity_files(&name) {
                    file.parent().into_iter().for_each(|folder| seen.look_at(folder));
                    seen.look_at(&file);
                }
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
    let brought = one.graph.settings.servers.iter();
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
