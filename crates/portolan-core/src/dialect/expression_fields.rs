//! Parses expressions in fields of definitions while they are written: a text in the language of the dialect, or JSON
//! if the dialect takes an object.

use super::Dialect;
use super::nodes::{Dollar, computed, template};
use crate::diagnostic::Diagnostic;
use crate::expr::{Expr, Language, ParseFault};
use crate::source::fields::FaultList;
use crate::source::{Source, Span, Tree, TreeKind, parse_json};

/// The error of a text that is no expression of its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// One lower-case sentence.
    pub message: String,
    /// The suggested fix.
    pub help: Option<String>,
    /// The span, in bytes of the text.
    pub span: Span,
}

/// The form of a field's content.
enum Form {
    /// A text in a language.
    Text(Language),
    /// A JSON Logic rule.
    Rule,
    /// A value in which `{expr: …}` stands for the result of the expression.
    Template,
    /// `{expr: …}`, or a rule.
    Computed,
}

/// Parses the text of a field. The path is that of a form, such as `transform.expr`.
///
/// # Errors
/// The text is no expression of that field.
///
/// ```
/// use portolan_core::dialect::{expression, named};
/// let graphs = named("toolgraph").expect("there is such a format");
/// assert!(expression(graphs, "transform.expr", "{\"n\": $.add.sum}").is_ok());
/// assert_eq!(expression(graphs, "transform.expr", "$.add.").expect_err("it ends too early").span.end, 6);
/// ```
pub fn expression(dialect: &Dialect, field: &str, text: &str) -> Result<Expr, ExpressionError> {
    match form(dialect, field, text) {
        Form::Text(language) => language.read(text).map_err(|fault| unread(text, fault)),
        Form::Rule => Language::Logic.read(text).map_err(|fault| unread(text, fault)),
        Form::Template => {
            read_json(text, |source, tree, faults| template(source, Dollar::Text, tree, "the field", faults))
        }
        Form::Computed => read_json(text, |source, tree, faults| computed(source, tree, "the field", faults)),
    }
}

fn form(dialect: &Dialect, field: &str, text: &str) -> Form {
    let names: Vec<&str> = field.split('.').filter(|name| name.parse::<usize>().is_err()).collect();
    let is_json = text.trim_start().starts_with(['{', '[']);
    match names.last().copied().unwrap_or_default() {
        "expr" => Form::Text(Language::Jsonata),
        "rule" => Form::Rule,
        "args" | "set" | "input" => Form::Template,
        _ if names.contains(&"args") => Form::Template,
        // A check uses the language of the dialect; other fields of a Python dialect use JSONata.
        "check" if !is_json => Form::Text(dialect.language),
        _ if is_json => Form::Computed,
        _ if dialect.language == Language::Python => Form::Text(Language::Jsonata),
        _ => Form::Text(dialect.language),
    }
}

fn read_json(
    text: &str,
    read: impl FnOnce(&Source, &Tree, &mut FaultList) -> Option<Expr>,
) -> Result<Expr, ExpressionError> {
    let source = Source::new("field.json", text);
    let (tree, found) = match parse_json(&source) {
        Ok(tree) => (Some(tree), Vec::new()),
        Err(fault) => (None, vec![fault]),
    };
    let mut faults = FaultList(found);
    // A text that is not JSON is a string, as it would be in YAML.
    let plain = Tree { kind: TreeKind::String(text.to_owned()), span: Span { start: 0, end: text.len() } };
    let is_json = text.trim_start().starts_with(['{', '[', '"']);
    let tree = if is_json { tree } else { Some(plain) };
    let expr = tree.and_then(|tree| read(&source, &tree, &mut faults));
    let mut faults = if is_json { faults.0 } else { Vec::new() };
    faults.retain(Diagnostic::is_error);
    match (expr, faults.into_iter().next()) {
        (Some(expr), None) => Ok(expr),
        (_, fault) => {
            let whole = Span { start: 0, end: text.len() };
            let (span, help) = fault.as_ref().map_or((None, None), |fault| (fault.span, fault.help.clone()));
            let message = fault.map_or_else(|| "it cannot be read".to_owned(), |fault| fault.message);
            Err(ExpressionError { message, help, span: span.unwrap_or(whole) })
        }
    }
}

fn unread(text: &str, fault: ParseFault) -> ExpressionError {
    let span = match fault.offset {
        None => Span { start: 0, end: text.len() },
        // An error at the end of the text is reported at its last character.
        Some(offset) => {
            let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
            let start = text.floor_char_boundary(offset.min(last));
            Span { start, end: start + text[start..].chars().next().map_or(0, char::len_utf8) }
        }
    };
    ExpressionError { message: fault.message, help: fault.help, span }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::dialect::named;
    use crate::expr::Scope;

    fn value(dialect: &str, field: &str, text: &str) -> Result<Option<Value>, ExpressionError> {
        let data = json!({"add": {"sum": 3}, "output": "abc", "state": "done"});
        let dialect = named(dialect).expect("there is such a format");
        let expr = expression(dialect, field, text)?;
        Ok(expr.eval(&Scope::of(&data)).expect("it has a value"))
    }

    #[test]
    fn each_field_is_read_as_its_format_reads_it() {
        let of = |dialect, field, text| value(dialect, field, text).expect("it is read");
        assert_eq!(of("toolgraph", "transform.expr", "{\"n\": add.sum}"), Some(json!({"n": 3})));
        assert_eq!(of("toolgraph", "conditions.0.rule", r#"{">": [{"var": "add.sum"}, 1]}"#), Some(json!(true)));
        assert_eq!(of("toolgraph", "args", r#"{"a": {"expr": "add.sum"}, "b": 1}"#), Some(json!({"a": 3, "b": 1})));
        assert_eq!(of("states", "key_results.0.check", "len(output) == 3"), Some(json!(true)));
        assert_eq!(of("states", "check", r#"{"expr": "add.sum"}"#), Some(json!(3)));
        assert_eq!(of("states", "transform", r#"{"+": [1, 2]}"#), Some(json!(3)));
        assert_eq!(of("states", "call.postTransform.expr", "add.sum + 1"), Some(json!(4)));
        assert_eq!(of("activity", "when", "state == done"), Some(json!(true)));
        assert_eq!(of("navigator", "when", "state == open"), Some(json!(false)));
    }

    #[test]
    fn a_fault_has_its_place_also_inside_of_json() {
        let place = |field, text: &'static str| {
            let span = value("toolgraph", field, text).expect_err("it is none").span;
            &text[span.start..span.end]
        };
        assert_eq!(place("transform.expr", "add.sum )"), ")");
        assert_eq!(place("args", r#"{"ä": {"expr": "add.sum )"}}"#), ")");
        assert!(!place("args", r#"{"a": 1"#).is_empty());
    }
}
