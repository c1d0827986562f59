//! Lowers the syntax tree of a workflow of activities to the graph.
//!
//! ```text
//! start ─ activity ─ [step? ─] step ─ checkpoint ─ loop ⟲ … ─ leave ─ next activity | done
//! ```
//! Every conditional element follows a switch of its own. An activity is left by a switch whose guards are its
//! decisions and transitions, in order. Modes are conditions on their variables. The id of each node is its written id
//! prefixed with that of its activity: step ids are unique in their activity only.

mod chain;
mod items;
mod leave;
mod loops;
mod names;
mod texts;

pub(super) use self::names::is_name;

use std::collections::{BTreeMap, BTreeSet};

use super::activities::Activity;
use super::syntax;
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::checks;
use crate::dialect::{File, Strictness};
use crate::graph::{EndResult, Graph, Kind, Node, Trigger, Variable, VariableOwner};
use crate::source::fields::FaultList;
use crate::source::{Source, Span, Spanned, Tree};
use crate::value::NodeId;

use chain::Chain;
use names::Names;

/// Lowers a parsed file of activities.
///
/// Returns a graph whenever the activities could be read, with faults or without.
pub(super) fn lower(source: &Source, tree: &Tree, strictness: Strictness) -> File {
    let mut faults = FaultList::default();
    let file = syntax::read(source, tree, &mut faults);
    let graph = file.and_then(|file| lower_file(source, &file, &mut faults));
    let mut faults = strictness.weigh(faults);
    // An activity inside loops is checked once for each of them.
    let mut reported = BTreeSet::new();
    faults.retain(|fault| reported.insert((fault.span, fault.code, fault.message.clone())));
    File::of(graph, faults)
}

fn lower_file(source: &Source, file: &syntax::File, faults: &mut FaultList) -> Option<Graph> {
    let activities = file.activities.as_deref().filter(|activities| !activities.is_empty() || !source.is_joined());
    let activities = activities.unwrap_or_else(|| {
        none(source, file, faults);
        &[]
    });
    let id = workflow_id(source, file, faults);
    let names = Names::of(file, activities);
    names.check(file, faults);
    let mut lowering = Lowering {
        file,
        places: activities.iter().enumerate().rev().map(|(at, it)| (it.id.value.as_str(), at)).collect(),
        names,
        chain: Chain::default(),
        unread: BTreeSet::new(),
        copied: BTreeSet::new(),
        is_too_large: false,
        faults,
    };
    lowering.begin(activities);
    for (at, activity) in activities.iter().enumerate() {
        lowering.activity(at, activity);
    }
    lowering.end();
    lowering.drop_originals();
    lowering.drop_ways_past();
    let Lowering { chain, mut unread, places, names, .. } = lowering;
    let first = file.initial_activity.as_ref().and_then(|initial| places.get(initial.value.as_str())).copied();
    let first = first.unwrap_or(0);
    unread.extend(file.unread.iter().map(|id| NodeId::from(id.as_str())));
    let lowered = |(at, activity): (usize, &Activity)| texts::activity(file, activity, at == first);
    let described = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    let mut variables = names.variables(file.variables.iter().map(variable).collect());
    keep(&mut variables, &chain.nodes, &file.modes);
    let graph = Graph {
        name: described(&file.title).unwrap_or_else(|| id.value.clone()),
        description: described(&file.description).unwrap_or_default(),
        nodes: chain.nodes,
        edges: chain.edges,
        unread,
        version: described(&file.version),
        variables,
        activities: activities.iter().enumerate().map(lowered).collect(),
        advised: true,
        call_rules: file.call_rules.clone(),
        ..Graph::new(id)
    };
    Some(checks::declared(graph, faults))
}

/// Reports a workflow without activities, unless they exist and could not be read.
fn none(source: &Source, file: &syntax::File, faults: &mut FaultList) {
    if !source.is_joined() || (!file.incomplete && file.unread.is_empty()) {
        let fault = Diagnostic::error("missing-field", "the workflow has no `activities`").at(file.span);
        let help = "write them here, or put them in files of their own: `activities/01-name.yaml`";
        faults.push(fault.help(help).repaired("it ends as soon as it begins"));
    }
}

/// Returns the id of the workflow: the name of its file, by which it is started, whatever id the text has.
fn workflow_id(source: &Source, file: &syntax::File, faults: &mut FaultList) -> Spanned<String> {
    let own = file.id.clone().unwrap_or_else(|| Spanned { value: "unnamed".to_owned(), span: file.span });
    let Some(name) = source.stem().filter(|name| *name != own.value) else { return own };
    if file.id.is_some() {
        let (calls, called) = (clip(&own.value), clip(name));
        let message = format!("the workflow has the id `{calls}`, but its file or folder is called `{called}`");
        let fault = Diagnostic::warning("id-file-name", message).at(own.span);
        faults.push(fault.help("use the name of its file or folder as `id`: the workflow is started by that name"));
    }
    Spanned { value: name.to_owned(), span: own.span }
}

