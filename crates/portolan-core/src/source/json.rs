//! Strict JSON.

use jsonc_parser::{ParseOptions, ast, common::Ranged};

use super::{Entry, Source, Span, Spanned, Tree, TreeKind, beyond_numbers, too_large};
use crate::diagnostic::Diagnostic;

/// Parses strict JSON (RFC 8259) into a tree.
///
/// # Errors
/// One diagnostic: the first syntax error, nesting beyond 512 levels, or a text over
/// [`MAX_SOURCE_BYTES`](super::MAX_SOURCE_BYTES).
pub fn parse_json(source: &Source) -> Result<Tree, Diagnostic> {
    if let Some(fault) = too_large(source) {
        return Err(fault);
    }
    let options = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(&source.text, &Default::default(), &options).map_err(|error| {
        let range = error.range();
        Diagnostic::error("syntax", format!("not valid JSON: {}", lower_first(&error.kind().to_string())))
            .at(Span { start: range.start, end: range.end })
    })?;
    if let Some((at, found)) = beyond_json(&source.text) {
        let message = format!("not valid JSON: the character `{}` is not allowed here", found.escape_debug());
        return Err(Diagnostic::error("syntax", message).at(Span { start: at, end: at + found.len_utf8() }).help(
            "in a string write `\\n` for a line break and `\\t` for a tab; between values use only plain spaces, \
            tabs and line breaks",
        ));
    }
    let value = parsed.value.as_ref().ok_or_else(|| Diagnostic::error("syntax", "the file is empty".to_owned()))?;
    let mut beyond = None;
    let tree = tree(value, &mut beyond);
    beyond.map_or(Ok(tree), Err)
}

/// Finds what the parser accepts although RFC 8259 does not: control characters in strings, and characters between
/// values that are neither visible ASCII nor one of its four blanks. Expects a text that is otherwise valid.
fn beyond_json(text: &str) -> Option<(usize, char)> {
    let (mut inside, mut escaped) = (false, false);
    text.char_indices().find(|&(_, c)| {
        let allowed = if inside { c >= ' ' } else { c.is_ascii_graphic() || [' ', '\t', '\n', '\r'].contains(&c) };
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = inside,
            '"' => inside = !inside,
            _ => {}
        }
        !allowed
    })
}

fn tree(value: &ast::Value<'_>, beyond: &mut Option<Diagnostic>) -> Tree {
    let range = value.range();
    let span = Span { start: range.start, end: range.end };
    let kind = match value {
        ast::Value::NullKeyword(_) => TreeKind::Null,
        ast::Value::BooleanLit(literal) => TreeKind::Bool(literal.value),
        ast::Value::NumberLit(literal) => {
            *beyond = beyond.take().or_else(|| beyond_numbers(literal.value, span));
            TreeKind::Number(literal.value.to_owned())
        }
        ast::Value::StringLit(literal) => TreeKind::String(literal.value.to_string()),
        ast::Value::Array(array) => TreeKind::Array(array.elements.iter().map(|item| tree(item, beyond)).collect()),
        ast::Value::Object(object) => {
            TreeKind::Object(object.properties.iter().map(|property| entry(property, beyond)).collect())
        }
    };
    Tree { kind, span }
}

fn entry(property: &ast::ObjectProp<'_>, beyond: &mut Option<Diagnostic>) -> Entry {
    let range = property.name.range();
    Entry {
        key: Spanned { value: property.name.as_str().to_owned(), span: Span { start: range.start, end: range.end } },
        value: tree(&property.value, beyond),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_strict_json_is_refused() {
        for text in [
            "{a:1}",
            "{\"a\":1,}",
            "{'a':1}",
            "// x\n1",
            "[01]",
            "[1 2]",
            "[+1]",
            "[.5]",
            "[NaN]",
            "",
            "{} {}",
            "[\"a\nb\"]",
            "{\"\t\":1}",
            "[\u{a0}1]",
            "[\u{c}1]",
            "[\u{b}1]",
            "[1e400]",
        ] {
            assert!(parse_json(&Source::new("t", text)).is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        let text = "[".repeat(10_000);
        let fault = parse_json(&Source::new("t", &text)).expect_err("too deep");
        assert_eq!(fault.message, "not valid JSON: maximum nesting depth exceeded");
    }
}
