//! Actions: complete calls that will be accepted, in the words of the `tasks` toolset.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::here::Here;
use super::situation::branch_name;
use super::{Child, ChildState, Viewer};
use crate::graph::{CheckBy, Kind, Step, Workflow};
use crate::run::{BranchState, Frame, FramePath, Human, Move, Place, Run, WaitingFor, moves};
use crate::value::{CANCELLED, NodeId, Outcome};

/// A call that can be sent back as it stands, but for what `fill` names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    /// The tool to call.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// What it does, for a reader.
    pub title: String,
    /// The arguments that the caller must choose or write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fill: Vec<&'static str>,
    /// What it takes to do this, and the agent has said not to have: somebody else should do it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delegate: Vec<String>,
}

/// A call that would be refused now, and what lifts that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blocked {
    /// The call.
    #[serde(flatten)]
    pub action: Action,
    /// What must happen first.
    #[serde(rename = "liftedBy")]
    pub lifted_by: String,
}

/// Every call that bears on the position, by whether and why it may be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Actions {
    /// The calls that lead on. Where there are several for one position, the first is the one for work that is done.
    pub required: Vec<Action>,
    /// Calls that may be made instead.
    pub optional: Vec<Action>,
    /// Calls that would be refused.
    pub blocked: Vec<Blocked>,
}

/// The actions at all positions of a run, or at the one that the viewer looks at.
pub(super) fn actions(workflow: &Workflow, run: &Run, viewer: &Viewer) -> Actions {
    let mut actions = Actions::default();
    for (path, frame) in run.positions() {
        if viewer.at.as_ref().is_none_or(|at| *at == path) {
            at_position(workflow, run, viewer, &path, frame, &mut actions);
        }
    }
    if viewer.at.is_none() {
        held_branches(workflow, viewer, &FramePath::default(), &run.root, &mut actions);
    }
    actions
}

fn at_position(
    workflow: &Workflow,
    run: &Run,
    viewer: &Viewer,
    path: &FramePath,
    frame: &Frame,
    actions: &mut Actions,
) {
    if let Place::Gathering { node } = &frame.place {
        return gathering(workflow, run, viewer, frame, node, actions);
    }
    for (nth, offer) in moves(workflow, frame).into_iter().enumerate() {
        let step = workflow.flow(&frame.flow).step(frame.place.node());
        let action = call(viewer, &Here::at(workflow, run, path, frame), step, &offer);
        match lifted_by(run, viewer, step, &offer) {
            Some(lifted_by) => actions.blocked.push(Blocked { action, lifted_by }),
            None if nth == 0 => actions.required.push(action),
            None => actions.optional.push(action),
        }
    }
}

/// Why an offered move is refused all the same, when something outside the run must change first.
fn lifted_by(run: &Run, viewer: &Viewer, step: &Step, offer: &Move) -> Option<String> {
    match offer {
        Move::Begin => None,
        Move::Report(outcome) if outcome.is_failed() => None,
        Move::Report(_) => {
            let runs = step.node.accept.iter().any(|check| matches!(check.by, CheckBy::Run { .. }));
            viewer.untrusted.clone().filter(|_| runs)
        }
        Move::Answer(_) => {
            let closed = run.opening.rules.human == Human::Verified && !viewer.can_ask;
            closed.then(|| format!("a person answers it: `{}`", viewer.answer_by))
        }
    }
}

fn call(viewer: &Viewer, here: &Here<'_>, step: &Step, offer: &Move) -> Action {
    let (frame, mut arguments) = (here.frame, viewer.address.clone());
    if let Some(branch) = branch_name(here.run, here.path) {
        arguments.insert("branch".to_owned(), json!(branch));
    }
    if let Some(outcome) = offer.outcome() {
        arguments.insert("result".to_owned(), json!(outcome.as_str()));
    }
    arguments.insert("revision".to_owned(), json!(frame.since));
    let tool = if *offer == Move::Begin { "Start" } else { "Next" };
    Action { tool, arguments, title: title(here, step, offer), fill: Vec::new(), delegate: Vec::new() }
}

fn title(here: &Here<'_>, step: &Step, offer: &Move) -> String {
    let (frame, name) = (here.frame, here.name());
    match offer {
        Move::Begin => "begin the work".to_owned(),
        Move::Report(outcome) if outcome.is_failed() => format!("report that `{name}` failed"),
        Move::Report(outcome) => match (&frame.place, step.node.accept.len()) {
            (Place::Checking { .. }, _) => format!("have the interrupted checks of `{name}` performed"),
            (_, 0) => format!("report `{name}` {outcome}"),
            (_, checks) => format!("report `{name}` {outcome}; {checks} acceptance check(s) decide"),
        },
        Move::Answer(answer) if answer.as_str() == CANCELLED && !is_option(step, answer) => {
            "the person calls the run off".to_owned()
        }
        Move::Answer(answer) => match &frame.place {
            Place::Waiting { on: WaitingFor::Budget | WaitingFor::Progress, .. } if answer.is_failed() => {
                format!("the person gives `{name}` up")
            }
            Place::Waiting { on: WaitingFor::Budget | WaitingFor::Progress, .. } => {
                format!("the person removed the obstacle: try `{name}` again")
            }
            _ => match &step.node.kind {
                Kind::Checkpoint { question: Some(question), .. } => {
                    let label = here.told(question.choice(answer).map_or(answer.as_str(), |choice| &choice.label));
                    format!("the person answers `{name}`: {label}")
                }
                _ => format!("the person answers `{name}`: {answer}{}", leading(step, answer)),
            },
        },
    }
}