fn variable(variable: &syntax::Variable) -> Variable {
    Variable {
        name: variable.name.clone(),
        kind: variable.kind,
        description: variable.description.as_ref().map(|text| text.value.clone()),
        default: variable.default.as_ref().map(|default| default.value.clone()),
        required: variable.required,
        keeper: VariableOwner::Anyone,
        only_at: None,
    }
}

/// Sets the owner of each variable: a person for those that options set, and the opening for those that turn modes on,
/// so that no step reports them by default.
fn keep(variables: &mut [Variable], nodes: &[Node], modes: &[super::modes::Mode]) {
    let options = nodes.iter().filter_map(|node| match &node.kind {
        Kind::Checkpoint { question: Some(question), .. } => Some(question.options.iter().flat_map(|it| &it.sets)),
        _ => None,
    });
    let answered: BTreeSet<&str> = options.flatten().map(|(name, _)| name.as_str()).collect();
    let of_mode = |mode: &super::modes::Mode| Some(mode.activation_variable.as_ref()?.value.clone());
    let own: BTreeSet<String> = modes.iter().filter_map(of_mode).collect();
    for variable in variables {
        let name = variable.name.value.as_str();
        variable.keeper = match (answered.contains(name), own.contains(name)) {
            (true, _) => VariableOwner::Person,
            (false, true) => VariableOwner::Opening,
            (false, false) => VariableOwner::Anyone,
        };
    }
}

/// A workflow on its way to a graph.
pub(super) struct Lowering<'f, 'd> {
    file: &'f syntax::File,
    /// The index of each activity.
    places: BTreeMap<&'f str, usize>,
    names: Names<'f>,
    chain: Chain,
    /// The referenced activities that could not be read.
    unread: BTreeSet<NodeId>,
    /// The activities that loops go through.
    copied: BTreeSet<&'f str>,
    /// Whether it was reported that loops contain too much.
    is_too_large: bool,
    faults: &'d mut FaultList,
}

