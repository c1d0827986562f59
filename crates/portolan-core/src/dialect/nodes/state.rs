//! The exact syntax tree of a state: its objective, its worker, and what follows a failure.

use std::num::NonZeroU32;

use super::{is_id, results, schema, text_or_template, values};
use crate::chat::ModelSettings;
use crate::diagnostic::{Diagnostic, clip};
use crate::expr::Expr;
use crate::graph::{DEFAULT_STATE_RETRIES, ExhaustionPolicy, Judge, RequestTemplate, RetryContext, State, Worker};
use crate::source::fields::{FaultList, Fields, distinct, not_an_object};
use crate::source::{Source, Spanned, Tree};

/// The maximum number of retries of a state.
const MAX_RETRIES: u32 = 1_000;
/// The maximum number of model requests in one attempt.
const MAX_TURNS: u32 = 10_000;
/// The maximum number of variables that a state sets.
const MAX_SETS: usize = 100;
/// The fields that only affect a model.
const FOR_MODELS: [&str; 12] = [
    "tools",
    "breaking",
    "waiting",
    "model",
    "system",
    "prompt",
    "temperature",
    "max_tokens",
    "reasoning",
    "output_schema",
    "max_turns",
    "retry",
];

/// The data of the whole file that its states need.
pub(in crate::dialect) struct About<'f> {
    pub(in crate::dialect) source: &'f Source,
    /// The purpose of the whole workflow.
    pub(in crate::dialect) purpose: String,
    /// The judge of states that name none.
    pub(in crate::dialect) judge: Judge,
}

/// Reads a state, and the node to which its failure leads.
pub(in crate::dialect) fn state<'t>(
    about: &About<'_>,
    named: &str,
    tree: &'t Tree,
    fields: &mut Fields<'t>,
    faults: &mut FaultList,
) -> (Option<State>, Option<Spanned<String>>) {
    let mut reader = Reader { about, tree, named: named.to_owned(), fields, faults, go_to: None };
    let state = read(&mut reader);
    (state, reader.go_to)
}

/// Reads `{go_to: NODE}` from `on_failure`.
pub(in crate::dialect) fn leads_to(tree: &Tree, named: &str, faults: &mut FaultList) -> Option<Spanned<String>> {
    let mut fields = Fields::of(tree, format!("`on_failure` of {named}"), faults)?;
    let to = fields.required_string("go_to", faults);
    fields.finish(faults);
    to
}

/// A state while its fields are read.
struct Reader<'f, 't> {
    about: &'f About<'f>,
    tree: &'t Tree,
    named: String,
    fields: &'f mut Fields<'t>,
    faults: &'f mut FaultList,
    go_to: Option<Spanned<String>>,
}

fn read(reader: &mut Reader<'_, '_>) -> Option<State> {
    let named = reader.named.clone();
    let work = worker(reader);
    let objective = objective(reader, !matches!(work, Some(Worker::Model(_)) | None));
    let key_results = results::read(reader.about.source, reader.fields, &named, reader.faults);
    let tools = reader.fields.strings("tools", reader.faults);
    let [breaking, waiting] = ["breaking", "waiting"].map(|key| stopping(reader, key, &tools));
    let max_retries = reader.fields.count("max_retries", 0..=MAX_RETRIES, reader.faults);
    let again = [("continue", RetryContext::Continue), ("restart", RetryContext::Restart)];
    let again = reader.fields.choice("retry", &again, reader.faults);
    let exhausted = exhausted(reader);
    let judge = values::judge(reader.fields, &named, reader.faults);
    let limits = match reader.fields.optional("limits") {
        Some(tree) => values::limits(tree, &named, false, reader.faults).0,
        None => Default::default(),
    };
    let sets = sets(reader);
    let work = work?;
    if !matches!(work, Worker::Model(_)) {
        inert(reader);
    }
    Some(State {
        objective,
        purpose: reader.about.purpose.clone(),
        key_results,
        work,
        tools,
        breaking,
        waiting,
        max_retries: max_retries.map_or(DEFAULT_STATE_RETRIES, |count| count.value),
        again: again.unwrap_or_default(),
        exhausted,
        judge: judge.unwrap_or_else(|| reader.about.judge.clone()),
        sets,
        limits,
        way: None,
    })
}

/// Reads the tools after which the run stops, which must be among those of the state.
fn stopping(reader: &mut Reader<'_, '_>, key: &'static str, tools: &[Spanned<String>]) -> Vec<Spanned<String>> {
    let named = reader.fields.strings(key, reader.faults);
    for name in &named {
        if !tools.iter().any(|tool| tool.value == name.value) {
            let message =
                format!("`{key}` of {} has `{}`, which is not one of its tools", reader.named, clip(&name.value));
            let fault =
                Diagnostic::error("unknown-tool", message).at(name.span).help("add it to `tools`, or remove it");
            let fault = fault.did_you_mean(&name.value, tools.iter().map(|tool| tool.value.as_str()));
            reader.faults.push(fault.repaired("it is ignored"));
        }
    }
    named
}

