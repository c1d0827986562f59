//! The definitions that can be run: the project's, those given on the command line, those of other folders under their
//! own namespaces, and the catalogue.
//!
//! Files are checked on each request, so that a change counts for the next run that begins. A run that has begun keeps
//! its bundle. A file that seems unchanged is not read again.

mod activities;
mod attachment_faults;
mod beside;
mod command_line;
mod family;
mod folder;
mod functions;
mod list;
mod lookups;
mod servers;
mod sketch;
mod sources;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::diagnostic::{Diagnostic, closest};
use portolan_core::dialect::Strictness;
use portolan_core::graph::Workflow;
use portolan_core::source::Source;

use crate::attachments;
use crate::catalog;
use crate::definition::{Definition, ParsedText};
use crate::disk;
use crate::error::{ErrorKind, ServiceError};

use command_line::NamedFiles;
pub use command_line::is_stray;
use family::Family;
pub(crate) use family::bare;
use folder::places;
pub use folder::{WorkflowFile, read_definition, workflow_files};
pub use functions::{FunctionFiles, FunctionSet, run_as};
pub use list::{Overview, WorkflowLine, catalogue, shown};
use lookups::Lookup;
pub(crate) use lookups::Lookups;
pub use servers::{ServerSetup, servers_of};
pub(crate) use sketch::rewritten;
pub use sketch::{Sketch, file_called, named_texts};
use sources::Sources;

/// The origin of a workflow.
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
    /// Returns the word that `ListWorkflows` uses.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Project => "project",
            Origin::External => "external",
            Origin::Catalog => "catalog",
        }
    }
}

/// The result of loading a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderContents {
    /// The workflows that can be run, by the names that `Init` uses.
    pub ids: Vec<String>,
    /// The workflows that cannot be run, each with its reasons.
    pub errors: Vec<(String, String)>,
}

/// A definition and all its findings.
#[derive(Clone, Debug)]
pub struct DefinitionReview {
    /// The definition.
    pub source: Source,
    /// The findings, in the order of the text.
    pub faults: Vec<Diagnostic>,
}

/// All definitions that can be run.
pub struct Library {
    project: PathBuf,
    given: NamedFiles,
    strictness: Strictness,
    external: Mutex<BTreeMap<String, PathBuf>>,
    checked: Known<Definition>,
    sketches: Known<Sketch>,
    sources: Sources,
}

impl Library {
    /// Returns the library of a project. `given` are files and folders named on the command line, which count as the
    /// project's.
    ///
    /// # Errors
    /// A given path cannot be read, or two files have the same id.
    pub fn new(project: &Path, given: &[PathBuf], strictness: Strictness) -> Result<Library, ServiceError> {
        let given = NamedFiles::of(given)?;
        given.refused().map_or_else(|| Ok(Library::of(project, given, strictness)), Err)
    }

    /// Returns the same, even if several files have the same id: each lookup of that id then reports them.
    ///
    /// # Errors
    /// A given path cannot be read.
    pub fn with_clashes(project: &Path, given: &[PathBuf], strictness: Strictness) -> Result<Library, ServiceError> {
        Ok(Library::of(project, NamedFiles::of(given)?.without_strays(), strictness))
    }

    fn of(project: &Path, given: NamedFiles, strictness: Strictness) -> Library {
        Library {
            project: project.to_owned(),
            given,
            strictness,
            external: Mutex::default(),
            checked: Mutex::default(),
            sketches: Mutex::default(),
            sources: Sources::default(),
        }
    }

    /// Returns the project folder.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Returns the project's own folder of workflows.
    pub fn folder(&self) -> PathBuf {
        self.project.join(".flow").join("workflows")
    }

    /// Returns the workflow called `id`, checked and bundled with what it runs.
    ///
    /// # Errors
    /// It is unknown, cannot be read, or has faults. The message lists all of them.
    pub fn definition(&self, id: &str) -> Result<Arc<Definition>, ServiceError> {
        if let Some(definition) = self.current(&self.checked, id) {
            return Ok(definition);
        }
        let Examination { source, workflow, faults, family, .. } = self.examine(id, self.strictness)?;
        let ambiguous = |message: &String| {
            ServiceError::of(ErrorKind::InvalidDefinition, "invalid_definition", message, "rename one of them")
        };
        if let Some(error) = family.broken.first().cloned().or(family.ambiguous.first().map(ambiguous)) {
            return Err(error);
        }
        let find = |name: &str| family.members.get(name);
        let (Some(workflow), Some(root)) = (workflow, find(id)) else { return Err(faulty(id, &source, &faults)) };
        let definition = Definition::read(root, &find, workflow);
        lock(&self.checked).insert(id.to_owned(), (definition.clone(), Arc::new(family.lookups)));
        Ok(definition)
    }

