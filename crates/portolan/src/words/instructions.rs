//! Instructions in prose. Clients of Navigator match on its headings and arrow lines: `## Queued`, `→ Call Start()`, `→
//! Call Next`, `Branches:`, `Evaluate branch results`, `## Complete`, `## HITL`, `## Failed`.

use portolan_core::graph::{EndResult, Escalation};
use portolan_core::present::{AnsweredBy, AskReason, BlockedBy, Fork, OpenQuestion, Point, Progress, Situation};
use portolan_core::run::Feedback;
use portolan_runtime::clock::rfc3339;

use super::about::{about, checks, given, tools};

/// Returns the instructions for a situation. `answer_by` is the command with which a person answers.
pub(super) fn brief(situation: &Situation, answer_by: &str) -> String {
    let (position, description) = (&situation.position, situation.work.description.as_deref());
    let mut text = Blocks::default();
    match &situation.point {
        Point::Queued => {
            text.line("## Queued");
            text.block(description);
            text.line("→ Call Start() to begin work.");
        }
        Point::Work => work(&mut text, situation),
        Point::Checking { outcome, settled } => {
            heading(&mut text, situation, &position.step_name);
            text.line(format!(
                "`{outcome}` was reported; {settled} of {} acceptance checks are settled.",
                situation.checks.len()
            ));
            if let Some(now) = &situation.checking {
                let line = now.line.as_ref().map_or_else(String::new, |line| format!(": {line}"));
                text.line(format!("`{}` has been running since {}{line}", now.check, rfc3339(now.since)));
            }
            text.line(format!("→ If the others were interrupted, call Next({outcome}) again to perform them."));
        }
        Point::Question => waiting(&mut text, situation, answer_by),
        Point::Forked => {
            fork(&mut text, situation);
            text.line(
                "→ Work on the open branches, in parallel if you can; call Next(passed|failed) with the \
                `branch` of each when it is complete.",
            );
        }
        Point::Gathering => {
            fork(&mut text, situation);
            text.line(
                "→ Create a child task for each branch, beside this task and with its id as \
                `parentTaskId`; lead each to the join; then call Next on this task. It takes the outcome that \
                results from the branches.",
            );
        }
        Point::Items => {
            text.line(format!("## {}", position.step));
            text.line(
                "→ Work on the items in progress, in parallel if you can; call Next(passed|failed) with \
                the `branch` of each when it is complete.",
            );
        }
        Point::Held { told } => {
            text.line(format!("## {}", position.step));
            text.line(format!("{told}."));
            text.line("A person decides how it continues: `portolan runs resume` shows the possible answers.");
        }
        Point::Modelled => {
            text.line(format!("## {}", position.step));
            text.line(
                "A model works on this step if the run is driven with one. There is nothing to do but wait; if \
                nothing happens, a person must drive it with `portolan runs resume --model`.",
            );
        }
        Point::Automatic => {
            text.line(format!("## {}", position.step));
            text.line("The engine executes this step. There is nothing to do but wait.");
        }
        Point::Inside => text.line(format!("## {}", position.step)),
        Point::Arrived { outcome } => {
            text.line(format!("## {}", position.step_name));
            text.block(description);
            text.line(format!("This branch is done: {outcome}."));
            text.line("→ Evaluate branch results on the parent task: call Next there when all branches are done.");
        }
        Point::Ended { result, escalation } => ended(&mut text, situation, *result, *escalation),
    }
    text.finish()
}

/// Returns the question for a person, without the heading and the lines for the agent.
pub(super) fn question(situation: &Situation) -> String {
    let mut text = Blocks::default();
    asked(&mut text, situation);
    text.finish()
}

/// Returns the question without its options and without the failures before it, for a reader who is shown them apart.
pub(super) fn question_alone(situation: &Situation) -> String {
    let mut text = Blocks::default();
    what_is_asked(&mut text, situation);
    if let Some(question) = own_question(situation) {
        fallback(&mut text, question);
    }
    text.finish()
}

fn work(text: &mut Blocks, situation: &Situation) {
    let work = &situation.work;
    heading(text, situation, &work.name);
    text.block(given(situation).as_deref());
    if !work.context_files.is_empty() {
        text.line(format!("Context: {}", work.context_files.join(", ")));
    }
    text.block(work.description.as_deref());
    text.block(work.instructions.as_deref());
    text.block(tools(situation).as_deref());
    text.block(checks(situation).as_deref());
    feedback(text, situation.feedback.as_ref());
    let mut last = Vec::new();
    last.extend(situation.position.agent.as_ref().map(|agent| format!("Agent: {agent}")));
    last.extend(work.retries.map(|most| format!("Retries: {most}")));
    let spent = situation.position.retries.as_ref().filter(|retries| retries.used > 0);
    last.extend(spent.map(|retries| format!("Retry {} of {} for `{}`", retries.used, retries.budget, retries.gate)));
    text.block(Some(&last.join("\n")));
    about(situation).iter().for_each(|about| text.block(Some(about)));
    text.line(format!("→ Call Next({}) when complete.", outcomes(situation)));
}

/// Returns the outcomes that may be reported at the position.
fn outcomes(situation: &Situation) -> String {
    let open = situation.offers.iter().filter(|offer| offer.blocked_by != Some(BlockedBy::Question));
    open.filter_map(|offer| offer.outcome().map(ToString::to_string)).collect::<Vec<_>>().join("|")
}

