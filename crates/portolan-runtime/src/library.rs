//! The definitions that can be run: the project's, those given on the command line, those of other folders under a
//! namespace of their own, and the catalogue.
//!
//! Files are looked at when they are asked for, so that a change counts for the next run that begins; a run that has
//! begun is held to its bundle. What does not look changed is not read again.

mod activities;
mod catalogue;
mod folder;
mod sources;
mod stamp;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::diagnostic::{Diagnostic, closest};
use portolan_core::dialect::Strictness;
use portolan_core::graph::Workflow;
use portolan_core::source::Source;

use crate::catalog;
use crate::definition::{Bundle, Definition, Parsed};
use crate::error::{ErrorKind, ServiceError};

pub use catalogue::{catalogue, shown};
use folder::places;
pub use folder::{Found, read_definition, workflow_files};
use sources::Sources;

/// Where a workflow comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The project's `.flow/workflows`, or the command line.
    Project,
    /// Another folder, loaded by its path.
    External,
    /// The catalogue.
    Catalog,
}

impl Origin {
    /// The word that `ListWorkflows` knows it by.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Project => "project",
            Origin::External => "external",
            Origin::Catalog => "catalog",
        }
    }
}

/// One line of a list of workflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What `Init` calls it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How many nodes it has.
    pub steps: usize,
    /// Where it comes from.
    pub origin: Origin,
}

impl Listed {
    /// The line of a workflow that could be read.
    pub fn of(id: &str, parsed: &Parsed, origin: Origin) -> Listed {
        let graph = &parsed.graph;
        Listed {
            id: id.to_owned(),
            name: graph.name.clone(),
            description: graph.description.clone(),
            steps: graph.nodes.len(),
            origin,
        }
    }
}

/// What is known of a workflow that an agent can be led through, or could be if it had no faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// What begins it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its version, where it names one.
    pub version: Option<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// The variables without which it cannot begin, each with what it holds.
    pub required: Vec<(String, &'static str)>,
    /// Why it cannot be run.
    pub fault: Option<String>,
}

/// What came of loading a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The workflows that can be run, as `Init` calls them.
    pub ids: Vec<String>,
    /// Those that cannot, each with its reasons.
    pub errors: Vec<(String, String)>,
}

/// A definition and everything that was found in it.
#[derive(Clone, Debug)]
pub struct Reviewed {
    /// The definition.
    pub source: Source,
    /// What was found, in the order of the text.
    pub faults: Vec<Diagnostic>,
}

/// All definitions that can be run.
pub struct Library {
    project: PathBuf,
    given: BTreeMap<String, PathBuf>,
    strictness: Strictness,
    external: Mutex<BTreeMap<String, PathBuf>>,
    checked: Mutex<BTreeMap<String, Arc<Definition>>>,
    sources: Sources,
}

impl Library {
    /// The library of a project. `given` are files and folders named on the command line, which count as the project's.
    ///
    /// # Errors
    /// A given path that cannot be read, or two files that give the same id.
    pub fn new(project: &Path, given: &[PathBuf], strictness: Strictness) -> Result<Library, ServiceError> {
        let mut by_id: BTreeMap<String, PathBuf> = BTreeMap::new();
        for path in given {
            for file in workflow_files(path)? {
                let stem = file.id.clone();
                if let Some(other) = by_id.insert(stem.clone(), file.path.clone()) {
                    return Err(ServiceError::of(
                        ErrorKind::InvalidDefinition,
                        "duplicate_id",
                        format!("`{}` and `{}` both define `{stem}`", other.display(), file.path.display()),
                        "rename one of the files",
                    ));
                }
            }
        }
        Ok(Library {
            project: project.to_owned(),
            given: by_id,
            strictness,
            external: Mutex::default(),
            checked: Mutex::default(),
            sources: Sources::default(),
        })
    }

    /// The project.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The project's own folder of workflows.
    pub fn folder(&self) -> PathBuf {
        self.project.join(".flow").join("workflows")
    }

