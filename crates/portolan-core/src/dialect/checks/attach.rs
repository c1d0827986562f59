//! Attaches a project's checks and tool rules to the nodes of workflows. Only adds to the workflow, and removes
//! nothing.

use std::collections::BTreeSet;

use super::evidence::declare;
use super::verify::{Attachment, Attachments};
use super::{MAX_CHECKS, MAX_PATTERNS};
use crate::diagnostic::{Diagnostic, clip, list};
use crate::graph::{
    Check, CheckBy, DecidedBy, Gate, Graph, KeyResult, KeyResultCheck, Kind, Node, NodeCheck, Phase, State, ToolRules,
};
use crate::source::Spanned;
use crate::source::fields::FaultList;
use crate::value::CheckId;

/// The result of attaching to a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttachmentResult {
    /// The indices of the entries that added something.
    pub entries: Vec<usize>,
    /// The faults of what was added, each at its node in the workflow's text.
    pub faults: Vec<Diagnostic>,
}

impl Attachments {
    /// Attaches the entries to the nodes of a graph that they select.
    pub fn attach(&self, graph: &mut Graph) -> AttachmentResult {
        let mut entries = Vec::new();
        let mut faults = FaultList::default();
        for (nth, entry) in self.entries.iter().enumerate().filter(|(_, it)| it.means_workflow(&graph.id.value)) {
            let meant = graph.nodes.iter_mut().filter(|node| entry.means_node(names(node)));
            let added = meant.map(|node| entry.add_to(node)).filter(|added| *added).count();
            entries.extend((added > 0).then_some(nth));
        }
        graph.nodes.iter().filter_map(too_many).for_each(|fault| faults.push(fault));
        declare(graph, true, &mut faults);
        if let Some(first) = faults.0.first() {
            graph.broken.get_or_insert_with(|| first.message.clone());
        }
        AttachmentResult { entries, faults: faults.0 }
    }

    /// Returns the first entry that attaches a check to a node of the workflow called `workflow`.
    pub fn entry_of(&self, workflow: &str, node: &Node, check: &NodeCheck<'_>) -> Option<&Attachment> {
        let invariant = node.accept.iter().find(|known| known.id.as_str() == check.id).map(|known| &known.invariant);
        let is_it = |one: &Check| {
            check.by == DecidedBy::Check(&one.by) && invariant.is_none_or(|invariant| *invariant == one.invariant)
        };
        let meant = self.entries.iter().filter(|entry| entry.means_workflow(workflow) && entry.means_node(names(node)));
        meant.filter(|_| check.attached).find(|entry| entry.accept.iter().any(is_it))
    }

    /// Returns warnings for the entries that add nothing to any of these graphs, which must be all that exist.
    pub fn unmatched(&self, graphs: &[&Graph]) -> Vec<Diagnostic> {
        self.entries.iter().filter_map(|entry| entry.unmatched(graphs)).collect()
    }
}

impl Attachment {
    /// Adds the entry to a node, and returns whether that changed anything.
    fn add_to(&self, node: &mut Node) -> bool {
        let span = node.span;
        let at = |check: &Check| Check { span, attached: true, ..check.clone() };
        match &mut node.kind {
            Kind::Work { .. } => {
                let before = node.accept.len();
                self.accept.iter().for_each(|check| add_check(&mut node.accept, at(check)));
                let is_checked = node.accept.len() > before;
                // A step of activities has no `failed` outcome, so a rejected step must stay open.
                if is_checked && node.seat.is_some() && node.phase.is_none() {
                    node.phase = Some(Box::new(Phase { back: None, cap: 0, counted_at: node.id.clone() }));
                }
                self.deny_at(node) || is_checked
            }
            Kind::State(state) => {
                let before = state.key_results.len();
                self.accept.iter().for_each(|check| add_result(state, at(check)));
                state.key_results.len() > before
            }
            _ => false,
        }
    }

    fn deny_at(&self, node: &mut Node) -> bool {
        let known = node.tools.as_ref().map_or(&[][..], |rules| &rules.deny);
        let new: Vec<String> = self.deny.iter().filter(|pattern| !known.contains(pattern)).cloned().collect();
        if new.is_empty() {
            return false;
        }
        node.tools.get_or_insert_with(|| Box::new(ToolRules::default())).deny.extend(new);
        true
    }

