//! Expressions in a file: JSONata texts, JSON Logic rules, and the templates of arguments.

use std::sync::Arc;

use serde_json::Value;

use crate::diagnostic::{Diagnostic, clip};
use crate::expr::{Expr, JsonLogic, Jsonata, ParseFault};
use crate::source::fields::{FaultList, distinct};
use crate::source::{Source, Span, Spanned, Tree, TreeKind, offset_in};

/// How `"$…"` is read in arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dialect) enum Dollar {
    /// As an expression, as the design document has it.
    Expression,
    /// As an expression with a warning, as mcpGraph did before `{expr: …}`.
    OldExpression,
    /// As a text with a warning, because an expression may have been meant.
    Text,
}

/// Reads a JSONata expression.
pub(in crate::dialect) fn jsonata(source: &Source, tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Expr> {
    let Some(text) = tree.as_str() else {
        let message = format!("{what} must be a JSONata expression, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help("write it as a text, in quotes"));
        return None;
    };
    match Jsonata::parse(text) {
        Ok(expr) => Some(Expr::Jsonata(expr)),
        Err(fault) => {
            let message = format!("{what} is not a JSONata expression: {}", fault.message);
            faults.push(at(Diagnostic::error("bad-expression", message), source, tree, &fault));
            None
        }
    }
}

fn at(diagnostic: Diagnostic, source: &Source, tree: &Tree, fault: &ParseFault) -> Diagnostic {
    let span = match fault.offset {
        Some(offset) => {
            let start = offset_in(source, tree, offset).min(tree.span.end.saturating_sub(1));
            let rest = source.text.get(start..).unwrap_or_default();
            Span { start, end: start + rest.chars().next().map_or(0, char::len_utf8) }
        }
        None => tree.span,
    };
    let help = fault.help.clone().unwrap_or_else(|| "try it with `portolan eval jsonata`".to_owned());
    diagnostic.at(span).help(help)
}

/// Reads `{expr: …}`, and accepts nothing else.
pub(in crate::dialect) fn wrapped(source: &Source, tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Expr> {
    match (tree.entries(), tree.get("expr")) {
        (Some([_]), Some(expr)) => jsonata(source, expr, what, faults),
        _ => {
            let message = format!("{what} must be an expression");
            let fault = Diagnostic::error("wrong-type", message).at(tree.head());
            faults.push(fault.help("write `{ expr: \"…\" }`, with no other field than `expr`"));
            None
        }
    }
}

/// Reads a JSON Logic rule.
pub(in crate::dialect) fn rule(tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Spanned<Expr>> {
    match JsonLogic::parse(&tree.value()) {
        Ok(rule) => Some(Spanned { value: Expr::Logic(rule), span: tree.head() }),
        Err(fault) => {
            let message = format!("{what} is not a JSON Logic rule: {}", fault.message);
            let help = fault.help.unwrap_or_else(|| "try it with `portolan eval jsonlogic`".to_owned());
            faults.push(Diagnostic::error("bad-rule", message).at(tree.head()).help(help));
            None
        }
    }
}

/// Reads any value literally, except for `{expr: …}` and `"$…"`, which `dollar` decides.
pub(in crate::dialect) fn template(
    source: &Source,
    dollar: Dollar,
    tree: &Tree,
    what: &str,
    faults: &mut FaultList,
) -> Option<Expr> {
    Template { source, dollar, what }.read(tree, faults)
}

/// Reads a text literally, or a template that may contain `{expr: …}`.
pub(in crate::dialect) fn text_or_template(
    source: &Source,
    tree: &Tree,
    what: &str,
    faults: &mut FaultList,
) -> Option<Expr> {
    match tree.as_str() {
        Some(text) => Some(Expr::Literal(Arc::new(Value::from(text)))),
        None => template(source, Dollar::Text, tree, what, faults),
    }
}

/// Reads `{expr: …}` as JSONata, or any other object as a JSON Logic rule.
pub(in crate::dialect) fn computed(source: &Source, tree: &Tree, what: &str, faults: &mut FaultList) -> Option<Expr> {
    match (tree.entries(), tree.get("expr")) {
        (Some([_]), Some(expr)) => jsonata(source, expr, &format!("`expr` in {what}"), faults),
        (Some(_), _) => rule(tree, what, faults).map(|rule| rule.value),
        (None, _) => {
            let message = format!("{what} must be an expression, but is {}", tree.describe());
            let fault = Diagnostic::error("wrong-type", message).at(tree.head());
            faults.push(fault.help("write `{ expr: \"…\" }` in JSONata, or a rule of JSON Logic"));
            None
        }
    }
}

struct Template<'f> {
    source: &'f Source,
    dollar: Dollar,
    what: &'f str,
}

impl Template<'_> {
    fn read(&self, tree: &Tree, faults: &mut FaultList) -> Option<Expr> {
        match &tree.kind {
            TreeKind::Object(entries) if tree.get("expr").is_some() => {
                if entries.len() > 1 {
                    let message = format!("an object in {} has `expr` and other fields beside it", self.what);
                    let fault = Diagnostic::error("bad-arguments", message).at(tree.head());
                    faults.push(fault.help("an object with `expr` is replaced by its value: move the rest elsewhere"));
                    return None;
                }
                jsonata(self.source, &entries[0].value, &format!("`expr` in {}", self.what), faults)
            }
            TreeKind::Object(entries) => {
                let members: Option<Vec<(String, Expr)>> = distinct(entries, self.what, faults)
                    .into_iter()
                    .map(|entry| Some((entry.key.value.clone(), self.read(&entry.value, faults)?)))
                    .collect();
                Some(plain(tree, members?, |(_, expr)| expr, Expr::Object))
            }
            TreeKind::Array(items) => {
                let items: Option<Vec<Expr>> = items.iter().map(|item| self.read(item, faults)).collect();
                Some(plain(tree, items?, |expr| expr, Expr::Array))
            }
            TreeKind::String(text) if text.starts_with('$') => self.dollar(tree, text, faults),
            _ => Some(Expr::Literal(Arc::new(tree.value()))),
        }
    }

    fn dollar(&self, tree: &Tree, text: &str, faults: &mut FaultList) -> Option<Expr> {
        let warning = |code, message: String, help: String| Diagnostic::warning(code, message).at(tree.span).help(help);
        match self.dollar {
            Dollar::Expression => jsonata(self.source, tree, &format!("a value of {}", self.what), faults),
            Dollar::OldExpression => {
                faults.push(warning(
                    "old-spelling",
                    format!("`{}` in {} is read as an expression in an old syntax", clip(text), self.what),
                    format!("write `{{ expr: \"{}\" }}`", clip(text)),
                ));
                jsonata(self.source, tree, &format!("a value of {}", self.what), faults)
            }
            Dollar::Text => {
                faults.push(warning(
                    "literal-expression",
                    format!("`{}` in {} is sent as a text, and not evaluated", clip(text), self.what),
                    format!("if an expression is meant, write `{{ expr: \"{}\" }}`", clip(text)),
                ));
                Some(Expr::Literal(Arc::new(Value::String(text.to_owned()))))
            }
        }
    }
}

/// Makes a value without expressions one literal, so that it is not rebuilt for each call.
fn plain<T>(tree: &Tree, parts: Vec<T>, expr: impl Fn(&T) -> &Expr, whole: impl Fn(Vec<T>) -> Expr) -> Expr {
    if parts.iter().all(|part| matches!(expr(part), Expr::Literal(_))) {
        Expr::Literal(Arc::new(tree.value()))
    } else {
        whole(parts)
    }
}

/// Returns whether a tree contains `{expr: …}`.
pub(in crate::dialect) fn has_expr(tree: &Tree) -> bool {
    match &tree.kind {
        TreeKind::Object(entries) => {
            let is_one = matches!(entries.as_slice(), [only] if only.key.value == "expr");
            is_one || entries.iter().any(|entry| has_expr(&entry.value))
        }
        TreeKind::Array(items) => items.iter().any(has_expr),
        _ => false,
    }
}
