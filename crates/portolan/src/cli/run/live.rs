//! The live progress of states: each attempt, each tool, each key result, and the cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::chat::{Arguments, Message, Role};
use portolan_core::diagnostic::clip;
use portolan_core::graph::{Kind, State, Workflow};
use portolan_core::present::{Redaction, way};
use portolan_core::run::{Attempt, KeyResultOutcome, ModelActivity, ModelStateChange, Spend, ToolCallResult};
use portolan_core::value::NodeId;
use portolan_runtime::drive::WorkingStateChange;

use crate::cli::Output;
use crate::cli::output::{Paint, one_line};

/// The progress of states so far.
pub(super) struct Live {
    output: Output,
    workflow: Arc<Workflow>,
    hidden: Redaction,
    /// The pending tool calls, by state and call.
    pending: BTreeMap<(String, String), String>,
    /// The current attempt of each state.
    attempts: BTreeMap<String, u32>,
    /// The usage before the current batch of changes, and with it.
    before: Spend,
    spent: Spend,
}

impl Live {
    pub(super) fn new(output: Output, workflow: Arc<Workflow>, hidden: Redaction) -> Live {
        let (pending, attempts, none) = (BTreeMap::new(), BTreeMap::new(), Spend::default());
        Live { output, workflow, hidden, pending, attempts, before: none, spent: none }
    }

