//! The situation: where a run is, what is to be done there and what may be done, as data.
//!
//! It holds all that an agent, a person or a page needs, also after a total loss of their context, and knows nobody's
//! words for it: no tool, no call, no command. Faces make these of it. It serializes; `docs/situation.md` describes the
//! form.

use serde::Serialize;
use serde_json::Value;

use super::offers::{Offer, offers};
use super::question::{Here, OpenQuestion};
use super::work::{CheckView, Fork, Work};
use super::{CheckUnderWay, Redaction, Untrusted, Viewer, conversation};
use crate::graph::{EndResult, Escalation, Kind, Workflow};
use crate::run::{BranchState, Feedback, Frame, FramePath, ModelActivity, Place, Run};
use crate::value::{FAILED, Outcome};

/// The version of the form in which a situation serializes. It rises when a field changes its meaning or goes, and not
/// when one is added.
pub const SITUATION_VERSION: u32 = 1;

/// Where a run is, as whoever looks at one position of it sees it, or at the whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Situation {
    /// [`SITUATION_VERSION`].
    pub version: u32,
    /// The workflow that the run was begun with.
    pub workflow: String,
    /// What the user wants done, in the user's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// What is going on, in one word.
    pub state: RunStatus,
    /// The same, with what belongs to it.
    pub point: Point,
    /// Whether the whole run is over.
    pub over: bool,
    /// Where the run is, with the budget of retries that counts there.
    pub position: Position,
    /// The way from the run to the position: one frame for each workflow, branch, item and loop.
    pub frames: Vec<FrameView>,
    /// What a function gave to the workflow, with what it hides masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Value>,
    /// What the definition says of the step.
    pub work: Work,
    /// The question that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<OpenQuestion>,
    /// The fork that the position is, with how far its branches are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
    /// What decides whether the step may be left as done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckView>,
    /// The one of them that runs now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checking: Option<CheckUnderWay>,
    /// Why the commands among them may not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<Untrusted>,
    /// Why the work is attempted again, or what was handed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// What may be done, at the position or at all positions within it: for each the one that leads on first.
    pub offers: Vec<Offer>,
}

/// What is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Work is to be done.
    Working,
    /// Checks are being performed.
    Checking,
    /// A person must decide.
    Waiting,
    /// Nothing more happens.
    Ended,
}

/// What is going on at a position, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Point {
    /// The work has not begun.
    Queued,
    /// Work is to be done.
    Work,
    /// A claim is being checked.
    Checking {
        /// The outcome that was reported.
        outcome: Outcome,
        /// How many of the checks are settled.
        settled: usize,
    },
    /// The question is open.
    Question,
    /// Branches are under way in the run.
    Forked,
    /// The branches are tasks of their own.
    Gathering,
    /// An agent is led through items.
    Items,
    /// A model has come to where a person decides how it goes on.
    Held {
        /// How far it has come.
        told: String,
    },
    /// A model works.
    Modelled,
    /// The engine goes on by itself.
    Automatic,
    /// The work is further in.
    Inside,
    /// A branch is done.
    Arrived {
        /// Its outcome.
        outcome: Outcome,
    },
    /// It is over.
    Ended {
        /// How it ended.
        result: EndResult,
        /// Who is to be told.
        #[serde(skip_serializing_if = "Option::is_none")]
        escalation: Option<Escalation>,
    },
}

/// Where a run, or one position of it, is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    /// The workflow.
    pub workflow: String,
    /// The step.
    pub step: String,
    /// The step's name for people.
    pub step_name: String,
    /// What the step is: `task`, `gate`, `fork` …
    pub kind: &'static str,
    /// The revision that a move from here must quote.
    pub revision: u64,
    /// The branch, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Who should do the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The phase of the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The budget of the gate whose failure is being retried, or of this step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// The branches under way, held back and done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<BranchView>,
}

