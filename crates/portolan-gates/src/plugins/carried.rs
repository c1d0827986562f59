//! The rules for calls of tools that a definition carries: guards and filters of results, on the whole flow and on its
//! nodes, in the form of `.portolan/plugins.yaml`. They are in force while a run is where they stand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::read::Reader;
use super::{DeclaredGuard, GuardOrigin, ResultFilter, tool_names};
use crate::permit::{deciding, is_open};
use crate::{Intent, guards};
use portolan_core::diagnostic::Diagnostic;
use portolan_core::graph::{CALL_RULES, CallRules, Graph, Workflow};
use portolan_core::run::Run;
use portolan_core::source::{Tree, TreeKind};
use portolan_core::value::{NodeId, WorkflowId};

/// Guards and filters of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSet {
    /// The guards, in order.
    pub guards: Vec<Arc<DeclaredGuard>>,
    /// The filters, in order.
    pub results: Vec<ResultFilter>,
}

/// The rules that a workflow carries, with those of the flows that it runs.
#[derive(Clone, Debug, Default)]
pub struct DefinitionRules(BTreeMap<WorkflowId, FlowRules>);

#[derive(Clone, Debug, Default)]
struct FlowRules {
    /// The rules while a run of the flow is open.
    own: RuleSet,
    /// The rules while a node is open.
    nodes: BTreeMap<NodeId, RuleSet>,
}

impl DefinitionRules {
    /// Returns the rules of a workflow, whose faults [`faults_of`] has reported.
    pub fn of(workflow: &Workflow) -> DefinitionRules {
        let mut all = BTreeMap::new();
        for (id, flow) in workflow.flows() {
            let carried = |rules: &Option<Arc<CallRules>>, node: Option<&NodeId>| {
                let origin = GuardOrigin::of_definition(id, node);
                rules.as_ref().map(|rules| read(rules, &origin).0)
            };
            let own = carried(&flow.call_rules, None);
            let nodes = flow.steps.iter().filter_map(|(node, step)| {
                carried(&step.node.call_rules, Some(node)).map(|rules| (node.clone(), rules))
            });
            let nodes: BTreeMap<NodeId, RuleSet> = nodes.collect();
            if own.is_some() || !nodes.is_empty() {
                all.insert(id.clone(), FlowRules { own: own.unwrap_or_default(), nodes });
            }
        }
        DefinitionRules(all)
    }

    /// Checks whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the guards with a sum over calls such as this one, in force or not: what they add up is recorded with each call
    /// of a run, so that one that comes into force later knows it.
    pub fn counting(&self, intent: &Intent) -> Vec<Arc<DeclaredGuard>> {
        let names = tool_names(intent);
        let sets = self.0.values().flat_map(|flow| [&flow.own].into_iter().chain(flow.nodes.values()));
        let guards = sets.flat_map(|set| &set.guards).filter(|guard| guard.total.is_some() && guard.is_about(&names));
        guards.cloned().collect()
    }

    /// Returns the rules about a call that are in force where a run of `workflow` is: those of the flows that are open, and
    /// those of the open nodes, with the nodes inside of which these are. If the call names a branch, that branch counts.
    pub fn in_force(&self, workflow: &Workflow, run: &Run, intent: &Intent) -> RuleSet {
        let (mut found, mut seen) = (RuleSet::default(), BTreeSet::new());
        if self.is_empty() {
            return found;
        }
        let names = tool_names(intent);
        for (path, _) in deciding(run, intent) {
            for frame in run.way(&path).filter(|frame| is_open(&frame.place)) {
                let Some(rules) = self.0.get(&frame.flow) else { continue };
                if seen.insert((&frame.flow, None)) {
                    found.add(&rules.own, &names);
                }
                let node = frame.place.node();
                if seen.insert((&frame.flow, Some(node))) {
                    found.add(&rules.at(workflow, &frame.flow, node), &names);
                }
            }
        }
        found
    }
}

impl FlowRules {
    /// Returns the rules at a node. A question to a person without rules of its own has those that all steps before it have
    /// in common, so that asking lifts none of them.
    fn at(&self, workflow: &Workflow, flow: &WorkflowId, node: &NodeId) -> RuleSet {
        let ruling = workflow.flow(flow).ruling_nodes(node);
        let mut sets = ruling.iter().map(|node| self.nodes.get(&node.id).cloned().unwrap_or_default());
        let first = sets.next().unwrap_or_default();
        sets.fold(first, |shared, other| shared.shared(&other))
    }
}

impl RuleSet {
    fn add(&mut self, other: &RuleSet, names: &[String]) {
        self.guards.extend(other.guards.iter().filter(|guard| guard.is_about(names)).cloned());
        self.results.extend(other.results.iter().filter(|filter| filter.is_about(names)).cloned());
    }

    /// Returns the rules that both have, wherever they stand.
    fn shared(mut self, other: &RuleSet) -> RuleSet {
        self.guards.retain(|guard| other.guards.iter().any(|known| known.is_same_rule(guard)));
        self.results.retain(|filter| other.results.contains(filter));
        self
    }
}

/// Returns the faults in the rules that a definition carries, in the order of the text.
pub fn faults_of(graph: &Graph) -> Vec<Diagnostic> {
    let carried = graph.nodes.iter().map(|node| &node.call_rules).chain([&graph.call_rules]).flatten();
    // The place of a rule does not matter here.
    let mut faults: Vec<Diagnostic> = carried.flat_map(|rules| read(rules, &GuardOrigin::Project).1).collect();
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    // An element of a definition can become several nodes.
    faults.dedup();
    faults
}

/// Reads rules. Those with a fault are left out, and every fault is returned.
fn read(rules: &CallRules, origin: &GuardOrigin) -> (RuleSet, Vec<Diagnostic>) {
    let [guards_field, results_field] = CALL_RULES;
    let mut reader = Reader::default();
    let mut set = RuleSet::default();
    if let Some(tree) = rules.get(guards_field) {
        let guards = reader.each(tree, guards_field, Reader::guard);
        reader.built_in(tree);
        let placed = |guard| Arc::new(DeclaredGuard { origin: origin.clone(), ..guard });
        set.guards = guards.into_iter().map(placed).collect();
    }
    if let Some(tree) = rules.get(results_field) {
        set.results = reader.each(tree, results_field, Reader::filter);
    }
    (set, reader.faults)
}

impl Reader {
    /// Reports guards with the name of a built-in one, which a definition cannot replace.
    fn built_in(&mut self, tree: &Tree) {
        let TreeKind::Array(items) = &tree.kind else { return };
        for id in items.iter().filter_map(|item| item.get("id")) {
            let Some(name) = id.as_str().filter(|name| guards::guards().any(|known| known == *name)) else { continue };
            let message = format!("`{name}` is a built-in guard, which a definition cannot replace");
            let fault = Diagnostic::error("replaces-built-in", message).at(id.span);
            self.faults.push(fault.help("give yours another name"));
        }
    }
}

#[cfg(test)]
mod tests;
