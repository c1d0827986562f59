//! Loops: over items of their own, over steps of their activity, and over whole activities.
//!
//! An activity that a loop goes through is lowered again inside it, with the loop's prefix in its ids. Its edges out do
//! not apply there: the next activity of the loop follows.

use std::collections::{BTreeMap, BTreeSet};

use super::super::activities::Activity;
use super::super::loops::{Body, Loop, LoopKind, MAX_NESTING};
use super::chain::Tail;
use super::items::{LoweringScope, Part};
use super::{Lowering, names};
use crate::diagnostic::{Diagnostic, clip};
use crate::expr::{Condition, Expr};
use crate::graph::{self, DEFAULT_MAX_PASSES, Kind, Node, Trigger};
use crate::source::Spanned;
use crate::value::{NodeId, Outcome, PASS, PASSED, SKIPPED};

/// The maximum number of nodes of a workflow after its loops over activities are expanded.
const MAX_WRITTEN_OUT: usize = 20_000;

/// An element of a pass.
enum Through<'f> {
    Part(Part<'f>),
    Activity(usize, &'f Spanned<String>),
}

impl<'f> Lowering<'f, '_> {
    pub(super) fn looping(&mut self, seat: &LoweringScope<'f>, looping: &'f Loop) {
        let Some(kind) = self.loop_kind(looping) else { return };
        let past = if looping.required { None } else { Some(self.offered(seat, looping)) };
        let id = seat.node(&looping.id.value);
        looping.break_condition.iter().for_each(|condition| self.names.reads(condition, self.faults));
        let stop = looping.break_condition.as_ref().map(|condition| condition.value.clone());
        let most = looping.max_iterations.as_ref().map_or(DEFAULT_MAX_PASSES, |most| most.value);
        let kind = Kind::Loop(Box::new(graph::Loop { kind, stop, most, at_limit: looping.at_limit }));
        let node = self.chain.add(&id, looping.id.span, kind, Some(seat.seat(&looping.id.value, None)));
        node.name = name(looping).to_owned();
        node.brief.description = looping.description.as_ref().map(|text| text.value.clone());
        let after = std::mem::take(&mut self.chain.tails);
        let pass = Spanned { value: Outcome::from(PASS), span: looping.id.span };
        self.chain.leave_open(&id, looping.id.span, Trigger::Outcome(pass));
        let begin = self.chain.nodes.len();
        let mut inside = seat.clone();
        inside.loops.push(id.clone());
        let mut number = 0;
        for through in self.body(seat, looping) {
            match through {
                Through::Part(part) => {
                    let of_mode = self.mode_of(seat.activity, part);
                    self.part(&inside, part, of_mode, &mut number);
                }
                Through::Activity(at, id) => self.whole(&inside, looping, at, id),
            }
        }
        self.is_bounded(looping, begin);
        let end = seat.node(&format!("{}.next", looping.id.value));
        let of = Spanned { value: id.clone(), span: looping.id.span };
        let node =
            self.chain.add(&end, looping.id.span, Kind::Repeat { of }, Some(inside.seat(&looping.id.value, None)));
        node.name = format!("End of a pass of {}", name(looping));
        self.chain.lead_to(&id);
        self.chain.tails = after;
        self.chain.tails.extend(past);
    }

    fn loop_kind(&mut self, looping: &'f Loop) -> Option<graph::LoopKind> {
        match &looping.kind {
            LoopKind::ForEach { over, variable } => {
                self.names.known(over, self.faults);
                let Some(path) = names::path(&over.value) else {
                    self.no_path(over);
                    return None;
                };
                let variable = variable.as_ref().map_or_else(|| "item".to_owned(), |name| name.value.clone());
                Some(graph::LoopKind::ForEach { over: path, variable })
            }
            LoopKind::While(condition) => {
                self.names.reads(condition, self.faults);
                Some(graph::LoopKind::While(condition.value.clone()))
            }
            LoopKind::DoWhile(condition) => {
                self.names.reads(condition, self.faults);
                Some(graph::LoopKind::DoWhile(condition.value.clone()))
            }
        }
    }

    fn no_path(&mut self, over: &Spanned<String>) {
        let message = format!("`over` is `{}`, which is not a path to a variable", clip(&over.value));
        let fault = Diagnostic::error("bad-path", message).at(over.span);
        self.faults.push(fault.help("write the name of an array, such as `review.findings`"));
    }

    /// Adds a step before an optional loop at which it may be skipped; returns the edge past the loop.
    fn offered(&mut self, seat: &LoweringScope<'f>, looping: &'f Loop) -> Tail {
        let id = seat.node(&format!("{}.begin", looping.id.value));
        let span = looping.id.span;
        let spanned = |outcome: &str| Spanned { value: Outcome::from(outcome), span };
        let kind = Kind::Work { gate: false, outputs: vec![spanned(PASSED), spanned(SKIPPED)] };
        let node = self.chain.add(&id, span, kind, Some(seat.seat(&looping.id.value, None)));
        node.name = format!("Begin {}", name(looping));
        node.brief.description = looping.description.as_ref().map(|text| text.value.clone());
        let instructions = format!("The loop `{}` follows, which need not be gone through.", name(looping));
        node.brief.instructions = Some(instructions);
        Tail { from: id, span, on: Trigger::Outcome(spanned(SKIPPED)) }
    }

    /// Warns if nothing bounds a loop or changes the variables of its conditions; its nodes begin at index `begin`.
    fn is_bounded(&mut self, looping: &Loop, begin: usize) {
        let (LoopKind::While(condition) | LoopKind::DoWhile(condition)) = &looping.kind else { return };
        if looping.max_iterations.is_some() {
            return;
        }
        let read = |condition: &Spanned<Expr>| match &condition.value {
            Expr::When(when) => when.names().into_iter().map(str::to_owned).collect(),
            Expr::Condition(condition) => condition.names().into_iter().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let names: Vec<String> = std::iter::once(condition).chain(&looping.break_condition).flat_map(read).collect();
        let may_set = |node: &Node| {
            let gives = node.gives();
            node.gives_all() || names.iter().any(|name| gives.contains(name.as_str()))
        };
        if self.chain.nodes[begin..].iter().any(may_set) {
            return;
        }
        let message = format!("nothing in the loop `{}` changes a variable of its conditions", looping.id.value);
        let fault = Diagnostic::warning("unbounded-loop", message).at(condition.span);
        let help = format!(
            "set one inside the loop, or write `maxIterations`: without it there are up to {DEFAULT_MAX_PASSES} passes"
        );
        self.faults.push(fault.help(help));
    }

    /// Adds the sequence of another activity in a pass of a loop.
    fn whole(&mut self, seat: &LoweringScope<'f>, looping: &'f Loop, at: usize, id: &'f Spanned<String>) {
        if !self.has_room(seat, id) {
            return;
        }
        let Some(activity) = self.activities().get(at) else { return };
        let mut inside = seat.clone();
        inside.at = at;
        inside.activity = activity;
        inside.prefix = format!("{}.{}.{}", seat.prefix, looping.id.value, id.value);
        inside.within.push(&activity.id.value);
        let entry = NodeId::from(inside.prefix.as_str());
        let node = self.chain.add(&entry, id.span, Kind::Activity, Some(inside.seat(&id.value, None)));
        activity.name.as_ref().unwrap_or(id).value.clone_into(&mut node.name);
        let entered = node.name.clone();
        self.copied.insert(&activity.id.value);
        let skipped = Trigger::Outcome(Spanned { value: SKIPPED.into(), span: id.span });
        let mut past = vec![Tail { from: entry, span: id.span, on: skipped }];
        let outside = self.file.modes.iter().filter(|mode| mode.leaves_out(&id.value));
        let outside = outside.filter_map(|mode| self.names.is_active(&mode.id.value)).filter_map(not);
        let outside: Vec<Spanned<Expr>> = outside.map(|value| Spanned { value, span: id.span }).collect();
        past.extend(self.gates(&inside, ["mode.out", &entered], id.span, outside));
        self.contents(&inside);
        self.chain.tails.extend(past);
    }

    /// Returns whether an activity can be expanded once more. The failure is reported once: there may be millions.
    fn has_room(&mut self, seat: &LoweringScope<'f>, id: &Spanned<String>) -> bool {
        let too_many = self.chain.nodes.len() > MAX_WRITTEN_OUT;
        if !too_many && seat.loops.len() <= MAX_NESTING {
            return true;
        }
        if !std::mem::replace(&mut self.is_too_large, true) {
            let message = match too_many {
                true => {
                    format!("including the activities in its loops, the workflow has more than {MAX_WRITTEN_OUT} nodes")
                }
                false => format!("`{}` is nested in more than {MAX_NESTING} loops", id.value),
            };
            let fault = Diagnostic::error("too-large", message).at(id.span);
            self.faults
                .push(fault.help("move the repeated part into a workflow of its own, and start it with `triggers`"));
        }
        false
    }

    fn body(&mut self, seat: &LoweringScope<'f>, looping: &'f Loop) -> Vec<Through<'f>> {
        let ids = match &looping.body {
            Body::Items(items) => return items.iter().map(|item| Through::Part(Part::of(item))).collect(),
            Body::Steps(ids) | Body::Activities(ids) => ids,
        };
        let whole = matches!(looping.body, Body::Activities(_));
        let mut known_ids = BTreeSet::new();
        let distinct = ids.iter().filter(|id| {
            let is_new = known_ids.insert(id.value.as_str());
            if !is_new {
                self.named_twice(looping, id);
            }
            is_new
        });
        let distinct: Vec<&'f Spanned<String>> = distinct.collect();
        distinct.into_iter().filter_map(|id| self.through(seat, looping, id, whole)).collect()
    }

    fn named_twice(&mut self, looping: &Loop, id: &Spanned<String>) {
        let message = format!("the loop `{}` lists `{}` twice", looping.id.value, clip(&id.value));
        let fault = Diagnostic::error("duplicate-id", message).at(id.span).help("list it once");
        self.faults.push(fault.repaired("the first one counts"));
    }

    fn through(
        &mut self,
        seat: &LoweringScope<'f>,
        looping: &'f Loop,
        id: &'f Spanned<String>,
        whole: bool,
    ) -> Option<Through<'f>> {
        let activity = seat.activity;
        let step = activity.steps.iter().map(Part::of).find(|part| part.id() == id.value);
        let other = if whole { self.places.get(id.value.as_str()).copied() } else { None };
        match (step, other) {
            (Some(step), Some(_)) => {
                let message = format!("`{}` is both a step of `{}` and an activity", id.value, activity.id.value);
                let fault = Diagnostic::error("duplicate-id", message).at(id.span);
                let help = "give one of them another id, so it is clear which one the loop repeats";
                self.faults.push(fault.help(help).repaired("the loop repeats the step"));
                Some(Through::Part(step))
            }
            (Some(step), None) => Some(Through::Part(step)),
            (None, Some(_)) if seat.within.contains(&id.value.as_str()) => {
                let message =
                    format!("the loop `{}` repeats `{}`, which contains the loop", looping.id.value, id.value);
                let fault = Diagnostic::error("loop-recursion", message).at(id.span);
                self.faults.push(fault.help("list other activities, or go back with a transition"));
                None
            }
            (None, Some(at)) => Some(Through::Activity(at, id)),
            (None, None) => {
                let may_be_there = activity.unread.contains(&id.value) || (whole && self.is_unread(id));
                if !may_be_there {
                    self.goes_nowhere(activity, looping, id, whole);
                }
                None
            }
        }
    }

    fn goes_nowhere(&mut self, activity: &Activity, looping: &Loop, id: &Spanned<String>, whole: bool) {
        let what = if whole { "neither an activity nor a step" } else { "no step" };
        let (of, name) = (&activity.id.value, clip(&id.value));
        let message = format!("the loop `{}` lists `{name}`, which is {what} of `{of}`", looping.id.value);
        let message = if whole { message.replace(&format!(" of `{of}`"), "") } else { message };
        let fault = Diagnostic::error("unknown-step", message).at(id.span);
        let steps = activity.steps.iter().map(|item| Part::of(item).id());
        let activities = self.activities().iter().filter(|_| whole).map(|other| other.id.value.as_str());
        let fault = fault.help(match whole {
            true => "list an activity of the workflow, or a step of this one",
            false => "a loop repeats steps of its activity: define them under `steps`",
        });
        let known: Vec<&str> = steps.chain(activities).collect();
        self.faults.push(fault.did_you_mean(&id.value, known).repaired("it is left out of the loop"));
    }

    /// Removes the originals of activities that are reached only in loops.
    pub(super) fn drop_originals(&mut self) {
        let alone = self.only_in_loops();
        let stays = |id: &NodeId| !alone.contains(owner(id));
        self.chain.nodes.retain(|node| stays(&node.id));
        self.chain.edges.retain(|edge| stays(&edge.from.value) && stays(&edge.to.value));
    }

    /// Returns the activities that loops go through and that nothing else leads to.
    fn only_in_loops(&self) -> BTreeSet<String> {
        let mut alone: BTreeSet<&str> = self.copied.clone();
        let mut ways: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for edge in &self.chain.edges {
            let (from, to) = (owner(&edge.from.value), owner(&edge.to.value));
            if from != to && alone.contains(to) {
                ways.entry(from).or_default().insert(to);
            }
        }
        let mut waiting: Vec<&str> = ways.keys().copied().filter(|from| !alone.contains(from)).collect();
        while let Some(from) = waiting.pop() {
            for to in ways.get(from).into_iter().flatten() {
                if alone.remove(to) {
                    waiting.push(to);
                }
            }
        }
        alone.into_iter().map(str::to_owned).collect()
    }
}