/// A retry budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Retries {
    /// The step whose budget it is.
    pub gate: String,
    /// Retries used.
    pub used: u32,
    /// Retries in all.
    pub budget: u32,
    /// Retries left.
    pub left: u32,
}

/// How far a branch is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BranchView {
    /// The branch, as `branch` names it.
    pub branch: String,
    /// `held`, `working`, `waiting`, `checking`, `passed`, `failed`, `cancelled` or `missing`.
    pub state: String,
    /// The step that it is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// A frame on the way to a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameView {
    /// How it is called in the frame before it; nothing for the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The workflow that is walked in it.
    pub workflow: String,
    /// The workflow's name for people.
    pub workflow_name: String,
    /// The step at which it is.
    pub step: String,
    /// The revision at which it came there.
    pub revision: u64,
    /// The pass, where that step is a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<LoopPass>,
}

/// A pass of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoopPass {
    /// The loop.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The number of the pass, from 1.
    pub iteration: u32,
    /// How many passes there are, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// The item, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

/// Presents a run, or the position that the viewer looks at.
pub fn situation(workflow: &Workflow, run: &Run, viewer: &Viewer) -> Situation {
    let path = viewer.at.clone().unwrap_or_else(|| whole(run));
    let frame = run.frame(&path).unwrap_or(&run.root);
    let here = Here::at(workflow, run, &path, frame);
    let runs = here.node.accept.iter().any(|check| check.by.runs_command());
    Situation {
        version: SITUATION_VERSION,
        workflow: run.opening.workflow.to_string(),
        wanted: run.opening.description.clone(),
        state: state(&frame.place),
        point: point(&here),
        over: run.is_over(),
        position: position(&here, viewer),
        frames: frames(workflow, run, &path),
        given: given(workflow, run, &path),
        work: here.work(viewer),
        question: here.question(viewer),
        fork: here.fork(viewer),
        checks: here.node.accept.iter().map(|check| CheckView { id: check.id.clone(), by: check.by.clone() }).collect(),
        checking: viewer.checking.clone(),
        untrusted: viewer.untrusted.clone().filter(|_| runs),
        feedback: frame.feedback.clone(),
        offers: offers(workflow, run, viewer),
    }
}

/// The one position that an agent is shown who is led a step at a time: the first at which there is work, else the first
/// at all. Branches are gone through one after the other; who is to answer a question is not waited for while there is
/// other work.
pub fn focus(run: &Run) -> (FramePath, &Frame) {
    let positions = run.positions();
    let at_work = |(_, frame): &&(FramePath, &Frame)| !matches!(frame.place, Place::Waiting { .. });
    let found = positions.iter().find(at_work).or(positions.first()).cloned();
    found.unwrap_or_else(|| (FramePath::default(), &run.root))
}

/// The frame that stands for the whole run: the only position there is, or the fork that has several.
fn whole(run: &Run) -> FramePath {
    match run.positions().as_slice() {
        [(path, _)] => path.clone(),
        _ => {
            let (mut path, mut frame) = (FramePath::default(), &run.root);
            while let Place::Within { node, frame: inner } = &frame.place {
                path = path.join(node);
                frame = inner;
            }
            path
        }
    }
}

pub(super) fn state(place: &Place) -> RunStatus {
    match place {
        Place::Ready { .. } | Place::Forked { .. } | Place::Gathering { .. } | Place::Within { .. } => {
            RunStatus::Working
        }
        Place::Passing { .. } | Place::Calling { .. } | Place::Each { .. } | Place::Looping { .. } => {
            RunStatus::Working
        }
        Place::Conversing { talk, .. } => match talk.doing {
            ModelActivity::Asking(_) | ModelActivity::Using { .. } => RunStatus::Working,
            ModelActivity::Checking { .. } | ModelActivity::Judging { .. } => RunStatus::Checking,
            ModelActivity::Held { .. } => RunStatus::Waiting,
        },
        Place::Checking { .. } => RunStatus::Checking,
        Place::Waiting { .. } => RunStatus::Waiting,
        Place::Arrived { .. } | Place::Ended { .. } => RunStatus::Ended,
    }
}

