//! Instructions in prose. Headings and arrow lines are those that Navigator's users match on: `## Queued`,
//! `→ Call Start()`, `→ Call Next`, `Branches:`, `Evaluate branch results`, `## Complete`, `## HITL`, `## Failed`.

use super::here::Here;
use super::situation::{State, retries, state};
use super::talk;
use super::{ChildState, Redaction, Viewer};
use crate::graph::{CheckBy, EndResult, Escalation, Kind, Node, Step, Workflow};
use crate::run::{BranchState, Feedback, Frame, FramePath, Human, Place, Run, WaitingFor, moves};

/// How much is shown of what a function gives to an agent's workflow.
const MAX_GIVEN_CHARS: usize = 8_000;

/// The word for the class of a place, as Navigator's `terminal`: nothing while work is to be done.
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

/// What to do at a place.
pub fn instructions(workflow: &Workflow, run: &Run, (path, frame): (&FramePath, &Frame), viewer: &Viewer) -> String {
    let step = workflow.flow(&frame.flow).step(frame.place.node());
    let node = &step.node;
    let mut text = Blocks::default();
    match &frame.place {
        Place::Ready { .. } if node.kind == Kind::Start => {
            text.line("## Queued");
            text.block(node.brief.description.as_deref());
            text.line("→ Call Start() to begin work.");
        }
        Place::Ready { .. } => work(&mut text, &Here::at(workflow, run, path, frame), step, viewer),
        Place::Checking { outcome, settled, .. } => {
            heading(&mut text, node, &node.name);
            text.line(format!(
                "`{outcome}` was reported; {} of {} acceptance checks are settled.",
                settled.len(),
                node.accept.len()
            ));
            text.line(format!("→ Call Next({outcome}) again to have the others performed, if they were interrupted."));
        }
        Place::Waiting { on, .. } => waiting(&mut text, &Here::at(workflow, run, path, frame), *on, viewer),
        Place::Forked { branches, .. } => {
            let lines = branches.iter().map(|branch| (branch.name.clone(), forked(&branch.state))).collect();
            fork(&mut text, workflow, frame, step, lines);
            text.line("→ Work on the open branches, side by side if you can; call Next(passed|failed) with the `branch` of each when it is complete.");
        }
        Place::Gathering { .. } => {
            let lines = viewer.children.iter().map(|child| (child.branch.clone(), gathered(&child.state))).collect();
            fork(&mut text, workflow, frame, step, lines);
            text.line("→ Create a child task for each branch, beside this task and with its id as `parentTaskId`; lead each to the join; then call Next on this task. It takes the outcome that the branches earned.");
        }
        Place::Each { node, open, .. } if open.iter().any(|item| is_led(workflow, &item.frame)) => {
            text.line(format!("## {node}"));
            text.line("→ Work on the items under way, side by side if you can; call Next(passed|failed) with the `branch` of each when it is complete.");
        }
        Place::Conversing { node, talk } if frame.place.held().is_some() => {
            text.line(format!("## {node}"));
            text.line(format!("{}.", talk::sentence(talk)));
            text.line("A person decides how it goes on: `portolan runs resume` shows what can be said.");
        }
        Place::Conversing { node, .. } => {
            text.line(format!("## {node}"));
            text.line(
                "A model works on this step where the run is driven with one. There is nothing to do but wait; where nothing goes on, a person drives it with `portolan runs resume --model`.",
            );
        }
        Place::Passing { node } | Place::Calling { node, .. } | Place::Each { node, .. } => {
            text.line(format!("## {node}"));
            text.line("The engine executes this step. There is nothing to do but wait.");
        }
        Place::Within { node, .. } | Place::Looping { node, .. } => text.line(format!("## {node}")),
        Place::Arrived { outcome, .. } => {
            text.line(format!("## {}", node.name));
            text.block(node.brief.description.as_deref());
            text.line(format!("This branch is done: {outcome}."));
            text.line("→ Evaluate branch results on the parent task: call Next there when all branches are done.");
        }
        Place::Ended { result, .. } => ended(&mut text, frame, node, *result),
    }
    text.finish()
}

/// Whether an agent is led through the flow of a frame.
fn is_led(workflow: &Workflow, frame: &Frame) -> bool {
    workflow.flow(&frame.flow).program.is_none()
}

/// What a function gave to the workflow that an agent is led through here, with what it hides masked.
pub(super) fn given(workflow: &Workflow, run: &Run, path: &FramePath) -> Option<String> {
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
    let shown = hidden.learning(input).value(input).to_string();
    Some(match shown.char_indices().nth(MAX_GIVEN_CHARS) {
        Some((end, _)) => format!("Given (the first {MAX_GIVEN_CHARS} characters): {}", &shown[..end]),
        None => format!("Given: {shown}"),
    })
}