    /// Returns whether anything is hidden.
    pub(super) fn hides(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Returns the lines for a change. The events of the run have everything else.
    pub(super) fn lines(&mut self, talked: &WorkingStateChange<'_>) -> Vec<String> {
        let name = way(talked.path, talked.node);
        // Changes of one batch come one by one, each with the usage before all of them.
        if talked.spent != self.before {
            (self.before, self.spent) = (talked.spent, talked.spent);
        }
        match talked.change {
            ModelStateChange::Begun { attempt, .. } => {
                self.attempts.insert(name.clone(), *attempt);
                vec![format!("▸ {}  attempt {}", one_line(&name), self.attempt(&name, talked.node))]
            }
            ModelStateChange::Message(message) if message.role == Role::Assistant => self.asks(&name, talked, message),
            ModelStateChange::ToolDone { call, done } => self.used(&name, talked, (call, done)).into_iter().collect(),
            ModelStateChange::Doing(ModelActivity::Held { why, .. }) => {
                let why = self.hidden.text(&clip(&why.text()));
                vec![self.output.paint_error(Paint::Warn, &format!("‖ {}  waits: {}", one_line(&name), one_line(&why)))]
            }
            ModelStateChange::Failed(attempt) => self.over(&name, talked, attempt, false),
            ModelStateChange::Held(attempt) => self.over(&name, talked, attempt, true),
            ModelStateChange::Spent(spend) => {
                self.spent = self.spent.and(*spend);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the progress of a state, for the line of running nodes.
    pub(super) fn running(&self, name: &str) -> Option<String> {
        let attempt = self.attempts.get(name)?;
        let cost = cost(&self.spent).map(|cost| format!(", {cost}")).unwrap_or_default();
        Some(format!("attempt {}, {} tokens{cost}", attempt + 1, grouped(self.spent.tokens())))
    }

    /// Returns the usage of all states together, or `None` if no model was called.
    pub(super) fn total(&self) -> Option<String> {
        (self.spent.model_calls > 0).then(|| spending(&self.spent))
    }

    fn attempt(&self, name: &str, node: &NodeId) -> String {
        let number = self.attempts.get(name).map_or(1, |attempt| attempt + 1);
        match self.state(node) {
            Some(state) if state.max_retries > 0 => format!("{number} of {}", state.max_retries.saturating_add(1)),
            _ => number.to_string(),
        }
    }

    fn state(&self, node: &NodeId) -> Option<&State> {
        let mut flows = self.workflow.flows();
        flows.find_map(|(_, flow)| match &flow.steps.get(node)?.node.kind {
            Kind::State(state) => Some(&**state),
            _ => None,
        })
    }

    fn asks(&mut self, name: &str, talked: &WorkingStateChange<'_>, message: &Message) -> Vec<String> {
        let mut lines = Vec::new();
        for call in &message.tool_calls {
            self.pending.insert((name.to_owned(), call.id.clone()), call.name.clone());
            let arguments = match &call.arguments {
                Arguments::Json(value) => self.hidden.value(value).to_string(),
                Arguments::Text(text) => self.hidden.text(text),
            };
            lines.push(one_line(&format!("{}→ {} {}", indent(talked), call.name, clip(&arguments))));
        }
        lines
    }

    fn used(
        &mut self,
        name: &str,
        talked: &WorkingStateChange<'_>,
        (call, done): (&str, &ToolCallResult),
    ) -> Option<String> {
        let indent = indent(talked);
        let tool = self.pending.remove(&(name.to_owned(), call.to_owned())).unwrap_or_else(|| call.to_owned());
        match done {
            ToolCallResult::Output(_) => None,
            ToolCallResult::Failed(why) => {
                let why = self.hidden.text(&clip(why));
                Some(self.output.paint_error(Paint::Bad, &one_line(&format!("{indent}✗ {tool}  {why}"))))
            }
            ToolCallResult::Breaks(_) => Some(one_line(&format!("{indent}‖ {tool} stops the run"))),
            ToolCallResult::Waits(_) => Some(one_line(&format!("{indent}‖ {tool} waits for an answer"))),
        }
    }

    /// Returns the lines for the end of an attempt: each key result, and the usage so far.
    fn over(&mut self, name: &str, talked: &WorkingStateChange<'_>, attempt: &Attempt, held: bool) -> Vec<String> {
        let mut lines: Vec<String> = attempt.found.iter().map(|found| self.result(talked, found)).collect();
        let spent = self.total().map(|total| format!("; {total}")).unwrap_or_default();
        let name = one_line(name);
        lines.push(match held {
            true => {
                let all = attempt.found.iter().all(|found| found.met);
                let word = if all { "reached" } else { "accepted as it is" };
                self.output.paint_error(Paint::Good, &format!("✓ {name}  {word}{spent}"))
            }
            false => {
                let number = self.attempt(&name, talked.node);
                self.output.paint_error(Paint::Bad, &format!("✗ {name}  attempt {number} was not accepted{spent}"))
            }
        });
        lines
    }

    fn result(&self, talked: &WorkingStateChange<'_>, found: &KeyResultOutcome) -> String {
        let (mark, paint) = if found.met { ("✓", Paint::Good) } else { ("✗", Paint::Bad) };
        let reason = self.hidden.text(&clip(&found.reason));
        let reason = if reason.is_empty() { String::new() } else { format!("  {}", one_line(&reason)) };
        self.output.paint_error(paint, &format!("{}{mark} {}{reason}", indent(talked), one_line(&found.name)))
    }
}

/// Returns the prefix of a state's lines. In a branch it has the state's name, since states run in parallel.
fn indent(talked: &WorkingStateChange<'_>) -> String {
    match talked.path.0.as_slice() {
        [] => "  ".to_owned(),
        _ => format!("  {}: ", one_line(&way(talked.path, talked.node))),
    }
}

/// Formats the usage.
fn spending(spend: &Spend) -> String {
    let mut parts = vec![counted(spend.model_calls, "model call")];
    if spend.tool_calls > 0 {
        parts.push(counted(spend.tool_calls, "tool call"));
    }
    let unknown = if spend.unknown_tokens > 0 { " and more" } else { "" };
    parts.push(match (spend.tokens(), spend.unknown_tokens) {
        (0, unknown) if unknown > 0 => "tokens unknown".to_owned(),
        (tokens, _) => format!("{} tokens{unknown}", grouped(tokens)),
    });
    parts.push(cost(spend).unwrap_or_else(|| "cost unknown".to_owned()));
    parts.join(", ")
}

/// Formats the cost as far as it is known. Returns `None` if no answer has a price.
fn cost(spend: &Spend) -> Option<String> {
    let dollars = || format!("${}.{:06}", spend.microdollars / 1_000_000, spend.microdollars % 1_000_000);
    let short = || {
        let text = dollars();
        let end = text.trim_end_matches('0').len().max(text.len().saturating_sub(4));
        text[..end].to_owned()
    };
    match (spend.microdollars, spend.unknown_costs) {
        (0, unknown) if unknown > 0 => None,
        (_, 0) => Some(short()),
        (_, unknown) => Some(format!("{} and {} without a price", short(), counted(unknown, "answer"))),
    }
}

fn counted(count: u64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {what}{end}", grouped(count))
}

/// Formats a number as `12,345`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_up_is_told_as_far_as_it_is_known() {
        let spend = Spend { model_calls: 1, input_tokens: 1_200, output_tokens: 34, ..Spend::default() };
        assert_eq!(spending(&spend), "1 model call, 1,234 tokens, $0.00");
        let spend = Spend { microdollars: 1_230_400, tool_calls: 2, model_calls: 3, ..spend };
        assert_eq!(spending(&spend), "3 model calls, 2 tool calls, 1,234 tokens, $1.2304");
        let lies = Spend { unknown_costs: 1, unknown_tokens: 1, ..spend };
        let told = "3 model calls, 2 tool calls, 1,234 tokens and more, $1.2304 and 1 answer without a price";
        assert_eq!(spending(&lies), told);
        let nothing = Spend { model_calls: 2, unknown_costs: 2, unknown_tokens: 2, ..Spend::default() };
        assert_eq!(spending(&nothing), "2 model calls, tokens unknown, cost unknown");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
