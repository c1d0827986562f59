//! The situation: position, message, actions. All that an agent needs, also after a total loss of its context.

use serde::Serialize;

use super::actions::{Actions, actions};
use super::brief::instructions;
use super::{ChildState, Viewer};
use crate::graph::Workflow;
use crate::run::{BranchState, Doing, Frame, FramePath, Place, Run};
use crate::value::FAILED;

/// A situation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Situation {
    /// What is going on.
    pub state: State,
    /// Where the run is.
    pub position: Position,
    /// What to do, in prose.
    pub message: String,
    /// What may be called.
    pub actions: Actions,
}

/// What is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Work is to be done.
    Working,
    /// Checks are being performed.
    Checking,
    /// A person must decide.
    Waiting,
    /// Nothing more happens.
    Ended,
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

/// Presents a run, or the position that the viewer looks at.
pub fn situation(workflow: &Workflow, run: &Run, viewer: &Viewer) -> Situation {
    let path = viewer.at.clone().unwrap_or_else(|| whole(run));
    let frame = run.frame(&path).unwrap_or(&run.root);
    Situation {
        state: state(&frame.place),
        position: position(workflow, run, &path, frame, viewer),
        message: instructions(workflow, run, (&path, frame), viewer),
        actions: actions(workflow, run, viewer),
    }
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

pub(super) fn state(place: &Place) -> State {
    match place {
        Place::Ready { .. } | Place::Forked { .. } | Place::Gathering { .. } | Place::Within { .. } => State::Working,
        Place::Passing { .. } | Place::Calling { .. } | Place::Each { .. } | Place::Looping { .. } => State::Working,
        Place::Conversing { talk, .. } => match talk.doing {
            Doing::Asking(_) | Doing::Using { .. } => State::Working,
            Doing::Checking { .. } | Doing::Judging { .. } => State::Checking,
            Doing::Held { .. } => State::Waiting,
        },
        Place::Checking { .. } => State::Checking,
        Place::Waiting { .. } => State::Waiting,
        Place::Arrived { .. } | Place::Ended { .. } => State::Ended,
    }
}

/// How a call names a position: not at all where the run neither has forked nor goes through items.
pub(super) fn branch_name(run: &Run, path: &FramePath) -> Option<String> {
    let mut frame = &run.root;
    let parts = |place: &Place| matches!(place, Place::Forked { .. } | Place::Each { .. });
    let mut parted = parts(&frame.place);
    for name in &path.0 {
        frame = frame.inner().find(|(inner, _)| *inner == name)?.1;
        parted |= parts(&frame.place);
    }
    (parted && !path.0.is_empty()).then(|| path.text())
}

fn position(workflow: &Workflow, run: &Run, path: &FramePath, frame: &Frame, viewer: &Viewer) -> Position {
    let step = workflow.flow(&frame.flow).step(frame.place.node());
    Position {
        workflow: frame.flow.to_string(),
        step: step.node.id.to_string(),
        step_name: step.node.name.clone(),
        kind: step.node.kind.word(),
        revision: frame.since,
        branch: branch_name(run, path),
        agent: step.node.brief.agent.clone(),
        stage: step.node.brief.stage.clone(),
        retries: retries(workflow, frame),
        branches: branches(path, frame, viewer),
    }
}

/// The budget that a failure from here would draw on or that brought the work back here.
pub(super) fn retries(workflow: &Workflow, frame: &Frame) -> Option<Retries> {
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
        Place::Each { open, .. } => open
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
                    ChildState::Missing => ("missing".to_owned(), None),
                    ChildState::At { step, .. } => ("working".to_owned(), Some(step.to_string())),
                    ChildState::Done(outcome) => (outcome.to_string(), None),
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
            State::Working => "working".to_owned(),
            State::Checking => "checking".to_owned(),
            State::Waiting => "waiting".to_owned(),
            State::Ended => "done".to_owned(),
        },
        BranchState::Done(outcome) => outcome.to_string(),
        BranchState::Cancelled => "cancelled".to_owned(),
    }
}
