//! The possible actions at the positions of a run, and what blocks them.
//!
//! [`moves`] lists the moves that the engine accepts. This module adds the effect of each, and the facts outside the
//! run that would make it fail.

use serde::Serialize;

use super::question::Here;
use super::situation::branch_name;
use super::{Child, ChildState, TrustRequirement, Viewer};
use crate::graph::{Kind, Step, Strategy, Workflow};
use crate::run::{BranchState, Frame, FramePath, Human, Move, Place, Run, WaitingFor, moves};
use crate::value::{CANCELLED, NodeId, Outcome};

/// An offered action, unless it is blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The action.
    #[serde(flatten)]
    pub act: Act,
    /// The step of the action.
    pub step: String,
    /// The step's name for people.
    pub name: String,
    /// The position, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The revision to quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The step that the outcome leads to, if that is certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<String>,
    /// Whether it is the way forward, not an alternative.
    pub leads_on: bool,
    /// The reason that it would be rejected now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<BlockedBy>,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// Begins the work.
    Begin,
    /// Reports an outcome of the work.
    Report {
        /// The outcome.
        outcome: Outcome,
        /// The number of checks that decide whether it counts.
        checks: usize,
    },
    /// Repeats the checks of a report after a crash interrupted them.
    Recheck {
        /// The reported outcome.
        outcome: Outcome,
    },
    /// Gives a person's answer.
    Answer {
        /// The answer.
        outcome: Outcome,
        /// Its meaning.
        means: Meaning,
    },
    /// Begins a branch as a separate task.
    Open,
    /// Reports the outcome that the branches have earned.
    Join {
        /// The reported outcome; the branches decide.
        outcome: Outcome,
    },
    /// Asks the person a question that the workflow does not ask.
    Raise,
    /// Ends the run before it is complete.
    End,
}

/// The meaning of a person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// An option of the workflow's own question, as people read it.
    Option(String),
    /// An outcome of the step.
    Outcome,
    /// The obstacle is removed: the work is retried.
    TryAgain,
    /// The step is given up.
    GiveUp,
    /// The run is cancelled.
    CallOff,
}

/// The reason that an offered action is blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum BlockedBy {
    /// The commands that decide it are untrusted.
    Untrusted(TrustRequirement),
    /// Only the person's own answer counts, and the caller's client cannot ask.
    Person,
    /// A question must be answered first.
    Question,
    /// The maximum number of branches is under way.
    Full {
        /// The maximum number at once.
        most: usize,
    },
    /// The branch is held back.
    Held {
        /// The number of branches under way.
        open: usize,
    },
    /// Some branches are not done.
    Branches {
        /// Those branches, each with its current step; `None` if it has no task.
        open: Vec<(String, Option<String>)>,
    },
    /// A file that cannot be read may be the task of a branch.
    Unreadable {
        /// The reason that it cannot be read.
        why: String,
    },
}

impl Offer {
    /// Returns the reported or answered outcome.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.act {
            Act::Report { outcome, .. }
            | Act::Recheck { outcome }
            | Act::Answer { outcome, .. }
            | Act::Join { outcome } => Some(outcome),
            Act::Begin | Act::Open | Act::Raise | Act::End => None,
        }
    }

    fn at(here: &Here<'_>, act: Act) -> Offer {
        Offer {
            act,
            step: here.node.id.to_string(),
            name: here.name(),
            branch: branch_name(here.run, here.path),
            revision: Some(here.frame.since),
            leads_to: None,
            leads_on: false,
            blocked_by: None,
        }
    }
}

/// Returns the possible actions at all positions of a run, or at the position of the viewer.
pub(super) fn offers(workflow: &Workflow, run: &Run, viewer: &Viewer) -> Vec<Offer> {
    let mut offers = Vec::new();
    for (path, frame) in run.positions() {
        if viewer.at.as_ref().is_none_or(|at| *at == path) {
            at_position(&Here::at(workflow, run, &path, frame), viewer, &mut offers);
        }
    }
    if viewer.at.is_none() {
        held_branches(workflow, &FramePath::default(), &run.root, &mut offers);
    }
    if !run.is_over() {
        let (path, frame) = (FramePath::default(), &run.root);
        offers.push(Offer {
            branch: None,
            revision: None,
            ..Offer::at(&Here::at(workflow, run, &path, frame), Act::End)
        });
    }
    offers
}

fn at_position(here: &Here<'_>, viewer: &Viewer, offers: &mut Vec<Offer>) {
    if let Place::Gathering { node } = &here.frame.place {
        return gathering(here, viewer, node, offers);
    }
    let step = here.flow.step(here.frame.place.node());
    for (nth, offer) in moves(here.workflow, here.frame).into_iter().enumerate() {
        let blocked_by = blocked_by(here, viewer, &offer);
        let leads_to = offer.outcome().and_then(|outcome| step.exits.target(outcome)).map(ToString::to_string);
        offers.push(Offer { leads_on: nth == 0, leads_to, blocked_by, ..Offer::at(here, act(here, step, offer)) });
    }
    if matches!(here.node.kind, Kind::Work { .. }) {
        match &here.frame.place {
            Place::Ready { .. } => offers.push(Offer::at(here, Act::Raise)),
            Place::Waiting { .. } => {
                let act = Act::Report { outcome: Outcome::passed(), checks: here.node.accept.len() };
                offers.push(Offer { blocked_by: Some(BlockedBy::Question), ..Offer::at(here, act) });
            }
            _ => {}
        }
    }
}