/// Reads the objective. It is optional if no model works on the state.
fn objective(reader: &mut Reader<'_, '_>, may_lack: bool) -> String {
    let objective = if may_lack {
        reader.fields.string("objective", reader.faults)
    } else {
        reader.fields.required_string("objective", reader.faults)
    };
    if let Some(empty) = objective.as_ref().filter(|text| !may_lack && text.value.trim().is_empty()) {
        let fault = Diagnostic::error("missing-field", format!("the objective of {} is empty", reader.named));
        let fault =
            fault.at(empty.span).help("say what is to be achieved: the agent that works on it is told nothing else");
        reader.faults.push(fault.repaired("it stays empty"));
    }
    objective.map(|text| text.value).unwrap_or_default()
}

/// Reads the worker; the default is a model.
fn worker(reader: &mut Reader<'_, '_>) -> Option<Worker> {
    let execute = reader.fields.string("execute", reader.faults);
    let module = reader.fields.string("execute_module", reader.faults);
    if let Some(module) = &module {
        let message = format!(
            "{} names the module `{}`, which is not imported: a file of states is not a program",
            reader.named,
            clip(&module.value)
        );
        let fault = Diagnostic::warning("not-imported", message).at(module.span);
        reader
            .faults
            .push(fault.help("register a function and name it with `execute`; until then a model works on it"));
    }
    let is_given = reader.fields.has("execute");
    let asking = asking(reader);
    match execute {
        Some(nobody) if nobody.value == "none" => Some(Worker::Nobody),
        Some(name) => is_id(&name, "a function", reader.faults).then_some(Worker::Function(name)),
        None if is_given => None,
        None => asking.map(|asking| Worker::Model(Box::new(asking))),
    }
}

fn asking(reader: &mut Reader<'_, '_>) -> Option<RequestTemplate> {
    let before = reader.faults.0.len();
    let model = values::model(reader.fields, reader.faults);
    let system = text(reader, "system");
    let prompt = text(reader, "prompt");
    let settings: ModelSettings = values::settings(reader.fields, reader.faults);
    let named = reader.named.clone();
    let schema = schema(reader.fields, "output_schema", &named, reader.faults);
    let max_turns = reader.fields.count("max_turns", 1..=MAX_TURNS, reader.faults);
    let unread = |fault: &Diagnostic| fault.is_error() && fault.repair.is_none();
    if reader.faults.0[before..].iter().any(unread) {
        return None;
    }
    let max_turns = max_turns.and_then(|turns| NonZeroU32::new(turns.value));
    Some(RequestTemplate { model, system, prompt, settings, schema: schema.map(|schema| schema.value), max_turns })
}

/// Reads a text for a model: a literal, or a template.
fn text(reader: &mut Reader<'_, '_>, key: &'static str) -> Option<Expr> {
    let tree = reader.fields.optional(key)?;
    let what = format!("`{key}` of {}", reader.named);
    text_or_template(reader.about.source, tree, &what, reader.faults)
}

/// Reads what happens when no attempt is left.
fn exhausted(reader: &mut Reader<'_, '_>) -> ExhaustionPolicy {
    if let Some(tree) = reader.fields.optional("on_failure").filter(|tree| tree.entries().is_some()) {
        reader.go_to = leads_to(tree, &reader.named, reader.faults);
        return ExhaustionPolicy::Fail;
    }
    let words = [("fail", ExhaustionPolicy::Fail), ("best", ExhaustionPolicy::Best), ("ask", ExhaustionPolicy::Ask)];
    reader.fields.choice("on_failure", &words, reader.faults).unwrap_or_default()
}

/// Reads the variables that it sets.
fn sets(reader: &mut Reader<'_, '_>) -> Vec<(Spanned<String>, Expr)> {
    let Some(tree) = reader.fields.optional("set") else { return Vec::new() };
    let what = format!("`set` of {}", reader.named);
    let Some(entries) = tree.entries() else {
        reader.faults.push(not_an_object(tree, &what));
        return Vec::new();
    };
    if entries.len() > MAX_SETS {
        let message = format!("{what} has {} variables, more than the limit of {MAX_SETS}", entries.len());
        let fault = Diagnostic::error("too-large", message).at(tree.head());
        reader.faults.push(fault.help("set one variable to an object that contains them all"));
        return Vec::new();
    }
    let entries = distinct(entries, &what, reader.faults).into_iter();
    let sets = entries.filter_map(|entry| {
        let what = format!("`{}` in {what}", clip(&entry.key.value));
        let expr = text_or_template(reader.about.source, &entry.value, &what, reader.faults)?;
        Some((entry.key.clone(), expr))
    });
    sets.collect()
}

/// Reports fields that have no effect because no model works on the state.
fn inert(reader: &mut Reader<'_, '_>) {
    for key in FOR_MODELS.into_iter().filter(|key| reader.fields.has(key)) {
        let span = reader.tree.get(key).map_or(reader.tree.head(), |tree| tree.head());
        let message = format!("`{key}` of {} does nothing: no model works on it", reader.named);
        reader.faults.push(Diagnostic::warning("inert-field", message).at(span).help("remove it, or `execute`"));
    }
}