fn work(text: &mut Blocks, here: &Here<'_>, step: &Step, viewer: &Viewer) {
    let (workflow, frame, node) = (here.workflow, here.frame, &step.node);
    heading(text, node, &here.name());
    text.block(given(workflow, here.run, here.path).as_deref());
    if !node.brief.context_files.is_empty() {
        text.line(format!("Context: {}", node.brief.context_files.join(", ")));
    }
    let told = node.brief.description.iter().chain(&node.brief.instructions);
    told.for_each(|told| text.block(Some(&here.told(told))));
    text.block(checks(node, viewer.untrusted.as_deref()).as_deref());
    feedback(text, frame.feedback.as_ref());
    let mut last = Vec::new();
    last.extend(node.brief.agent.as_ref().map(|agent| format!("Agent: {agent}")));
    last.extend(node.max_retries.as_ref().map(|most| format!("Retries: {}", most.value)));
    last.extend(
        retries(workflow, frame)
            .filter(|retries| retries.used > 0)
            .map(|retries| format!("Retry {} of {} for `{}`", retries.used, retries.budget, retries.gate)),
    );
    text.block(Some(&last.join("\n")));
    here.about().iter().for_each(|about| text.block(Some(about)));
    let outcomes: Vec<String> =
        moves(workflow, frame).iter().filter_map(|offer| offer.outcome().map(ToString::to_string)).collect();
    text.line(format!("→ Call Next({}) when complete.", outcomes.join("|")));
}

fn heading(text: &mut Blocks, node: &Node, name: &str) {
    text.line(match &node.brief.stage {
        Some(stage) => format!("## {stage} · {name}"),
        None => format!("## {name}"),
    });
}

/// What decides whether a claim holds.
pub(super) fn checks(node: &Node, untrusted: Option<&str>) -> Option<String> {
    if node.accept.is_empty() {
        return None;
    }
    let mut lines = vec!["Checked when you report it done:".to_owned()];
    lines.extend(node.accept.iter().map(|check| match &check.by {
        CheckBy::Run { argv, .. } => format!("- {}: `{}` exits with status 0", check.id, argv.join(" ")),
        CheckBy::File { path } => format!("- {}: the file `{path}` exists and is not empty", check.id),
        CheckBy::Gate { name } => format!("- {}: the repository is as `{name}` wants it", check.id),
    }));
    let runs = node.accept.iter().any(|check| matches!(check.by, CheckBy::Run { .. }));
    if let Some(lift) = untrusted.filter(|_| runs) {
        lines.push(format!("These commands are not trusted yet, so that it cannot pass: {lift}."));
    }
    Some(lines.join("\n"))
}

fn feedback(text: &mut Blocks, feedback: Option<&Feedback>) {
    let Some(feedback) = feedback else { return };
    let mut lines = Vec::new();
    if !feedback.failures.is_empty() {
        let from = feedback.from.as_ref().map_or_else(String::new, |from| format!(" at `{from}`"));
        lines.push(format!("Not passed{from}:"));
    }
    for failure in &feedback.failures {
        lines.push(format!("- {}: {}", failure.check, failure.reason));
        lines.extend(failure.output.lines().map(|line| format!("  | {line}")));
    }
    if let Some(note) = &feedback.note {
        let from = feedback.from.as_ref().map_or_else(|| "Note".to_owned(), |from| format!("Note from `{from}`"));
        lines.push(format!("{from}: {note}"));
    }
    text.block(Some(&lines.join("\n")));
}

fn waiting(text: &mut Blocks, here: &Here<'_>, on: WaitingFor, viewer: &Viewer) {
    let Here { workflow, run, path, frame, node, .. } = *here;
    text.line("## HITL");
    text.block(given(workflow, run, path).as_deref());
    text.block(node.brief.description.as_ref().map(|told| here.told(told)).as_deref());
    text.block(node.brief.instructions.as_ref().map(|told| here.told(told)).as_deref());
    match on {
        WaitingFor::Answer => question(text, here),
        WaitingFor::Raised => text.block(frame.raised.as_ref().map(|raised| raised.question.as_str())),
        WaitingFor::Budget | WaitingFor::Progress => text.block(here.why().as_deref()),
    }
    feedback(text, frame.feedback.as_ref());
    let answers: Vec<String> =
        moves(workflow, frame).iter().filter_map(|offer| offer.outcome().map(ToString::to_string)).collect();
    let answers = answers.join("|");
    text.line(match (run.opening.rules.human, viewer.can_ask) {
        (Human::Attested, _) => {
            format!("A person must decide. Stop, show them this, and relay their answer.\n→ Call Next({answers}) with what the person says.")
        }
        (Human::Verified, true) => {
            "A person must decide, and your own answer does not count.\n→ Call Next(passed): the person is asked in your client's dialog.".to_owned()
        }
        (Human::Verified, false) => {
            format!("A person must decide, and your own answer does not count. Stop until they have run `{}`.", viewer.answer_by)
        }
    });
}

