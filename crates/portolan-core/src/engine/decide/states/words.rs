//! What models are told: the objective, the input, and why an attempt did not hold.

use serde_json::Value;

use super::Working;
use crate::graph::{KeyResultCheck, State};
use crate::run::KeyResultOutcome;
use crate::value::NodeId;

/// The longest text of a tool that a model is shown, in bytes: what is longer would leave it no room to work.
pub(super) const MAX_TOOL_TEXT: usize = 64 << 10;
/// The longest reason or evidence that a model is shown, in bytes.
const MAX_REASON: usize = 4 << 10;
/// The longest detail of a fault, in bytes.
pub(super) const MAX_DETAIL: usize = 8 << 10;

/// A value as a model reads it: a text as it is, anything else as JSON.
pub(in crate::engine) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The beginning of a text, and how much was left out.
pub(super) fn clipped(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max);
    format!("{}… [cut: {} of {} bytes are shown]", &text[..end], end, text.len())
}

/// What a model is told first.
pub(super) fn system(state: &State, node: &NodeId) -> String {
    let mut text = format!("You work on the step `{node}`");
    if state.purpose.is_empty() {
        text.push('.');
    } else {
        text.push_str(&format!(" of a piece of work that is for this: {}", state.purpose));
    }
    text.push_str(&format!("\n\nThe objective of this step: {}", state.objective));
    if !state.key_results.is_empty() {
        text.push_str("\n\nYour answer is the result of the step. It is checked, and all of this must hold of it:");
        for result in &state.key_results {
            text.push_str(&format!("\n- {}: {}", result.name.value, result.description));
        }
    }
    text
}

/// What a model is asked where the definition does not say.
pub(super) fn prompt(state: &State, input: &Value) -> String {
    if is_nothing(input) { state.objective.clone() } else { text_of(input) }
}

/// What is no input to speak of: there is nothing in it.
fn is_nothing(input: &Value) -> bool {
    match input {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) => false,
    }
}

/// A prompt for a new conversation about what was attempted before.
pub(super) fn told_again(prompt: &str, output: &str) -> String {
    let output = clipped(output, MAX_TOOL_TEXT);
    format!("{prompt}\n\nThis was attempted before. The result was:\n<previous_result>\n{output}\n</previous_result>")
}

/// Why the last attempt did not hold, for the next one; nothing where there was none.
pub(super) fn feedback(working: &Working<'_, '_>, advice: Option<&str>) -> Option<String> {
    let mut text = feedback_of(working)?;
    if let Some(advice) = advice {
        text.push_str(&format!("\n\nA person adds: {advice}"));
    }
    Some(text)
}

/// The same without what a person has added.
pub(super) fn feedback_of(working: &Working<'_, '_>) -> Option<String> {
    let last = working.talk.failed.last()?;
    let made = working.talk.failed.len();
    let mut text = format!("The result was not accepted (attempt {made} of {}).", working.allowed());
    let unmet: Vec<&KeyResultOutcome> = last.found.iter().filter(|found| !found.met).collect();
    if !unmet.is_empty() {
        text.push_str(" Not met:");
    }
    for found in unmet {
        text.push_str(&format!("\n- {}: {}", found.name, described(working.state, found)));
        if !found.reason.is_empty() {
            text.push_str(&format!("\n  reason: {}", clipped(&found.reason, MAX_REASON)));
        }
        if !found.evidence.is_empty() {
            text.push_str(&format!("\n  evidence: {}", clipped(&found.evidence, MAX_REASON)));
        }
    }
    let met: Vec<&str> = last.found.iter().filter(|found| found.met).map(|found| found.name.as_str()).collect();
    if !met.is_empty() {
        text.push_str(&format!("\nMet, and to stay so: {}.", met.join(", ")));
    }
    text.push_str("\nGive the whole result again, corrected. All of it is checked anew.");
    Some(text)
}

fn described<'s>(state: &'s State, found: &KeyResultOutcome) -> &'s str {
    let result = state.key_results.iter().find(|result| result.name.value == found.name);
    result.map_or("every answer must have it", |result| &result.description)
}

/// What is lacking, for people.
pub(super) fn lacks(state: &State, found: &[KeyResultOutcome]) -> String {
    let unmet = found.iter().filter(|found| !found.met);
    let told: Vec<String> = unmet
        .map(|found| match found.reason.is_empty() {
            true => format!("`{}`", found.name),
            false => format!("`{}` ({})", found.name, clipped(&found.reason, 300)),
        })
        .collect();
    if told.is_empty() && state.key_results.iter().any(|result| matches!(result.by, KeyResultCheck::Judge)) {
        return "what is judged".to_owned();
    }
    told.join(", ")
}
