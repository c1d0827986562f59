//! The labelled facts about a node that the page shows beside its picture.

use portolan_core::graph::{
    Activity, Call, CheckBy, KeyResultCheck, Kind, LoopKind, Node, Question, State, Verification, Worker,
};
use portolan_core::source::{Tree, TreeKind};
use portolan_runtime::attachments::{Origins, ShownCheck};
use serde::Serialize;

/// A fact about a node.
#[derive(Debug, Serialize)]
pub(super) struct Fact {
    label: &'static str,
    text: String,
    /// Whether the text is code, such as an expression or a command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    code: bool,
}

/// The checks of a node before a run may leave it.
#[derive(Debug, Default, Serialize)]
pub(super) struct NodeChecks {
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<Verification>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<ShownCheck>,
}

impl NodeChecks {
    /// Returns the checks of a node in the flow `flow`.
    pub(super) fn of(flow: &str, node: &Node, origins: &Origins) -> NodeChecks {
        NodeChecks { verification: node.verification(), checks: origins.checks(flow, node) }
    }
}

#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, label: &'static str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.0.push(Fact { label, text, code: false });
        }
    }

    fn code(&mut self, label: &'static str, text: impl Into<String>) {
        self.0.push(Fact { label, text: text.into(), code: true });
    }

    fn list(&mut self, label: &'static str, items: &[String]) {
        self.add(label, items.join(", "));
    }
}

/// Returns the facts of a node.
pub(super) fn of_node(node: &Node) -> Vec<Fact> {
    let mut facts = Facts::default();
    facts.add("what for", node.brief.description.clone().unwrap_or_default());
    facts.add("instructions", node.brief.instructions.clone().unwrap_or_default());
    facts.add("done by", node.brief.agent.clone().unwrap_or_default());
    facts.add("stage", node.brief.stage.clone().unwrap_or_default());
    facts.list("read first", &node.brief.context_files);
    of_kind(&node.kind, &mut facts);
    if let Some(retries) = &node.max_retries {
        facts.add("retries", retries.value.to_string());
    }
    for (name, value) in &node.sets {
        facts.code("sets", format!("{name} = {value}"));
    }
    if let Some(tools) = &node.tools {
        facts.list("allowed tools", tools.allow.as_deref().unwrap_or_default());
        facts.list("denied tools", &tools.deny);
    }
    for field in node.call_rules.iter().flat_map(|rules| &rules.fields) {
        facts.list(field.0, &ids(&field.1));
    }
    if let Some(seat) = &node.seat {
        facts.list("required abilities", &seat.effectivities);
    }
    facts.0
}

/// Returns the ids of the objects in a list.
fn ids(list: &Tree) -> Vec<String> {
    let TreeKind::Array(items) = &list.kind else { return Vec::new() };
    let ids = items.iter().filter_map(|item| item.get("id")?.as_str());
    ids.map(str::to_owned).collect()
}

/// Returns the facts of an activity.
pub(super) fn of_activity(activity: &Activity) -> Vec<Fact> {
    let mut facts = Facts::default();
    facts.add("what for", activity.description.clone().unwrap_or_default());
    activity.rules.iter().for_each(|rule| facts.add("rule", rule.text.clone()));
    activity.outcome.iter().for_each(|outcome| facts.add("comes to", outcome.clone()));
    facts.list("done with", &activity.means);
    facts.list("makes", &activity.artifacts);
    facts.add("takes", activity.time.clone().unwrap_or_default());
    facts.0
}

