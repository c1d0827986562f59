//! Marks on the drawing of a definition: the visited nodes with their results, and how often each edge was taken.
//!
//! The overlay is folded change by change, as a run is, so that each moment of a run can be shown. Items, passes and
//! branches of one node share one drawn node, which shows the latest and the worst of several visits; the node around
//! them shows each pass.

use std::collections::BTreeMap;

use serde::Serialize;

use super::passes::{PassStrip, Passes};
use crate::graph::{EndResult, FailureHandling, Kind, Workflow};
use crate::run::{BranchState, Change, Event, EventKind, Frame, FramePath, Place, Run};
use crate::value::{NodeId, Outcome, SKIPPED};

/// The marks on a drawing, at one moment of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Overlay {
    /// The marked nodes, by their names in the drawing.
    pub nodes: BTreeMap<String, NodeMark>,
    /// The edges that were taken.
    pub edges: Vec<TakenEdge>,
}

/// The mark of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeMark {
    /// Its current state, or the end of its latest visit.
    pub state: Mark,
    /// The worst end of a visit, if that is worse than the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Mark>,
    /// The number of visits.
    pub visits: u32,
    /// The number of failures.
    pub failures: u32,
    /// The number of used retries of its budget.
    pub used: u32,
    /// Its retry budget, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// Whether its output was changed by hand.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub altered: bool,
    /// The current pass, if it is a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<PassMark>,
    /// Its passes or items since the run came to it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip: Option<PassStrip>,
    /// The number of done branches or items, if it is a fork, a join or a `forEach` under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<ProgressCount>,
}

/// The state of a node. Later variants are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It was left without a failure.
    Done,
    /// It was skipped.
    Skipped,
    /// The run is at it.
    Here,
    /// Its checks are being performed.
    Checking,
    /// It waits for a person.
    Waiting,
    /// It was cancelled while it was under way, since it was no longer needed.
    Cancelled,
    /// It failed.
    Failed,
}

/// A pass of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PassMark {
    /// Its number, from 1.
    pub number: u32,
    /// The number of passes, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
}

/// Progress among several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ProgressCount {
    /// The number of done ones.
    pub done: usize,
    /// The total number.
    pub of: usize,
}

/// An edge that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TakenEdge {
    /// The node that it leaves, by its name in the drawing.
    pub from: String,
    /// The node that it enters.
    pub to: String,
    /// The number of times.
    pub count: u32,
}

/// The fold of the changes of a run.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    run: Option<Run>,
    left: BTreeMap<String, NodeVisit>,
    taken: BTreeMap<(String, String), u32>,
    passes: BTreeMap<String, Passes>,
}

/// The accumulated marks of a node.
#[derive(Clone, Debug, Default)]
struct NodeVisit {
    latest: Option<Mark>,
    worst: Option<Mark>,
    visits: u32,
    failures: u32,
    used: u32,
    altered: bool,
}

impl NodeVisit {
    fn ends_as(&mut self, mark: Mark) {
        self.latest = Some(mark);
        self.altered = false;
        self.worst = self.worst.max(Some(mark));
        self.failures += u32::from(mark == Mark::Failed);
    }

    /// Counts a failure after which the node is not left: its retries are spent, and a person decides.
    fn fails(&mut self) {
        self.worst = self.worst.max(Some(Mark::Failed));
        self.failures += 1;
    }
}

/// Returns the drawing's name of a node in the frame at `path`. Inner workflows add the name of their node as a prefix;
/// branches, items and passes do not.
pub fn drawn_as(run: &Run, path: &FramePath, node: &NodeId) -> String {
    let mut name = String::new();
    for frame in run.way(path).take(path.0.len()) {
        if let Place::Within { node, .. } | Place::Each { node, .. } | Place::Conversing { node, .. } = &frame.place {
            name.push_str(node.as_str());
            name.push('/');
        }
    }
    name + node.as_str()
}

impl Trail {
    /// Returns the run after the last record; `None` before the first.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// Returns the number of visits of a drawn node.
    pub fn visits(&self, node: &str) -> u32 {
        self.left.get(node).map_or(0, |left| left.visits)
    }

    /// Applies the next record of the run.
    pub fn take(&mut self, event: &Event, changes: &[Change]) {
        for change in changes {
            self.note(&event.what, change);
            match &mut self.run {
                Some(run) => run.apply(change),
                None => self.run = Run::fold(std::slice::from_ref(change)),
            }
        }
    }