fn point(here: &Here<'_>) -> Point {
    match &here.frame.place {
        Place::Ready { .. } if here.node.kind == Kind::Start => Point::Queued,
        Place::Ready { .. } => Point::Work,
        Place::Checking { outcome, settled, .. } => {
            Point::Checking { outcome: outcome.clone(), settled: settled.len() }
        }
        Place::Waiting { .. } => Point::Question,
        Place::Forked { .. } => Point::Forked,
        Place::Gathering { .. } => Point::Gathering,
        _ if here.frame.items().iter().any(|item| is_led(here.workflow, &item.frame)) => Point::Items,
        place @ Place::Conversing { talk, .. } => match place.held() {
            Some(_) => Point::Held { told: conversation::sentence(talk) },
            None => Point::Modelled,
        },
        Place::Passing { .. } | Place::Calling { .. } | Place::Each { .. } => Point::Automatic,
        Place::Within { .. } | Place::Looping { .. } => Point::Inside,
        Place::Arrived { outcome, .. } => Point::Arrived { outcome: outcome.clone() },
        Place::Ended { result, .. } => {
            let escalation = match &here.node.kind {
                Kind::End { escalation, .. } => *escalation,
                _ => None,
            };
            Point::Ended { result: *result, escalation }
        }
    }
}

/// How a call names a position: not at all where the run neither has forked nor goes through items.
pub(super) fn branch_name(run: &Run, path: &FramePath) -> Option<String> {
    let mut frame = &run.root;
    let parts =
        |frame: &Frame| matches!(frame.place, Place::Forked { .. } | Place::Each { .. }) || !frame.items().is_empty();
    let mut parted = parts(frame);
    for name in &path.0 {
        frame = frame.inner().find(|(inner, _)| *inner == name)?.1;
        parted |= parts(frame);
    }
    (parted && !path.0.is_empty()).then(|| path.text())
}

fn position(here: &Here<'_>, viewer: &Viewer) -> Position {
    let Here { workflow, run, path, frame, node, .. } = *here;
    Position {
        workflow: frame.flow.to_string(),
        step: node.id.to_string(),
        step_name: node.name.clone(),
        kind: node.kind.word(),
        revision: frame.since,
        branch: branch_name(run, path),
        agent: node.brief.agent.clone(),
        stage: node.brief.stage.clone(),
        retries: retries(workflow, frame),
        branches: branches(path, frame, viewer),
    }
}

fn frames(workflow: &Workflow, run: &Run, path: &FramePath) -> Vec<FrameView> {
    let names = std::iter::once(None).chain(path.0.iter().map(Some));
    let view = |(frame, name): (&Frame, Option<&crate::value::NodeId>)| FrameView {
        name: name.map(ToString::to_string),
        workflow: frame.flow.to_string(),
        workflow_name: workflow.flow(&frame.flow).name.clone(),
        step: frame.place.node().to_string(),
        revision: frame.since,
        pass: pass(workflow, frame),
    };
    run.way(path).zip(names).map(view).collect()
}

fn pass(workflow: &Workflow, frame: &Frame) -> Option<LoopPass> {
    let Place::Looping { node, pass, items, .. } = &frame.place else { return None };
    let node = &workflow.flow(&frame.flow).step(node).node;
    let item = items.as_ref().and_then(|items| items.get(*pass as usize));
    Some(LoopPass {
        id: node.seat.as_ref().map_or_else(|| node.id.to_string(), |seat| seat.id.clone()),
        name: node.name.clone(),
        iteration: pass + 1,
        total: items.as_ref().map(|items| items.len()),
        item: item.map(super::fill::text),
    })
}