    /// Returns what was made of the definition called `id`, if all lookups would give the same now.
    fn current<T>(&self, known: &Known<T>, id: &str) -> Option<Arc<T>> {
        // The lock is released before any file is accessed.
        let known = lock(known).get(id).cloned();
        known.filter(|(_, lookups)| lookups.is_current(self)).map(|(made, _)| made)
    }

    /// Reads the workflow called `id` and what it runs, and checks it.
    fn examine(&self, id: &str, strictness: Strictness) -> Result<Examination, ServiceError> {
        let mut family = self.family();
        let (source, origin) =
            self.note(&mut family.lookups, Lookup::Name { by: id.to_owned(), name: id.to_owned() })?;
        let (file, faults) = ParsedText::all(&source, self.strictness);
        let run = family.add(id, &file);
        self.complete(&mut family, id, run);
        let find = |name: &str| family.members.get(name);
        let (workflow, faults) = find(id).map_or((None, faults), |root| root.check(&find, strictness));
        Ok(Examination { source, origin, workflow, faults, family })
    }

    /// Looks up a source, and notes the lookup.
    fn note(&self, lookups: &mut Lookups, lookup: Lookup) -> Result<(Source, Origin), ServiceError> {
        let found = self.look_up(&lookup);
        lookups.note(lookup, found.as_ref().ok().map(|(source, _)| source.clone()));
        found
    }

    /// Returns the source of a lookup. A workflow of another folder prefers the files beside it.
    fn look_up(&self, lookup: &Lookup) -> Result<(Source, Origin), ServiceError> {
        match lookup {
            Lookup::File(path) => Ok((self.sources.read(path)?, Origin::Project)),
            // A missing file is the same as an empty one.
            Lookup::Attachments => {
                let source = attachments::source(&self.project)?;
                Ok((source.unwrap_or_else(|| Source::new(attachments::FILE, "")), Origin::Project))
            }
            Lookup::Name { by, name } => match if by == name { None } else { self.beside(by, name) } {
                Some(path) => Ok((self.sources.read(&path)?, Origin::External)),
                None => self.text(name).or_else(|unknown| match self.around(by, name) {
                    Some(path) => Ok((self.sources.read(&path)?, Origin::External)),
                    None => Err(unknown),
                }),
            },
        }
    }

    /// Returns the file called `name` in the folder around a workflow of the command line that has a folder of its own.
    fn around(&self, by: &str, name: &str) -> Option<PathBuf> {
        let path = self.given.files.get(by).filter(|path| path.file_stem().is_some_and(|stem| stem == "workflow"))?;
        let around = disk::folder_of(path).join("..");
        places(&around, name).find(|path| is_plain(name) && !name.contains(':') && path.is_file())
    }

    /// Returns the file called `name` beside that of an external workflow.
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

