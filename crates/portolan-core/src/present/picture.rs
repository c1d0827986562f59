//! The common parts of all pictures of a workflow: one-line labels, the look of nodes, and the drawn edges.
//!
//! It knows no picture's syntax: each picture does its own escaping.

use std::collections::BTreeSet;

use super::conversation;
use crate::graph::{Edge, EndResult, Escalation, Flow, Kind, LoopKind, Node, Trigger};
use crate::value::{ANSWERED, NodeId};

/// The maximum length of a label, in characters.
pub(super) const LABEL: usize = 40;

/// The look of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Start,
    Success,
    /// A person is asked.
    Person,
    /// It ends without success.
    Failure,
    Gate,
    /// Branches open or come together.
    ForkJoin,
    Subflow,
    Plain,
}

impl Look {
    pub(super) fn of(kind: &Kind) -> Look {
        match kind {
            Kind::Start => Look::Start,
            Kind::Checkpoint { .. } | Kind::End { escalation: Some(Escalation::Hitl), .. } => Look::Person,
            Kind::End { result: EndResult::Success, .. } => Look::Success,
            Kind::End { .. } => Look::Failure,
            Kind::Work { gate: true, .. } => Look::Gate,
            Kind::Work { gate: false, .. } => Look::Plain,
            Kind::Fork { .. } | Kind::Join { .. } => Look::ForkJoin,
            Kind::Subflow { .. } | Kind::Each(_) => Look::Subflow,
            Kind::Switch | Kind::Loop(_) => Look::Gate,
            Kind::Compute(_) | Kind::Call(_) | Kind::State(_) | Kind::Activity | Kind::Repeat { .. } => Look::Plain,
        }
    }
}

/// A drawn edge.
pub(super) struct Line<'w> {
    pub(super) from: &'w NodeId,
    pub(super) to: &'w NodeId,
    pub(super) text: Option<String>,
    pub(super) failed: bool,
}

/// Returns the edges as written, then those that a repair added, so that a picture shows every way of a run.
pub(super) fn lines(flow: &Flow) -> Vec<Line<'_>> {
    let known = |id: &NodeId| flow.steps.contains_key(id);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for edge in flow.edges.iter().filter(|edge| known(&edge.from.value) && known(&edge.to.value)) {
        let outcome = edge.on.outcome();
        let text = text_of(edge, flow.steps.get(&edge.from.value).map(|step| &step.node));
        lines.push(Line {
            from: &edge.from.value,
            to: &edge.to.value,
            text,
            failed: outcome.is_some_and(|on| on.is_failed()),
        });
    }
    let written: BTreeSet<_> = lines.iter().map(|line| (line.from, line.to)).collect();
    let added = flow.steps.values().flat_map(|step| step.exits.on.iter().map(|(_, to)| (&step.node.id, to)));
    let added: Vec<_> = added.filter(|way| !written.contains(way)).collect();
    lines.extend(added.into_iter().map(|(from, to)| Line { from, to, text: None, failed: false }));
    lines
}

/// Returns the text of an edge that leaves a node: its label, else its guard, else its answer in the words of the question,
/// else its outcome.
pub(super) fn text_of(edge: &Edge, from: Option<&Node>) -> Option<String> {
    let label = edge.label.as_deref().map(one_line).filter(|label| !label.is_empty());
    let guard = || match &edge.on {
        // The variable stands for an answer, and no text of the definition names it.
        Trigger::When(guard) if guard.value.text().starts_with(ANSWERED) => Some("not answered before".to_owned()),
        Trigger::When(guard) => Some(cut(&one_line(&guard.value.text()), LABEL)),
        Trigger::Outcome(_) | Trigger::Done => None,
    };
    let answer = || match from.map(|node| &node.kind) {
        Some(Kind::Checkpoint { question: Some(question), .. }) => question.choice(edge.on.outcome()?),
        _ => None,
    };
    let answer = || answer().map(|choice| one_line(&choice.label)).filter(|label| !label.is_empty());
    let outcome = || edge.on.outcome().map(|on| one_line(on.as_str())).filter(|on| !on.is_empty());
    label.or_else(guard).or_else(answer).or_else(outcome)
}

/// Returns the label of a node: its name, else its description, else its identifier.
pub(super) fn label(node: &Node) -> String {
    let name = one_line(&node.name);
    let named = !name.is_empty() && node.name != node.id.as_str();
    let description = || node.brief.description.as_deref().map(one_line).filter(|text| !text.is_empty());
    let label = if named { name } else { description().unwrap_or_else(|| one_line(node.id.as_str())) };
    if label.is_empty() { "(no name)".to_owned() } else { cut(&label, LABEL) }
}

/// Returns the small print under a label: emoji, agent, what it runs, and number of retries.
pub(super) fn small_print(node: &Node) -> String {
    let runs = match &node.kind {
        Kind::Subflow { workflow, .. } => Some(format!("runs {}", workflow.value)),
        Kind::Each(each) => Some(format!("runs {} for each item", each.workflow.value)),
        Kind::Call(call) => Some(format!("calls {} of {}", call.tool.value, call.server.value)),
        Kind::State(state) => conversation::small_print(state),
        Kind::Loop(looping) => Some(match &looping.kind {
            LoopKind::ForEach { over, variable } => format!("each {variable} of {}", over.text()),
            LoopKind::While(condition) => format!("while {}", condition.text()),
            LoopKind::DoWhile(condition) => format!("again while {}", condition.text()),
        }),
        Kind::Work { .. } | Kind::Compute(_) | Kind::Switch | Kind::Activity | Kind::Repeat { .. } => None,
        Kind::Start | Kind::End { .. } | Kind::Checkpoint { .. } | Kind::Fork { .. } | Kind::Join { .. } => {
            return String::new();
        }
    };
    let retries = node.max_retries.as_ref().filter(|count| count.value > 0).map(|count| format!("↻{}", count.value));
    let parts = [node.brief.emoji.clone(), node.brief.agent.clone(), runs, retries];
    let parts = parts.iter().flatten().map(|part| cut(&one_line(part), LABEL)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

/// Returns the text on one line: control characters and every run of white space become one space.
pub(super) fn one_line(text: &str) -> String {
    // The byte order mark is white space in JavaScript, but not in Unicode.
    let is_gap = |c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}';
    text.split(is_gap).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Shortens a text to `limit` characters with `...` at the end.
pub(super) fn cut(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    text.chars().take(limit - 3).chain("...".chars()).collect()
}