/// Returns the reason that an offered move is blocked by something outside the run.
fn blocked_by(here: &Here<'_>, viewer: &Viewer, offer: &Move) -> Option<BlockedBy> {
    match offer {
        Move::Begin => None,
        Move::Report(outcome) if outcome.is_failed() => None,
        Move::Report(_) => {
            let runs = here.node.accept.iter().any(|check| check.by.runs_command());
            viewer.untrusted.clone().filter(|_| runs).map(BlockedBy::Untrusted)
        }
        Move::Answer(_) => {
            let closed = here.run.opening.rules.human == Human::Verified && !viewer.can_ask;
            closed.then_some(BlockedBy::Person)
        }
    }
}

fn act(here: &Here<'_>, step: &Step, offer: Move) -> Act {
    match offer {
        Move::Begin => Act::Begin,
        Move::Report(outcome) if matches!(here.frame.place, Place::Checking { .. }) && !outcome.is_failed() => {
            Act::Recheck { outcome }
        }
        Move::Report(outcome) => Act::Report { outcome, checks: step.node.accept.len() },
        Move::Answer(outcome) => Act::Answer { means: meaning(here, step, &outcome), outcome },
    }
}

fn meaning(here: &Here<'_>, step: &Step, answer: &Outcome) -> Meaning {
    let question = match &step.node.kind {
        Kind::Checkpoint { question, .. } => question.as_deref(),
        _ => None,
    };
    if answer.as_str() == CANCELLED && question.and_then(|question| question.choice(answer)).is_none() {
        return Meaning::CallOff;
    }
    match (&here.frame.place, question) {
        (Place::Waiting { on: WaitingFor::Budget | WaitingFor::Progress, .. }, _) => {
            if answer.is_failed() {
                Meaning::GiveUp
            } else {
                Meaning::TryAgain
            }
        }
        (_, Some(question)) => {
            let label = question.choice(answer).map_or(answer.as_str(), |choice| &choice.label);
            Meaning::Option(here.fill(label))
        }
        (_, None) => Meaning::Outcome,
    }
}

/// Adds the actions of a fork whose branches are separate tasks: those for each branch, and leaving the fork.
fn gathering(here: &Here<'_>, viewer: &Viewer, fork: &NodeId, offers: &mut Vec<Offer>) {
    let kind = &here.flow.step(fork).node.kind;
    let most = match kind {
        Kind::Fork { max_concurrency, .. } => max_concurrency.map_or(usize::MAX, |most| most.get() as usize),
        _ => usize::MAX,
    };
    let join = Offer { leads_on: true, branch: None, ..Offer::at(here, Act::Join { outcome: Outcome::passed() }) };
    let blocked_by = unjoined(here, kind, viewer);
    let opens = blocked_by.is_none();
    if opens {
        offers.push(join.clone());
    }
    let running = viewer.children.iter().filter(|child| matches!(child.state, ChildState::At { .. })).count();
    let mut free = most.saturating_sub(running);
    for child in viewer.children.iter().filter(|child| child.state == ChildState::Missing) {
        let blocked_by = (free == 0).then_some(BlockedBy::Full { most });
        free = free.saturating_sub(1);
        offers.push(Offer {
            step: child.branch.to_string(),
            name: here.flow.step(&child.branch).node.name.clone(),
            branch: None,
            revision: None,
            leads_on: true,
            blocked_by,
            ..Offer::at(here, Act::Open)
        });
    }
    if !opens {
        offers.push(Offer { blocked_by, ..join });
    }
}

/// Returns the reason that the outcome of a join is unknown.
fn unjoined(here: &Here<'_>, fork: &Kind, viewer: &Viewer) -> Option<BlockedBy> {
    let any = match fork {
        Kind::Fork { join, .. } => {
            matches!(here.flow.step(&join.value).node.kind, Kind::Join { strategy: Strategy::AnyPass, .. })
        }
        _ => false,
    };
    let done = |child: &Child| matches!(child.state, ChildState::Done(_));
    let passed = |child: &Child| matches!(&child.state, ChildState::Done(outcome) if !outcome.is_failed());
    let forks = matches!(fork, Kind::Fork { .. });
    if forks && (viewer.children.iter().all(done) || (any && viewer.children.iter().any(passed))) {
        return viewer.unreadable.clone().map(|why| BlockedBy::Unreadable { why });
    }
    let open = viewer.children.iter().filter_map(|child| match &child.state {
        ChildState::Missing => Some((child.branch.to_string(), None)),
        ChildState::At { step, .. } => Some((child.branch.to_string(), Some(step.to_string()))),
        ChildState::Done(_) => None,
    });
    Some(BlockedBy::Branches { open: open.collect() })
}

/// Adds the branches that the fork's limit holds back, anywhere in the run.
fn held_branches(workflow: &Workflow, path: &FramePath, frame: &Frame, offers: &mut Vec<Offer>) {
    if let Place::Forked { branches, .. } = &frame.place {
        let open = branches.iter().filter(|branch| matches!(branch.state, BranchState::Open(_))).count();
        for branch in branches.iter().filter(|branch| branch.state == BranchState::Held) {
            offers.push(Offer {
                act: Act::Report { outcome: Outcome::passed(), checks: 0 },
                step: branch.name.to_string(),
                name: workflow.flow(&frame.flow).step(&branch.name).node.name.clone(),
                branch: Some(path.join(&branch.name).text()),
                revision: None,
                leads_to: None,
                leads_on: true,
                blocked_by: Some(BlockedBy::Held { open }),
            });
        }
    }
    for (name, inner) in frame.inner() {
        held_branches(workflow, &path.join(name), inner, offers);
    }
}
