//! A definition that a run is held to: its text and the texts of every workflow that it runs, under one digest.
//!
//! A run is pinned to this bundle. Whatever becomes of the files afterwards, the run goes on as it began.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::source::{Piece, Source};
use portolan_core::validate;
use serde::{Deserialize, Serialize};

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
}

/// What came of reading definitions: everything that was found, by the source it was found in.
pub type Findings = Vec<(Source, Diagnostic)>;

impl Bundle {
    /// The bundle of `root` with what it runs, as far as `find` knows it.
    pub fn of<'a>(root: &'a Parsed, find: &dyn Fn(&str) -> Option<&'a Parsed>) -> Bundle {
        let mut workflows = BTreeMap::new();
        let mut activities = BTreeMap::new();
        let mut waiting = vec![root];
        while let Some(parsed) = waiting.pop() {
            let id = parsed.graph.id.value.clone();
            if workflows.insert(id.clone(), parsed.source.main().text.to_string()).is_some() {
                continue;
            }
            if parsed.source.is_joined() {
                activities.insert(id, owned(&parsed.source.others()));
            }
            let run = parsed.graph.nodes.iter().flat_map(|node| node.kind.workflows());
            waiting.extend(run.filter(|(id, _)| !workflows.contains_key(*id)).filter_map(|(id, _)| find(id)));
        }
        Bundle { root: root.graph.id.value.clone(), workflows, activities }
    }

    /// Whether a source is what the bundle has as the text of `id`, down to the files of its activities.
    pub(crate) fn holds(&self, id: &str, text: &str, source: &Source) -> bool {
        let activities = self.activities.get(id).map(Vec::as_slice);
        let is_same = |texts: &[String]| source.is_joined() && source.others() == texts;
        *source.main().text == *text
            && activities.map_or(!source.is_joined(), is_same)
            && !source.faults().iter().any(Diagnostic::is_error)
    }

    /// The text of a workflow with those of its activities.
    ///
    /// The names have no extension that says how they are spelt: each text was read once, so that it tells itself.
    fn source(&self, id: &str, text: &str) -> Source {
        let source = Source::new(format!("{id}.workflow"), text);
        let Some(activities) = self.activities.get(id) else { return source };
        let pieces = activities.iter().enumerate();
        let pieces = pieces.map(|(nth, text)| Piece { name: format!("{id}/{nth}.activity"), text: Ok(text.clone()) });
        source.joined(pieces.collect(), Vec::new())
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
pub struct Parsed {
    /// The text.
    pub source: Source,
    /// What it says.
    pub graph: Graph,
    /// What was found while reading it.
    pub faults: Vec<Diagnostic>,
}

impl Parsed {
    /// Reads a text.
    ///
    /// # Errors
    /// The findings, when it cannot even be drawn.
    pub fn read(source: Source, strictness: Strictness) -> Result<Parsed, Vec<Diagnostic>> {
        let (graph, faults) = dialect::parse(&source, strictness).first();
        match graph {
            Some(graph) => Ok(Parsed { source, graph, faults }),
            None => Err(faults),
        }
    }

    /// Reads the workflow called `id` out of a text that may hold several; the first, where none is called so.
    ///
    /// # Errors
    /// The findings, when none of it can even be drawn.
    pub fn read_one(source: Source, id: &str, strictness: Strictness) -> Result<Parsed, Vec<Diagnostic>> {
        let dialect::File { mut graphs, faults } = dialect::parse(&source, strictness);
        let at = graphs.iter().position(|graph| graph.id.value == id).unwrap_or(0);
        if graphs.is_empty() { Err(faults) } else { Ok(Parsed { source, graph: graphs.swap_remove(at), faults }) }
    }

    /// Another function of the same file, called `id`: what a function calls stands beside it first.
    pub fn beside(&self, id: &str, strictness: Strictness) -> Option<Parsed> {
        self.graph.interface.as_ref()?;
        let dialect::File { graphs, faults } = dialect::parse(&self.source, strictness);
        let graph = graphs.into_iter().find(|graph| graph.id.value == id && graph.interface.is_some())?;
        Some(Parsed { source: self.source.clone(), graph, faults })
    }

    /// Everything found in it, and the workflow if it may be run.
    pub fn check<'a>(
        &'a self,
        find: &'a dyn Fn(&str) -> Option<&'a Parsed>,
        strictness: Strictness,
    ) -> (Option<Workflow>, Vec<Diagnostic>) {
        let library = |id: &str| find(id).map(|parsed| &parsed.graph);
        let (workflow, found) = validate::validate(&self.graph, &library, strictness);
        let faults: Vec<Diagnostic> = self.faults.iter().cloned().chain(found).collect();
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

    fn checked(bundle: Bundle, text: Arc<str>, workflow: Workflow) -> Definition {
        let commands = trust::commands_digest(&workflow);
        Definition { digest: Digest::of(&*text), bundle, text, workflow: Arc::new(workflow), commands }
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
        let mut parsed = BTreeMap::new();
        for (id, text) in &bundle.workflows {
            if let Ok(mut read) = Parsed::read_one(bundle.source(id, text), id, Strictness::Lenient) {
                // What it went by, whatever it calls itself.
                read.graph.id.value.clone_from(id);
                parsed.insert(id.as_str(), read);
            }
        }
        let find = |id: &str| parsed.get(id);
        let root =
            find(&bundle.root).ok_or_else(|| format!("the stored definition of `{}` cannot be read", bundle.root))?;
        let (workflow, faults) = root.check(&find, Strictness::Lenient);
        let workflow = workflow.ok_or_else(|| {
            let first = faults.iter().find(|fault| fault.is_error()).map_or("", |fault| fault.message.as_str());
            format!("the stored definition of `{}` cannot be used: {first}", bundle.root)
        })?;
        Ok(Definition::checked(bundle, text.into(), workflow))
    }
}
