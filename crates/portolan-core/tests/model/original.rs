//! The rule of the original Navigator, written from its description, against the engine: on every walk of the
//! catalogue on which the two are meant to agree, they do.
//!
//! Meant to agree are walks of `passed` and `failed` on which at most one node fails, however often, none fails that
//! has no `failed` edge, and that stop at the first end, question to a person, or join of a branch. Beyond these the
//! engine differs on purpose; `engine::tests::originals` tells how.

use portolan_core::graph::{EndResult, Escalation, Kind, Strategy, Workflow};
use portolan_core::run::{Branches, EventKind, FramePath, Opening, Place, Rules, Run};
use portolan_core::value::{NodeId, Outcome};
use serde_json::Value;

use crate::catalogue;
use crate::walk::{Walk, by_agent, reported, workflow};

/// Steps at which the two differ on such walks, each with the fix that explains it.
const EXPLAINED: &[(&str, &str)] = &[];

/// The longest walk there may be.
const MOST_STEPS: usize = 200;

/// What both say of a position: the step, its terminal class, and the retry counter.
type Said = (String, Option<&'static str>, u64);

/// Where a task of the original is.
#[derive(Clone)]
struct Task<'f> {
    file: &'f Value,
    step: String,
    count: u64,
    source_gate: Option<String>,
}

impl Task<'_> {
    fn node(&self, step: &str) -> &Value {
        &self.file["nodes"][step]
    }

    /// The node whose edges a result takes: a fork stands for its join.
    fn deciding(&self) -> String {
        let join = self.node(&self.step)["join"].as_str();
        join.unwrap_or(&self.step).to_owned()
    }

    fn edges(&self, step: &str) -> Vec<&Value> {
        self.file["edges"].as_array().expect("edges are a list").iter().filter(|edge| edge["from"] == step).collect()
    }

    fn can_fail(&self) -> bool {
        self.edges(&self.deciding()).iter().any(|edge| edge["on"] == "failed")
    }

    fn next(&mut self, result: &str) {
        let at = self.deciding();
        let most = self.node(&at)["maxRetries"].as_u64().unwrap_or(0);
        let edges = self.edges(&at);
        let matching: Vec<&Value> = edges.iter().copied().filter(|edge| edge["on"] == result).collect();
        let unconditional = edges.iter().copied().find(|edge| edge["on"].is_null());
        let is_end = |edge: &&Value| self.node(edge["to"].as_str().unwrap_or_default())["type"] == "end";
        let retry = matching.iter().copied().find(|edge| !is_end(edge));
        let escalation = matching.iter().copied().find(is_end);
        let (chosen, retried, conditional) = match (retry, escalation) {
            (Some(retry), Some(_)) if result == "failed" && self.count < most => (retry, true, true),
            (Some(_), Some(escalation)) if result == "failed" => (escalation, false, false),
            _ => match matching.first() {
                Some(edge) => (*edge, false, true),
                None => (unconditional.expect("the walk takes results that lead on"), false, false),
            },
        };
        let to = chosen["to"].as_str().expect("an edge leads somewhere").to_owned();
        let is_source = self.source_gate.as_ref() == Some(&self.step);
        if retried {
            self.count += 1;
            self.source_gate = Some(self.step.clone());
        } else if is_source && result == "passed" {
            self.count = 0;
            self.source_gate = None;
        } else if self.source_gate.is_none() && conditional {
            self.count = 0;
        }
        self.step = to;
    }

    fn says(&self) -> Said {
        let node = self.node(&self.step);
        let terminal = match node["type"].as_str() {
            Some("start") => Some("start"),
            Some("join") => Some("join"),
            Some("end") if node["escalation"] == "hitl" => Some("hitl"),
            Some("end") if node["result"] == "success" => Some("success"),
            Some("end") => Some("failure"),
            _ => None,
        };
        (self.step.clone(), terminal, self.count)
    }
}

