//! Words the faults that the checker finds: briefly, and without hidden values.

use jsonschema::{ValidationError, error::TypeKind, error::ValidationErrorKind as Kind};
use serde_json::Value;

use super::{SchemaFault, write_only};
use crate::diagnostic::{clip, list};

/// A fault of a value.
pub(super) fn of_value(schema: &Value, error: &ValidationError<'_>) -> SchemaFault {
    let path = error.instance_path().as_str().to_owned();
    let hides = write_only::hides(schema, &path);
    SchemaFault { message: error_message(error, hides), path }
}

/// A fault of a schema: the value that is checked is the schema itself.
pub(super) fn of_schema(error: &ValidationError<'_>) -> SchemaFault {
    let path = error.instance_path().as_str().to_owned();
    let message = match error.kind() {
        Kind::Referencing(fault) => format!("cannot be resolved: {}", clip(&fault.to_string().to_lowercase())),
        Kind::Format { format } if format == "regex" => "is not a regular expression, or is too large".to_owned(),
        Kind::AnyOf { .. } if path.ends_with("/type") || path == "/type" => format!(
            "must be one of {}, but is {}",
            list(&["array", "boolean", "integer", "null", "number", "object", "string"]),
            shown(error.instance(), false)
        ),
        _ => error_message(error, false),
    };
    SchemaFault { path, message }
}

fn error_message(error: &ValidationError<'_>, hides: bool) -> String {
    let found = || shown(error.instance(), hides);
    let but = |wanted: &str| format!("must be {wanted}, but is {}", found());
    match error.kind() {
        Kind::Type { kind } => but(&types(kind)),
        Kind::Required { property } => format!("has no `{}`", clip(property.as_str().unwrap_or_default())),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<&str> = unexpected.iter().map(String::as_str).collect();
            format!("must not have {}", list(&names))
        }
        Kind::Enum { options } => but(&format!("one of {}", choices(options))),
        Kind::Constant { expected_value } => but(&shown(expected_value, false)),
        Kind::Minimum { limit } => but(&format!("at least {limit}")),
        Kind::Maximum { limit } => but(&format!("at most {limit}")),
        Kind::ExclusiveMinimum { limit } => but(&format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => but(&format!("less than {limit}")),
        Kind::MultipleOf { multiple_of } => but(&format!("a multiple of {multiple_of}")),
        Kind::MinLength { limit } => format!("must have at least {}", counted(*limit, "character")),
        Kind::MaxLength { limit } => format!("must have at most {}", counted(*limit, "character")),
        Kind::MinItems { limit } => format!("must have at least {}", counted(*limit, "item")),
        Kind::MaxItems { limit } => format!("must have at most {}", counted(*limit, "item")),
        Kind::MinProperties { limit } => format!("must have at least {}", counted(*limit, "field")),
        Kind::MaxProperties { limit } => format!("must have at most {}", counted(*limit, "field")),
        Kind::AdditionalItems { limit } => format!("must have at most {}", counted(*limit as u64, "item")),
        Kind::UnevaluatedItems { .. } => "has items that are not allowed".to_owned(),
        Kind::UniqueItems => "has the same item twice".to_owned(),
        Kind::Contains => "has no item of the required kind".to_owned(),
        Kind::Pattern { pattern } => format!("must match `{}`, but is {}", clip(pattern), found()),
        Kind::Format { format } => but(&format!("written as `{}`", clip(format))),
        Kind::PropertyNames { error } => {
            format!("has a field `{}`, whose name {}", shown_name(error.instance(), hides), error_message(error, hides))
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context, error, hides),
        Kind::OneOfMultipleValid { .. } => "fits more than one alternative, but must fit exactly one".to_owned(),
        Kind::Not { .. } => "is of a kind that is not allowed".to_owned(),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "takes too long to match against the pattern of its schema".to_owned()
        }
        Kind::ContentEncoding { content_encoding } => format!("is not encoded as `{}`", clip(content_encoding)),
        Kind::ContentMediaType { content_media_type } => format!("is no `{}`", clip(content_media_type)),
        Kind::FromUtf8 { .. } => "is not encoded as UTF-8".to_owned(),
        Kind::Custom { message, .. } => clip(message),
        Kind::Referencing(fault) => clip(&fault.to_string().to_lowercase()),
    }
}

/// Words the fault that no alternative fits: with the types if the alternatives differ in type, or else with the fault
/// of the nearest alternative.
fn alternatives(context: &[Vec<ValidationError<'_>>], whole: &ValidationError<'_>, hides: bool) -> String {
    let at = |error: &ValidationError<'_>| error.instance_path() == whole.instance_path();
    let mut wanted = Vec::new();
    for branch in context {
        match branch.iter().find(|error| at(error)).map(ValidationError::kind) {
            Some(Kind::Type { kind }) => wanted.push(types(kind)),
            _ => {
                wanted.clear();
                break;
            }
        }
    }
    if !wanted.is_empty() {
        wanted.dedup();
        return format!("must be {}, but is {}", clip(&wanted.join(" or ")), shown(whole.instance(), hides));
    }
    let of_type = |branch: &&Vec<ValidationError<'_>>| {
        !branch.iter().any(|error| at(error) && matches!(error.kind(), Kind::Type { .. }))
    };
    let nearest = context.iter().filter(of_type).min_by_key(|branch| branch.len()).and_then(|branch| branch.first());
    let count = context.len();
    match nearest {
        // Of nested alternatives, the outermost is reported, and one step towards the cause.
        Some(error) if !matches!(error.kind(), Kind::AnyOf { .. } | Kind::OneOfNotValid { .. }) => {
            let path = error.instance_path().as_str();
            let place = path.strip_prefix(whole.instance_path().as_str()).unwrap_or(path);
            let place = if place.is_empty() { "it".to_owned() } else { format!("`{}`", clip(place)) };
            format!(
                "does not fit any of the {count} alternatives; for the closest, {place} {}",
                error_message(error, hides)
            )
        }
        _ => format!("does not fit any of the {count} alternatives"),
    }
}

fn types(kind: &TypeKind) -> String {
    let word = |name: &str| match name {
        "null" => "null".to_owned(),
        "integer" => "a whole number".to_owned(),
        "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    };
    match kind {
        TypeKind::Single(kind) => word(kind.as_str()),
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| word(kind.as_str())).collect::<Vec<_>>().join(" or "),
    }
}

/// Returns a value as messages show it: a hidden one, and one with parts, only by its kind.
fn shown(value: &Value, hides: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        _ if hides => "another value".to_owned(),
        Value::String(text) => format!("`\"{}\"`", clip(text)),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
    }
}

fn shown_name(value: &Value, hides: bool) -> String {
    if hides { "…".to_owned() } else { clip(value.as_str().unwrap_or_default()) }
}

fn choices(options: &Value) -> String {
    let texts: Vec<String> = options
        .as_array()
        .into_iter()
        .flatten()
        .map(|option| match option {
            Value::String(text) => text.clone(),
            other => clip(&other.to_string()),
        })
        .collect();
    list(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