/// Whether the workflow itself offers the answer at its question.
fn is_option(step: &Step, answer: &Outcome) -> bool {
    matches!(&step.node.kind, Kind::Checkpoint { question: Some(question), .. } if question.choice(answer).is_some())
}

fn leading(step: &Step, answer: &Outcome) -> String {
    step.exits.target(answer).map(|to| format!(", go on at `{to}`")).unwrap_or_default()
}

/// A fork whose branches are tasks of their own: what is to be done for each, and whether the fork can be left.
fn gathering(workflow: &Workflow, run: &Run, viewer: &Viewer, frame: &Frame, fork: &NodeId, actions: &mut Actions) {
    let step = workflow.flow(&frame.flow).step(fork);
    let most = match &step.node.kind {
        Kind::Fork { max_concurrency, .. } => max_concurrency.map_or(usize::MAX, |most| most.get() as usize),
        _ => usize::MAX,
    };
    let running = viewer.children.iter().filter(|child| matches!(child.state, ChildState::At { .. })).count();
    let mut free = most.saturating_sub(running);
    for child in viewer.children.iter().filter(|child| child.state == ChildState::Missing) {
        let action = open_child(run, viewer, child);
        if free > 0 {
            free -= 1;
            actions.required.push(action);
        } else {
            let lifted_by = format!("a running branch reaches the join: at most {most} run at once");
            actions.blocked.push(Blocked { action, lifted_by });
        }
    }
    let mut arguments = viewer.address.clone();
    arguments.insert("result".to_owned(), json!("passed"));
    arguments.insert("revision".to_owned(), json!(frame.since));
    let title = "go on with the outcome that the branches earned".to_owned();
    let next = Action { tool: "Next", arguments, title, fill: Vec::new(), delegate: Vec::new() };
    let open: Vec<String> = viewer.children.iter().filter_map(unfinished).collect();
    if joined(workflow, frame, &step.node.kind, viewer) {
        actions.required.insert(0, next);
    } else {
        actions
            .blocked
            .push(Blocked { action: next, lifted_by: format!("the branches reach the join: {}", open.join("; ")) });
    }
}

/// Whether the join's outcome is known.
fn joined(workflow: &Workflow, frame: &Frame, fork: &Kind, viewer: &Viewer) -> bool {
    let Kind::Fork { join, .. } = fork else { return false };
    let any = matches!(
        workflow.flow(&frame.flow).step(&join.value).node.kind,
        Kind::Join { strategy: crate::graph::Strategy::AnyPass, .. }
    );
    let done = |child: &Child| matches!(child.state, ChildState::Done(_));
    let passed = |child: &Child| matches!(&child.state, ChildState::Done(outcome) if !outcome.is_failed());
    viewer.children.iter().all(done) || (any && viewer.children.iter().any(passed))
}

fn unfinished(child: &Child) -> Option<String> {
    match &child.state {
        ChildState::Missing => Some(format!("`{}` has no task", child.branch)),
        ChildState::At { step, .. } => Some(format!("`{}` is at `{step}`", child.branch)),
        ChildState::Done(_) => None,
    }
}

fn open_child(run: &Run, viewer: &Viewer, child: &Child) -> Action {
    let mut arguments = Map::new();
    arguments.insert("workflowType".to_owned(), json!(run.opening.workflow.as_str()));
    arguments.insert("stepId".to_owned(), json!(child.branch.as_str()));
    if let Some(parent) = &viewer.parent_id {
        arguments.insert("parentTaskId".to_owned(), json!(parent));
    }
    if let Some(description) = &run.opening.description {
        arguments.insert("description".to_owned(), json!(description));
    }
    let title = format!("begin the branch `{}` as a task of its own, in a file beside this one", child.branch);
    Action { tool: "Init", arguments, title, fill: vec!["taskFilePath"], delegate: Vec::new() }
}

/// The branches that the fork's limit holds back, anywhere in the run.
fn held_branches(workflow: &Workflow, viewer: &Viewer, path: &FramePath, frame: &Frame, actions: &mut Actions) {
    if let Place::Forked { branches, .. } = &frame.place {
        let open = branches.iter().filter(|branch| matches!(branch.state, BranchState::Open(_))).count();
        for branch in branches.iter().filter(|branch| branch.state == BranchState::Held) {
            let mut arguments = viewer.address.clone();
            arguments.insert("branch".to_owned(), json!(path.join(&branch.name).text()));
            arguments.insert("result".to_owned(), json!("passed"));
            let name = &workflow.flow(&frame.flow).step(&branch.name).node.name;
            let action = Action {
                tool: "Next",
                arguments,
                title: format!("report `{name}` passed"),
                fill: Vec::new(),
                delegate: Vec::new(),
            };
            let lifted_by = format!("one of the {open} branches under way reaches the join");
            actions.blocked.push(Blocked { action, lifted_by });
        }
    }
    for (name, inner) in frame.inner() {
        held_branches(workflow, viewer, &path.join(name), inner, actions);
    }
}
