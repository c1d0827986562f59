//! The texts of Navigator's tools: complete calls that will be accepted, and the instructions beside them.

use portolan_core::present::{Act, BlockedBy, Meaning, Offer, Position, RunStatus, Situation};
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Claim, View, lifted_by};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::instructions::{brief, question, question_alone};
use super::{Action, Actions, answered_by};

/// A situation for Navigator's clients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TaskSituation {
    /// The status of the run.
    pub(crate) state: RunStatus,
    /// The run's position.
    pub(crate) position: Position,
    /// The instructions, in prose.
    pub(crate) message: String,
    /// The calls that may be made.
    pub(crate) actions: Actions,
}

/// Returns the situation of a view for Navigator's clients.
pub(crate) fn task_situation(view: &View) -> TaskSituation {
    let situation = &view.situation;
    TaskSituation {
        state: situation.state,
        position: situation.position.clone(),
        message: brief(situation, &answered_by(&view.address)),
        actions: actions(view),
    }
}

/// Returns the situations of the runs that decided about a refused call, for the agent that made it.
pub(crate) fn of_runs(views: &[View]) -> String {
    let each = views.iter().map(|view| format!("Run `{}`:\n{}", view.address, task_situation(view).message));
    each.collect::<Vec<_>>().join("\n\n")
}

/// Returns the instructions, after the notes for the caller.
pub(crate) fn instructions(view: &View) -> String {
    let mut blocks: Vec<String> = Vec::new();
    blocks.extend(view.claim.as_ref().and_then(Claim::refused));
    blocks.extend(view.notes.iter().map(|note| format!("Note: {note}")));
    blocks.push(brief(&view.situation, &answered_by(&view.address)));
    blocks.join("\n\n")
}

/// Returns the position's question for the person who is asked.
pub(crate) fn headline(situation: &Situation) -> String {
    headed(situation, &question(situation))
}

/// Returns the same without the options and without the failures, for a reader who is shown them apart.
pub(crate) fn short_headline(situation: &Situation) -> String {
    headed(situation, &question_alone(situation))
}

/// Returns the question for a reader who is shown everything else apart.
pub(crate) fn bare_question(situation: &Situation) -> String {
    question_alone(situation)
}

fn headed(situation: &Situation, question: &str) -> String {
    let position = &situation.position;
    let about = format!("{} · {}", position.workflow, position.step_name);
    if question.is_empty() { about } else { format!("{about}\n\n{question}") }
}

/// Returns the effect of an offer, for a reader.
pub(crate) fn title(offer: &Offer) -> String {
    let name = &offer.name;
    match &offer.act {
        Act::Begin => "begin the work".to_owned(),
        Act::Report { outcome, .. } if outcome.is_failed() => format!("report that `{name}` failed"),
        Act::Report { outcome, checks: 0 } => format!("report `{name}` {outcome}"),
        Act::Report { outcome, checks } => format!("report `{name}` {outcome}; {checks} acceptance check(s) decide"),
        Act::Recheck { .. } => format!("perform the interrupted checks of `{name}`"),
        Act::Answer { outcome, means } => match means {
            Meaning::CallOff => "the person cancels the run".to_owned(),
            Meaning::GiveUp => format!("the person gives up `{name}`"),
            Meaning::TryAgain => format!("the person removed the obstacle: try `{name}` again"),
            Meaning::Option(label) => format!("the person answers `{name}`: {label}"),
            Meaning::Outcome => {
                let leading = offer.leads_to.as_ref().map(|to| format!(", continue at `{to}`")).unwrap_or_default();
                format!("the person answers `{name}`: {outcome}{leading}")
            }
        },
        Act::Open => format!("begin the branch `{}` as a task of its own, in a file beside this one", offer.step),
        Act::Join { .. } => "continue with the outcome that results from the branches".to_owned(),
        Act::Raise => "ask the person something that the workflow does not ask".to_owned(),
        Act::End => "end the run here, before it is complete".to_owned(),
    }
}