impl<'f> Lowering<'f, '_> {
    /// Adds the start, and the variables that modes set before anything else.
    fn begin(&mut self, activities: &'f [Activity]) {
        let start = self.names.start.clone();
        self.chain.add(&start, Span::default(), Kind::Start, None);
        for mode in &self.file.modes {
            let Some(active) = self.names.is_active(&mode.id.value).filter(|_| !mode.defaults.is_empty()) else {
                continue;
            };
            let given = |(name, value): &super::reader::Entry| {
                (name.value.clone(), self.names.given(name, value, &mut FaultList::default()))
            };
            let sets = mode.defaults.iter().map(given).collect();
            let name = Spanned { value: mode.name().to_owned(), span: mode.id.span };
            self.assign(&NodeId::from(format!("mode.{}", mode.id.value)), &name, Some(active), sets, None);
        }
        let named = self.file.initial_activity.as_ref();
        let named = named.and_then(|initial| self.entry_of(initial, "`initialActivity`"));
        let first = || activities.first().map(|activity| names::entry(&activity.id.value));
        if let Some(initial) = named.or_else(first) {
            self.chain.lead_to(&initial);
        }
        if let Some(last) = &self.file.final_activity {
            self.last(last);
        }
    }

    /// Checks `finalActivity`, which only asserts that nothing leads on from that activity.
    fn last(&mut self, last: &'f Spanned<String>) {
        self.entry_of(last, "`finalActivity`");
        let Some(activity) = self.places.get(last.value.as_str()).and_then(|at| self.activities().get(*at)) else {
            return;
        };
        let branches = activity.decisions.iter().flat_map(|decision| &decision.branches);
        let mut ways =
            activity.transitions.iter().map(|way| &way.to).chain(branches.filter_map(|branch| branch.to.as_ref()));
        if let Some(to) = ways.find(|to| to.value != last.value && to.value != names::TERMINAL) {
            let message = format!("`{}` is the `finalActivity`, but leads to `{}`", last.value, clip(&to.value));
            let fault = Diagnostic::warning("inert-final-activity", message).at(last.span);
            self.faults.push(fault.help("remove what leads there, or the field, which has no other effect"));
        }
    }

    /// Adds the end.
    fn end(&mut self) {
        let done = self.names.done.clone();
        self.chain.add(&done, Span::default(), Kind::End { result: EndResult::Success, escalation: None }, None);
        self.chain.tails.clear();
        if let Some(node) = self.chain.nodes.last_mut() {
            node.name = "Complete".to_owned();
        }
    }

    fn activity(&mut self, at: usize, activity: &'f Activity) {
        let entry = names::entry(&activity.id.value);
        let seat = items::LoweringScope::of(at, activity);
        self.chain.tails.clear();
        let node = self.chain.add(&entry, activity.id.span, Kind::Activity, Some(seat.seat(&activity.id.value, None)));
        activity.name.as_ref().unwrap_or(&activity.id).value.clone_into(&mut node.name);
        let skipped = Trigger::Outcome(Spanned { value: crate::value::SKIPPED.into(), span: activity.id.span });
        let left_out = self.skip_target(activity);
        self.chain.edge(&entry, activity.id.span, &left_out, skipped);
        self.modes_that_leave_out(&seat, &left_out);
        self.contents(&seat);
        self.leave(&seat);
    }

    /// Removes the edges past activities that no answer skips.
    fn drop_ways_past(&mut self) {
        let passed_over: BTreeSet<NodeId> = self.chain.nodes.iter().flat_map(Node::skips).cloned().collect();
        let activity = |node: &Node| self.activities().get(node.seat.as_ref()?.activity);
        let is_done = |node: &&Node| {
            let entry = activity(node).map(|activity| names::entry(&activity.id.value));
            node.kind == Kind::Activity && entry.is_some_and(|entry| !passed_over.contains(&entry))
        };
        let done: BTreeSet<NodeId> = self.chain.nodes.iter().filter(is_done).map(|node| node.id.clone()).collect();
        let past = |on: &Trigger| on.outcome().is_some_and(|on| on.as_str() == crate::value::SKIPPED);
        self.chain.edges.retain(|edge| !(past(&edge.on) && done.contains(&edge.from.value)));
    }

    /// Adds the contents of an activity, from its entry to its exit.
    fn contents(&mut self, seat: &items::LoweringScope<'f>) {
        let activity = seat.activity;
        self.actions(seat, ["enter", "On entry"], &activity.entry_actions);
        self.items(seat);
        for (nth, trigger) in activity.triggers.iter().enumerate() {
            self.trigger(seat, &seat.prefix, nth, trigger);
        }
        self.actions(seat, ["exit", "On exit"], &activity.exit_actions);
    }

    fn activities(&self) -> &'f [Activity] {
        self.file.activities.as_deref().unwrap_or_default()
    }

    /// Adds switches that skip an activity while a mode that leaves it out is active.
    fn modes_that_leave_out(&mut self, seat: &items::LoweringScope<'f>, to: &NodeId) {
        let id = &seat.activity.id.value;
        for mode in self.file.modes.iter().filter(|mode| mode.leaves_out(id)) {
            let Some(active) = self.names.is_active(&mode.id.value) else { continue };
            let switch = NodeId::from(format!("{id}.mode.{}", mode.id.value));
            let node = self.chain.add(&switch, mode.id.span, Kind::Switch, Some(seat.seat(id, None)));
            node.name = format!("{}?", mode.name());
            self.chain.edge(&switch, mode.id.span, to, Trigger::When(Spanned { value: active, span: mode.id.span }));
        }
    }

    /// Returns whether an activity may be one that could not be read.
    fn is_unread(&self, id: &Spanned<String>) -> bool {
        self.file.incomplete || self.file.unread.contains(&id.value)
    }

    /// Returns the first node of a referenced activity, and reports an unknown one.
    fn entry_of(&mut self, id: &Spanned<String>, by: &str) -> Option<NodeId> {
        if self.names.activities.contains(id.value.as_str()) {
            return Some(names::entry(&id.value));
        }
        let plain = super::reader::plain(&id.value);
        if self.names.activities.contains(plain.as_str()) {
            return Some(names::entry(&plain));
        }
        if self.is_unread(id) {
            // It may be one of those that could not be read.
            self.unread.insert(names::entry(&id.value));
            return Some(names::entry(&id.value));
        }
        if id.value == names::TERMINAL {
            return Some(self.names.done.clone());
        }
        let message = format!("{by} names `{}`, which is not an activity", clip(&id.value));
        let fault = Diagnostic::error("unknown-activity", message).at(id.span);
        let known: BTreeSet<&str> = self.names.activities.iter().copied().collect();
        let fault = fault.help("correct the name, or add the activity").did_you_mean(&id.value, known);
        self.faults.push(fault.repaired("it counts as absent"));
        None
    }
}

/// Returns the number suffix for the second and later nodes of a kind.
fn number(nth: usize) -> String {
    if nth == 0 { String::new() } else { (nth + 1).to_string() }
}
