//! A definition for viewing and editing: all its workflows that can be drawn, with all findings. Its text need not be
//! on disk yet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use portolan_core::diagnostic::{Diagnostic, clip};
use portolan_core::dialect::{self, Dialect, RunAs, activity_files};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::source::{NamedText, Piece, Source};

use super::family::Family;
use super::folder::id_of;
use super::functions::FunctionFiles;
use super::lookups::{Lookup, Lookups};
use super::{Library, Origin, activities, lock, workflow_files};
use crate::definition::{DefinitionError, ParsedText};
use crate::disk::Marks;
use crate::error::ServiceError;

/// The maximum number of activity files beside a workflow that are checked.
const MOST_BESIDE: usize = 1_000;

/// A definition as it is written.
pub struct Sketch {
    /// Its text, with those of its activities.
    pub source: Source,
    /// Its origin.
    pub origin: Origin,
    /// Its format. `None` if unknown.
    pub dialect: Option<&'static Dialect>,
    /// The ids of its workflows, in the order of the text.
    pub roots: Vec<String>,
    /// The names of its functions in the text, which their runs have, whatever the file is called.
    pub functions: Vec<String>,
    /// These workflows and those that they run, under the names by which they are run.
    pub graphs: BTreeMap<String, Graph>,
    /// Those of them that can be run.
    pub workflows: BTreeMap<String, Workflow>,
    /// All findings.
    pub faults: Vec<Diagnostic>,
}

impl Sketch {
    /// Checks whether it has findings that only appear if servers may be called.
    fn asks_servers(&self) -> bool {
        self.dialect.is_some_and(|dialect| dialect.run_as == RunAs::Calls) && self.origin != Origin::Catalog
    }
}

impl Library {
    /// Returns the metadata of the project's definition files. None of them is read.
    pub fn marks(&self) -> Marks {
        let own = workflow_files(&self.folder()).unwrap_or_default().into_iter().map(|file| file.path);
        let mut paths = Vec::new();
        for path in own.chain(self.given.files.values().cloned()) {
            let beside = path.parent().map(|folder| folder.join("activities"));
            let beside = beside.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
            paths.extend(beside.take(MOST_BESIDE).map(|entry| entry.path()));
            paths.push(path);
        }
        Marks::of(paths)
    }

    /// Returns the definition called `id`. With `files` it is read as if these were its files: all that it has, and
    /// possibly new activities. Without, it is only read again after a file of it, or of
    /// what it runs, has changed.
    ///
    /// # Errors
    /// It is unknown or cannot be read, or these cannot be its files.
    pub fn sketch(&self, id: &str, files: Option<Vec<NamedText>>) -> Result<Arc<Sketch>, ServiceError> {
        let is_on_disk = files.is_none();
        if is_on_disk && let Some(sketch) = self.current(&self.sketches, id) {
            return Ok(sketch);
        }
        let mut family = self.family();
        let (on_disk, origin) =
            self.note(&mut family.lookups, Lookup::Name { by: id.to_owned(), name: id.to_owned() })?;
        let source = match files {
            Some(files) => rewritten(&on_disk, files)?,
            None => on_disk,
        };
        let (sketch, lookups) = self.sketched(id, source, origin, None, family);
        let sketch = Arc::new(sketch);
        // The findings in tools also depend on files of servers, which are not among the lookups.
        if is_on_disk && !sketch.asks_servers() {
            lock(&self.sketches).insert(id.to_owned(), (sketch.clone(), Arc::new(lookups)));
        }
        Ok(sketch)
    }

    /// Returns a definition that need not belong to the project, as if `source` were in its files. `mcp` is the user's
    /// own file of servers.
    pub(crate) fn sketch_of(&self, source: Source, mcp: Option<&Path>) -> Sketch {
        self.sketched(&id_of(Path::new(&*source.name)), source, Origin::Project, mcp, self.family()).0
    }

    /// Reads a definition with what it runs, and returns the lookups. `family` has no members yet.
    fn sketched(
        &self,
        id: &str,
        source: Source,
        origin: Origin,
        mcp: Option<&Path>,
        mut family: Family,
    ) -> (Sketch, Lookups) {
        let dialect = dialect::of(&source);
        let (file, mut faults) = ParsedText::all(&source, self.strictness);
        let roots: Vec<String> = match file.as_slice() {
            [_] => vec![id.to_owned()],
            several => several.iter().map(|one| one.graph.id.value.clone()).collect(),
        };
        let functions = file.iter().filter(|one| one.graph.interface.is_some());
        let functions = functions.map(|one| one.graph.id.value.clone()).collect();
        let mut run = Vec::new();
        // Of two with one name the first is drawn. A finding reports the duplicate.
        for name in &roots {
            if !family.members.contains_key(name) {
                run.extend(family.add(name, &file));
            }
        }
        self.complete(&mut family, id, run);
        // The faults of the file are reported once, not with each of its workflows.
        family.members.values_mut().for_each(|one| one.faults.clear());
        let find = |name: &str| family.members.get(name);
        let mut workflows = BTreeMap::new();
        for (name, one) in roots.iter().filter_map(|name| Some((name, find(name)?))) {
            let (workflow, found) = one.check(&find, self.strictness);
            let new: Vec<Diagnostic> = found.into_iter().filter(|fault| !faults.contains(fault)).collect();
            faults.extend(new);
            workflows.extend(workflow.map(|workflow| (name.clone(), workflow)));
        }
        let graphs = family.members.into_iter().map(|(name, one)| (name, one.graph)).collect();
        let mut sketch = Sketch { source, origin, dialect, roots, functions, graphs, workflows, faults };
        if sketch.asks_servers() {
            self.add_findings_of_functions(&sketch.source, mcp, &mut sketch.faults);
        }
        sketch.faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
        (sketch, family.lookups)
    }

