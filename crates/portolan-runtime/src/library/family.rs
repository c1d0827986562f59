//! Reads workflows with all that they run, under the names by which they are run.

use std::collections::{BTreeMap, BTreeSet};

use portolan_core::dialect::verify::Attachments;
use portolan_core::source::Source;

use super::lookups::{Lookup, Lookups};
use super::{Library, faulty};
use crate::attachments;
use crate::definition::ParsedText;
use crate::error::ServiceError;

/// Workflows and those that they run.
#[derive(Default)]
pub(super) struct Family {
    /// The workflows that could be read, by the names by which they are run.
    pub(super) members: BTreeMap<String, ParsedText>,
    /// The errors of the others. They exist, so no other workflow may take their place.
    pub(super) broken: Vec<ServiceError>,
    /// The messages about names that mean different functions in different files.
    pub(super) ambiguous: BTreeSet<String>,
    /// The lookups.
    pub(super) lookups: Lookups,
    /// The project's attachments.
    pub(super) attachments: Attachments,
}

impl Family {
    /// Adds the workflow called `name` from those of its file, with the functions of the same file that it calls, which
    /// take precedence. Returns the names of the other workflows that they run.
    pub(super) fn add(&mut self, name: &str, file: &[ParsedText]) -> Vec<String> {
        let root = ParsedText::called(file, bare(name)).cloned();
        let (mut elsewhere, mut waiting) = (Vec::new(), Vec::from_iter(root.map(|root| (name.to_owned(), root))));
        while let Some((name, mut parsed)) = waiting.pop() {
            for other in subflows(&parsed) {
                let is_function = |one: &ParsedText| one.graph.interface.is_some();
                let beside = file.iter().find(|one| one.graph.id.value == other && is_function(one));
                match (beside.filter(|_| is_function(&parsed)), self.members.get(&other)) {
                    (Some(beside), Some(known)) if known.source.text != beside.source.text => {
                        self.ambiguous.insert(both_define(&other, &known.source, &beside.source));
                    }
                    (Some(_), Some(_)) => {}
                    (Some(beside), None) => waiting.push((other, beside.clone())),
                    (None, _) => elsewhere.push(other),
                }
            }
            parsed.graph.id.value.clone_from(&name);
            parsed.attach(&self.attachments);
            self.members.insert(name, parsed);
        }
        elsewhere
    }
}

impl Library {
    /// Returns a family without members. If the project's attachments cannot be read, no workflow can be run.
    pub(super) fn family(&self) -> Family {
        let mut family = Family::default();
        let source = self.note(&mut family.lookups, Lookup::Attachments);
        match source.and_then(|(source, _)| attachments::sound(&source)) {
            Ok(attachments) => family.attachments = attachments,
            Err(error) => family.broken.push(error),
        }
        family
    }

    /// Reads the workflows that members of a family run, recursively, as far as they can be read. Files beside that of
    /// the workflow called `by` take precedence.
    pub(super) fn complete(&self, family: &mut Family, by: &str, mut waiting: Vec<String>) {
        while let Some(name) = waiting.pop() {
            if family.members.contains_key(&name) {
                continue;
            }
            let (source, _) =
                match self.note(&mut family.lookups, Lookup::Name { by: by.to_owned(), name: name.clone() }) {
                    Ok(found) => found,
                    // An unknown workflow is reported where it is named.
                    Err(error) if ["unknown_workflow", "bad_id"].contains(&error.code) => continue,
                    Err(error) => {
                        family.broken.push(error);
                        continue;
                    }
                };
            let (file, faults) = ParsedText::all(&source, self.strictness);
            if file.is_empty() {
                family.broken.push(faulty(&name, &source, &faults));
            }
            waiting.extend(family.add(&name, &file));
        }
    }
}

/// Returns the message that a name means different functions in workflows that run together.
pub(super) fn both_define(name: &str, one: &Source, other: &Source) -> String {
    format!("`{}` and `{}` both define the tool `{name}`", one.name, other.name)
}

/// Returns the name of a workflow in its own file.
pub(crate) fn bare(id: &str) -> &str {
    id.rsplit_once(':').map_or(id, |(_, name)| name)
}

/// Returns the names of the workflows that one runs.
pub(super) fn subflows(parsed: &ParsedText) -> Vec<String> {
    let named = parsed.graph.nodes.iter().flat_map(|node| node.kind.workflows());
    named.map(|(workflow, _)| workflow.to_owned()).collect()
}
