//! Conditions: texts, and objects of comparisons.

use super::reader::Reader;
use crate::diagnostic::Diagnostic;
use crate::expr::{Comparison, Condition, Expr, ParseFault, When};
use crate::source::fields::Fields;
use crate::source::{Span, Spanned, Tree, TreeKind, offset_in};

/// The types of a condition that is an object.
#[derive(Clone, Copy)]
enum Type {
    Simple,
    And,
    Or,
    Not,
}

const TYPES: &[(&str, Type)] = &[("simple", Type::Simple), ("and", Type::And), ("or", Type::Or), ("not", Type::Not)];

#[derive(Clone, Copy)]
enum Operator {
    Compare(Comparison),
    Exists,
    NotExists,
}

const OPERATORS: &[(&str, Operator)] = &[
    ("==", Operator::Compare(Comparison::Equal)),
    ("!=", Operator::Compare(Comparison::Unequal)),
    (">", Operator::Compare(Comparison::Greater)),
    ("<", Operator::Compare(Comparison::Less)),
    (">=", Operator::Compare(Comparison::GreaterEqual)),
    ("<=", Operator::Compare(Comparison::LessEqual)),
    ("exists", Operator::Exists),
    ("notExists", Operator::NotExists),
];

impl Reader<'_> {
    /// Reads the condition of an element: `when` or `condition`.
    pub(super) fn gate(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str) -> Option<Spanned<Expr>> {
        let key = self.either(fields, tree, ["when", "condition"], what);
        let when = fields.optional("when");
        let condition = fields.optional("condition");
        match key {
            "when" => self.when(when?, &format!("`when` of {what}")),
            _ => self.condition(condition?, &format!("`condition` of {what}")),
        }
    }

    /// Reads a condition that must be `when`, because `condition` has another meaning there.
    pub(super) fn only_when(&mut self, fields: &mut Fields<'_>, what: &str) -> Option<Spanned<Expr>> {
        let tree = fields.optional("when")?;
        self.when(tree, &format!("`when` of {what}"))
    }

    fn when(&mut self, tree: &Tree, what: &str) -> Option<Spanned<Expr>> {
        let Some(text) = tree.as_str() else {
            let message = format!("{what} must be a string, but is {}", tree.describe());
            let help = "write it as `state == done`, or call it `condition` if it is an object";
            self.faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help(help));
            return None;
        };
        match When::parse(text) {
            Ok(when) => Some(Spanned { value: Expr::When(when), span: tree.span }),
            Err(fault) => {
                let span = fault.offset.map_or(tree.span, |offset| self.character(tree, offset));
                let _: Option<()> = self.bad(what, fault, span);
                self.repaired("it never holds");
                let never = When::parse("true == false").ok()?;
                Some(Spanned { value: Expr::When(never), span: tree.span })
            }
        }
    }

    /// Reads a condition: an object, or a text in the syntax of `when`.
    pub(super) fn condition(&mut self, tree: &Tree, what: &str) -> Option<Spanned<Expr>> {
        match &tree.kind {
            TreeKind::String(_) => self.when(tree, what),
            TreeKind::Object(_) => {
                let condition = self.structure(tree, what, 0)?;
                Some(Spanned { value: Expr::Condition(condition), span: tree.head() })
            }
            _ => {
                let message = format!("{what} must be a condition, but is {}", tree.describe());
                let help = "write `state == done`, or `{type: simple, variable: state, operator: ==, value: done}`";
                self.faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help(help));
                None
            }
        }
    }

    fn structure(&mut self, tree: &Tree, what: &str, depth: usize) -> Option<Condition> {
        if depth >= Condition::MAX_NESTING {
            let message = format!("the condition nests deeper than {} levels", Condition::MAX_NESTING);
            let fault = Diagnostic::error("bad-condition", message).at(tree.head());
            self.faults.push(fault.help("reduce the nesting"));
            return None;
        }
        let mut fields = Fields::of(tree, what, self.faults)?;
        fields.required("type", self.faults)?;
        // If the type is unknown, it is also unknown which fields have a meaning.
        let kind = fields.choice("type", TYPES, self.faults)?;
        let condition = match kind {
            Type::Simple => self.simple(&mut fields, tree, what),
            Type::And | Type::Or => {
                let parts = self.parts(&mut fields, tree, what, depth);
                let join = if matches!(kind, Type::And) { Condition::all } else { Condition::any };
                parts.and_then(|parts| self.built(join(parts), what, tree.head()))
            }
            Type::Not => {
                let inner = fields.required("condition", self.faults);
                let inner = inner.and_then(|inner| self.structure(inner, &part(what), depth + 1));
                inner.and_then(|inner| self.built(Condition::not(inner), what, tree.head()))
            }
        };
        fields.finish(self.faults);
        condition
    }

    fn parts(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str, depth: usize) -> Option<Vec<Condition>> {
        fields.required("conditions", self.faults)?;
        let before = self.faults.0.len();
        let items = self.list(fields, "conditions");
        if items.len() < 2 && self.faults.0.len() == before {
            let message = format!("{what} combines fewer than two conditions");
            let help = "add another, or write the one condition directly";
            let fault = Diagnostic::error("missing-field", message).at(tree.head()).help(help);
            self.faults.push(fault.repaired("it is replaced by its one condition"));
        }
        // Read all parts before filtering, so that the faults of each are reported.
        let parts: Vec<_> = items.iter().map(|item| self.structure(item, &part(what), depth + 1)).collect();
        parts.into_iter().collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
    }

    fn simple(&mut self, fields: &mut Fields<'_>, tree: &Tree, what: &str) -> Option<Condition> {
        let variable = fields.required_string("variable", self.faults);
        let operator = match fields.required("operator", self.faults) {
            Some(_) => fields.choice("operator", OPERATORS, self.faults),
            None => None,
        };
        fields.ignored(&["value"]);
        let value = tree.get("value");
        let (variable, operator) = (variable?, operator?);
        let exists = self.built(Condition::exists(&variable.value), what, variable.span)?;
        match operator {
            Operator::Compare(comparison) => {
                let Some(value) = value else {
                    let message = format!("{what} has no `value` to compare with");
                    let help = "add it, or ask with `exists` or `notExists` whether the variable has a value";
                    let fault = Diagnostic::error("missing-field", message).at(tree.head()).help(help);
                    self.faults.push(fault.repaired("it compares with `null`"));
                    let compared = Condition::compare(&variable.value, comparison, serde_json::Value::Null);
                    return self.built(compared, what, tree.head());
                };
                let compared = Condition::compare(&variable.value, comparison, value.value());
                self.built(compared, what, value.head())
            }
            Operator::Exists | Operator::NotExists => {
                if let Some(value) = value {
                    let message = format!("`value` of {what} does nothing: its operator does not compare with a value");
                    let fault = Diagnostic::warning("inert-field", message).at(value.head());
                    self.faults.push(fault.help("remove it"));
                }
                if matches!(operator, Operator::Exists) {
                    return Some(exists);
                }
                self.built(Condition::not(exists), what, tree.head())
            }
        }
    }

    fn built(&mut self, condition: Result<Condition, ParseFault>, what: &str, span: Span) -> Option<Condition> {
        condition.map_err(|fault| self.bad::<Condition>(what, fault, span)).ok()
    }

    fn bad<T>(&mut self, what: &str, fault: ParseFault, span: Span) -> Option<T> {
        let diagnostic =
            Diagnostic::error("bad-condition", format!("{what} is not a valid condition: {}", fault.message));
        let help = fault.help.unwrap_or_else(|| "try it with `portolan eval when`".to_owned());
        self.faults.push(diagnostic.at(span).help(help));
        None
    }

    /// Returns the span of the character at an offset of a text.
    fn character(&self, tree: &Tree, offset: usize) -> Span {
        let start = offset_in(self.source, tree, offset).min(tree.span.end.saturating_sub(1));
        let rest = self.source.text.get(start..).unwrap_or_default();
        Span { start, end: start + rest.chars().next().map_or(0, char::len_utf8) }
    }
}

fn part(what: &str) -> String {
    if what.starts_with("a part of ") { what.to_owned() } else { format!("a part of {what}") }
}
