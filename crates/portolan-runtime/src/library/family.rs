//! Workflows are read with all that they run, by the names that they run it by.

use std::collections::{BTreeMap, BTreeSet};

use portolan_core::dialect::verify::Attachments;
use portolan_core::source::Source;

use super::seen::{Lookup, Lookups};
use super::{Library, faulty};
use crate::attachments;
use crate::definition::ParsedText;
use crate::error::ServiceError;

/// Workflows and what they run.
#[derive(Default)]
pub(super) struct Family {
    /// Those that could be read, by the name that they are run by.
    pub(super) members: BTreeMap<String, ParsedText>,
    /// Why others could not be. They are there, so that nothing else may take their place.
    pub(super) broken: Vec<ServiceError>,
    /// That names mean one function here and another there.
    pub(super) ambiguous: BTreeSet<String>,
    /// What was looked up.
    pub(super) seen: Lookups,
    /// What the project attaches to them.
    pub(super) attachments: Attachments,
}

impl Family {
    /// Takes in the workflow called `name` out of those of its file, with the functions beside it that it calls: they come
    /// first. The names of what else they run.
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
    /// A family without members. Where nobody understands what the project attaches to workflows, none can be run.
    pub(super) fn family(&self) -> Family {
        let mut family = Family::default();
        let source = self.note(&mut family.seen, Lookup::Attachments);
        match source.and_then(|(source, _)| attachments::sound(&source)) {
            Ok(attachments) => family.attachments = attachments,
            Err(error) => family.broken.push(error),
        }
        family
    }

    /// Reads what members of a family run, and what that runs, as far as it can be read. What lies beside the file of the
    /// workflow called `by` comes first.
    pub(super) fn complete(&self, family: &mut Family, by: &str, mut waiting: Vec<String>) {
        while let Some(name) = waiting.pop() {
            if family.members.contains_key(&name) {
                continue;
            }
            let (source, _) = match self.note(&mut family.seen, Lookup::Name { by: by.to_owned(), name: name.clone() })
            {
                Ok(found) => found,
                // That it is not known is said where it is named.
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

/// That a name means one function here and another there, in workflows that run together.
pub(super) fn both_define(name: &str, one: &Source, other: &Source) -> String {
    format!("`{}` and `{}` both define the tool `{name}`", one.name, other.name)
}

/// What a workflow is called in its own file.
pub(crate) fn bare(id: &str) -> &str {
    id.rsplit_once(':').map_or(id, |(_, name)| name)
}

/// The names of the workflows that one runs.
pub(super) fn subflows(parsed: &ParsedText) -> Vec<String> {
    let named = parsed.graph.nodes.iter().flat_map(|node| node.kind.workflows());
    named.map(|(workflow, _)| workflow.to_owned()).collect()
}