/// Returns the activity of a node, which is the first part of its id.
fn owner(id: &NodeId) -> &str {
    id.as_str().split('.').next().unwrap_or_default()
}

fn name(looping: &Loop) -> &str {
    looping.name.as_ref().map_or(&looping.id.value, |name| &name.value)
}

fn not(condition: Expr) -> Option<Expr> {
    let Expr::Condition(condition) = condition else { return None };
    Condition::not(condition).ok().map(Expr::Condition)
}

/// Returns the names of what a loop beside the steps goes through.
fn named(looping: &Loop) -> impl Iterator<Item = &str> {
    let ids: &[Spanned<String>] = match &looping.body {
        Body::Steps(ids) | Body::Activities(ids) => ids,
        Body::Items(_) => &[],
    };
    ids.iter().map(|id| id.value.as_str())
}

/// The loops of an activity that go through its steps.
pub(super) struct OverSteps<'f> {
    of: BTreeMap<&'f str, &'f Loop>,
    /// The id of the first step of each loop, whose position is that of the loop.
    first: BTreeMap<&'f str, &'f str>,
}

impl<'f> OverSteps<'f> {
    pub(super) fn of(activity: &'f Activity, steps: &[Part<'f>]) -> OverSteps<'f> {
        let steps: BTreeSet<&str> = steps.iter().map(Part::id).collect();
        let mut found = OverSteps { of: BTreeMap::new(), first: BTreeMap::new() };
        for placed in &activity.loops {
            for id in named(&placed.item).filter(|id| steps.contains(id)) {
                found.of.entry(id).or_insert(&placed.item);
                found.first.entry(&placed.item.id.value).or_insert(id);
            }
        }
        found
    }

    pub(super) fn is_over_steps(&self, looping: &Loop) -> bool {
        self.first.contains_key(looping.id.value.as_str())
    }

    pub(super) fn of_step(&self, step: &str) -> Option<&'f Loop> {
        self.of.get(step).copied()
    }

    pub(super) fn begins_at(&self, looping: &Loop, step: &str) -> bool {
        self.first.get(looping.id.value.as_str()) == Some(&step)
    }
}
