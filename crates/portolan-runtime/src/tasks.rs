//! The fields of a Navigator task file for a run: `metadata`, `status`, `subject` and `activeForm`.
//!
//! The carrier reads and writes the file; this module only determines its content.

use portolan_core::graph::{EndResult, Escalation, Kind, Workflow};
use portolan_core::run::{Frame, Place, Run};
use serde_json::{Map, Value, json};

/// Returns the five keys of `metadata` that every Navigator client knows, and `retrySourceGate` while a retry is due.
pub fn metadata(workflow: &Workflow, run: &Run, frame: &Frame) -> Map<String, Value> {
    let step = workflow.flow(&frame.flow).step(frame.place.node());
    let retrying = frame.retrying();
    let mut metadata = Map::new();
    metadata.insert("workflowType".to_owned(), json!(run.opening.workflow.as_str()));
    metadata.insert("currentStep".to_owned(), json!(step.node.id.as_str()));
    metadata.insert("retryCount".to_owned(), json!(retrying.map_or(0, |spent| spent.used)));
    metadata.insert("userDescription".to_owned(), json!(run.opening.description));
    metadata.insert("stepName".to_owned(), json!(step.node.name));
    if let Some(spent) = retrying {
        metadata.insert("retrySourceGate".to_owned(), json!(spent.gate.as_str()));
    }
    metadata
}

/// Returns Navigator's `terminal` value of a position, or `None` while there is work to do.
pub fn terminal(workflow: &Workflow, frame: &Frame) -> Option<&'static str> {
    let kind = &workflow.flow(&frame.flow).step(frame.place.node()).node.kind;
    match &frame.place {
        Place::Ready { .. } if *kind == Kind::Start => Some("start"),
        Place::Ready { .. } | Place::Checking { .. } => None,
        Place::Passing { .. } | Place::Calling { .. } | Place::Each { .. } => None,
        Place::Forked { .. } | Place::Gathering { .. } | Place::Within { .. } | Place::Looping { .. } => None,
        place @ Place::Conversing { .. } => place.held().map(|_| "hitl"),
        Place::Waiting { .. } => Some("hitl"),
        Place::Arrived { .. } => Some("join"),
        Place::Ended { result: EndResult::Success, .. } => Some("success"),
        Place::Ended { .. } => match kind {
            Kind::End { escalation: Some(Escalation::Hitl), .. } => Some("hitl"),
            _ => Some("failure"),
        },
    }
}

/// Returns the frame that represents the run: for a loop, that of its current pass.
pub fn shown(run: &Run) -> &Frame {
    let mut frame = &run.root;
    while let Place::Looping { frame: inner, .. } = &frame.place {
        frame = inner;
    }
    frame
}

/// Returns the status of the task, or `None` if it keeps its present one.
pub fn status(workflow: &Workflow, run: &Run) -> Option<&'static str> {
    match &run.root.place {
        Place::Arrived { outcome, .. } => Some(if outcome.is_failed() { "in_progress" } else { "completed" }),
        place => match terminal(workflow, &run.root) {
            Some("start") => None,
            Some("success") => Some("completed"),
            None | Some("hitl") if !place.is_over() => Some("in_progress"),
            _ => None,
        },
    }
}

/// Returns the two lines that a task list shows for the task.
pub fn subject(workflow: &Workflow, run: &Run, id: &str) -> String {
    let description = run.opening.description.as_deref().unwrap_or_default();
    let emoji = emoji(run.opening.workflow.as_str()).map_or_else(String::new, |emoji| format!(" {emoji}"));
    format!("#{id} {description}{emoji}\n→ {} · {}", run.opening.workflow, progress(workflow, run))
}

fn progress(workflow: &Workflow, run: &Run) -> String {
    let shown = shown(run);
    let step = shown.place.node();
    match (&shown.place, terminal(workflow, shown)) {
        (Place::Arrived { outcome, .. }, _) if outcome.is_failed() => format!("{step} · failed"),
        (Place::Arrived { .. }, _) | (_, Some("success")) => "completed ✓".to_owned(),
        (Place::Waiting { .. }, _) | (_, Some("hitl")) => format!("{step} · HITL"),
        (Place::Ended { result, .. }, _) => format!("{step} · {}", result.word()),
        _ => step.to_string(),
    }
}

/// Returns what a task list shows while the task is under way.
pub fn active_form(workflow: &Workflow, run: &Run) -> String {
    let shown = shown(run);
    let step = workflow.flow(&shown.flow).step(shown.place.node());
    match (&shown.place, terminal(workflow, shown)) {
        (Place::Arrived { outcome, .. }, _) if outcome.is_failed() => "Failed".to_owned(),
        (Place::Arrived { .. }, _) | (_, Some("success")) => "Completed".to_owned(),
        (_, Some("hitl")) => "HITL - Needs help".to_owned(),
        (Place::Ended { result, .. }, _) => match result.word() {
            "cancelled" => "Cancelled".to_owned(),
            "blocked" => "Blocked".to_owned(),
            _ => "Failed".to_owned(),
        },
        _ => step.node.name.clone(),
    }
}

/// Returns the emoji of a catalogue workflow in Navigator's clients.
fn emoji(workflow: &str) -> Option<&'static str> {
    Some(match workflow {
        "feature-development" => "✨",
        "bug-fix" => "🐛",
        "bug-hunt" => "🔍",
        "agile-task" => "📋",
        "context-optimization" => "🔧",
        "quick-task" => "⚡",
        "ui-reconstruction" => "🎨",
        "test-coverage" => "🧪",
        "batch-process" => "📦",
        "build-review-murder-board" => "⚔️",
        "build-review-quick" => "👀",
        "refactor" => "♻️",
        _ => return None,
    })
}

/// Checks whether a branch of a fork begins at the node.
pub fn is_branch_entry(workflow: &Workflow, step: &str) -> bool {
    workflow.root().steps.values().any(|fork| {
        matches!(fork.node.kind, Kind::Fork { .. }) && fork.exits.branches.iter().any(|branch| branch.as_str() == step)
    })
}
