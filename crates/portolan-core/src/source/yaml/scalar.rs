//! The meaning of an unquoted word in the core schema of YAML 1.2, which reads `yes`, `on` and dates as texts.

use saphyr_parser::Tag;

use super::{fault, written};
use crate::diagnostic::Diagnostic;
use crate::source::{Span, TreeKind, beyond_numbers};

/// Returns the value of a scalar. A quoted scalar is a text unless its tag says otherwise; `tag` comes with its span.
pub(super) fn kind(
    value: &str,
    plain: bool,
    tag: Option<(&Tag, Span)>,
    span: Span,
    faults: &mut Vec<Diagnostic>,
) -> TreeKind {
    let text = || TreeKind::String(value.to_owned());
    let Some((tag, tag_span)) = tag else {
        return if plain { resolved(value, span, faults) } else { text() };
    };
    if tag.handle.is_empty() && tag.suffix == "!" || tag.is_yaml_core_schema() && tag.suffix == "str" {
        return text();
    }
    if !tag.is_yaml_core_schema() || !["null", "bool", "int", "float"].contains(&tag.suffix.as_str()) {
        faults.push(fault::unknown_tag(&written(tag), tag_span));
        return text();
    }
    let kind = resolved(value, span, faults);
    let fits = match (&kind, tag.suffix.as_str()) {
        (TreeKind::Null, "null") | (TreeKind::Bool(_), "bool") | (TreeKind::Number(_), "float") => true,
        (TreeKind::Number(number), "int") => !number.contains(['.', 'e', 'E']),
        _ => false,
    };
    if !fits {
        faults.push(fault::mistagged(&written(tag), value, span));
    }
    kind
}

fn resolved(word: &str, span: Span, faults: &mut Vec<Diagnostic>) -> TreeKind {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return TreeKind::Null,
        "true" | "True" | "TRUE" => return TreeKind::Bool(true),
        "false" | "False" | "FALSE" => return TreeKind::Bool(false),
        _ => {}
    }
    if is_special(word) {
        faults.push(fault::no_number(word, span));
        return TreeKind::String(word.to_owned());
    }
    match number(word) {
        Some(text) => {
            faults.extend(beyond_numbers(&text, span));
            TreeKind::Number(text)
        }
        None => TreeKind::String(word.to_owned()),
    }
}

/// Returns whether a word is an infinity or NaN, which JSON cannot represent.
fn is_special(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    [".inf", ".Inf", ".INF"].contains(&unsigned) || [".nan", ".NaN", ".NAN"].contains(&word)
}

/// Returns a number in JSON notation: its own text if that is valid JSON, so that no digit is lost.
fn number(word: &str) -> Option<String> {
    if serde_json::from_str::<serde_json::Number>(word).is_ok() {
        return Some(word.to_owned());
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = word.strip_prefix(prefix) {
            let sound = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
            return sound
                .then(|| u128::from_str_radix(digits, radix).map_or_else(|_| "1e999".to_owned(), |n| n.to_string()));
        }
    }
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(whole, rest)| (whole, Some(rest)));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_none_or(str::is_empty) || !digits(whole) || !fraction.is_none_or(digits) {
        return None;
    }
    let power = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    if power.is_some_and(|power| power.is_empty() || !digits(power)) {
        return None;
    }
    let sign = if word.starts_with('-') { "-" } else { "" };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.filter(|digits| !digits.is_empty()).map(|digits| format!(".{digits}")).unwrap_or_default();
    let exponent = exponent.map(|text| format!("e{text}")).unwrap_or_default();
    Some(format!("{sign}{whole}{fraction}{exponent}"))
}
