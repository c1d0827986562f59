//! The definition of a run: its text and the texts of every workflow that it runs, under one digest.
//!
//! A run is pinned to this bundle. It continues unchanged if the files change.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::verify::{self, AttachmentResult, Attachments};
use portolan_core::dialect::{self, Strictness};
use portolan_core::expr::Language;
use portolan_core::graph::{Graph, Workflow};
use portolan_core::source::{Beside, Piece, Source};
use portolan_core::validate;
use portolan_core::value::WorkflowId;
use portolan_gates::plugins::{DefinitionRules, faults_of};
use serde::{Deserialize, Serialize};

use crate::attachments;
use crate::disk;
use crate::error::{ErrorKind, ServiceError};
use crate::store::Digest;
use crate::trust;

/// The texts of a workflow and its subflows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// The workflow in which runs begin.
    pub root: String,
    /// Every text, by the id of its workflow.
    pub workflows: BTreeMap<String, String>,
    /// The texts of activity files, in their order, by the id of their workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub activities: BTreeMap<String, Vec<String>>,
    /// The texts of workflows whose fragments others reuse, by the id of the reusing workflow, and then by their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, BTreeMap<String, String>>,
    /// The project's attachments to the workflows: the entries that add something, each as JSON, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
}

/// A checked bundle.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The digest of its bundle.
    pub digest: Digest,
    /// The bundle.
    pub bundle: Bundle,
    /// The stored form of the bundle.
    pub text: Arc<str>,
    /// The workflow for the engine.
    pub workflow: Arc<Workflow>,
    /// The rules for calls of tools that it carries.
    pub rules: DefinitionRules,
    /// The digest of the commands that it may run. `None` if it runs none.
    pub commands: Option<trust::Digest>,
    /// The digests of the commands that the project attaches to it, one for each entry with commands.
    pub attached_commands: Vec<trust::Digest>,
    /// The file from which it was read, by its given name. `None` for a stored definition.
    pub file: Option<Arc<str>>,
}

/// The findings in definitions, each with its source.
pub type Findings = Vec<(Source, Diagnostic)>;

/// The reason why definitions cannot be used, or a request about them failed.
#[derive(Debug)]
pub struct DefinitionError {
    /// The error, with its remedy.
    pub error: Box<ServiceError>,
    /// The faults, each with its source. Empty if they are not the reason.
    pub findings: Findings,
}

impl DefinitionError {
    /// Returns the error for definitions with faults.
    pub(crate) fn faulty(message: impl Into<String>, help: &str, findings: Findings) -> DefinitionError {
        let error = ServiceError::of(ErrorKind::InvalidDefinition, "invalid_definition", message, help);
        DefinitionError { error: Box::new(error), findings }
    }
}

impl From<ServiceError> for DefinitionError {
    fn from(error: ServiceError) -> DefinitionError {
        DefinitionError { error: Box::new(error), findings: Vec::new() }
    }
}

impl fmt::Display for DefinitionError {
    /// Writes each fault on its own line, with its place, or the error if there are no faults.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.findings.iter().filter(|(_, fault)| fault.is_error());
        let lines: Vec<String> = faults.map(|(source, fault)| placed(source, fault)).collect();
        if lines.is_empty() { write!(f, "{}", self.error) } else { f.write_str(&lines.join("\n")) }
    }
}

impl std::error::Error for DefinitionError {}

/// Returns a finding in one line: its place, its message, and its code.
pub fn placed(source: &Source, fault: &Diagnostic) -> String {
    let place = source.place(fault.span.map_or(0, |span| span.start));
    format!("{place}: {} ({})", fault.message, fault.code)
}

