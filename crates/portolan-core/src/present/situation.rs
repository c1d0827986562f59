//! The situation: the position of a run, the work there and the possible actions, as data.
//!
//! It contains all that an agent, a person or a page needs, even after a total loss of their context. It contains no
//! names of tools, calls or commands, which the faces add. It serializes; `docs/situation.md` describes the form.

use serde::Serialize;
use serde_json::Value;

use super::offers::{Offer, offers};
use super::question::{Here, OpenQuestion};
use super::work::{CheckView, Fork, Work};
use super::{CheckUnderWay, Redaction, TrustRequirement, Viewer, conversation};
use crate::graph::{EndResult, Escalation, Kind, Workflow};
use crate::run::{BranchState, Feedback, Frame, FramePath, ModelActivity, Place, Run};
use crate::value::{FAILED, Outcome};

/// The version of the serialized form of a situation. It rises when a field changes its meaning or is removed, not when
/// one is added.
pub const SITUATION_VERSION: u32 = 1;

/// The situation at one position of a run, or of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Situation {
    /// [`SITUATION_VERSION`].
    pub version: u32,
    /// The workflow that the run was begun with.
    pub workflow: String,
    /// The user's request, in the user's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// The state in one word.
    pub state: RunStatus,
    /// The state with its details.
    pub point: Point,
    /// Whether the whole run is over.
    pub over: bool,
    /// The position, with the retry budget that applies there.
    pub position: Position,
    /// The path from the run to the position: one frame for each workflow, branch, item and loop.
    pub frames: Vec<FrameView>,
    /// The input that a function gave the workflow, with hidden values masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Value>,
    /// The definition's description of the step.
    pub work: Work,
    /// The open question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<OpenQuestion>,
    /// The fork at the position, with the progress of its branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
    /// The checks that decide whether the step may be left as done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckView>,
    /// The check that is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checking: Option<CheckUnderWay>,
    /// The reason that commands among the checks may not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<TrustRequirement>,
    /// The reason for another attempt, or the text that was handed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The possible actions at the position, or at all positions within it, with the one that leads on first for each.
    pub offers: Vec<Offer>,
}

/// The state of a run in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// There is work to do.
    Working,
    /// Checks are being performed.
    Checking,
    /// A person must decide.
    Waiting,
    /// The run is over.
    Ended,
}

/// The state of a position with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Point {
    /// The work has not begun.
    Queued,
    /// There is work to do.
    Work,
    /// A report is being checked.
    Checking {
        /// The reported outcome.
        outcome: Outcome,
        /// The number of settled checks.
        settled: usize,
    },
    /// A question is open.
    Question,
    /// Branches are under way in the run.
    Forked,
    /// The branches are separate tasks.
    Gathering,
    /// An agent works through items.
    Items,
    /// A model waits for a person's decision.
    Held {
        /// Its progress, in words.
        told: String,
    },
    /// A model is at work.
    Modelled,
    /// The engine continues by itself.
    Automatic,
    /// The work is in an inner frame.
    Inside,
    /// A branch is done.
    Arrived {
        /// Its outcome.
        outcome: Outcome,
    },
    /// The run is over.
    Ended {
        /// How it ended.
        result: EndResult,
        /// Who must be notified.
        #[serde(skip_serializing_if = "Option::is_none")]
        escalation: Option<Escalation>,
    },
}

/// A position of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    /// The workflow.
    pub workflow: String,
    /// The step.
    pub step: String,
    /// The step's name for people.
    pub step_name: String,
    /// The kind of the step: `task`, `gate`, `fork` …
    pub kind: &'static str,
    /// The revision that a move from here must quote.
    pub revision: u64,
    /// The branch, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The agent that should do the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The phase of the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The budget of the gate whose failure is being retried, or of this step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// The branches that are under way, held back or done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<BranchView>,
}

/// A retry budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Retries {
    /// The step that owns the budget.
    pub gate: String,
    /// Retries used.
    pub used: u32,
    /// The total number of retries.
    pub budget: u32,
    /// Retries left.
    pub left: u32,
}

/// The progress of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BranchView {
    /// The branch, as the parameter `branch` names it.
    pub branch: String,
    /// `held`, `working`, `waiting`, `checking`, `passed`, `failed`, `cancelled` or `missing`.
    pub state: String,
    /// Its current step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// A frame on the path to a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameView {
    /// Its name in the outer frame; `None` for the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The workflow that runs in it.
    pub workflow: String,
    /// The workflow's name for people.
    pub workflow_name: String,
    /// Its current step.
    pub step: String,
    /// The revision at which it entered the step.
    pub revision: u64,
    /// The pass, if that step is a loop.
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
    /// The number of passes, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// The item, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

/// Presents a run, or the position in `viewer`.
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

/// Returns the position for an agent that is shown one step at a time: the first with work, else the first of all.
/// Branches come one after the other. An open question is not presented while there is other work.
pub fn focus(run: &Run) -> (FramePath, &Frame) {
    let positions = run.positions();
    let at_work = |(_, frame): &&(FramePath, &Frame)| !matches!(frame.place, Place::Waiting { .. });
    let found = positions.iter().find(at_work).or(positions.first()).cloned();
    found.unwrap_or_else(|| (FramePath::default(), &run.root))
}

/// Returns the frame that represents the whole run: the only position, or the fork with several.
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

/// Returns the name of a position in calls; `None` if the run has neither forked nor iterates over items.
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

/// Returns the budget that a failure here would use, or whose retry led back here.
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
        // Items under way. Only the number of the others is presented.
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

/// Checks whether an agent works through the flow of a frame.
fn is_led(workflow: &Workflow, frame: &Frame) -> bool {
    workflow.flow(&frame.flow).interface.is_none()
}

/// Returns the input that a function gave the workflow at this position, with hidden values masked.
fn given(workflow: &Workflow, run: &Run, path: &FramePath) -> Option<Value> {
    let ways = (0..=path.0.len()).rev().map(|length| FramePath(path.0[..length].to_vec()));
    let led = ways.map_while(|way| run.frame(&way).filter(|frame| is_led(workflow, frame)));
    // The input of a workflow with variables is in the variables, with their current values.
    let led = led.filter(|frame| workflow.flow(&frame.flow).variables.is_empty());
    let input = led.filter_map(|frame| frame.data.as_deref()).map(|data| &data.input).find(|input| !input.is_null())?;
    let hidden = Redaction::of_workflow(workflow);
    let hidden = match &run.opening.input {
        Some(opening) => hidden.learning(opening),
        None => hidden,
    };
    Some(hidden.learning(input).value(input))
}
