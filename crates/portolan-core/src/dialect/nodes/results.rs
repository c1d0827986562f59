//! The exact syntax tree of key results: their conditions, and how they are checked.

use std::collections::BTreeSet;

use super::{computed, is_id};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::checks;
use crate::expr::{CHECK_NAMES, Expr, Python};
use crate::graph::{KeyResult, KeyResultCheck, MAX_TIMEOUT_SECONDS};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Source, Span, Tree, TreeKind, offset_in};

/// The maximum number of key results of a state.
const MAX_RESULTS: usize = 100;

pub(super) fn read(source: &Source, fields: &mut Fields<'_>, state: &str, faults: &mut FaultList) -> Vec<KeyResult> {
    let Some(tree) = fields.optional("key_results") else { return Vec::new() };
    let items = match &tree.kind {
        TreeKind::Array(items) if items.len() <= MAX_RESULTS => items,
        TreeKind::Array(items) => {
            let message = format!("{state} has {} key results, more than the limit of {MAX_RESULTS}", items.len());
            let fault = Diagnostic::error("too-large", message).at(tree.head());
            faults.push(fault.help("combine several of them into one check"));
            return Vec::new();
        }
        _ => return fields.wrong("key_results", "an array of key results", tree, faults).unwrap_or_default(),
    };
    let mut names = BTreeSet::new();
    let mut results = Vec::new();
    for item in items {
        let Some(result) = key_result(source, item, state, faults) else { continue };
        if !names.insert(result.name.value.clone()) {
            let message = format!("{state} has two key results `{}`", clip(&result.name.value));
            let fault = Diagnostic::error("duplicate-id", message).at(result.name.span);
            faults.push(fault.help("give one of them another name: the verdict of one would hide that of the other"));
            continue;
        }
        results.push(result);
    }
    results
}

fn key_result(source: &Source, tree: &Tree, state: &str, faults: &mut FaultList) -> Option<KeyResult> {
    let named = tree.get("name").and_then(Tree::as_str);
    let what = named.map_or_else(|| "a key result".to_owned(), |name| format!("key result `{}`", clip(name)));
    let what = format!("{what} of {state}");
    let mut fields = Fields::of(tree, what.clone(), faults)?;
    let name = fields.required_string("name", faults);
    let advisory = fields.flag("required", faults).is_some_and(|required| !required.value);
    let by = finding(source, tree, &mut fields, &what, faults);
    let description = match by {
        Some(KeyResultCheck::Judge) => fields.required_string("description", faults),
        _ => fields.string("description", faults),
    };
    fields.finish(faults);
    let name = name.filter(|name| is_id(name, "a key result", faults))?;
    let description = description.map(|text| text.value).unwrap_or_else(|| name.value.clone());
    Some(KeyResult { name, description, by: by?, advisory, attached: false })
}

/// Reads how the result is checked, in exactly one way; the default is a model that judges.
fn finding(
    source: &Source,
    tree: &Tree,
    fields: &mut Fields<'_>,
    what: &str,
    faults: &mut FaultList,
) -> Option<KeyResultCheck> {
    let judged = fields.flag("judge", faults).is_some_and(|judge| judge.value);
    let check = fields.optional("check");
    let outside = outside(fields, tree.head(), what, faults);
    let ways = ["check", "run", "file", "gate"].into_iter().filter(|way| fields.has(way)).count() + usize::from(judged);
    if ways > 1 {
        let message = format!("{what} has more than one kind of check");
        let fault = Diagnostic::error("bad-check", message).at(tree.head());
        faults.push(
            fault.help("keep one of `check`, `run`, `file`, `gate` and `judge`, or split it into several key results"),
        );
        return None;
    }
    match check {
        Some(check) => expression(source, check, &format!("`check` of {what}"), faults).map(KeyResultCheck::Expr),
        None if ["run", "file", "gate"].iter().any(|way| fields.has(way)) => outside.map(KeyResultCheck::Check),
        None => Some(KeyResultCheck::Judge),
    }
}

/// Reads an expression: a text is Python, as in the original program; an object is JSONata or JSON Logic.
fn expression(source: &Source, tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Expr> {
    let Some(text) = tree.as_str() else { return computed(source, tree, what, faults) };
    match Python::parse_with(text, &CHECK_NAMES) {
        Ok(python) => Some(Expr::Python(python)),
        Err(fault) => {
            let span = fault.offset.map_or(tree.span, |offset| {
                let start = offset_in(source, tree, offset).min(tree.span.end.saturating_sub(1));
                let rest = source.text.get(start..).unwrap_or_default();
                Span { start, end: start + rest.chars().next().map_or(0, char::len_utf8) }
            });
            let message = format!("{what} is not a supported Python expression: {}", fault.message);
            let help = fault.help.unwrap_or_else(|| "for JSONata, write `{ expr: \"…\" }`".to_owned());
            faults.push(Diagnostic::error("bad-expression", message).at(span).help(help));
            None
        }
    }
}

fn outside(fields: &mut Fields<'_>, span: Span, what: &str, faults: &mut FaultList) -> Option<crate::graph::CheckBy> {
    let run = fields.has("run").then(|| fields.strings("run", faults));
    let timeout = fields.duration_ms("timeout", 1..=MAX_TIMEOUT_SECONDS * 1_000, faults);
    let file = fields.string("file", faults);
    let gate = fields.string("gate", faults);
    fields.ignored(&["run"]);
    if let Some(timeout) = timeout.as_ref().filter(|_| run.is_none()) {
        let message = format!("`timeout` of {what} does nothing: only a command can have a timeout");
        faults.push(Diagnostic::warning("inert-field", message).at(timeout.span).help("remove it"));
    }
    if run.is_none() && file.is_none() && gate.is_none() {
        return None;
    }
    let timeout_seconds = timeout.filter(|_| run.is_some()).map(|time| time.value.div_ceil(1_000));
    checks::by_name(&checks::Outside { run, timeout_seconds, file, gate }, span, what, faults)
}