    /// Adds the findings that only appear if servers may be called.
    fn add_findings_of_functions(&self, source: &Source, mcp: Option<&Path>, faults: &mut Vec<Diagnostic>) {
        let files = [Path::new(&*source.name).to_owned()];
        let wanted = FunctionFiles { text: Some(source), ..FunctionFiles::served(&files, mcp) };
        let findings = match self.functions(wanted) {
            Ok(functions) => functions.warnings,
            Err(DefinitionError { findings, .. }) => findings,
        };
        let own = findings.into_iter().filter(|(found_in, _)| found_in.name == source.name);
        let new: Vec<Diagnostic> = own.map(|(_, fault)| fault).filter(|fault| !faults.contains(fault)).collect();
        faults.extend(new);
    }
}

/// Returns the name of the file that `named` means, if it is one of `source` or would be one of its activities. `shown`
/// returns the name of a file as the caller knows it.
pub fn file_called(source: &Source, named: &str, shown: &dyn Fn(&str) -> String) -> Option<String> {
    if let Some((name, _)) = source.texts().into_iter().find(|(name, _)| shown(name) == named) {
        return Some(name);
    }
    let place = activities::place_in(source, named.rsplit(['/', '\\']).next()?)?;
    Some(place.to_string_lossy().into_owned()).filter(|place| shown(place) == named)
}

/// Returns a source with other texts in its files, its main file first. Each of its files must be named. Activities may
/// be added and removed. They are ordered by their names, as in reading.
pub(crate) fn rewritten(on_disk: &Source, files: Vec<NamedText>) -> Result<Source, ServiceError> {
    let known: Vec<String> = on_disk.texts().into_iter().map(|(name, _)| name).collect();
    let mut named = BTreeSet::new();
    let is_own = |name: &str| {
        let file = Path::new(name).file_name().map(|name| name.to_string_lossy().into_owned());
        let place = file.and_then(|file| activities::place_in(on_disk, &file));
        known.iter().any(|known| known == name) || place.is_some_and(|place| place.to_string_lossy() == name)
    };
    for (name, _) in &files {
        if !is_own(name) {
            let message = format!("`{}` is not one of the files of `{}`", clip(name), clip(&known[0]));
            let help = "a new activity is a file next to the others, named like `09-name.yaml`";
            return Err(ServiceError::refused("other_files", message, help));
        }
        if !named.insert(name.clone()) {
            let message = format!("`{}` was sent twice", clip(name));
            return Err(ServiceError::refused("other_files", message, "send each file once"));
        }
    }
    if let Some(missing) = known.iter().find(|name| !named.contains(*name)) {
        let message =
            format!("`{}` has {} files, but no text was sent for `{}`", clip(&known[0]), known.len(), clip(missing));
        return Err(ServiceError::refused("other_files", message, "load it again: its files have changed"));
    }
    let (own, mut others): (Vec<NamedText>, Vec<NamedText>) =
        files.into_iter().partition(|(name, _)| *name == known[0]);
    let Some(text) = own.into_iter().next().and_then(|(_, text)| text) else {
        let message = format!("`{}` is the definition itself and cannot be removed", clip(&known[0]));
        return Err(ServiceError::refused("other_files", message, "send its text"));
    };
    let main = Source::new(&*known[0], text);
    if !on_disk.is_joined() {
        return Ok(main);
    }
    // In the order of the list if the workflow lists them, or else by their names.
    let is_listed = !activity_files(&main).is_empty();
    let place = |name: &str| known.iter().position(|known| known == name).filter(|_| is_listed);
    others.sort_by_cached_key(|(name, _)| (place(name), name.clone()));
    let pieces = others.into_iter().filter_map(|(name, text)| Some(Piece { name, text: Ok(text?) }));
    let pieces: Vec<Piece> = pieces.collect();
    if pieces.len() > activities::MAX_FILES {
        let message = format!("a workflow has at most {} files of activities", activities::MAX_FILES);
        return Err(ServiceError::refused("too_large", message, "make some of them a workflow of their own"));
    }
    Ok(main.joined(pieces, on_disk.faults().to_vec()).with_beside(on_disk.beside().to_vec()))
}

/// Returns the files of a definition, each with its text.
pub fn named_texts(source: &Source) -> Vec<NamedText> {
    source.texts().into_iter().map(|(name, text)| (name, Some(text))).collect()
}
