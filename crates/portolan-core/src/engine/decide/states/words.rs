//! The texts for models: the objective, the input, and why an attempt failed.

use serde_json::Value;

use super::StateDecision;
use crate::graph::{KeyResultCheck, State};
use crate::run::KeyResultOutcome;
use crate::value::NodeId;

/// The maximum length of a tool's result that a model sees, in bytes: a longer one would fill its context.
pub(super) const MAX_TOOL_TEXT: usize = 64 << 10;
/// The maximum length of a reason or evidence that a model sees, in bytes.
const MAX_REASON: usize = 4 << 10;
/// The maximum length of the detail of a fault, in bytes.
pub(super) const MAX_DETAIL: usize = 8 << 10;

/// Returns a value as a model reads it: text as it is, anything else as JSON.
pub(in crate::engine) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the beginning of a text, and how much was cut off.
pub(super) fn clipped(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max);
    format!("{}… [cut: {} of {} bytes are shown]", &text[..end], end, text.len())
}

/// Returns the default system message.
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

/// Returns the default prompt.
pub(super) fn prompt(state: &State, input: &Value) -> String {
    if is_nothing(input) { state.objective.clone() } else { text_of(input) }
}

/// Checks whether an input is empty.
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

/// Returns the prompt of a new conversation that follows an earlier attempt.
pub(super) fn retry_prompt(prompt: &str, output: &str) -> String {
    let output = clipped(output, MAX_TOOL_TEXT);
    format!("{prompt}\n\nThis was attempted before. The result was:\n<previous_result>\n{output}\n</previous_result>")
}

/// Returns why the last attempt failed, for the next one; `None` if there was none.
pub(super) fn feedback(working: &StateDecision<'_, '_>, advice: Option<&str>) -> Option<String> {
    let mut text = feedback_of(working)?;
    if let Some(advice) = advice {
        text.push_str(&format!("\n\nA person adds: {advice}"));
    }
    Some(text)
}

/// Returns the same without a person's advice.
pub(super) fn feedback_of(working: &StateDecision<'_, '_>) -> Option<String> {
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

/// Returns the unmet key results as text for people.
pub(super) fn lacks(state: &State, found: &[KeyResultOutcome]) -> String {
    let unmet = found.iter().filter(|found| !found.met);
    let descriptions: Vec<String> = unmet
        .map(|found| match found.reason.is_empty() {
            true => format!("`{}`", found.name),
            false => format!("`{}` ({})", found.name, clipped(&found.reason, 300)),
        })
        .collect();
    if descriptions.is_empty() && state.key_results.iter().any(|result| matches!(result.by, KeyResultCheck::Judge)) {
        return "the judged key results".to_owned();
    }
    descriptions.join(", ")
}
