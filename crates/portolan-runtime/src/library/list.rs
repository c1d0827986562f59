//! The workflows that there are, as lists of them show them.

use std::sync::OnceLock;

use portolan_core::dialect::Strictness;

use super::{Library, Origin, bare, lock};
use crate::catalog::{CatalogEntry, workflows};
use crate::definition::ParsedText;

/// One line of a list of workflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowLine {
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

impl WorkflowLine {
    /// The line of a workflow that could be read.
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

impl Library {
    /// Every workflow that can be run, the project's first; a project's own hides the catalogue's of the same id.
    pub fn list(&self) -> Vec<WorkflowLine> {
        let shipped = |id: &str| catalogue().iter().find(|known| known.id == id).cloned();
        let listed = self.ids().into_iter().map(|(id, origin)| match origin {
            Origin::Catalog => shipped(&id),
            Origin::Project | Origin::External => self.listed(&id, origin),
        });
        listed.flatten().collect()
    }

    /// The ids of all definitions, those that are broken included, each with where it comes from.
    pub fn ids(&self) -> Vec<(String, Origin)> {
        let mut ids: Vec<(String, Origin)> = self.project_ids().into_iter().map(|id| (id, Origin::Project)).collect();
        ids.extend(lock(&self.external).keys().map(|id| (id.clone(), Origin::External)));
        // A file of the project hides the catalogue's of the same id, also when it cannot be read.
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

    /// Every workflow that an agent can be led through, and those that have faults with the reason: what is broken does
    /// not vanish.
    pub fn overview(&self) -> Vec<Overview> {
        self.ids().into_iter().filter_map(|(id, origin)| self.overlooked(id, origin)).collect()
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
}

/// The workflows that agents are led through, as lists show them. They are read once.
pub fn catalogue() -> &'static [WorkflowLine] {
    static LISTED: OnceLock<Vec<WorkflowLine>> = OnceLock::new();
    LISTED.get_or_init(|| workflows().filter_map(|entry| shown(&entry)).collect())
}

/// A workflow of the catalogue, as lists show it.
pub fn shown(entry: &CatalogEntry) -> Option<WorkflowLine> {
    let parsed = ParsedText::read(&entry.source(), entry.id, Strictness::Strict).ok()?;
    Some(WorkflowLine::of(entry.id, &parsed, Origin::Catalog))
}
