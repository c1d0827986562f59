//! Lists of the available workflows.

use std::sync::OnceLock;

use portolan_core::dialect::Strictness;

use super::{Library, Origin, bare, lock};
use crate::catalog::{CatalogEntry, workflows};
use crate::definition::ParsedText;

/// One line of a list of workflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowLine {
    /// The name that `Init` uses.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The number of its nodes.
    pub steps: usize,
    /// Its origin.
    pub origin: Origin,
}

impl WorkflowLine {
    /// Returns the line of a workflow that could be read.
    pub fn of(id: &str, parsed: &ParsedText, origin: Origin) -> WorkflowLine {
        let graph = &parsed.graph;
        WorkflowLine {
            id: id.to_owned(),
            name: graph.name.clone(),
            description: graph.description.clone(),
            steps: graph.nodes.len(),
            origin,
        }
    }
}

/// A workflow that an agent can navigate, or could if it had no faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// The id that begins it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Its version, if it names one.
    pub version: Option<String>,
    /// Its origin.
    pub origin: Origin,
    /// The variables that it requires at the beginning, each with its type.
    pub required: Vec<(String, &'static str)>,
    /// The reason why it cannot be run.
    pub fault: Option<String>,
}

impl Library {
    /// Returns every workflow that can be run, the project's first. A project's workflow hides the catalogue's of the
    /// same id.
    pub fn list(&self) -> Vec<WorkflowLine> {
        let shipped = |id: &str| catalogue().iter().find(|known| known.id == id).cloned();
        let listed = self.ids().into_iter().map(|(id, origin)| match origin {
            Origin::Catalog => shipped(&id),
            Origin::Project | Origin::External => self.listed(&id, origin),
        });
        listed.flatten().collect()
    }

    /// Returns the ids of all definitions, including broken ones, each with its origin.
    pub fn ids(&self) -> Vec<(String, Origin)> {
        let mut ids: Vec<(String, Origin)> = self.project_ids().into_iter().map(|id| (id, Origin::Project)).collect();
        ids.extend(lock(&self.external).keys().map(|id| (id.clone(), Origin::External)));
        // A file of the project hides the catalogue's of the same id, even if it cannot be read.
        let is_ours = |id: &str| self.text(id).is_ok_and(|(_, origin)| origin == Origin::Catalog);
        let shipped = catalogue().iter().filter(|known| is_ours(&known.id));
        ids.extend(shipped.map(|known| (known.id.clone(), Origin::Catalog)));
        ids
    }

    fn listed(&self, id: &str, origin: Origin) -> Option<WorkflowLine> {
        let (source, found) = self.text(id).ok().filter(|(_, found)| *found == origin)?;
        let parsed = ParsedText::read(&source, bare(id), Strictness::Lenient).ok()?;
        Some(WorkflowLine::of(id, &parsed, found))
    }

    /// Returns every workflow that an agent can navigate, including broken ones with the reason.
    pub fn overview(&self) -> Vec<Overview> {
        self.ids().into_iter().filter_map(|(id, origin)| self.overlooked(id, origin)).collect()
    }

    /// Returns `None` for functions: agents do not navigate them.
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
}

/// Returns the lines of the catalogue's workflows for agents. They are read once.
pub fn catalogue() -> &'static [WorkflowLine] {
    static LISTED: OnceLock<Vec<WorkflowLine>> = OnceLock::new();
    LISTED.get_or_init(|| workflows().filter_map(|entry| shown(&entry)).collect())
}

/// Returns the line of a workflow of the catalogue.
pub fn shown(entry: &CatalogEntry) -> Option<WorkflowLine> {
    let parsed = ParsedText::read(&entry.source(), entry.id, Strictness::Strict).ok()?;
    Some(WorkflowLine::of(entry.id, &parsed, Origin::Catalog))
}
