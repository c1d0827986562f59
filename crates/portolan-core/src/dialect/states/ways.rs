//! The exact syntax tree of the transitions.

use std::collections::BTreeMap;

use super::syntax::spanned;
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::nodes::computed;
use crate::expr::Expr;
use crate::source::fields::{FaultList, Fields, distinct};
use crate::source::{Source, Span, Spanned, Tree, TreeKind};

/// The branch that is taken if no other matches.
pub(super) const DEFAULT: &str = "default";
/// The maximum number of branches of one state.
const MAX_BRANCHES: usize = 1_000;

/// The transition of one state.
pub(super) struct Transition {
    /// The span of the state's name.
    pub(super) of: Span,
    pub(super) kind: Ways,
}

/// The target of a transition.
pub(super) enum Ways {
    /// The end of the run, written as `null`.
    End(Span),
    /// One state.
    To(Spanned<String>),
    /// The branch that the output selects.
    Branches(Span, Vec<Branch>),
    /// The state whose name an expression returns.
    Choose(Box<Choose>),
    /// Unknown, because it cannot be read.
    Lost,
}

/// One branch: its name, and a state or the end.
pub(super) struct Branch {
    pub(super) name: Spanned<String>,
    pub(super) to: Option<Spanned<String>>,
}

pub(super) struct Choose {
    pub(super) expr: Expr,
    /// The names that it may return, with `None` for the end; the outer `None` allows all.
    pub(super) to: Option<Vec<Option<Spanned<String>>>>,
    pub(super) span: Span,
}

pub(super) fn read(source: &Source, tree: &Tree, faults: &mut FaultList) -> BTreeMap<String, Transition> {
    let Some(entries) = tree.entries() else {
        let message = format!("`transitions` must be an object from state to state, but is {}", tree.describe());
        let fault = Diagnostic::error("wrong-type", message).at(tree.head());
        faults.push(fault.help("write `\"transitions\": {\"research\": \"write\"}`"));
        return BTreeMap::new();
    };
    let read = distinct(entries, "`transitions`", faults).into_iter().map(|entry| {
        let what = format!("the transition of `{}`", clip(&entry.key.value));
        let kind = transition(source, &entry.value, &what, faults).unwrap_or(Ways::Lost);
        (entry.key.value.clone(), Transition { of: entry.key.span, kind })
    });
    read.collect()
}

fn transition(source: &Source, tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Ways> {
    match &tree.kind {
        TreeKind::Null => Some(Ways::End(tree.span)),
        TreeKind::String(_) => spanned(tree).map(Ways::To),
        // A branch called `choose` has a state, which is a text.
        TreeKind::Object(_) if tree.get("choose").is_some_and(|choose| choose.entries().is_some()) => {
            choose(source, tree, what, faults)
        }
        TreeKind::Object(_) => branches(tree, what, faults),
        _ => {
            let message =
                format!("{what} must be a state, `null` or an object of branches, but is {}", tree.describe());
            faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help(BRANCHES_HELP));
            None
        }
    }
}

const BRANCHES_HELP: &str =
    "write `\"write\"`, or `{\"good\": \"publish\", \"default\": \"write\"}`; `null` ends the run";

fn branches(tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Ways> {
    let entries = distinct(tree.entries()?, what, faults);
    if entries.is_empty() {
        let fault = Diagnostic::error("missing-field", format!("{what} has no branches")).at(tree.head());
        faults.push(fault.help(BRANCHES_HELP));
        return None;
    }
    if entries.len() > MAX_BRANCHES {
        let message = format!("{what} has {} branches, more than the limit of {MAX_BRANCHES}", entries.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.head()).help("use `choose` with an expression"));
        return None;
    }
    let mut lost = false;
    let mut read = Vec::new();
    for entry in entries {
        let to = match &entry.value.kind {
            TreeKind::Null => None,
            TreeKind::String(_) => spanned(&entry.value),
            _ => {
                let name = clip(&entry.key.value);
                let message =
                    format!("branch `{name}` in {what} must be a state or `null`, but is {}", entry.value.describe());
                faults.push(Diagnostic::error("wrong-type", message).at(entry.value.head()).help(BRANCHES_HELP));
                lost = true;
                continue;
            }
        };
        read.push(Branch { name: entry.key.clone(), to });
    }
    (!lost).then_some(Ways::Branches(tree.head(), read))
}

fn choose(source: &Source, tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Ways> {
    let mut fields = Fields::of(tree, what, faults)?;
    let expr = fields.required("choose", faults);
    let to = fields.optional("to");
    fields.finish(faults);
    let expr = computed(source, expr?, &format!("`choose` in {what}"), faults);
    let to = match to {
        None => None,
        Some(tree) => Some(targets(tree, what, faults)?),
    };
    Some(Ways::Choose(Box::new(Choose { expr: expr?, to, span: tree.head() })))
}

fn targets(tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Vec<Option<Spanned<String>>>> {
    let target = |item: &Tree| match &item.kind {
        TreeKind::Null => Some(None),
        TreeKind::String(_) => Some(spanned(item)),
        _ => None,
    };
    let targets: Option<Vec<_>> = match &tree.kind {
        TreeKind::Array(items) if (1..=MAX_BRANCHES).contains(&items.len()) => items.iter().map(target).collect(),
        _ => None,
    };
    if targets.is_none() {
        let message = format!("`to` in {what} must be an array of 1 to {MAX_BRANCHES} states");
        let fault = Diagnostic::error("wrong-type", message).at(tree.head());
        faults.push(fault.help("name the states that the expression can return; `null` means the end"));
    }
    targets
}
