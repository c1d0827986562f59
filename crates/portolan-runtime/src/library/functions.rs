//! Files of functions. Each may contain several functions, the workflows that these run, and the servers that they
//! call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use portolan_core::diagnostic::{Diagnostic, clip, closest};
use portolan_core::dialect::{self, RunAs, Strictness};
use portolan_core::graph::{Face, Graph, Workflow};
use portolan_core::source::Source;
use portolan_core::validate;

use super::family::{Family, both_define, subflows};
use super::lookups::{Lookup, Lookups};
use super::servers::{ServerSetup, add_builtins, known};
use super::{Library, read_definition};
use crate::definition::{Definition, DefinitionError, Findings, ParsedText};
use crate::disk;
use crate::error::ServiceError;

/// Returns how the workflows of a file are run, even if it has faults. `None` if the format is unknown.
///
/// # Errors
/// The file cannot be read.
pub fn run_as(path: &Path) -> Result<Option<RunAs>, ServiceError> {
    Ok(dialect::of(&read_definition(path)?).map(|dialect| dialect.run_as))
}

/// The files of functions to read, and how.
#[derive(Clone, Copy)]
pub struct FunctionFiles<'f> {
    /// The files.
    pub files: &'f [PathBuf],
    /// The user's own file of servers: it adds servers that a file does not define.
    pub mcp: Option<&'f Path>,
    /// Whether servers are called, so that all of them must be known.
    pub served: bool,
    /// A text that replaces the first file's own.
    pub text: Option<&'f Source>,
}

impl<'f> FunctionFiles<'f> {
    /// Returns files whose functions are called.
    pub fn served(files: &'f [PathBuf], mcp: Option<&'f Path>) -> FunctionFiles<'f> {
        FunctionFiles { files, mcp, served: true, text: None }
    }

    /// Returns files whose servers are not called: they need not be known.
    pub fn unserved(files: &'f [PathBuf]) -> FunctionFiles<'f> {
        FunctionFiles { files, mcp: None, served: false, text: None }
    }
}

/// The functions of files, ready to run.
pub struct FunctionSet {
    /// The functions by name, in the order of the files.
    pub definitions: IndexMap<String, Arc<Definition>>,
    /// The presentation of the files, as the first of them defines it.
    pub face: Face,
    /// The findings that do not prevent a run.
    pub warnings: Findings,
    /// The servers that the functions call.
    pub servers: Vec<ServerSetup>,
}

impl FunctionSet {
    /// Returns the function called `name`, or the only one if there is no name.
    ///
    /// # Errors
    /// There is none of that name, or there are several and none is named.
    pub fn called(&self, name: Option<&str>) -> Result<&Arc<Definition>, ServiceError> {
        let names: Vec<&str> = self.definitions.keys().map(String::as_str).collect();
        let listed = || format!("there {} `{}`", if names.len() == 1 { "is" } else { "are" }, names.join("`, `"));
        match name {
            Some(name) => self.definitions.get(name).ok_or_else(|| {
                let near = closest(name, names.iter().copied());
                let help = near.map_or_else(listed, |near| format!("did you mean `{near}`?"));
                ServiceError::refused("unknown_tool", format!("there is no tool `{}`", clip(name)), help)
            }),
            None if self.definitions.len() == 1 => Ok(&self.definitions[0]),
            None => Err(ServiceError::refused(
                "tool_required",
                "the file has several tools",
                format!("name one; {}", listed()),
            )),
        }
    }
}

impl Library {
    /// Returns the functions of a name in the files of the project, each with its file. Files with faults are skipped.
    pub fn functions_called(&self, name: &str) -> Vec<(PathBuf, Arc<Definition>)> {
        let paths = self.ids().into_iter().filter_map(|(id, _)| self.path(&id));
        let calls = paths.filter(|path| run_as(path).ok().flatten() == Some(RunAs::Calls));
        let found = calls.filter_map(|path| {
            let functions = self.functions(FunctionFiles::unserved(std::slice::from_ref(&path))).ok()?;
            Some((path, functions.definitions.get(name)?.clone()))
        });
        found.collect()
    }
}

impl Library {
    /// Reads files of functions.
    ///
    /// # Errors
    /// A file cannot be read, or has faults.
    pub fn functions(&self, wanted: FunctionFiles<'_>) -> Result<FunctionSet, DefinitionError> {
        self.functions_with_lookups(wanted).1
    }

    /// Does the same, and returns the lookups.
    pub(crate) fn functions_with_lookups(
        &self,
        wanted: FunctionFiles<'_>,
    ) -> (Lookups, Result<FunctionSet, DefinitionError>) {
        let mut family = self.family();
        let functions = self.linked(wanted, &mut family);
        (family.lookups, functions)
    }