    /// Returns the text of a workflow and its origin. The project's workflows take precedence over the catalogue's.
    ///
    /// # Errors
    /// It is unknown, or its file cannot be read.
    pub fn text(&self, id: &str) -> Result<(Source, Origin), ServiceError> {
        if !is_plain(id) {
            return Err(ServiceError::refused(
                "bad_id",
                format!("`{}` is not a valid workflow id", portolan_core::diagnostic::clip(id)),
                "list the workflows to see the existing ids",
            ));
        }
        if id.contains(':') {
            // The lock is released first: the search for similar names locks it too.
            let known = lock(&self.external).get(id).cloned();
            return match known {
                Some(path) => Ok((self.sources.read(&path)?, Origin::External)),
                None => Err(self.unknown(id)),
            };
        }
        if let Some(error) = self.given.clash(id) {
            return Err(error);
        }
        if let Some(path) = self.given.files.get(id) {
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

    /// Returns the file of a workflow. `None` for the catalogue's.
    pub fn path(&self, id: &str) -> Option<PathBuf> {
        self.text(id)
            .ok()
            .filter(|(_, origin)| *origin != Origin::Catalog)
            .map(|(source, _)| PathBuf::from(&*source.name))
    }

    fn unknown(&self, id: &str) -> ServiceError {
        // Only names: a check of the workflows could recurse to here.
        let mut ids = self.project_ids();
        ids.extend(lock(&self.external).keys().cloned());
        ids.extend(catalog::all().map(|entry| entry.id.to_owned()));
        let help = match closest(id, ids.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? the list of workflows shows them all"),
            None => "the list of workflows shows them all; a workflow file belongs in `.flow/workflows`".to_owned(),
        };
        let id = portolan_core::diagnostic::clip(id);
        ServiceError::refused("unknown_workflow", format!("workflow `{id}` is not known"), help)
    }

    /// Returns the ids of the project's own workflows.
    pub fn project_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.given.files.keys().chain(self.given.clashes.keys()).cloned().collect();
        ids.extend(workflow_files(&self.folder()).unwrap_or_default().into_iter().map(|file| file.id));
        ids.sort();
        ids.dedup();
        ids
    }

    /// Loads all or some workflows of another folder under `namespace:`, the name of the folder.
    ///
    /// # Errors
    /// The folder does not exist or cannot be read.
    pub fn load_external(
        &self,
        folder: &Path,
        namespace: &str,
        only: Option<&[String]>,
    ) -> Result<FolderContents, ServiceError> {
        let files = workflow_files(folder)?;
        let mut loaded = FolderContents::default();
        for id in only.unwrap_or_default().iter().filter(|id| !files.iter().any(|file| file.id == **id)) {
            loaded.errors.push((id.clone(), format!("`{}` does not contain this workflow", folder.display())));
        }
        let wanted = |file: &WorkflowFile| only.is_none_or(|only| only.contains(&file.id));
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

    /// Returns the ids of the definitions named on the command line.
    pub fn given_ids(&self) -> Vec<String> {
        self.given.files.keys().cloned().collect()
    }

    /// Returns the files of the command line that have the same id, or none if the id is unambiguous.
    pub fn clashing(&self, id: &str) -> &[PathBuf] {
        self.given.clashes.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the files of the command line that are no definitions, and have the id of another file.
    pub fn strays(&self) -> &[WorkflowFile] {
        &self.given.strays
    }

    /// Returns all findings in a workflow.
    ///
    /// # Errors
    /// It is unknown, or its file cannot be read.
    pub fn review(&self, id: &str) -> Result<DefinitionReview, ServiceError> {
        let Examination { source, faults, .. } = self.examine(id, self.strictness)?;
        Ok(DefinitionReview { source, faults })
    }

    /// Returns a workflow for drawing. It may have faults: it is read leniently.
    ///
    /// # Errors
    /// It is unknown, or cannot even be drawn.
    pub fn drawable(&self, id: &str) -> Result<(Workflow, Origin), ServiceError> {
        let Examination { source, origin, workflow, faults, .. } = self.examine(id, Strictness::Lenient)?;
        workflow.map(|workflow| (workflow, origin)).ok_or_else(|| faulty(id, &source, &faults))
    }
}

/// What was made of definitions, by their ids, each with the lookups during its reading.
type Known<T> = Mutex<BTreeMap<String, (Arc<T>, Arc<Lookups>)>>;

/// The result of reading and checking a workflow.
struct Examination {
    source: Source,
    origin: Origin,
    workflow: Option<Workflow>,
    faults: Vec<Diagnostic>,
    family: Family,
}

/// Checks whether something exists that is meant to be a file. An inaccessible path counts, because reading it reports
/// why.
fn stands(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => !metadata.is_dir(),
        // A dangling link exists nevertheless.
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.symlink_metadata().is_ok(),
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename),
    }
}

/// Checks whether an id can be part of a path without leaving its folder.
pub fn is_plain(id: &str) -> bool {
    let bad = |c: char| matches!(c, '/' | '\\' | '\0') || c.is_control();
    !id.is_empty() && id.len() <= 200 && !id.starts_with('.') && !id.contains("..") && !id.contains(bad)
}

/// Returns all faults of a definition in one error, each with its place.
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
        format!("fix them; `portolan check {}` shows where each one is", source.name),
    )
}

/// Locks a map. A poisoned lock still guards a consistent map, because every change to it is one insertion.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