    /// The workflow called `id`, checked and bundled with what it runs.
    ///
    /// # Errors
    /// It is not known, cannot be read, or has faults; the message says which, all at once.
    pub fn definition(&self, id: &str) -> Result<Arc<Definition>, ServiceError> {
        let known = lock(&self.checked).get(id).cloned();
        if let Some(definition) = known.filter(|definition| self.is_current(id, definition)) {
            return Ok(definition);
        }
        let Family { members, broken } = self.family(id)?;
        if let Some(error) = broken.into_iter().next() {
            return Err(error);
        }
        let find = |name: &str| members.get(name);
        let root = find(id).ok_or_else(|| self.unknown(id))?;
        let (workflow, faults) = root.check(&find, self.strictness);
        let Some(workflow) = workflow else { return Err(faulty(id, &root.source, &faults)) };
        let definition = Arc::new(Definition::new(Bundle::of(root, &find), workflow));
        lock(&self.checked).insert(id.to_owned(), definition.clone());
        Ok(definition)
    }

    /// Whether every text of a bundle is still what its file says.
    fn is_current(&self, id: &str, definition: &Definition) -> bool {
        let bundle = &definition.bundle;
        let texts = &bundle.workflows;
        let is_there = |member: &str, text: &str| {
            self.member(id, member).is_ok_and(|(source, _)| bundle.holds(member, text, &source))
        };
        // A function that stands beside another one has no file of its own name.
        texts.iter().all(|(member, text)| {
            is_there(member, text)
                || texts.iter().any(|(other, its)| other != member && its == text && is_there(other, its))
        })
    }

    /// The workflow called `id` and everything it runs, as far as it can be read.
    fn family(&self, id: &str) -> Result<Family, ServiceError> {
        let mut family = Family::default();
        let mut waiting = vec![id.to_owned()];
        while let Some(name) = waiting.pop() {
            if family.members.contains_key(&name) {
                continue;
            }
            let source = match self.member(id, &name) {
                Ok((source, _)) => source,
                Err(error) if name == id => return Err(error),
                // That it is not known is said where it is named.
                Err(error) if ["unknown_workflow", "bad_id"].contains(&error.code) => continue,
                Err(error) => {
                    family.broken.push(error);
                    continue;
                }
            };
            match Parsed::read_one(source.clone(), bare(&name), self.strictness) {
                Ok(parsed) => waiting.extend(family.add(name, parsed, self.strictness)),
                Err(faults) if name == id => return Err(faulty(id, &source, &faults)),
                Err(faults) => family.broken.push(faulty(&name, &source, &faults)),
            }
        }
        Ok(family)
    }

    /// The text of a workflow that the one called `id` runs, or of that one itself. One from another folder runs what
    /// lies beside it first.
    fn member(&self, id: &str, name: &str) -> Result<(Source, Origin), ServiceError> {
        match if name == id { None } else { self.beside(id, name) } {
            Some(path) => Ok((self.sources.read(&path)?, Origin::External)),
            None => self.text(name),
        }
    }

    /// The file called `name` beside the one of an external workflow.
    fn beside(&self, id: &str, name: &str) -> Option<PathBuf> {
        let known = lock(&self.external).get(id).cloned();
        let path = known.filter(|_| is_plain(name))?;
        let around = if path.file_stem().is_some_and(|stem| stem == "workflow") {
            path.parent()?.parent()?
        } else {
            path.parent()?
        };
        places(around, name).find(|path| stands(path))
    }