fn heading(text: &mut Blocks, situation: &Situation, name: &str) {
    text.line(match &situation.position.stage {
        Some(stage) => format!("## {stage} · {name}"),
        None => format!("## {name}"),
    });
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

fn waiting(text: &mut Blocks, situation: &Situation, answer_by: &str) {
    text.line("## HITL");
    asked(text, situation);
    let answers = outcomes(situation);
    text.line(match situation.question.as_ref().map(|question| question.answered_by) {
        None | Some(AnsweredBy::Agent) => {
            format!("A person must decide. Stop, show them this, and relay their answer.\n→ Call Next({answers}) with what the person says.")
        }
        Some(AnsweredBy::Client) => {
            "A person must decide, and your own answer does not count.\n→ Call Next(passed): the person is asked in your client's dialog.".to_owned()
        }
        Some(AnsweredBy::Person) => {
            format!("A person must decide, and your own answer does not count. Stop until they have run `{answer_by}`.")
        }
    });
}

fn asked(text: &mut Blocks, situation: &Situation) {
    what_is_asked(text, situation);
    if let Some(question) = own_question(situation) {
        options(text, question);
        fallback(text, question);
    }
    feedback(text, situation.feedback.as_ref());
}

fn what_is_asked(text: &mut Blocks, situation: &Situation) {
    text.block(given(situation).as_deref());
    text.block(situation.work.description.as_deref());
    text.block(situation.work.instructions.as_deref());
    if let Some(question) = situation.question.as_ref().filter(|question| question.why != AskReason::Step) {
        text.block(Some(&question.asked.message));
    }
}

/// Returns the workflow's own question, whose options have labels.
fn own_question(situation: &Situation) -> Option<&OpenQuestion> {
    situation.question.as_ref().filter(|question| question.why == AskReason::Asked)
}

fn options(text: &mut Blocks, question: &OpenQuestion) {
    let described = |description: &Option<String>| match description {
        Some(description) => format!(" ({description})"),
        None => String::new(),
    };
    let options = question.asked.options.iter();
    let options = options.map(|it| format!("- {}: {}{}", it.id, it.label, described(&it.description)));
    text.block(Some(&options.collect::<Vec<_>>().join("\n")));
}

fn fallback(text: &mut Blocks, question: &OpenQuestion) {
    if let Some(fallback) = &question.fallback {
        let seconds = fallback.after_ms.div_ceil(1_000);
        text.line(format!(
            "If there is no answer {seconds} s after it was asked, it counts as answered with `{}`.",
            fallback.option
        ));
    }
}

fn fork(text: &mut Blocks, situation: &Situation) {
    text.line(format!("## {}", situation.position.step_name));
    text.block(situation.work.description.as_deref());
    feedback(text, situation.feedback.as_ref());
    let Some(Fork { join, max_concurrency, branches }) = &situation.fork else { return };
    let mut lines = vec!["Branches:".to_owned()];
    for branch in branches {
        let label = branch.label.as_ref().map_or_else(String::new, |label| format!(" ({label})"));
        lines.push(format!("- {}: {}{label}{}", branch.id, branch.name, progress(&branch.progress)));
    }
    text.block(Some(&lines.join("\n")));
    if let Some(join) = join {
        let most = max_concurrency.map_or_else(String::new, |most| format!("\nMax concurrency: {most}"));
        text.block(Some(&format!("Join: {join}{most}")));
    }
}

fn progress(branch: &Progress) -> String {
    match branch {
        Progress::Held => " · held back".to_owned(),
        Progress::Missing => String::new(),
        Progress::At { step, waiting: true } => format!(" · at `{step}`, waiting for a person"),
        Progress::At { step, waiting: false } => format!(" · at `{step}`"),
        Progress::Done { outcome } => format!(" · {outcome}"),
        Progress::Cancelled => " · cancelled".to_owned(),
    }
}

fn ended(text: &mut Blocks, situation: &Situation, result: EndResult, escalation: Option<Escalation>) {
    text.line(match (result, escalation) {
        (EndResult::Success, _) => "## Complete",
        (_, Some(Escalation::Hitl)) => "## HITL",
        (EndResult::Cancelled, _) => "## Cancelled",
        (EndResult::Blocked, _) => "## Blocked",
        (EndResult::Failure, _) => "## Failed",
    });
    text.block(situation.work.description.as_deref());
    feedback(text, situation.feedback.as_ref());
    let name = &situation.position.step_name;
    text.line(match result {
        EndResult::Success => "The run is complete. Nothing is left to do.".to_owned(),
        EndResult::Failure => {
            format!("The run failed at `{name}`. Tell the user what was tried and what prevents success.")
        }
        EndResult::Blocked => format!("The run ended blocked at `{name}`. Tell the user what must change first."),
        EndResult::Cancelled => "The run was cancelled. Stop working on it.".to_owned(),
    });
    match escalation {
        Some(Escalation::Hitl) => text.line("A person must be told."),
        Some(Escalation::Alert) => text.line("An alert must be raised with those who watch alerts."),
        Some(Escalation::Ticket) => text.line("A ticket must be opened for it."),
        None => {}
    }
}

/// Blocks of text, separated by blank lines.
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