    /// Returns the drawn nodes that a record concerns, those that it moved first.
    pub fn about(&self, changes: &[Change]) -> Vec<String> {
        let Some(run) = &self.run else { return Vec::new() };
        let mut names = Vec::new();
        for change in changes {
            let (frame, node) = match change {
                Change::Moved { frame, place, .. } => (frame, place.node()),
                Change::Executed { frame, node, .. } | Change::Altered { frame, node, .. } => (frame, node),
                Change::Opened { place, .. } => (&FramePath::default(), place.node()),
                Change::Settled { frame, .. } | Change::Talked { frame, .. } | Change::Raised { frame, .. } => {
                    match run.frame(frame) {
                        Some(at) => (frame, at.place.node()),
                        None => continue,
                    }
                }
                _ => continue,
            };
            let name = drawn_as(run, frame, node);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn note(&mut self, what: &EventKind, change: &Change) {
        match change {
            Change::Opened { place, .. } => self.comes(place.node().to_string()),
            Change::Moved { frame, place, feedback } => self.moves(what, frame, place, feedback.is_some()),
            Change::Branched { frame, branch, state } => self.branches(frame, branch, state),
            Change::ItemBegun { frame, index, item } => {
                let Some(around) = self.here(frame) else { return };
                self.comes(format!("{around}/{}", item.place.node()));
                self.passes.entry(around).or_default().begin(*index);
            }
            Change::ItemDone { frame, index, .. } => {
                let Some(around) = self.here(frame) else { return };
                self.passes.entry(around).or_default().end(*index, Mark::Done);
            }
            Change::Executed { frame, node, fault, .. } => {
                let Some(run) = &self.run else { return };
                let name = drawn_as(run, frame, node);
                let mark = if fault.is_some() { Mark::Failed } else { Mark::Done };
                self.left.entry(name).or_default().ends_as(mark);
                if fault.is_some() {
                    self.fails_in(frame);
                }
            }
            Change::Altered { frame, node, .. } => {
                let Some(run) = &self.run else { return };
                self.left.entry(drawn_as(run, frame, node)).or_default().altered = true;
            }
            Change::Retried { frame, gate, used, .. } => self.spends(frame, gate, *used),
            Change::Refilled { frame, gate: Some(gate) } => self.spends(frame, gate, 0),
            Change::Skipped { frame, activities } => activities.iter().for_each(|node| self.skips(frame, node)),
            Change::Led { frame, over: Some(over), .. } => self.skips(frame, over),
            _ => {}
        }
    }

    /// Returns the current node of a frame.
    fn here(&self, frame: &FramePath) -> Option<String> {
        let run = self.run.as_ref()?;
        Some(drawn_as(run, frame, run.frame(frame)?.place.node()))
    }

    fn comes(&mut self, name: String) {
        let left = self.left.entry(name).or_default();
        left.visits += 1;
        left.latest = None;
    }

    fn goes(&mut self, from: &str, to: String) {
        *self.taken.entry((from.to_owned(), to.clone())).or_default() += 1;
        self.comes(to);
    }

    fn spends(&mut self, frame: &FramePath, gate: &NodeId, used: u32) {
        let Some(run) = &self.run else { return };
        self.left.entry(drawn_as(run, frame, gate)).or_default().used = used;
    }

    fn skips(&mut self, frame: &FramePath, node: &NodeId) {
        let Some(run) = &self.run else { return };
        self.left.entry(drawn_as(run, frame, node)).or_default().ends_as(Mark::Skipped);
    }

    /// Records a failure in each pass around a frame.
    fn fails_in(&mut self, path: &FramePath) {
        let Some(run) = &self.run else { return };
        for (depth, frame) in run.way(path).take(path.0.len()).enumerate() {
            let index = match &frame.place {
                Place::Looping { pass, .. } => Some(*pass),
                Place::Each { .. } => path.0[depth].as_str().parse().ok(),
                _ => None,
            };
            let name = drawn_as(run, &FramePath(path.0[..depth].to_vec()), frame.place.node());
            if let Some((passes, index)) = self.passes.get_mut(&name).zip(index) {
                passes.fail(index);
            }
        }
    }

    fn begins_pass(&mut self, name: &str, place: &Place) {
        if matches!(place, Place::Each { .. } | Place::Looping { pass: 0, .. }) {
            self.passes.remove(name);
        }
        if let Place::Looping { pass, .. } = place {
            self.passes.entry(name.to_owned()).or_default().begin(*pass);
        }
    }

    fn moves(&mut self, what: &EventKind, path: &FramePath, place: &Place, failed: bool) {
        let Some(run) = &self.run else { return };
        let Some(before) = run.frame(path).map(|frame| &frame.place) else { return };
        let (from, to) = (drawn_as(run, path, before.node()), drawn_as(run, path, place.node()));
        let executed = matches!(before, Place::Passing { .. } | Place::Calling { .. } | Place::Conversing { .. });
        let has_passes = matches!(before, Place::Looping { .. } | Place::Each { .. });
        if let Some(passes) = self.passes.get_mut(&from).filter(|_| has_passes) {
            let has_failed = self.left.get(&from).is_some_and(|left| left.latest == Some(Mark::Failed));
            let ends = matches!(place, Place::Ended { result, .. } if *result != EndResult::Success);
            passes.close(failed || has_failed || ends);
        }
        self.begins_pass(&to, place);
        // A retried node is left and entered, though it is the same node.
        let again = failed && matches!(place, Place::Ready { .. } | Place::Passing { .. });
        if from != to || again {
            let latest_mark = self.left.get(&from).and_then(|left| left.latest);
            if latest_mark.is_none() || !executed {
                let mark = if failed { Mark::Failed } else { mark_after(what, path) };
                self.left.entry(from.clone()).or_default().ends_as(mark);
                if mark == Mark::Failed {
                    self.fails_in(path);
                }
            }
            self.goes(&from, to.clone());
        } else if failed && matches!(place, Place::Waiting { .. }) {
            self.left.entry(from).or_default().fails();
            self.fails_in(path);
        }
        match place {
            Place::Within { frame, .. } => self.comes(format!("{to}/{}", frame.place.node())),
            Place::Looping { frame, .. } => self.goes(&to, inside(&to, place, frame.place.node())),
            Place::Forked { branches, .. } => {
                let open = branches.iter().filter(|branch| matches!(branch.state, BranchState::Open(_)));
                open.for_each(|branch| self.goes(&to, inside(&to, place, &branch.name)));
            }
            _ => {}
        }
    }

    fn branches(&mut self, path: &FramePath, branch: &NodeId, state: &BranchState) {
        let Some(run) = &self.run else { return };
        let fork = self.here(path).unwrap_or_default();
        match state {
            BranchState::Open(frame) => {
                let to = drawn_as(run, path, frame.place.node());
                self.goes(&fork, to);
            }
            BranchState::Cancelled => {
                let Some(name) = self.here(&path.join(branch)) else { return };
                self.left.entry(name).or_default().ends_as(Mark::Cancelled);
            }
            BranchState::Held | BranchState::Done(_) => {}
        }
    }

    /// Returns the marks of all nodes and edges.
    pub fn overlay(&self, workflow: &Workflow) -> Overlay {
        let mark = |left: &NodeVisit| {
            let state = left.latest.unwrap_or(Mark::Done);
            let worst = left.worst.filter(|worst| *worst > state);
            let (visits, failures, used) = (left.visits, left.failures, left.used);
            let (budget, altered) = (None, left.altered);
            NodeMark { state, worst, visits, failures, used, budget, altered, pass: None, strip: None, arrived: None }
        };
        let marks = self.left.iter().filter(|(_, left)| left.visits > 0 || left.latest.is_some());
        let mut nodes: BTreeMap<String, NodeMark> = marks.map(|(name, left)| (name.clone(), mark(left))).collect();
        if let Some(run) = &self.run {
            stands(workflow, run, &FramePath::default(), &run.root, &mut nodes);
        }
        for (name, passes) in &self.passes {
            if let Some(node) = nodes.get_mut(name) {
                let is_open = node.pass.is_some() || node.arrived.is_some();
                node.strip = passes.strip(is_open);
            }
        }
        let edges = self.taken.iter();
        let edges = edges.map(|((from, to), count)| TakenEdge { from: from.clone(), to: to.clone(), count: *count });
        Overlay { nodes, edges: edges.collect() }
    }
}

/// Returns the mark of a node after an event.
fn mark_after(what: &EventKind, path: &FramePath) -> Mark {
    match what {
        EventKind::Reported { frame, outcome, .. } if frame == path => by(outcome),
        EventKind::Cancelled { .. } => Mark::Cancelled,
        _ => Mark::Done,
    }
}

fn by(outcome: &Outcome) -> Mark {
    match outcome {
        outcome if outcome.is_failed() => Mark::Failed,
        outcome if outcome.as_str() == SKIPPED => Mark::Skipped,
        _ => Mark::Done,
    }
}

/// Returns the drawing's name of a node in the same flow as the one named `beside`.
fn inside(beside: &str, place: &Place, node: &NodeId) -> String {
    let around = beside.strip_suffix(place.node().as_str()).unwrap_or_default();
    format!("{around}{node}")
}

/// Marks the place of a frame, and those of the frames inside it.
fn stands(workflow: &Workflow, run: &Run, path: &FramePath, frame: &Frame, nodes: &mut BTreeMap<String, NodeMark>) {
    let name = drawn_as(run, path, frame.place.node());
    let step = workflow.find(frame.flow.as_str()).and_then(|flow| flow.steps.get(frame.place.node()));
    if let Some(mark) = mark_of(&frame.place) {
        let blank = NodeMark {
            state: mark,
            worst: None,
            visits: 0,
            failures: 0,
            used: 0,
            budget: None,
            altered: false,
            pass: None,
            strip: None,
            arrived: None,
        };
        let node = nodes.entry(name.clone()).or_insert(blank);
        let latest = std::mem::replace(&mut node.state, mark);
        node.worst = node.worst.max(Some(latest)).filter(|worst| *worst > mark && *worst == Mark::Failed);
        node.pass = pass(&frame.place);
        node.arrived = arrived(&frame.place);
    }
    let written = step.filter(|step| step.node.max_retries.is_some()).map(|step| &step.node.id);
    for gate in frame.spent.iter().map(|spent| &spent.gate).chain(written) {
        let budget = workflow.find(frame.flow.as_str()).and_then(|flow| flow.steps.get(gate)).map(budget);
        if let (Some(Some(budget)), Some(node)) = (budget, nodes.get_mut(&drawn_as(run, path, gate))) {
            (node.budget, node.used) = (Some(budget), frame.used(gate));
        }
    }
    if let (Some(Kind::Fork { join, .. }), Some(arrived)) = (step.map(|step| &step.node.kind), arrived(&frame.place)) {
        let join = drawn_as(run, path, &join.value);
        if let Some(node) = nodes.get_mut(&join) {
            node.arrived = Some(arrived);
        }
    }
    for (inner_name, inner) in frame.inner() {
        stands(workflow, run, &path.join(inner_name), inner, nodes);
    }
}

fn budget(step: &crate::graph::Step) -> Option<u32> {
    matches!(step.exits.failing, FailureHandling::Retries { .. }).then(|| step.exits.failing.budget())
}

fn mark_of(place: &Place) -> Option<Mark> {
    Some(match place {
        Place::Checking { .. } => Mark::Checking,
        Place::Waiting { .. } => Mark::Waiting,
        Place::Conversing { .. } if place.held().is_some() => Mark::Waiting,
        Place::Ended { result: EndResult::Success, .. } => Mark::Done,
        Place::Ended { result: EndResult::Cancelled, .. } => Mark::Cancelled,
        Place::Ended { .. } => Mark::Failed,
        Place::Arrived { outcome, .. } if outcome.is_failed() => Mark::Failed,
        Place::Arrived { .. } => return None,
        _ => Mark::Here,
    })
}

fn pass(place: &Place) -> Option<PassMark> {
    let Place::Looping { pass, items, .. } = place else { return None };
    Some(PassMark { number: pass + 1, of: items.as_ref().map(|items| items.len()) })
}

fn arrived(place: &Place) -> Option<ProgressCount> {
    match place {
        Place::Forked { branches, .. } => {
            let is_done = |state: &BranchState| matches!(state, BranchState::Done(_) | BranchState::Cancelled);
            Some(ProgressCount {
                done: branches.iter().filter(|branch| is_done(&branch.state)).count(),
                of: branches.len(),
            })
        }
        Place::Each { items, begun, open, .. } => {
            Some(ProgressCount { done: (*begun as usize).saturating_sub(open.len()), of: items.len() })
        }
        _ => None,
    }
}
