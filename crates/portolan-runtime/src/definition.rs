//! A definition that a run is held to: its text and the texts of every workflow that it runs, under one digest.
//!
//! A run is pinned to this bundle. Whatever becomes of the files afterwards, the run goes on as it began.

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
use serde::{Deserialize, Serialize};

use crate::attachments;
use crate::disk;
use crate::error::{ErrorKind, ServiceError};
use crate::store::Digest;
use crate::trust;

/// The texts of a workflow and its subflows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// The workflow that runs begin in.
    pub root: String,
    /// Every text, by the id of its workflow.
    pub workflows: BTreeMap<String, String>,
    /// The texts of activities that are files of their own, in their order, by the id of their workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub activities: BTreeMap<String, Vec<String>>,
    /// The texts of workflows that others take fragments over from, by the id of each of these, and then by their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, BTreeMap<String, String>>,
    /// What the project attaches to the workflows: the entries that add something, each as JSON, in their order.
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
    /// The bundle, as it is stored.
    pub text: Arc<str>,
    /// What the engine runs.
    pub workflow: Arc<Workflow>,
    /// The digest of the commands that it may run; nothing when it runs none.
    pub commands: Option<trust::Digest>,
    /// The digests of the commands that the project attaches to it, one for each entry that has some.
    pub attached_commands: Vec<trust::Digest>,
    /// The file that it was read from, as that was named; nothing for one that was stored.
    pub file: Option<Arc<str>>,
}

/// What came of reading definitions: everything that was found, by the source it was found in.
pub type Findings = Vec<(Source, Diagnostic)>;

/// Why definitions cannot be used, or a request about them was not done.
#[derive(Debug)]
pub struct DefinitionError {
    /// Why, and what to do.
    pub error: Box<ServiceError>,
    /// What is wrong with them, by the source it stands in; nothing where that is not why.
    pub findings: Findings,
}

impl DefinitionError {
    /// Definitions with faults.
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
    /// Each fault in a line of its own, with its place; the error where there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.findings.iter().filter(|(_, fault)| fault.is_error());
        let lines: Vec<String> = faults.map(|(source, fault)| placed(source, fault)).collect();
        if lines.is_empty() { write!(f, "{}", self.error) } else { f.write_str(&lines.join("\n")) }
    }
}

impl std::error::Error for DefinitionError {}

/// A finding in one line: its place, what it says, and its code.
pub fn placed(source: &Source, fault: &Diagnostic) -> String {
    let place = source.place(fault.span.map_or(0, |span| span.start));
    format!("{place}: {} ({})", fault.message, fault.code)
}

impl Bundle {
    /// The bundle of `root` with what it runs, as far as `find` knows it.
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

    /// The text of a workflow with those of its activities.
    ///
    /// The names have no extension that says how they are spelt: each text was read once, so that it tells itself.
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

    /// What is attached to the workflows.
    fn attachments(&self) -> (Attachments, Vec<Diagnostic>) {
        match self.attached.as_slice() {
            [] => Default::default(),
            attached => verify::read(&Source::new("attached", verify::text_of(attached.iter().map(String::as_str)))),
        }
    }

    /// The workflows, as far as they can be read; leniently, for they were found to be sound.
    fn read(&self) -> BTreeMap<&str, ParsedText> {
        let (mut parsed, (attachments, _)) = (BTreeMap::new(), self.attachments());
        for (id, text) in &self.workflows {
            if let Ok(mut read) = ParsedText::read(&self.source(id, text), id, Strictness::Lenient) {
                // What it went by, whatever it calls itself.
                read.graph.id.value.clone_from(id);
                read.attach(&attachments);
                parsed.insert(id.as_str(), read);
            }
        }
        parsed
    }

    /// The stored form. The same texts give the same bytes.
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
    /// What it says.
    pub graph: Graph,
    /// What was found while reading it.
    pub faults: Vec<Diagnostic>,
    /// What the project attaches to it.
    pub attached: AttachedEntries,
}

/// What a project attaches to a workflow.
#[derive(Clone, Debug, Default)]
pub struct AttachedEntries {
    /// The entries that add something, each as JSON, by their places.
    entries: BTreeMap<usize, String>,
    /// Why what they add cannot stand there.
    faults: Vec<Diagnostic>,
}

