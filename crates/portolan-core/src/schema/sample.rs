//! Makes a value that fits a schema, from the simple keywords of the schema.

use serde_json::{Map, Value, json};

use super::{MAX_DEPTH, Schema};

/// The maximum length of an array and of a text.
const MOST: u64 = 1_000;
/// The maximum number of values of a sample.
const MOST_VALUES: usize = 10_000;

/// Returns a small value that fits a schema, or `None` if none is found, because schemas can be arbitrarily complex.
///
/// ```
/// use portolan_core::schema::sample;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "required": ["steps"], "properties": {"steps": {"type": "array", "minItems": 1}}});
/// assert_eq!(sample(&schema), Some(json!({"steps": [null]})));
/// assert_eq!(sample(&json!({"type": "string", "pattern": "^[0-9]{7}$"})), None);
/// ```
pub fn sample(schema: &Value) -> Option<Value> {
    let mut left = MOST_VALUES;
    let made = made(schema, MAX_DEPTH, &mut left)?;
    Schema::compile(schema).ok()?.check(&made).is_empty().then_some(made)
}

fn made(schema: &Value, depth: usize, left: &mut usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    *left = left.checked_sub(1)?;
    if let Some(value) = ["const", "default"].iter().find_map(|key| schema.get(key)) {
        return Some(value.clone());
    }
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|values| values.first());
    if let Some(value) = first("enum").or_else(|| first("examples")) {
        return Some(value.clone());
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => Some(kind.as_str()),
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        _ => None,
    };
    match kind {
        Some("object") => object(schema, depth, left),
        Some("array") => {
            let many = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(MOST);
            let of = schema.get("items");
            let mut item = || of.map_or(Some(Value::Null), |of| made(of, depth, left));
            let items: Option<Vec<Value>> = (0..many).map(|_| item()).collect();
            items.map(Value::Array)
        }
        Some("string") => {
            let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(1).clamp(1, MOST);
            Some(json!("x".repeat(usize::try_from(least).ok()?)))
        }
        Some("integer" | "number") => Some(schema.get("minimum").cloned().unwrap_or(json!(0))),
        Some("boolean") => Some(json!(true)),
        Some(_) | None => match ["anyOf", "oneOf"].iter().find_map(|key| first(key)) {
            Some(branch) => made(branch, depth, left),
            None => Some(Value::Null),
        },
    }
}

/// Makes an object with the required fields of a schema and of the first of its alternatives.
fn object(schema: &Value, depth: usize, left: &mut usize) -> Option<Value> {
    let branch = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.get(0));
    let required = [Some(schema), branch].into_iter().flatten().filter_map(|part| part.get("required")?.as_array());
    let mut value = Map::new();
    for name in required.flatten().filter_map(Value::as_str) {
        let of = schema.get("properties").and_then(|properties| properties.get(name));
        value.insert(name.to_owned(), of.map_or(Some(json!("x")), |of| made(of, depth, left))?);
    }
    Some(Value::Object(value))
}