fn says(workflow: &Workflow, run: &Run) -> Said {
    let node = run.root.place.node();
    let terminal = match (&run.root.place, &workflow.root().step(node).node.kind) {
        (Place::Ready { .. }, Kind::Start) => Some("start"),
        (Place::Arrived { .. }, _) => Some("join"),
        (Place::Waiting { .. }, Kind::Checkpoint { escalation: Some(Escalation::Hitl), .. }) => Some("hitl"),
        (Place::Ended { .. }, Kind::End { escalation: Some(Escalation::Hitl), .. }) => Some("hitl"),
        (Place::Ended { result: EndResult::Success, .. }, _) => Some("success"),
        (Place::Ended { .. }, _) => Some("failure"),
        _ => None,
    };
    (node.to_string(), terminal, run.root.retrying().map_or(0, |spent| u64::from(spent.used)))
}

/// Every walk on from here; gives their number. `failing` is the one node that has failed on this walk.
fn walks(task: &Task<'_>, walk: &Walk<'_>, failing: Option<&str>, trail: &mut Vec<String>) -> usize {
    let (original, ours) = (task.says(), says(walk.workflow, &walk.run));
    let explained = EXPLAINED.contains(&(walk.workflow.id().as_str(), task.step.as_str()));
    assert!(original == ours || explained, "{}: {original:?} {ours:?} after {trail:?}", walk.workflow.id());
    if explained || matches!(ours.1, Some("hitl" | "success" | "failure" | "join")) {
        return 1;
    }
    assert!(trail.len() < MOST_STEPS, "{}: the walk ends: {trail:?}", walk.workflow.id());
    let mut count = 0;
    for result in ["passed", "failed"] {
        let fails = result == "failed";
        if fails && !(task.can_fail() && failing.is_none_or(|failing| failing == task.step)) {
            continue;
        }
        let (mut task_on, mut walk_on) = (task.clone(), walk.clone());
        task_on.next(result);
        walk_on.happen(&by_agent(event(walk, result))).expect("the engine takes what the original takes");
        trail.push(format!("{} {result}", task.step));
        count += walks(&task_on, &walk_on, if fails { Some(&task.step) } else { failing }, trail);
        trail.pop();
    }
    count
}

/// What an agent does with a result: it leaves the start, reports it, or brings the branches to it.
fn event(walk: &Walk<'_>, result: &str) -> EventKind {
    let root = &walk.run.root;
    let step = walk.workflow.root().step(root.place.node());
    match (&root.place, &step.node.kind) {
        (Place::Gathering { .. }, Kind::Fork { join, .. }) => {
            let join = &walk.workflow.root().step(&join.value).node.kind;
            assert!(matches!(join, Kind::Join { strategy: Strategy::AllPass, .. }), "one failed branch fails the join");
            let mut branches: Vec<(NodeId, Outcome)> =
                step.exits.branches.iter().map(|name| (name.clone(), Outcome::passed())).collect();
            branches[0].1 = result.into();
            EventKind::Gathered { branches }
        }
        (_, Kind::Start) => EventKind::Begun { revision: Some(root.since) },
        _ => reported(&FramePath::default(), &result.into(), Some(root.since)),
    }
}

#[test]
fn on_the_walks_of_the_catalogue_the_engine_does_as_the_original() {
    let rules = Rules { branches: Branches::Outside, ..Rules::default() };
    let mut count = 0;
    for file in catalogue::files() {
        let workflow = workflow(std::slice::from_ref(&file)).expect("the catalogue is valid");
        let task = Task { file: &file, step: "start".to_owned(), count: 0, source_gate: None };
        count += walks(&task, &Walk::open(&workflow, rules), None, &mut Vec::new());
    }
    assert!(count > 100, "{count} walks");
}

#[test]
fn on_the_walks_of_every_branch_the_engine_does_as_the_original() {
    let rules = Rules { is_branch: true, ..Rules::default() };
    let mut count = 0;
    for file in catalogue::files() {
        let workflow = workflow(std::slice::from_ref(&file)).expect("the catalogue is valid");
        for branch in workflow.root().steps.values().flat_map(|step| &step.exits.branches) {
            let task = Task { file: &file, step: branch.to_string(), count: 0, source_gate: None };
            let opening = Opening { at: Some(branch.clone()), rules, ..Opening::of(workflow.id().clone()) };
            count += walks(&task, &Walk::opened(&workflow, &opening), None, &mut Vec::new());
        }
    }
    assert!(count >= 8, "{count} walks");
}
