//! Warnings about content that loads and runs, but does something other than it seems to.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::nodes::Dollar;
use crate::expr::{JsonLogic, Jsonata};
use crate::source::fields::{FaultList, MAX_GUESSES};
use crate::source::{Source, Span, Spanned, Tree, TreeKind, offset_in};

/// Returns the names that the expressions of a node read from the context, with their spans.
pub(super) fn mentions(source: &Source, node: &Tree, dollar: Dollar) -> Vec<Spanned<String>> {
    let mut found = MentionSearch { source, mentions: Vec::new() };
    for key in ["transform", "postTransform", "items"] {
        found.extend(node.get(key).and_then(|holder| holder.get("expr")));
    }
    if let Some(args) = node.get("args") {
        found.arguments(args, dollar);
    }
    if let Some(TreeKind::Array(conditions)) = node.get("conditions").map(|tree| &tree.kind) {
        conditions.iter().filter_map(|condition| condition.get("rule")).for_each(|rule| found.rule(rule));
    }
    found.mentions
}

struct MentionSearch<'f> {
    source: &'f Source,
    mentions: Vec<Spanned<String>>,
}

impl MentionSearch<'_> {
    fn extend(&mut self, tree: Option<&Tree>) {
        let Some(tree) = tree else { return };
        let Some(Ok(expr)) = tree.as_str().map(Jsonata::parse) else { return };
        for name in expr.roots() {
            let span = self.span(tree, name);
            self.mentions.push(Spanned { value: name.clone(), span });
        }
    }

    fn arguments(&mut self, tree: &Tree, dollar: Dollar) {
        match &tree.kind {
            TreeKind::Object(entries) => match entries.as_slice() {
                [only] if only.key.value == "expr" => self.extend(Some(&only.value)),
                entries => entries.iter().for_each(|entry| self.arguments(&entry.value, dollar)),
            },
            TreeKind::Array(items) => items.iter().for_each(|item| self.arguments(item, dollar)),
            TreeKind::String(text) if text.starts_with('$') && dollar != Dollar::Text => self.extend(Some(tree)),
            _ => {}
        }
    }

    fn rule(&mut self, tree: &Tree) {
        let Ok(rule) = JsonLogic::parse(&tree.value()) else { return };
        for name in rule.roots() {
            let at = variable(tree, name);
            let span = at.map_or_else(|| tree.head(), |at| self.span(at, name));
            self.mentions.push(Spanned { value: name.to_owned(), span });
        }
    }

    /// Returns the span of a name in the text of an expression.
    fn span(&self, tree: &Tree, name: &str) -> Span {
        let Some(at) = tree.as_str().and_then(|text| place(text, name)) else { return tree.span };
        let start = offset_in(self.source, tree, at);
        let exact = self.source.text.get(start..).is_some_and(|rest| rest.starts_with(name));
        if exact { Span { start, end: start + name.len() } } else { tree.span }
    }
}

/// Returns the `var` of a rule that reads a name.
fn variable<'t>(tree: &'t Tree, name: &str) -> Option<&'t Tree> {
    match &tree.kind {
        TreeKind::Array(items) => items.iter().find_map(|item| variable(item, name)),
        TreeKind::Object(entries) => entries.iter().find_map(|entry| match &entry.value.kind {
            TreeKind::String(text) if entry.key.value == "var" => place(text, name).map(|_| &entry.value),
            TreeKind::Array(items) if entry.key.value == "var" => {
                let first = items.first().filter(|item| item.as_str().is_some_and(|text| place(text, name).is_some()));
                first.or_else(|| items.iter().find_map(|item| variable(item, name)))
            }
            _ => variable(&entry.value, name),
        }),
        _ => None,
    }
}

/// Returns the offset at which an expression reads a name from the context.
fn place(text: &str, name: &str) -> Option<usize> {
    let stands = |at: &usize| {
        let before = text[..*at].trim_end_matches('`');
        let after = text[at + name.len()..].chars().next();
        let led = before.ends_with("$.") || !before.ends_with(|c: char| is_part(c) || c == '.' || c == '$');
        led && !after.is_some_and(is_part)
    };
    text.match_indices(name).map(|(at, _)| at).find(stands)
}

/// Returns whether a name is the id of a node, and of no field that a tool declares.
pub(super) fn is_nothing_but_node(file: &Tree, name: &str) -> bool {
    is_node(file, name) && !is_declared(file, name)
}

fn tools(file: &Tree) -> &[Tree] {
    items(file.get("tools"))
}

fn items(tree: Option<&Tree>) -> &[Tree] {
    match tree.map(|tree| &tree.kind) {
        Some(TreeKind::Array(items)) => items,
        _ => &[],
    }
}

fn is_node(file: &Tree, name: &str) -> bool {
    let nodes = tools(file).iter().chain([file]).flat_map(|holder| items(holder.get("nodes")));
    name == "entry" || nodes.filter_map(|node| node.get("id")).any(|id| id.as_str() == Some(name))
}

/// Returns whether a schema of some tool declares a field of this name at its root.
fn is_declared(file: &Tree, name: &str) -> bool {
    let schemas = tools(file).iter().flat_map(|tool| [tool.get("inputSchema"), tool.get("outputSchema")]).flatten();
    schemas.filter_map(|schema| schema.get("properties")).any(|properties| properties.get(name).is_some())
}

/// Reports names that no node of a tool has: their value is always missing.
pub(super) fn unknown_names<'m>(
    tool: &str,
    mentions: impl Iterator<Item = &'m Spanned<String>>,
    known: &BTreeSet<&str>,
    faults: &mut FaultList,
) {
    let mentions: Vec<&Spanned<String>> = mentions.filter(|mention| !known.contains(mention.value.as_str())).collect();
    let mentioned: BTreeSet<&str> = mentions.iter().map(|mention| mention.value.as_str()).collect();
    // If an id is cut into pieces, only the first piece is reported.
    let cut: BTreeMap<&str, &str> = known
        .iter()
        .filter_map(|id| Some((cut_short(id)?, *id)))
        .filter(|(piece, _)| mentioned.contains(piece))
        .collect();
    let pieces: BTreeSet<&str> = cut.values().flat_map(|id| id.split(|c| !is_part(c)).skip(1)).collect();
    let mut reported: BTreeSet<Span> = BTreeSet::new();
    for mention in mentions {
        let name = mention.value.as_str();
        if pieces.contains(name) || !reported.insert(mention.span) {
            continue;
        }
        let message = format!("no node of tool `{}` is called `{}`, so this never has a value", clip(tool), clip(name));
        let fault = Diagnostic::warning("unknown-name", message).at(mention.span);
        let fault = match cut.get(name) {
            Some(id) => fault.help(format!(
                "put an id with characters other than letters, digits and `_` in backticks: $.`{}`",
                clip(id)
            )),
            None => fault.help("an expression sees the outputs of the tool's own nodes, each under the id of its node"),
        };
        let guessed = faults.0.len() < MAX_GUESSES && !cut.contains_key(name);
        faults.push(if guessed { fault.did_you_mean(name, known.iter().copied()) } else { fault });
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the part of an id that JSONata reads without backticks, if that is not all of it.
fn cut_short(id: &str) -> Option<&str> {
    let end = id.find(|c| !is_part(c))?;
    Some(&id[..end])
}
