//! The live variables of each node, backwards from their reads.

use std::collections::BTreeMap;

use super::model::{Names, Site};
use crate::graph::{Kind, Workflow};
use crate::value::{ById, NodeId, WorkflowId};

/// Computes the variables that each node or a later one may read, and those of them whose present value matters.
pub(super) fn find_live(workflow: &Workflow, flows: &mut ById<WorkflowId, ById<NodeId, Site>>) {
    for (id, sites) in flows {
        let flow = workflow.flow(id);
        let mut before: BTreeMap<&NodeId, Vec<&NodeId>> = BTreeMap::new();
        for (node, step) in &flow.steps {
            let join = match &step.node.kind {
                Kind::Fork { join, .. } => Some(&join.value),
                Kind::Repeat { of } => Some(&of.value),
                _ => None,
            };
            step.exits.targets().chain(join).for_each(|to| before.entry(to).or_default().push(node));
        }
        backwards(sites, &before, |site| &mut site.live, |_| Names::MAX);
        // Each branch has variables of its own: values common to all branches are settled before the fork.
        for (node, site) in &mut *sites {
            if matches!(flow.step(node).node.kind, Kind::Fork { .. }) {
                site.reads |= site.live;
                site.settles |= site.live;
            }
        }
        // Work and states are only left by a step that may give these variables any value.
        let kept = |site: &Site| site.gives.iter().fold(Names::MAX, |kept, (name, _)| kept & !(1 << name));
        backwards(sites, &before, |site| &mut site.needed, kept);
    }
}

/// Computes the set `of` each node: its reads, and those of `kept` that are in the set of a node after it.
fn backwards(
    sites: &mut ById<NodeId, Site>,
    before: &BTreeMap<&NodeId, Vec<&NodeId>>,
    of: fn(&mut Site) -> &mut Names,
    kept: fn(&Site) -> Names,
) {
    sites.values_mut().for_each(|site| *of(site) = site.reads);
    let mut waiting: Vec<NodeId> = sites.keys().cloned().collect();
    while let Some(node) = waiting.pop() {
        let Some(after) = sites.get_mut(&node).map(|site| *of(site)) else { continue };
        for from in before.get(&node).into_iter().flatten() {
            let Some(site) = sites.get_mut(*from) else { continue };
            let more = *of(site) | after & kept(site);
            if *of(site) != more {
                *of(site) = more;
                waiting.push((*from).clone());
            }
        }
    }
}