    /// Returns all findings in a file of functions, by their sources.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn review_functions(&self, file: &Path, mcp: Option<&Path>) -> Result<Findings, ServiceError> {
        match self.functions(FunctionFiles::served(&[file.to_owned()], mcp)) {
            Ok(functions) => Ok(functions.warnings),
            Err(DefinitionError { error, findings }) if findings.is_empty() => Err(*error),
            Err(DefinitionError { findings, .. }) => Ok(findings),
        }
    }

    /// Returns the functions of a file for drawing, in the order of the file. They may have faults: they are read
    /// leniently, and functions that cannot be drawn are left out.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn drawable_functions(&self, file: &Path) -> Result<Vec<Workflow>, ServiceError> {
        let (mut family, files) = (self.family(), [file.to_owned()]);
        let roots = self.roots(FunctionFiles::unserved(&files), &mut family, &mut Findings::new())?;
        let find = |name: &str| family.members.get(name);
        let roots = roots.iter().map(|(name, _)| &family.members[name]);
        Ok(roots.filter_map(|root| root.check(&find, Strictness::Lenient).0).collect())
    }

    /// Checks every function with what it runs, and collects the servers.
    fn linked(&self, wanted: FunctionFiles<'_>, family: &mut Family) -> Result<FunctionSet, DefinitionError> {
        let mut findings = Findings::new();
        if let Some(error) = family.broken.first() {
            return Err(error.clone().into());
        }
        let own = self.own_servers_with_lookups(wanted.mcp, &mut family.lookups, &mut findings)?;
        let roots = self.roots(wanted, family, &mut findings)?;
        let find = |name: &str| family.members.get(name);
        let ours: Vec<&ParsedText> = roots.iter().filter_map(|(name, _)| find(name)).collect();
        findings.extend(family.ambiguous.iter().map(|message| {
            let fault = Diagnostic::error("duplicate-id", message.clone()).help("rename one of them");
            (ours[0].source.clone(), fault)
        }));
        let (mut definitions, mut servers) = (IndexMap::new(), Vec::new());
        for (one, (name, folder)) in ours.iter().zip(&roots) {
            let (workflow, faults) = one.check(&find, self.strictness);
            findings.extend(faults.into_iter().map(|fault| (one.source.clone(), fault)));
            for server in &one.graph.settings.servers {
                add(&mut servers, ServerSetup::of(server, folder), &one.source, &mut findings);
            }
            definitions.extend(workflow.map(|workflow| (name.clone(), Definition::read(one, &find, workflow))));
        }
        own.iter().for_each(|setup| setup.clone().add(&mut servers));
        let theirs = family.members.iter().filter(|(name, _)| !roots.iter().any(|(root, _)| root == *name));
        let all: Vec<&ParsedText> = ours.iter().copied().chain(theirs.map(|(_, one)| one)).collect();
        for one in &all {
            add_builtins(one.graph.nodes.iter().map(|node| &node.kind), &self.project, &mut servers);
        }
        for one in all.iter().filter(|_| wanted.served) {
            let faults = validate::servers(&one.graph, &known(&one.graph, &own, &servers));
            findings.extend(faults.into_iter().map(|fault| (one.source.clone(), fault)));
        }
        if findings.iter().any(|(_, fault)| fault.is_error()) || definitions.len() < roots.len() {
            return Err(DefinitionError::faulty("the file has faults", "fix every fault that is listed", findings));
        }
        let face = ours.first().map(|one| one.graph.settings.face.clone()).unwrap_or_default();
        Ok(FunctionSet { definitions, face, warnings: findings, servers })
    }

    /// Reads the functions of the files and what they run into a family. Returns their names in order, each with the
    /// folder of its file.
    fn roots(
        &self,
        wanted: FunctionFiles<'_>,
        family: &mut Family,
        findings: &mut Findings,
    ) -> Result<Vec<(String, PathBuf)>, ServiceError> {
        let mut roots: Vec<(String, PathBuf)> = Vec::new();
        for (nth, path) in wanted.files.iter().enumerate() {
            let source = match wanted.text.filter(|_| nth == 0) {
                Some(text) => text.clone(),
                None => self.note(&mut family.lookups, Lookup::File(path.clone()))?.0,
            };
            let (file, faults) = ParsedText::all(&source, self.strictness);
            findings.extend(faults.into_iter().map(|fault| (source.clone(), fault)));
            for one in file {
                let id = &one.graph.id;
                findings.extend(no_function(&one.graph).map(|fault| (source.clone(), fault)));
                match family.members.get(&id.value) {
                    Some(other) if other.source.name != source.name => {
                        let message = both_define(&id.value, &other.source, &source);
                        let fault = Diagnostic::error("duplicate-id", message).at(id.span).help("rename one of them");
                        findings.push((source.clone(), fault));
                    }
                    Some(_) => {}
                    None => {
                        roots.push((id.value.clone(), disk::folder_of(path).to_owned()));
                        // The faults of the file are reported only once.
                        let mut one = ParsedText { faults: Vec::new(), ..one };
                        one.attach(&family.attachments);
                        family.members.insert(one.graph.id.value.clone(), one);
                    }
                }
            }
        }
        let run = roots.iter().flat_map(|(name, _)| subflows(&family.members[name])).collect();
        self.complete(family, "", run);
        Ok(roots)
    }
}

fn no_function(graph: &Graph) -> Option<Diagnostic> {
    if graph.interface.is_some() {
        return None;
    }
    let message = format!("`{}` is led by an agent, and cannot be served as a tool", graph.id.value);
    Some(Diagnostic::error("no-function", message).at(graph.id.span).help("serve it with `--toolset tasks`"))
}

/// Adds a server that a file brings along. Two files may bring the same one, but not different ones of one name.
fn add(setups: &mut Vec<ServerSetup>, setup: ServerSetup, source: &Source, findings: &mut Findings) {
    let ServerSetup { server, .. } = &setup;
    let known = setups.iter().map(|known| &known.server).find(|known| known.name == server.name);
    if known.is_some_and(|known| known.transport != server.transport || known.timeout_ms != server.timeout_ms) {
        let message = format!("another file defines the server `{}` differently", server.name);
        let fault = Diagnostic::error("duplicate-id", message).at(server.span).help("give one of them another name");
        findings.push((source.clone(), fault));
    }
    setup.add(setups);
}