    /// Returns whether the entry can add something to a node.
    fn can_add_to(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::Work { .. } => true,
            Kind::State(_) => self.accept.iter().any(|check| check.by.evidence().is_none()),
            _ => false,
        }
    }

    fn unmatched(&self, graphs: &[&Graph]) -> Option<Diagnostic> {
        // Workflows of other folders are checked when they are loaded.
        if self.workflow.as_ref().is_some_and(|pattern| pattern.value.contains(':')) {
            return None;
        }
        let meant: Vec<&&Graph> = graphs.iter().filter(|graph| self.means_workflow(&graph.id.value)).collect();
        let warning = |message: String, span| Diagnostic::warning("matches-nothing", message).at(span);
        if let (Some(pattern), []) = (&self.workflow, meant.as_slice()) {
            let message = format!("no workflow is called `{}`", clip(&pattern.value));
            let ids = graphs.iter().map(|graph| graph.id.value.as_str());
            let help = "see the list of workflows for their names; `*` matches any text";
            return Some(warning(message, pattern.span).help(help).did_you_mean(&pattern.value, ids));
        }
        let nodes = || meant.iter().flat_map(|graph| &graph.nodes);
        let fits: Vec<&Node> = nodes().filter(|node| self.means_node(names(node))).collect();
        if fits.iter().any(|node| self.can_add_to(node)) {
            return None;
        }
        let span = self.node.as_ref().map_or(self.span, |pattern| pattern.span);
        let Some(first) = fits.first() else {
            let pattern = self.node.as_ref().map_or("", |pattern| &pattern.value);
            let mut listed = BTreeSet::new();
            let ids = nodes().filter(|node| self.can_add_to(node)).flat_map(names);
            let ids: Vec<&str> = ids.filter(|id| listed.insert(*id)).collect();
            let help = match ids.as_slice() {
                [] => "nothing in these workflows is work that can be checked".to_owned(),
                ids => format!("their steps are {}", list(ids)),
            };
            let message = format!("no step of these workflows is called `{}`", clip(pattern));
            return Some(warning(message, span).help(help).did_you_mean(pattern, ids));
        };
        let id = clip(first.id.as_str());
        let message = match &first.kind {
            Kind::State(_) => format!("`{id}` is a state, which takes no checks of evidence and names its own tools"),
            kind => format!("`{id}` is of the kind `{}`, which takes no checks", kind.word()),
        };
        let help = "tasks, gates, phases, steps and states take checks, and all of these except states take tool rules";
        Some(warning(message, span).help(help))
    }
}

/// Returns the names of a node: its id, and in a workflow of activities also its own id within the activity.
fn names(node: &Node) -> impl Iterator<Item = &str> {
    let own = node.seat.as_ref().map(|seat| seat.id.as_str());
    std::iter::once(node.id.as_str()).chain(own)
}

/// Adds a check, unless the node has the same one. If its name is taken, the new check gets another name.
fn add_check(checks: &mut Vec<Check>, check: Check) {
    if checks.iter().any(|known| known.by == check.by && known.invariant == check.invariant) {
        return;
    }
    let id = free_name(check.id.as_str(), |name| checks.iter().any(|known| known.id.as_str() == name));
    checks.push(Check { id: CheckId::from(id), ..check });
}

/// Adds a check to a state, as a key result. Checks of a step's evidence do not apply: a state gives an output.
fn add_result(state: &mut State, check: Check) {
    let by = KeyResultCheck::Check(check.by.clone());
    if check.by.evidence().is_some() || state.key_results.iter().any(|known| known.by == by && !known.advisory) {
        return;
    }
    let is_taken = |name: &str| state.key_results.iter().any(|known| known.name.value == name);
    let value = free_name(check.id.as_str(), is_taken);
    state.key_results.push(KeyResult {
        name: Spanned { value, span: check.span },
        description: description(&check.by),
        by,
        advisory: false,
        attached: true,
    });
}

/// Returns the description of a key result for the model that works on the state.
fn description(by: &CheckBy) -> String {
    match by {
        CheckBy::Run { argv, .. } => format!("`{}` succeeds", argv.join(" ")),
        CheckBy::File { path } => format!("the file `{path}` is there and is not empty"),
        CheckBy::Project { name } => format!("the project's check `{name}` holds"),
        CheckBy::Gate { name } => Gate::named(name).map_or(name.as_str(), |gate| gate.wants).to_owned(),
        CheckBy::Evidence(evidence) => evidence.description(),
    }
}

fn free_name(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let others = (2_u32..).map(|nth| format!("{wanted}-{nth}"));
    let mut names = std::iter::once(wanted.to_owned()).chain(others);
    names.find(|name| !is_taken(name)).expect("a node has fewer checks than there are numbers")
}

fn too_many(node: &Node) -> Option<Diagnostic> {
    let denied = node.tools.as_ref().map_or(0, |rules| rules.deny.len());
    let (count, most, what) = match &node.kind {
        Kind::State(state) => (state.key_results.iter().filter(|it| it.attached).count(), MAX_CHECKS, "checks"),
        _ if node.accept.len() > MAX_CHECKS => (node.accept.len(), MAX_CHECKS, "checks"),
        _ => (denied, MAX_PATTERNS, "patterns of tools that it denies"),
    };
    (count > most).then(|| {
        let message = format!(
            "`{}` has {count} {what}, including those that the project attaches to it, but the limit is {most}",
            clip(node.id.as_str())
        );
        let help = "attach fewer in `.portolan/verify.yaml`, or combine several into one";
        Diagnostic::error("too-large", message).at(node.span).help(help)
    })
}