/// The budget that a failure from here would draw on or that brought the work back here.
fn retries(workflow: &Workflow, frame: &Frame) -> Option<Retries> {
    let flow = workflow.flow(&frame.flow);
    let here = frame.place.node();
    let budget_here = flow.step(here).exits.failing.budget();
    let works = matches!(frame.place, Place::Ready { .. } | Place::Checking { .. } | Place::Waiting { .. });
    let (gate, used) = match frame.retrying() {
        Some(spent) if frame.used(here) == 0 => (&spent.gate, spent.used),
        _ => (here, frame.used(here)),
    };
    let budget = flow.step(gate).exits.failing.budget();
    let shown = works && (used > 0 || (budget_here > 0 && moves_can_fail(workflow, frame)));
    shown.then(|| Retries { gate: gate.to_string(), used, budget, left: budget.saturating_sub(used) })
}

fn moves_can_fail(workflow: &Workflow, frame: &Frame) -> bool {
    crate::run::moves(workflow, frame)
        .iter()
        .any(|offer| offer.outcome().is_some_and(|outcome| outcome.as_str() == FAILED))
}

fn branches(path: &FramePath, frame: &Frame, viewer: &Viewer) -> Vec<BranchView> {
    match &frame.place {
        Place::Forked { branches, .. } => branches
            .iter()
            .map(|branch| BranchView {
                branch: path.join(&branch.name).text(),
                state: branch_word(&branch.state),
                step: match &branch.state {
                    BranchState::Open(frame) => Some(frame.place.node().to_string()),
                    _ => None,
                },
            })
            .collect(),
        // Those under way: of the others, how many there are is all that is to be said.
        Place::Each { .. } | Place::Conversing { .. } => frame
            .items()
            .iter()
            .map(|item| BranchView {
                branch: path.join(&item.name).text(),
                state: branch_word(&BranchState::Open(item.frame.clone())),
                step: Some(item.frame.place.node().to_string()),
            })
            .collect(),
        Place::Gathering { .. } => viewer
            .children
            .iter()
            .map(|child| {
                let (state, step) = match &child.state {
                    super::ChildState::Missing => ("missing".to_owned(), None),
                    super::ChildState::At { step, .. } => ("working".to_owned(), Some(step.to_string())),
                    super::ChildState::Done(outcome) => (outcome.to_string(), None),
                };
                BranchView { branch: child.branch.to_string(), state, step }
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn branch_word(state: &BranchState) -> String {
    match state {
        BranchState::Held => "held".to_owned(),
        BranchState::Open(frame) => match self::state(&frame.place) {
            RunStatus::Working => "working".to_owned(),
            RunStatus::Checking => "checking".to_owned(),
            RunStatus::Waiting => "waiting".to_owned(),
            RunStatus::Ended => "done".to_owned(),
        },
        BranchState::Done(outcome) => outcome.to_string(),
        BranchState::Cancelled => "cancelled".to_owned(),
    }
}

/// Whether an agent is led through the flow of a frame.
fn is_led(workflow: &Workflow, frame: &Frame) -> bool {
    workflow.flow(&frame.flow).interface.is_none()
}

/// What a function gave to the workflow that an agent is led through here, with what it hides masked.
fn given(workflow: &Workflow, run: &Run, path: &FramePath) -> Option<Value> {
    let ways = (0..=path.0.len()).rev().map(|length| FramePath(path.0[..length].to_vec()));
    let led = ways.map_while(|way| run.frame(&way).filter(|frame| is_led(workflow, frame)));
    // What a workflow with variables was handed is in them, as it is now.
    let led = led.filter(|frame| workflow.flow(&frame.flow).variables.is_empty());
    let input = led.filter_map(|frame| frame.data.as_deref()).map(|data| &data.input).find(|input| !input.is_null())?;
    let hidden = Redaction::of_workflow(workflow);
    let hidden = match &run.opening.input {
        Some(opening) => hidden.learning(opening),
        None => hidden,
    };
    Some(hidden.learning(input).value(input))
}