fn of_kind(kind: &Kind, facts: &mut Facts) {
    match kind {
        Kind::Start | Kind::Activity | Kind::Switch => {}
        Kind::End { result, .. } => facts.add("ends as", result.word()),
        Kind::Checkpoint { question, .. } => question.iter().for_each(|question| asked(question, facts)),
        Kind::Work { outputs, .. } => {
            let outputs: Vec<String> = outputs.iter().map(|outcome| outcome.value.to_string()).collect();
            facts.list("outcomes", &outputs);
        }
        Kind::Fork { join, max_concurrency } => {
            facts.add("joins at", join.value.to_string());
            facts.add("at once", max_concurrency.map(|most| most.to_string()).unwrap_or_default());
        }
        Kind::Join { fork, strategy } => {
            facts.add("of", fork.value.to_string());
            facts.add("passes when", strategy.word());
        }
        Kind::Subflow { workflow, args, context } => {
            facts.add("runs", workflow.value.clone());
            args.iter().for_each(|args| facts.code("with", args.text()));
            facts.list("hands on", context);
        }
        Kind::Compute(expr) => facts.code("value", expr.text()),
        Kind::Loop(looping) => {
            match &looping.kind {
                LoopKind::ForEach { over, variable } => {
                    facts.code("each", format!("{variable} of {}", over.text()));
                }
                LoopKind::While(condition) => facts.code("while", condition.text()),
                LoopKind::DoWhile(condition) => facts.code("again while", condition.text()),
            }
            looping.stop.iter().for_each(|stop| facts.code("until", stop.text()));
        }
        Kind::Repeat { of } => facts.add("of", of.value.to_string()),
        Kind::Call(call) => called(call, facts),
        Kind::Each(each) => {
            facts.code("items", each.items.text());
            facts.add("runs", each.workflow.value.clone());
            each.args.iter().for_each(|args| facts.code("with", args.text()));
            facts.add("at once", each.concurrency.to_string());
        }
        Kind::State(state) => worked_on(state, facts),
    }
}

fn asked(question: &Question, facts: &mut Facts) {
    facts.add("asks", question.message.clone());
    for choice in &question.options {
        let more = choice.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        facts.add("answer", format!("{}{more}", choice.label));
    }
    if let Some(fallback) = &question.fallback {
        facts.add("answers itself", format!("{} after {} s", fallback.option, fallback.after_ms / 1_000));
    }
}

fn called(call: &Call, facts: &mut Facts) {
    facts.add("server", call.server.value.clone());
    facts.add("tool", call.tool.value.clone());
    facts.code("arguments", call.args.text());
    call.post.iter().for_each(|post| facts.code("comes to", post.text()));
    if call.retry.max > 0 {
        facts.add("called again", format!("up to {} times, after {} ms", call.retry.max, call.retry.backoff_ms));
    }
    facts.add("time-out", call.timeout_ms.map(|ms| format!("{ms} ms")).unwrap_or_default());
}

fn worked_on(state: &State, facts: &mut Facts) {
    facts.add("objective", state.objective.clone());
    facts.add("purpose", state.purpose.clone());
    for result in &state.key_results {
        let how = match &result.by {
            KeyResultCheck::Expr(expr) => expr.text(),
            KeyResultCheck::Check(check) => by(check),
            KeyResultCheck::Judge => "judged by a model".to_owned(),
        };
        let kind = if result.advisory { "key result, advisory" } else { "key result" };
        facts.code(kind, format!("{}: {how}", result.name.value));
    }
    match &state.work {
        Worker::Model(asking) => {
            facts.add("model", asking.model.clone().unwrap_or_default());
            asking.prompt.iter().for_each(|prompt| facts.code("prompt", prompt.text()));
        }
        Worker::Nobody => {}
        Worker::Function(name) => facts.add("function", name.value.clone()),
    }
    let tools: Vec<String> = state.tools.iter().map(|tool| tool.value.clone()).collect();
    facts.list("tools", &tools);
    facts.add("attempts", (u64::from(state.max_retries) + 1).to_string());
}

fn by(check: &CheckBy) -> String {
    match check {
        CheckBy::Run { argv, .. } => argv.join(" "),
        CheckBy::File { path } => format!("file {path}"),
        CheckBy::Project { name } => format!("the project's {name}"),
        CheckBy::Gate { name } => format!("gate {name}"),
        CheckBy::Evidence(evidence) => evidence.description(),
    }
}