impl ParsedText {
    /// Adds what the project attaches to it.
    pub(crate) fn attach(&mut self, attachments: &Attachments) {
        let AttachmentResult { entries, faults } = attachments.attach(&mut self.graph);
        let entries = entries.into_iter().map(|nth| (nth, attachments.entries[nth].text.clone())).collect();
        self.attached = AttachedEntries { entries, faults };
    }

    /// Reads every workflow of a text, in the order written, and what was found meanwhile.
    pub fn all(source: &Source, strictness: Strictness) -> (Vec<ParsedText>, Vec<Diagnostic>) {
        let dialect::File { graphs, faults } = dialect::parse(source, strictness);
        let attached = AttachedEntries::default;
        let parsed = |graph| ParsedText { source: source.clone(), graph, faults: faults.clone(), attached: attached() };
        (graphs.into_iter().map(parsed).collect(), faults)
    }

    /// Reads the workflow called `id` out of a text that may hold several; the first, where none is called so.
    ///
    /// # Errors
    /// The findings, when none of it can even be drawn.
    pub fn read(source: &Source, id: &str, strictness: Strictness) -> Result<ParsedText, Vec<Diagnostic>> {
        let (file, faults) = ParsedText::all(source, strictness);
        ParsedText::called(&file, id).cloned().ok_or(faults)
    }

    /// The one called `id` among those of a file; the first, where none is called so.
    pub(crate) fn called<'f>(file: &'f [ParsedText], id: &str) -> Option<&'f ParsedText> {
        file.iter().find(|one| one.graph.id.value == id).or(file.first())
    }

    /// Everything found in it, and the workflow if it may be run.
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
    /// A bundle and the workflow that it was found to be.
    pub fn new(bundle: Bundle, workflow: Workflow) -> Definition {
        let text: Arc<str> = bundle.text().into();
        Definition::checked(bundle, text, workflow)
    }

    /// A workflow that was read with what it runs, as far as `find` knows that.
    pub(crate) fn read<'a>(
        root: &'a ParsedText,
        find: &dyn Fn(&str) -> Option<&'a ParsedText>,
        workflow: Workflow,
    ) -> Arc<Definition> {
        let file = Some(root.source.name.clone());
        Arc::new(Definition { file, ..Definition::new(Bundle::of(root, find), workflow) })
    }

    /// What the project attaches to it.
    pub fn attachments(&self) -> Attachments {
        self.bundle.attachments().0
    }

    /// The digest of its texts, whatever the project attaches to it.
    pub fn texts_digest(&self) -> Digest {
        match self.bundle.attached.as_slice() {
            [] => self.digest.clone(),
            _ => Digest::of(Bundle { attached: Vec::new(), ..self.bundle.clone() }.text()),
        }
    }

    /// Its graphs with what is attached to them, by their names: for drawing.
    pub fn graphs(&self) -> BTreeMap<String, Graph> {
        let read = self.bundle.read().into_iter();
        read.map(|(id, parsed)| (id.to_owned(), parsed.graph)).collect()
    }

    /// What expressions are written in, in the text of one of its workflows.
    pub fn language(&self, workflow: &WorkflowId) -> Language {
        let text = self.bundle.workflows.get(workflow.as_str());
        let dialect = text.and_then(|text| dialect::of(&Source::new(workflow.as_str(), text.as_str())));
        // Of activities in files of their own, the first text alone need not tell.
        dialect.map_or(Language::When, |dialect| dialect.language)
    }

    /// The folder of its file, from which the paths of its servers start.
    pub fn folder(&self) -> &Path {
        self.file.as_deref().map_or(Path::new("."), |file| disk::folder_of(Path::new(file)))
    }

    fn checked(bundle: Bundle, text: Arc<str>, workflow: Workflow) -> Definition {
        let commands = trust::commands_digest(&workflow);
        let attached_commands = attachments::digests(&bundle.attachments().0);
        let (digest, workflow) = (Digest::of(&*text), Arc::new(workflow));
        Definition { digest, bundle, text, workflow, commands, attached_commands, file: None }
    }

    /// Takes up a stored bundle.
    ///
    /// It was checked when the run began, perhaps by an earlier release with fewer rules, perhaps leniently. It is
    /// read leniently again, which changes nothing where there was nothing to repair.
    ///
    /// # Errors
    /// A sentence, when the text is no bundle or can no longer be read.
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