/// Returns the calls that are open, and those that are blocked.
pub(crate) fn actions(view: &View) -> Actions {
    let mut actions = Actions::default();
    for offer in &view.situation.offers {
        if let Some((action, lifted_by)) = call(view, offer) {
            actions.add(action, offer.leads_on, lifted_by);
        }
    }
    actions
}

/// Returns the call of an offer, and what must happen first, or `None` if Navigator's tools do not support it.
pub(crate) fn call(view: &View, offer: &Offer) -> Option<(Action, Option<String>)> {
    let lifted_by = offer.blocked_by.as_ref().map(|by| lifted(by, &view.address));
    action(view, offer).map(|action| (action, lifted_by))
}

fn action(view: &View, offer: &Offer) -> Option<Action> {
    let tool = match &offer.act {
        Act::Report { .. } if offer.blocked_by == Some(BlockedBy::Question) => return None,
        Act::Raise | Act::End => return None,
        Act::Open => return Some(open_child(view, offer)),
        Act::Begin => "Start",
        Act::Report { .. } | Act::Recheck { .. } | Act::Answer { .. } | Act::Join { .. } => "Next",
    };
    let address = match &view.address {
        Address::Stored(id) => ("run", id.as_str()),
        Address::Task(path) => ("taskFilePath", path.as_str()),
        Address::State(state) => ("run", state.as_str()),
    };
    let mut arguments = Map::from_iter([(address.0.to_owned(), json!(address.1))]);
    let mut add = |name: &str, value: Option<Value>| arguments.extend(value.map(|value| (name.to_owned(), value)));
    add("branch", offer.branch.as_ref().map(|branch| json!(branch)));
    add("result", offer.outcome().map(|outcome| json!(outcome.as_str())));
    add("revision", offer.revision.map(|revision| json!(revision)));
    let claims = matches!(offer.act, Act::Report { .. }) && offer.outcome().is_some_and(|outcome| !outcome.is_failed());
    let gives = claims && wants_values(view);
    let fill = if gives { vec!["outputs"] } else { Vec::new() };
    Some(Action { tool, arguments, title: title(offer), fill, delegate: Vec::new() })
}

/// Returns whether a check of the step needs a value of the report.
fn wants_values(view: &View) -> bool {
    view.situation.checks.iter().any(|check| check.by.evidence().is_some_and(|wanted| wanted.fact.output().is_some()))
}

fn open_child(view: &View, offer: &Offer) -> Action {
    let mut arguments = Map::new();
    arguments.insert("workflowType".to_owned(), json!(view.situation.workflow));
    arguments.insert("stepId".to_owned(), json!(offer.step));
    if let Some(parent) = &view.task {
        arguments.insert("parentTaskId".to_owned(), json!(parent));
    }
    if let Some(description) = &view.situation.wanted {
        arguments.insert("description".to_owned(), json!(description));
    }
    Action { tool: "Init", arguments, title: title(offer), fill: vec!["taskFilePath"], delegate: Vec::new() }
}

/// Returns what must happen first.
fn lifted(by: &BlockedBy, address: &Address) -> String {
    match by {
        BlockedBy::Untrusted(untrusted) => lifted_by(untrusted),
        BlockedBy::Person => format!("a person answers it: `{}`", answered_by(address)),
        BlockedBy::Question => "the question is answered".to_owned(),
        BlockedBy::Full { most } => format!("a running branch reaches the join: at most {most} run at once"),
        BlockedBy::Held { open } => format!("one of the {open} running branches reaches the join"),
        BlockedBy::Branches { open } => {
            let open = open.iter().map(|(branch, step)| match step {
                Some(step) => format!("`{branch}` is at `{step}`"),
                None => format!("`{branch}` has no task"),
            });
            format!("the branches reach the join: {}", open.collect::<Vec<_>>().join("; "))
        }
        BlockedBy::Unreadable { why } => {
            format!("the file is repaired or moved out of this folder, because it could be the task of a branch: {why}")
        }
    }
}