impl Bundle {
    /// Returns the bundle of `root` with what it runs, as far as `find` knows it.
    pub fn of<'a>(root: &'a ParsedText, find: &dyn Fn(&str) -> Option<&'a ParsedText>) -> Bundle {
        let mut workflows = BTreeMap::new();
        let (mut activities, mut beside, mut attached) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut waiting = vec![root];
        while let Some(parsed) = waiting.pop() {
            let id = parsed.graph.id.value.clone();
            if workflows.insert(id.clone(), parsed.source.main().text.to_string()).is_some() {
                continue;
            }
            attached.extend(parsed.attached.entries.clone());
            let named = parsed.source.beside().iter().map(|other| (other.id.clone(), other.text.to_string()));
            let named: BTreeMap<String, String> = named.collect();
            if !named.is_empty() {
                beside.insert(id.clone(), named);
            }
            if parsed.source.is_joined() {
                activities.insert(id, owned(&parsed.source.others()));
            }
            let run = parsed.graph.nodes.iter().flat_map(|node| node.kind.workflows());
            waiting.extend(run.filter(|(id, _)| !workflows.contains_key(*id)).filter_map(|(id, _)| find(id)));
        }
        let attached = attached.into_values().collect();
        Bundle { root: root.graph.id.value.clone(), workflows, activities, beside, attached }
    }

    /// Returns the text of a workflow with those of its activities.
    ///
    /// The names have no extension for the format: each text was read before, so its format can be detected.
    fn source(&self, id: &str, text: &str) -> Source {
        let named = |(other, text): (&String, &String)| Beside {
            id: other.clone(),
            name: format!("{other}.workflow"),
            text: text.as_str().into(),
        };
        let beside = self.beside.get(id).into_iter().flatten().map(named).collect();
        let source = Source::new(format!("{id}.workflow"), text).with_beside(beside);
        let Some(activities) = self.activities.get(id) else { return source };
        let pieces = activities.iter().enumerate();
        let pieces = pieces.map(|(nth, text)| Piece { name: format!("{id}/{nth}.activity"), text: Ok(text.clone()) });
        source.joined(pieces.collect(), Vec::new())
    }

    /// Returns the attachments to the workflows.
    fn attachments(&self) -> (Attachments, Vec<Diagnostic>) {
        match self.attached.as_slice() {
            [] => Default::default(),
            attached => verify::read(&Source::new("attached", verify::text_of(attached.iter().map(String::as_str)))),
        }
    }

    /// Returns the workflows that can be read. They are read leniently, because they were found to be sound.
    fn read(&self) -> BTreeMap<&str, ParsedText> {
        let (mut parsed, (attachments, _)) = (BTreeMap::new(), self.attachments());
        for (id, text) in &self.workflows {
            if let Ok(mut read) = ParsedText::read(&self.source(id, text), id, Strictness::Lenient) {
                // The id by which it is run, even if its text names another.
                read.graph.id.value.clone_from(id);
                read.attach(&attachments);
                parsed.insert(id.as_str(), read);
            }
        }
        parsed
    }

    /// Returns the stored form. The same texts give the same bytes.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("a map of strings is JSON")
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A text that could be read far enough to be drawn.
#[derive(Clone, Debug)]
pub struct ParsedText {
    /// The text.
    pub source: Source,
    /// Its graph.
    pub graph: Graph,
    /// The findings in it.
    pub faults: Vec<Diagnostic>,
    /// The project's attachments to it.
    pub attached: AttachedEntries,
}

/// A project's attachments to a workflow.
#[derive(Clone, Debug, Default)]
pub struct AttachedEntries {
    /// The entries that add something, each as JSON, by their positions.
    entries: BTreeMap<usize, String>,
    /// The faults of the attached parts.
    faults: Vec<Diagnostic>,
}

impl ParsedText {
    /// Adds the project's attachments.
    pub(crate) fn attach(&mut self, attachments: &Attachments) {
        let AttachmentResult { entries, faults } = attachments.attach(&mut self.graph);
        let entries = entries.into_iter().map(|nth| (nth, attachments.entries[nth].text.clone())).collect();
        self.attached = AttachedEntries { entries, faults };
    }

    /// Reads every workflow of a text, in order, and returns the findings.
    pub fn all(source: &Source, strictness: Strictness) -> (Vec<ParsedText>, Vec<Diagnostic>) {
        let dialect::File { mut graphs, mut faults } = dialect::parse(source, strictness);
        for graph in &mut graphs {
            let found = faults_of(graph);
            // A workflow that runs this one must not run it without its rules.
            if let Some(first) = found.iter().find(|fault| fault.is_error()) {
                graph.broken.get_or_insert_with(|| first.message.clone());
            }
            faults.extend(found);
        }
        faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
        let attached = AttachedEntries::default;
        let parsed = |graph| ParsedText { source: source.clone(), graph, faults: faults.clone(), attached: attached() };
        (graphs.into_iter().map(parsed).collect(), faults)
    }

    /// Reads the workflow called `id` from a text that may contain several, or the first if none has this id.
    ///
    /// # Errors
    /// The findings, if nothing of it can even be drawn.
    pub fn read(source: &Source, id: &str, strictness: Strictness) -> Result<ParsedText, Vec<Diagnostic>> {
        let (file, faults) = ParsedText::all(source, strictness);
        ParsedText::called(&file, id).cloned().ok_or(faults)
    }