    /// The text of a workflow and where it comes from. The project's own comes before the catalogue's.
    ///
    /// # Errors
    /// It is not known, or its file cannot be read.
    pub fn text(&self, id: &str) -> Result<(Source, Origin), ServiceError> {
        if !is_plain(id) {
            return Err(ServiceError::refused(
                "bad_id",
                format!("`{}` cannot be the id of a workflow", portolan_core::diagnostic::clip(id)),
                "list the workflows for the ids there are",
            ));
        }
        if id.contains(':') {
            // Unlocked before anything else is asked: what is not known is looked for in the list, which locks it too.
            let known = lock(&self.external).get(id).cloned();
            return match known {
                Some(path) => Ok((self.sources.read(&path)?, Origin::External)),
                None => Err(self.unknown(id)),
            };
        }
        if let Some(path) = self.given.get(id) {
            return Ok((self.sources.read(path)?, Origin::Project));
        }
        if let Some(path) = places(&self.folder(), id).find(|path| stands(path)) {
            return Ok((self.sources.read(&path)?, Origin::Project));
        }
        match catalog::workflow(id) {
            Some(entry) => Ok((entry.source(), Origin::Catalog)),
            None => Err(self.unknown(id)),
        }
    }

    /// The file that a workflow comes from; nothing for the catalogue's.
    pub fn path(&self, id: &str) -> Option<PathBuf> {
        self.text(id)
            .ok()
            .filter(|(_, origin)| *origin != Origin::Catalog)
            .map(|(source, _)| PathBuf::from(&*source.name))
    }

    /// The files of a workflow's activities, where they have files of their own.
    pub(crate) fn activity_files(&self, id: &str) -> Vec<PathBuf> {
        let source = self.text(id).map(|(source, _)| source);
        source.map(|source| source.names().skip(1).map(PathBuf::from).collect()).unwrap_or_default()
    }

    fn unknown(&self, id: &str) -> ServiceError {
        // Names alone: to look at what they name could come back here.
        let mut ids = self.project_ids();
        ids.extend(lock(&self.external).keys().cloned());
        ids.extend(catalog::all().map(|entry| entry.id.to_owned()));
        let help = match closest(id, ids.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? the list of workflows has them all"),
            None => "the list of workflows has them all; a file belongs into `.flow/workflows`".to_owned(),
        };
        let id = portolan_core::diagnostic::clip(id);
        ServiceError::refused("unknown_workflow", format!("workflow `{id}` is not known"), help)
    }

    /// Every workflow that can be run, the project's first; a project's own hides the catalogue's of the same id.
    pub fn list(&self) -> Vec<Listed> {
        let mut listed: Vec<Listed> = Vec::new();
        for id in self.project_ids() {
            listed.extend(self.listed(&id, Origin::Project));
        }
        let external: Vec<String> = lock(&self.external).keys().cloned().collect();
        for id in external {
            listed.extend(self.listed(&id, Origin::External));
        }
        for known in catalogue() {
            // A file of the project hides the catalogue's of the same id, also when it cannot be read.
            if self.text(&known.id).is_ok_and(|(_, origin)| origin == Origin::Catalog) {
                listed.push(known.clone());
            }
        }
        listed
    }

    fn listed(&self, id: &str, origin: Origin) -> Option<Listed> {
        let (source, found) = self.text(id).ok().filter(|(_, found)| *found == origin)?;
        let parsed = Parsed::read_one(source, bare(id), Strictness::Lenient).ok()?;
        Some(Listed::of(id, &parsed, found))
    }

    /// Every workflow that an agent can be led through, and those that have faults with the reason: what is broken does
    /// not vanish.
    pub fn overview(&self) -> Vec<Overview> {
        let mut ids: Vec<(String, Origin)> = self.project_ids().into_iter().map(|id| (id, Origin::Project)).collect();
        ids.extend(lock(&self.external).keys().map(|id| (id.clone(), Origin::External)));
        let is_ours = |id: &str| self.text(id).is_ok_and(|(_, origin)| origin == Origin::Catalog);
        let catalogue = catalogue().iter().filter(|known| is_ours(&known.id));
        ids.extend(catalogue.map(|known| (known.id.clone(), Origin::Catalog)));
        ids.into_iter().filter_map(|(id, origin)| self.overlooked(id, origin)).collect()
    }

