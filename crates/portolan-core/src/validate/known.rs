//! The known facts about the variables of a workflow: their possible values, and where they certainly have one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Object, Value};

use super::map::Map;
use crate::graph::{Edge, Kind, Node, Variable};
use crate::value::{NodeId, template};

/// The maximum product of nodes and variables for which the places where variables have a value are computed.
const MAX_VISITS: usize = 2_000_000;

pub(super) struct KnownVariables<'g> {
    variables: BTreeMap<&'g str, &'g Variable>,
    /// The loop variables, which hold items of any type.
    items: BTreeSet<&'g str>,
    /// The variables that may lose their value: those set to `null` or to the value of another variable.
    loose: BTreeSet<&'g str>,
    /// The variables that are set on every path to a node.
    set: BTreeMap<&'g NodeId, BTreeSet<&'g str>>,
}

impl<'g> KnownVariables<'g> {
    pub(super) fn of(map: &Map<'g>) -> KnownVariables<'g> {
        // A function has no variables apart from the names that its expressions see, which are of any type.
        let variables = map.graph.variables.iter().filter(|_| map.graph.interface.is_none());
        let variables = variables.map(|variable| (variable.name.value.as_str(), variable)).collect();
        let items = map.nodes().filter_map(|node| match &node.kind {
            Kind::Loop(looping) => looping.variable(),
            _ => None,
        });
        KnownVariables { variables, items: items.collect(), loose: loose(map), set: set_before(map) }
    }

    /// Returns whether the value at a path can be `value` (`None`: missing) when a run is at `node`.
    pub(super) fn can_be(&self, node: &NodeId, path: &[String], value: Option<&Value>) -> bool {
        let Some((name, inner)) = path.split_first() else { return true };
        let Some(variable) = self.variables.get(name.as_str()).filter(|_| !self.items.contains(name.as_str())) else {
            return true;
        };
        if self.loose.contains(name.as_str()) {
            return true;
        }
        match value {
            None => !inner.is_empty() || !self.is_sure(node, variable),
            // A member of an object may have any value; other types have no members.
            Some(_) if !inner.is_empty() => variable.kind.takes(&Value::Object(Object::new())),
            Some(value) => variable.kind.takes(value),
        }
    }

    /// Returns the type of a variable as a phrase for messages.
    pub(super) fn described(&self, name: &str) -> Option<&'static str> {
        self.variables.get(name).map(|variable| variable.kind.described())
    }

    fn is_sure(&self, node: &NodeId, variable: &Variable) -> bool {
        let is_set = |set: &BTreeSet<&str>| set.contains(variable.name.value.as_str());
        variable.default.is_some() || variable.required || self.set.get(node).is_some_and(is_set)
    }
}

fn loose<'g>(map: &Map<'g>) -> BTreeSet<&'g str> {
    let of_answers = |node: &'g Node| match &node.kind {
        Kind::Checkpoint { question: Some(question), .. } => question.options.as_slice(),
        _ => &[],
    };
    let sets = |node: &'g Node| node.sets.iter().chain(of_answers(node).iter().flat_map(|option| &option.sets));
    let is_loose =
        |value: &Value| value.is_null() || value.as_str().is_some_and(|text| template::whole(text).is_some());
    map.nodes().flat_map(sets).filter(|(_, value)| is_loose(value)).map(|(name, _)| name.as_str()).collect()
}

/// Returns the variables that are set on every path to each reachable node.
///
/// An agent may omit what it may report: only values that the text itself sets count.
fn set_before<'g>(map: &Map<'g>) -> BTreeMap<&'g NodeId, BTreeSet<&'g str>> {
    let mut before: BTreeMap<&NodeId, BTreeSet<&str>> = BTreeMap::new();
    let Some(start) = map.start() else { return before };
    if map.graph.variables.is_empty() || map.ids().len().saturating_mul(map.graph.variables.len()) > MAX_VISITS {
        return before;
    }
    before.insert(&start.id, BTreeSet::new());
    let mut waiting = vec![start];
    while let Some(node) = waiting.pop() {
        let here = before[&node.id].clone();
        for edge in map.leaving(&node.id) {
            let Some(next) = map.node(&edge.to.value) else { continue };
            let mut set = here.clone();
            set.extend(sets(node, edge));
            let known = before.get(&next.id);
            let both = known.map_or_else(|| set.clone(), |known| known.intersection(&set).copied().collect());
            if known.is_none_or(|known| known.len() != both.len()) {
                before.insert(&next.id, both);
                waiting.push(next);
            }
        }
    }
    before
}

/// Returns the variables that are set when a node is left by an edge.
fn sets<'g>(node: &'g Node, edge: &Edge) -> Vec<&'g str> {
    let mut sets: Vec<&str> = node.sets.iter().map(|(name, _)| name.as_str()).collect();
    if let Kind::Checkpoint { question: Some(question), .. } = &node.kind
        && let Some(option) = edge.on.outcome().and_then(|outcome| question.choice(outcome))
    {
        sets.extend(option.sets.iter().map(|(name, _)| name.as_str()));
    }
    sets
}