    /// Returns the one called `id` among those of a file, or the first if none has this id.
    pub(crate) fn called<'f>(file: &'f [ParsedText], id: &str) -> Option<&'f ParsedText> {
        file.iter().find(|one| one.graph.id.value == id).or(file.first())
    }

    /// Returns all findings, and the workflow if it can be run.
    pub fn check<'a>(
        &'a self,
        find: &'a dyn Fn(&str) -> Option<&'a ParsedText>,
        strictness: Strictness,
    ) -> (Option<Workflow>, Vec<Diagnostic>) {
        let library = |id: &str| find(id).map(|parsed| &parsed.graph);
        let (workflow, found) = validate::validate(&self.graph, &library, strictness);
        let faults: Vec<Diagnostic> = self.faults.iter().chain(&self.attached.faults).cloned().chain(found).collect();
        let usable = !faults.iter().any(Diagnostic::is_error);
        (workflow.filter(|_| usable), faults)
    }
}

impl Definition {
    /// Returns the definition of a bundle and its checked workflow.
    pub fn new(bundle: Bundle, workflow: Workflow) -> Definition {
        let text: Arc<str> = bundle.text().into();
        Definition::checked(bundle, text, workflow)
    }

    /// Returns the definition of a workflow that was read with what it runs, as far as `find` knows that.
    pub(crate) fn read<'a>(
        root: &'a ParsedText,
        find: &dyn Fn(&str) -> Option<&'a ParsedText>,
        workflow: Workflow,
    ) -> Arc<Definition> {
        let file = Some(root.source.name.clone());
        Arc::new(Definition { file, ..Definition::new(Bundle::of(root, find), workflow) })
    }

    /// Returns the project's attachments to it.
    pub fn attachments(&self) -> Attachments {
        self.bundle.attachments().0
    }

    /// Returns the digest of its texts, without the project's attachments.
    pub fn texts_digest(&self) -> Digest {
        match self.bundle.attached.as_slice() {
            [] => self.digest.clone(),
            _ => Digest::of(Bundle { attached: Vec::new(), ..self.bundle.clone() }.text()),
        }
    }

    /// Returns its graphs with their attachments, by name, for drawing.
    pub fn graphs(&self) -> BTreeMap<String, Graph> {
        let read = self.bundle.read().into_iter();
        read.map(|(id, parsed)| (id.to_owned(), parsed.graph)).collect()
    }

    /// Returns the expression language of one of its workflows.
    pub fn language(&self, workflow: &WorkflowId) -> Language {
        let text = self.bundle.workflows.get(workflow.as_str());
        let dialect = text.and_then(|text| dialect::of(&Source::new(workflow.as_str(), text.as_str())));
        // The main text alone may not determine the format of a workflow with activity files.
        dialect.map_or(Language::When, |dialect| dialect.language)
    }

    /// Returns the folder of its file, the base of its servers' paths.
    pub fn folder(&self) -> &Path {
        self.file.as_deref().map_or(Path::new("."), |file| disk::folder_of(Path::new(file)))
    }

    fn checked(bundle: Bundle, text: Arc<str>, workflow: Workflow) -> Definition {
        let commands = trust::commands_digest(&workflow);
        let attached_commands = attachments::digests(&bundle.attachments().0);
        let (digest, rules) = (Digest::of(&*text), DefinitionRules::of(&workflow));
        let workflow = Arc::new(workflow);
        Definition { digest, bundle, text, workflow, rules, commands, attached_commands, file: None }
    }

    /// Reads a stored bundle.
    ///
    /// It was checked when the run began, perhaps leniently, perhaps by an earlier release with fewer rules. It is read
    /// leniently again, which changes nothing in a sound definition.
    ///
    /// # Errors
    /// A sentence, if the text is no bundle or can no longer be read.
    pub fn from_text(text: &str) -> Result<Definition, String> {
        let bundle: Bundle =
            serde_json::from_str(text).map_err(|error| format!("the stored definition is damaged: {error}"))?;
        let cannot = |why: &str| format!("the stored definition of `{}` cannot be used: {why}", bundle.root);
        if let Some(fault) = bundle.attachments().1.first() {
            return Err(cannot(&fault.message));
        }
        let parsed = bundle.read();
        let find = |id: &str| parsed.get(id);
        let root =
            find(&bundle.root).ok_or_else(|| format!("the stored definition of `{}` cannot be read", bundle.root))?;
        let (workflow, faults) = root.check(&find, Strictness::Lenient);
        let workflow = workflow.ok_or_else(|| {
            let first = faults.iter().find(|fault| fault.is_error()).map_or("", |fault| fault.message.as_str());
            cannot(first)
        })?;
        Ok(Definition::checked(bundle, text.into(), workflow))
    }
}