    /// Nothing for functions: nobody is led through them.
    fn overlooked(&self, id: String, origin: Origin) -> Option<Overview> {
        let definition = match self.definition(&id) {
            Ok(definition) => definition,
            Err(error) => {
                let listed = self.listed(&id, origin);
                let (name, description) = listed.map_or_else(Default::default, |it| (it.name, it.description));
                let name = if name.is_empty() { id.clone() } else { name };
                let fault = Some(format!("{}; {}", error.message, error.help));
                return Some(Overview { id, name, description, version: None, origin, required: Vec::new(), fault });
            }
        };
        let flow = definition.workflow.root();
        if flow.interface.is_some() {
            return None;
        }
        let lacks = flow.variables.iter().filter(|variable| variable.required && variable.default.is_none());
        let required = lacks.map(|variable| (variable.name.value.clone(), variable.kind.word())).collect();
        let (name, description, version) = (flow.name.clone(), flow.description.clone(), flow.version.clone());
        Some(Overview { id, name, description, version, origin, required, fault: None })
    }

    /// The ids of the project's own workflows.
    pub fn project_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.given.keys().cloned().collect();
        ids.extend(workflow_files(&self.folder()).unwrap_or_default().into_iter().map(|file| file.id));
        ids.sort();
        ids.dedup();
        ids
    }

    /// Makes workflows of another folder, all or some, known under `namespace:`, which is the folder's own name.
    ///
    /// # Errors
    /// The folder does not exist or cannot be read.
    pub fn load_external(
        &self,
        folder: &Path,
        namespace: &str,
        only: Option<&[String]>,
    ) -> Result<Loaded, ServiceError> {
        let files = workflow_files(folder)?;
        let mut loaded = Loaded::default();
        for id in only.unwrap_or_default().iter().filter(|id| !files.iter().any(|file| file.id == **id)) {
            loaded.errors.push((id.clone(), format!("`{}` holds no such workflow", folder.display())));
        }
        let wanted = |file: &Found| only.is_none_or(|only| only.contains(&file.id));
        for file in files.into_iter().filter(wanted) {
            let id = format!("{namespace}:{}", file.id);
            let before = lock(&self.external).insert(id.clone(), file.path.clone());
            match self.definition(&id) {
                Ok(_) => loaded.ids.push(id),
                Err(error) => {
                    let mut external = lock(&self.external);
                    match before {
                        Some(path) => external.insert(id.clone(), path),
                        None => external.remove(&id),
                    };
                    loaded.errors.push((id, error.message));
                }
            }
        }
        Ok(loaded)
    }

    /// The ids of the definitions named on the command line.
    pub fn given_ids(&self) -> Vec<String> {
        self.given.keys().cloned().collect()
    }

    /// Everything that is found in a workflow.
    ///
    /// # Errors
    /// It is not known, or its file cannot be read.
    pub fn review(&self, id: &str) -> Result<Reviewed, ServiceError> {
        let (source, _) = self.text(id)?;
        let parsed = match Parsed::read_one(source.clone(), bare(id), self.strictness) {
            Ok(parsed) => parsed,
            Err(faults) => return Ok(Reviewed { source, faults }),
        };
        let family = self.family(id)?.members;
        let find = |name: &str| family.get(name);
        let (_, faults) = parsed.check(&find, self.strictness);
        Ok(Reviewed { source, faults })
    }

    /// A workflow for drawing. It may be one that has faults: the picture shows what lenient reading makes of it.
    ///
    /// # Errors
    /// It is not known, or cannot even be drawn.
    pub fn drawable(&self, id: &str) -> Result<(Workflow, Origin), ServiceError> {
        let (source, origin) = self.text(id)?;
        let family = self.family(id)?.members;
        let find = |name: &str| family.get(name);
        let root = find(id).ok_or_else(|| self.unknown(id))?;
        let (workflow, faults) = root.check(&find, Strictness::Lenient);
        workflow.map(|workflow| (workflow, origin)).ok_or_else(|| faulty(id, &source, &faults))
    }
}

