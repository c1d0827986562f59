//! A definition as it is written, for whoever looks at it or edits it: as many of its workflows as can be drawn, with
//! everything that was found. It may be a text that is not on disk yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use portolan_core::diagnostic::{Diagnostic, clip};
use portolan_core::dialect::{self, Dialect, RunAs};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::source::{Piece, Source};

use super::family::Family;
use super::folder::id_of;
use super::functions::FunctionFiles;
use super::seen::Lookup;
use super::{Library, Origin, workflow_files};
use crate::definition::{DefinitionError, Parsed};
use crate::disk::Stamp;
use crate::error::ServiceError;

/// How many files of activities are looked at beside a workflow.
const MOST_BESIDE: usize = 1_000;

/// A definition as it is written.
pub struct Sketch {
    /// Its text, with those of its activities.
    pub source: Source,
    /// Where it comes from.
    pub origin: Origin,
    /// Its format; nothing where it is of none that is known.
    pub dialect: Option<&'static Dialect>,
    /// The identifiers of the workflows that it holds, in the order written.
    pub roots: Vec<String>,
    /// These, and what they run, by the names that they run it by.
    pub graphs: BTreeMap<String, Graph>,
    /// Those of them that may be run.
    pub workflows: BTreeMap<String, Workflow>,
    /// Everything that was found in it.
    pub faults: Vec<Diagnostic>,
}

/// What the files of definitions look like: another one where something about them has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Marks(Vec<(PathBuf, Option<Stamp>)>);

impl Library {
    /// What the project's files of definitions look like now. None of them is read.
    pub fn marks(&self) -> Marks {
        let own = workflow_files(&self.folder()).unwrap_or_default().into_iter().map(|file| file.path);
        let mut marks = Vec::new();
        for path in own.chain(self.given.values().cloned()) {
            let beside = path.parent().map(|folder| folder.join("activities"));
            let beside = beside.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
            marks.extend(beside.take(MOST_BESIDE).map(|entry| entry.path()));
            marks.push(path);
        }
        marks.sort();
        Marks(marks.into_iter().map(|path| (Stamp::of(&path), path)).map(|(stamp, path)| (path, stamp)).collect())
    }

    /// The definition called `id`. With `texts`, one for each of its files, it is looked at as if these stood there.
    ///
    /// # Errors
    /// It is not known or cannot be read; or there is not one text for each of its files.
    pub fn sketch(&self, id: &str, texts: Option<Vec<String>>) -> Result<Sketch, ServiceError> {
        let (on_disk, origin) = self.look_up(&Lookup::Name { by: id.to_owned(), name: id.to_owned() })?;
        let source = match texts {
            Some(texts) => rewritten(&on_disk, texts)?,
            None => on_disk,
        };
        Ok(self.sketched(id, source, origin, None))
    }

    /// A definition that need not be among those of the project, as if `source` stood in its files. `mcp` is the user's
    /// own file of servers.
    pub(crate) fn sketch_of(&self, source: Source, mcp: Option<&Path>) -> Sketch {
        self.sketched(&id_of(Path::new(&*source.name)), source, Origin::Project, mcp)
    }

    fn sketched(&self, id: &str, source: Source, origin: Origin, mcp: Option<&Path>) -> Sketch {
        let mut family = Family::default();
        let dialect = dialect::of(&source);
        let (file, mut faults) = Parsed::all(&source, self.strictness);
        let roots: Vec<String> = match file.as_slice() {
            [_] => vec![id.to_owned()],
            several => several.iter().map(|one| one.graph.id.value.clone()).collect(),
        };
        let mut run = Vec::new();
        // Of two of one name the first is drawn; that there are two is found.
        for name in &roots {
            if !family.members.contains_key(name) {
                run.extend(family.add(name, &file));
            }
        }
        self.complete(&mut family, id, run);
        // The faults of the file are told once, and not with each of its workflows.
        family.members.values_mut().for_each(|one| one.faults.clear());
        let find = |name: &str| family.members.get(name);
        let mut workflows = BTreeMap::new();
        for (name, one) in roots.iter().filter_map(|name| Some((name, find(name)?))) {
            let (workflow, found) = one.check(&find, self.strictness);
            let new: Vec<Diagnostic> = found.into_iter().filter(|fault| !faults.contains(fault)).collect();
            faults.extend(new);
            workflows.extend(workflow.map(|workflow| (name.clone(), workflow)));
        }
        if dialect.is_some_and(|dialect| dialect.run_as == RunAs::Calls) && origin != Origin::Catalog {
            self.add_findings_of_functions(&source, mcp, &mut faults);
        }
        faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
        let graphs = family.members.into_iter().map(|(name, one)| (name, one.graph)).collect();
        Sketch { source, origin, dialect, roots, graphs, workflows, faults }
    }

    /// What is only found where servers would be called.
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

/// A source with other texts in its files.
pub(crate) fn rewritten(on_disk: &Source, texts: Vec<String>) -> Result<Source, ServiceError> {
    let names: Vec<String> = on_disk.texts().into_iter().map(|(name, _)| name).collect();
    if names.len() != texts.len() {
        let message = format!("`{}` has {} files, and {} texts came", clip(&names[0]), names.len(), texts.len());
        return Err(ServiceError::refused("other_files", message, "load it again: its files are others by now"));
    }
    let mut texts = texts.into_iter();
    let main = Source::new(&*names[0], texts.next().unwrap_or_default());
    if !on_disk.is_joined() {
        return Ok(main);
    }
    let pieces = names[1..].iter().zip(texts).map(|(name, text)| Piece { name: name.clone(), text: Ok(text) });
    Ok(main.joined(pieces.collect(), on_disk.faults().to_vec()))
}
