//! Describes states at work: who was asked, the result, and what they wait for.

use super::picture::one_line;
use crate::chat::ModelAnswer;
use crate::diagnostic::{clip, list};
use crate::graph::{State, Worker};
use crate::run::Resume;
use crate::run::{Attempt, Completion, KeyResultOutcome, ModelActivity, ModelState, ModelStateChange, ToolCallResult};

/// Describes the progress of a state.
pub fn sentence(talk: &ModelState) -> String {
    let attempt = format!("attempt {}", talk.attempt + 1);
    match &talk.doing {
        ModelActivity::Asking(patience) if patience.failures > 0 => {
            format!("{attempt}: the model does not answer and is asked again ({})", patience.failures)
        }
        ModelActivity::Asking(_) => format!("{attempt}: asking"),
        ModelActivity::Using { settled, .. } => {
            let total = talk.messages.last().map_or(0, |message| message.tool_calls.len());
            format!("{attempt}: {} of {total} tools are done", settled.len())
        }
        ModelActivity::Checking { settled, .. } => {
            format!("{attempt}: running the checks outside the run ({} done)", settled.len())
        }
        ModelActivity::Judging { votes, .. } => {
            let answered = votes.iter().flatten().count();
            format!("{attempt}: {answered} of {} judges have answered", votes.len())
        }
        ModelActivity::Held { why, .. } => format!("{attempt} waits: {}", why.text()),
    }
}

/// Returns the small print of a state: its model, number of key results, and tools.
pub(super) fn small_print(state: &State) -> Option<String> {
    let mut parts = Vec::new();
    match &state.work {
        Worker::Model(asking) => parts.extend(asking.model.clone()),
        Worker::Nobody => {}
        Worker::Function(function) => parts.push(function.value.clone()),
    }
    if !state.key_results.is_empty() {
        parts.push(format!("KR {}", state.key_results.len()));
    }
    if !state.tools.is_empty() {
        parts.push(format!("tools {}", state.tools.len()));
    }
    (!parts.is_empty()).then(|| one_line(&parts.join(", ")))
}

pub(super) fn completed(vote: Option<u32>, reply: &Completion) -> String {
    let who = vote.map_or_else(|| "the model".to_owned(), |vote| format!("judge {}", vote + 1));
    match reply {
        Completion::Answer(answer) => format!("heard {who}{}", took(answer)),
        Completion::Output { .. } => "took the result of a function".to_owned(),
        Completion::Unanswered(why) => format!("got no answer from {who}: {}", clip(&why.message)),
    }
}

fn took(answer: &ModelAnswer) -> String {
    let tools: Vec<&str> = answer.message.tool_calls.iter().map(|call| call.name.as_str()).collect();
    let tools = if tools.is_empty() { String::new() } else { format!(", who asks for {}", list(&tools)) };
    match (answer.usage.input, answer.usage.output) {
        (Some(input), Some(output)) => format!(" ({input} tokens in, {output} out){tools}"),
        _ => tools,
    }
}

pub(super) fn tool_done(call: &str, done: &ToolCallResult) -> String {
    match done {
        ToolCallResult::Output(_) => format!("used the tool of call `{call}`"),
        ToolCallResult::Failed(why) => format!("could not use the tool of call `{call}`: {}", clip(why)),
        ToolCallResult::Breaks(_) => format!("used the tool of call `{call}`, which stops the run"),
        ToolCallResult::Waits(_) => format!("used the tool of call `{call}`, which waits for an answer"),
    }
}

pub(super) fn resumed(with: &Resume) -> String {
    match with {
        Resume::Answer(answer) => format!("answered {}", clip(&answer.to_string())),
        Resume::GoOn => "let it continue".to_owned(),
        Resume::Accept => "accepted the best attempt".to_owned(),
        Resume::GiveUp => "gave up".to_owned(),
    }
}

pub(super) fn describe_change(change: &ModelStateChange) -> Option<String> {
    Some(match change {
        ModelStateChange::Begun { attempt, .. } => format!("attempt {}", attempt + 1),
        ModelStateChange::Failed(attempt) => format!("not accepted: {}", list_key_results(attempt, false)),
        ModelStateChange::Held(attempt) => {
            let (met, unmet) = (list_key_results(attempt, true), list_key_results(attempt, false));
            let met = if met.is_empty() { met } else { format!(": {met}") };
            let unmet = if unmet.is_empty() { unmet } else { format!(", without {unmet}") };
            format!("accepted{met}{unmet}")
        }
        ModelStateChange::Doing(ModelActivity::Held { why, .. }) => format!("waits: {}", why.text()),
        ModelStateChange::Doing(ModelActivity::Judging { votes, .. }) => format!("{} to judge", votes.len()),
        ModelStateChange::Doing(_)
        | ModelStateChange::Message(_)
        | ModelStateChange::Asked { .. }
        | ModelStateChange::ToolDone { .. } => return None,
        ModelStateChange::WorkflowBegun { frame, .. } => format!("`{}` began as a tool", frame.flow),
        ModelStateChange::Settled { .. } | ModelStateChange::Voted { .. } | ModelStateChange::Spent(_) => return None,
        ModelStateChange::Allowed { attempts } => format!("{attempts} attempts are allowed"),
        ModelStateChange::Granted { of, .. } => format!("more `{of}` may be used"),
        ModelStateChange::Undone => "what it wrote is undone".to_owned(),
    })
}

fn list_key_results(attempt: &Attempt, met: bool) -> String {
    let one = |found: &KeyResultOutcome| match found.reason.is_empty() {
        true => format!("`{}`", found.name),
        false => format!("`{}` ({})", found.name, clip(&found.reason)),
    };
    attempt.found.iter().filter(|found| found.met == met).map(one).collect::<Vec<_>>().join(", ")
}