/// What the workflow itself asks in its own words, with what each answer means.
fn question(text: &mut Blocks, here: &Here<'_>) {
    let Kind::Checkpoint { question: Some(_), .. } = &here.node.kind else { return };
    let Some(asked) = here.asked() else { return };
    text.block(Some(&asked.message));
    let described = |description: Option<String>| description.map_or_else(String::new, |text| format!(" ({text})"));
    let options = asked.options.into_iter().map(|it| format!("- {}: {}{}", it.id, it.label, described(it.description)));
    text.block(Some(&options.collect::<Vec<_>>().join("\n")));
    if let Some(fallback) = here.fallback() {
        let seconds = fallback.after_ms.div_ceil(1_000);
        text.line(format!("Without an answer {seconds} s after it was asked it counts as `{}`.", fallback.option));
    }
}

fn fork(
    text: &mut Blocks,
    workflow: &Workflow,
    frame: &Frame,
    step: &Step,
    states: Vec<(crate::value::NodeId, String)>,
) {
    let flow = workflow.flow(&frame.flow);
    text.line(format!("## {}", step.node.name));
    text.block(step.node.brief.description.as_deref());
    feedback(text, frame.feedback.as_ref());
    let mut lines = vec!["Branches:".to_owned()];
    for (branch, state) in states {
        let edge = flow.edges.iter().find(|edge| edge.from.value == step.node.id && edge.to.value == branch);
        let label = edge.and_then(|edge| edge.label.as_ref()).map_or_else(String::new, |label| format!(" ({label})"));
        lines.push(format!("- {branch}: {}{label}{state}", flow.step(&branch).node.name));
    }
    text.block(Some(&lines.join("\n")));
    if let Kind::Fork { join, max_concurrency } = &step.node.kind {
        let most = max_concurrency.map_or_else(String::new, |most| format!("\nMax concurrency: {most}"));
        text.block(Some(&format!("Join: {}{most}", join.value)));
    }
}

fn forked(branch: &BranchState) -> String {
    match branch {
        BranchState::Held => " · held back".to_owned(),
        BranchState::Open(frame) => match state(&frame.place) {
            State::Waiting => format!(" · at `{}`, waits for a person", frame.place.node()),
            _ => format!(" · at `{}`", frame.place.node()),
        },
        BranchState::Done(outcome) => format!(" · {outcome}"),
        BranchState::Cancelled => " · cancelled".to_owned(),
    }
}

fn gathered(state: &ChildState) -> String {
    match state {
        ChildState::Missing => String::new(),
        ChildState::At { step, .. } => format!(" · at `{step}`"),
        ChildState::Done(outcome) => format!(" · {outcome}"),
    }
}

fn ended(text: &mut Blocks, frame: &Frame, node: &Node, result: EndResult) {
    let escalation = match &node.kind {
        Kind::End { escalation, .. } => *escalation,
        _ => None,
    };
    text.line(match (result, escalation) {
        (EndResult::Success, _) => "## Complete",
        (_, Some(Escalation::Hitl)) => "## HITL",
        (EndResult::Cancelled, _) => "## Cancelled",
        (EndResult::Blocked, _) => "## Blocked",
        (EndResult::Failure, _) => "## Failed",
    });
    text.block(node.brief.description.as_deref());
    feedback(text, frame.feedback.as_ref());
    text.line(match result {
        EndResult::Success => "The run is complete. Nothing more is to be done.".to_owned(),
        EndResult::Failure => {
            format!("The run failed at `{}`. Tell the user what was tried and what stands in the way.", node.name)
        }
        EndResult::Blocked => {
            format!("The run ended blocked at `{}`. Tell the user what must change first.", node.name)
        }
        EndResult::Cancelled => "The run was cancelled. Stop working on it.".to_owned(),
    });
    match escalation {
        Some(Escalation::Hitl) => text.line("A person is to be told."),
        Some(Escalation::Alert) => text.line("An alert is to be raised with whoever watches alerts."),
        Some(Escalation::Ticket) => text.line("A ticket is to be opened for it."),
        None => {}
    }
}

/// Blocks of text with one blank line between.
#[derive(Default)]
struct Blocks(Vec<String>);

impl Blocks {
    fn line(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }

    fn block(&mut self, text: Option<&str>) {
        self.0.extend(text.map(str::trim_end).filter(|text| !text.is_empty()).map(str::to_owned));
    }

    fn finish(self) -> String {
        self.0.join("\n\n")
    }
}
