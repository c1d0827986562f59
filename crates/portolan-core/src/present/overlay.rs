//! What has happened on the drawing of a definition: which nodes were visited, what became of them, and how often each edge
//! was taken.
//!
//! It is folded change by change, as a run is, so that each moment of a run can be shown. Items, passes and branches of one
//! node are one node of the drawing: of several visits the latest and the worst are told.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::graph::{EndResult, Failing, Kind, Workflow};
use crate::run::{BranchState, Change, Event, EventKind, Frame, FramePath, Place, Run};
use crate::value::{NodeId, Outcome, SKIPPED};

/// What has happened on a drawing, at one moment of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Overlay {
    /// The nodes at which something has happened, by their names in the drawing.
    pub nodes: BTreeMap<String, NodeMark>,
    /// The edges that were taken.
    pub edges: Vec<TakenEdge>,
}

/// What has happened at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeMark {
    /// How it is, or how its latest visit ended.
    pub state: Mark,
    /// The worst that a visit came to, where that is worse than the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Mark>,
    /// How often it was visited.
    pub visits: u32,
    /// How often it failed.
    pub failures: u32,
    /// How many retries of its budget are used.
    pub used: u32,
    /// Its budget of retries, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// Whether somebody changed what it came to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub altered: bool,
    /// The pass that is under way, where it is a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<PassMark>,
    /// How many of its branches or items are done, where it is a fork, a join or a `forEach` under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
}

/// How a node is. Those further down are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It was left, and had not failed.
    Done,
    /// It was passed over.
    Skipped,
    /// The run is there.
    Here,
    /// Its checks are being performed.
    Checking,
    /// Somebody is waited for.
    Waiting,
    /// It was no longer needed while it was under way.
    Cancelled,
    /// It failed.
    Failed,
}

/// A pass of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PassMark {
    /// Its number, from 1.
    pub number: u32,
    /// How many there are, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
}

/// How many are done of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Arrived {
    /// Those that are done.
    pub done: usize,
    /// All.
    pub of: usize,
}

/// An edge that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TakenEdge {
    /// The node that it leaves, as the drawing names it.
    pub from: String,
    /// The node that it enters.
    pub to: String,
    /// How often.
    pub count: u32,
}

/// The fold of what happened.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    run: Option<Run>,
    left: BTreeMap<String, NodeVisit>,
    taken: BTreeMap<(String, String), u32>,
}

/// What is remembered of a node.
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
}

/// What the drawing calls a node of the frame at `path`: workflows that are run inside put their node's name before it,
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
    /// The run as the last record left it; nothing before the first.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// How often the node was visited that the drawing calls so.
    pub fn visits(&self, node: &str) -> u32 {
        self.left.get(node).map_or(0, |left| left.visits)
    }

    /// Takes the next record of the run.
    pub fn take(&mut self, event: &Event, changes: &[Change]) {
        for change in changes {
            self.note(&event.what, change);
            match &mut self.run {
                Some(run) => run.apply(change),
                None => self.run = Run::fold(std::slice::from_ref(change)),
            }
        }
    }

    /// The nodes of the drawing that a record is about, those that it moved first.
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
            Change::ItemBegun { frame, item, .. } => {
                let Some(around) = self.here(frame) else { return };
                self.comes(format!("{around}/{}", item.place.node()));
            }
            Change::Executed { frame, node, fault, .. } => {
                let Some(run) = &self.run else { return };
                let name = drawn_as(run, frame, node);
                let mark = if fault.is_some() { Mark::Failed } else { Mark::Done };
                self.left.entry(name).or_default().ends_as(mark);
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

    /// The node at which a frame is.
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

    fn moves(&mut self, what: &EventKind, path: &FramePath, place: &Place, failed: bool) {
        let Some(run) = &self.run else { return };
        let Some(before) = run.frame(path).map(|frame| &frame.place) else { return };
        let (from, to) = (drawn_as(run, path, before.node()), drawn_as(run, path, place.node()));
        // A node whose work is attempted again is left and entered, though it is the same.
        let again = failed && matches!(place, Place::Ready { .. } | Place::Passing { .. });
        if from != to || again {
            let executed = matches!(before, Place::Passing { .. } | Place::Calling { .. } | Place::Conversing { .. });
            let told = self.left.get(&from).and_then(|left| left.latest);
            if told.is_none() || !executed {
                let mark = if failed { Mark::Failed } else { said(what, path) };
                self.left.entry(from.clone()).or_default().ends_as(mark);
            }
            self.goes(&from, to.clone());
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

    /// What there is to be seen.
    pub fn overlay(&self, workflow: &Workflow) -> Overlay {
        let mark = |left: &NodeVisit| {
            let state = left.latest.unwrap_or(Mark::Done);
            let worst = left.worst.filter(|worst| *worst > state);
            let (visits, failures, used) = (left.visits, left.failures, left.used);
            let (budget, altered) = (None, left.altered);
            NodeMark { state, worst, visits, failures, used, budget, altered, pass: None, arrived: None }
        };
        let marks = self.left.iter().filter(|(_, left)| left.visits > 0 || left.latest.is_some());
        let mut nodes: BTreeMap<String, NodeMark> = marks.map(|(name, left)| (name.clone(), mark(left))).collect();
        if let Some(run) = &self.run {
            stands(workflow, run, &FramePath::default(), &run.root, &mut nodes);
        }
        let edges = self.taken.iter();
        let edges = edges.map(|((from, to), count)| TakenEdge { from: from.clone(), to: to.clone(), count: *count });
        Overlay { nodes, edges: edges.collect() }
    }
}

/// What a node came to by what was said of it.
fn said(what: &EventKind, path: &FramePath) -> Mark {
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

/// What the drawing calls a node that stands in the same flow as the one called `beside`.
fn inside(beside: &str, place: &Place, node: &NodeId) -> String {
    let around = beside.strip_suffix(place.node().as_str()).unwrap_or_default();
    format!("{around}{node}")
}

/// Marks where a frame is, and those inside of it.
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
    matches!(step.exits.failing, Failing::Retries { .. }).then(|| step.exits.failing.budget())
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

fn arrived(place: &Place) -> Option<Arrived> {
    match place {
        Place::Forked { branches, .. } => {
            let is_done = |state: &BranchState| matches!(state, BranchState::Done(_) | BranchState::Cancelled);
            Some(Arrived { done: branches.iter().filter(|branch| is_done(&branch.state)).count(), of: branches.len() })
        }
        Place::Each { items, begun, open, .. } => {
            Some(Arrived { done: (*begun as usize).saturating_sub(open.len()), of: items.len() })
        }
        _ => None,
    }
}