/// A workflow and what it runs.
#[derive(Default)]
pub(crate) struct Family {
    /// Those that could be read, by the name that they are run by.
    pub(crate) members: BTreeMap<String, Parsed>,
    /// Why others could not be. They are there, so that nothing else may take their place.
    pub(crate) broken: Vec<ServiceError>,
}

impl Family {
    /// Takes in a workflow with the functions of its file that it calls; the names of what else they run.
    pub(crate) fn add(&mut self, name: String, parsed: Parsed, strictness: Strictness) -> Vec<String> {
        let (mut elsewhere, mut waiting) = (Vec::new(), vec![(name, parsed)]);
        while let Some((name, mut parsed)) = waiting.pop() {
            for other in subflows(&parsed) {
                match (parsed.beside(&other, strictness), self.members.get(&other)) {
                    (Some(beside), Some(known)) if known.source.text != beside.source.text => {
                        self.broken.push(ambiguous(&other, &known.source, &beside.source));
                    }
                    (Some(_), Some(_)) => {}
                    (Some(beside), None) => waiting.push((other, beside)),
                    (None, _) => elsewhere.push(other),
                }
            }
            parsed.graph.id.value.clone_from(&name);
            self.members.insert(name, parsed);
        }
        elsewhere
    }

    /// Sees that none of it goes by the name of one that comes before it.
    pub(crate) fn meets(&mut self, first: &Parsed) {
        let known = self.members.get(&first.graph.id.value).filter(|known| known.source.text != first.source.text);
        if let Some(known) = known {
            self.broken.push(ambiguous(&first.graph.id.value, &first.source, &known.source));
        }
    }
}

/// A name that means one function here and another there, in workflows that run together.
fn ambiguous(name: &str, one: &Source, other: &Source) -> ServiceError {
    let message = format!("`{}` and `{}` both define the tool `{name}`", one.name, other.name);
    ServiceError::of(ErrorKind::InvalidDefinition, "invalid_definition", message, "rename one of them")
}

/// What a workflow is called in its own file.
pub(crate) fn bare(id: &str) -> &str {
    id.rsplit_once(':').map_or(id, |(_, name)| name)
}

/// Whether there is something that is meant to be a file. What cannot be looked at is: reading it says why.
fn stands(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => !metadata.is_dir(),
        // A link that leads nowhere is there all the same.
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.symlink_metadata().is_ok(),
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename),
    }
}

pub(crate) fn subflows(parsed: &Parsed) -> Vec<String> {
    let named = parsed.graph.nodes.iter().flat_map(|node| node.kind.workflows());
    named.map(|(workflow, _)| workflow.to_owned()).collect()
}

/// Whether an id can be part of a path without leaving the folder it is looked for in.
pub fn is_plain(id: &str) -> bool {
    let bad = |c: char| matches!(c, '/' | '\\' | '\0') || c.is_control();
    !id.is_empty() && id.len() <= 200 && !id.starts_with('.') && !id.contains("..") && !id.contains(bad)
}

/// All faults of a definition in one message, each with its place.
fn faulty(id: &str, source: &Source, faults: &[Diagnostic]) -> ServiceError {
    let errors: Vec<String> = faults
        .iter()
        .filter(|fault| fault.is_error())
        .map(|fault| {
            let place = fault.span.map_or_else(|| source.name.to_string(), |span| source.place(span.start));
            format!("{place}: {} ({})", fault.message, fault.code)
        })
        .collect();
    ServiceError::of(
        ErrorKind::InvalidDefinition,
        "invalid_definition",
        format!("workflow `{id}` has {} fault(s): {}", errors.len(), errors.join("; ")),
        format!("mend them; `portolan check {}` shows each in its place", source.name),
    )
}

/// A lock whose holder panicked guards a map that is whole all the same: every change to it is one insertion.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
