//! Estimates the number of steps that checking a value takes, before it is checked.
//!
//! References can make a small schema expensive: alternatives that refer to alternatives can take an exponential number
//! of steps, although each is used only a few times. The estimate computes each pair of a referenced schema and a value
//! once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{MAX_FAULTS, SchemaFault, resolve};
use crate::diagnostic::clip;

/// The maximum number of steps of a check.
const MAX_STEPS: u64 = 2_000_000;
/// The maximum depth of schemas that are applied inside each other, because the checker is recursive.
const MAX_NESTING: usize = 300;
/// The estimated cost of a pattern with lookaround, in steps.
const LOOKING_AROUND: u64 = 5_000;

/// Returns the number of steps that checking `value` takes, or `None` if it exceeds the maximum.
pub(super) fn of(schema: &Value, value: &Value) -> Option<u64> {
    let mut reckoning = Reckoning { root: schema, known: BTreeMap::new(), made: 0 };
    reckoning.apply(schema, value, 0)
}

struct Reckoning<'s> {
    root: &'s Value,
    /// The cost of a referenced schema at a value, both by their addresses. One step while it is being computed.
    known: BTreeMap<(usize, usize), u64>,
    made: u64,
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

fn schemas<'s>(members: &'s Map<String, Value>, key: &str) -> &'s [Value] {
    members.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn named<'s>(members: &'s Map<String, Value>, key: &str) -> impl Iterator<Item = (&'s String, &'s Value)> {
    members.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// The keywords whose schemas apply to the same value.
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

impl<'s> Reckoning<'s> {
    fn apply(&mut self, schema: &'s Value, value: &Value, nesting: usize) -> Option<u64> {
        self.made += 1;
        if self.made > MAX_STEPS || nesting > MAX_NESTING {
            return None;
        }
        let Some(members) = schema.as_object() else { return Some(1) };
        let mut sum = 1 + own(members, value);
        let mut add = |steps: u64| -> Option<()> {
            sum += steps;
            (sum <= MAX_STEPS).then_some(())
        };
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = members.get(key).and_then(Value::as_str) {
                add(self.refer(reference, value, nesting + 1)?)?;
            }
        }
        let lists = IN_PLACE_LISTS.iter().flat_map(|key| schemas(members, key));
        let single = IN_PLACE.iter().filter_map(|key| members.get(*key));
        let dependent =
            named(members, "dependentSchemas").chain(named(members, "dependencies")).map(|(_, schema)| schema);
        for inner in lists.chain(single).chain(dependent) {
            add(self.apply(inner, value, nesting + 1)?)?;
        }
        match value {
            Value::Array(items) => add(self.array(members, items, nesting + 1)?)?,
            Value::Object(fields) => add(self.object(members, fields, nesting + 1)?)?,
            _ => {}
        }
        Some(sum)
    }

    fn refer(&mut self, reference: &str, value: &Value, nesting: usize) -> Option<u64> {
        let target = resolve(self.root, reference)?;
        let pair = (address(target), address(value));
        if let Some(known) = self.known.get(&pair) {
            return Some(*known);
        }
        self.known.insert(pair, 1);
        let steps = self.apply(target, value, nesting)?;
        self.known.insert(pair, steps);
        Some(steps)
    }

    fn array(&mut self, members: &'s Map<String, Value>, items: &[Value], nesting: usize) -> Option<u64> {
        let mut sum = items.len() as u64;
        let listed = schemas(members, "prefixItems").iter().chain(schemas(members, "items"));
        for (schema, item) in listed.zip(items) {
            sum += self.apply(schema, item, nesting)?;
        }
        for key in ["items", "contains", "unevaluatedItems", "additionalItems"] {
            let Some(schema) = members.get(key).filter(|schema| !schema.is_array()) else { continue };
            for item in items {
                sum += self.apply(schema, item, nesting)?;
            }
        }
        (sum <= MAX_STEPS).then_some(sum)
    }

    fn object(&mut self, members: &'s Map<String, Value>, fields: &Map<String, Value>, nesting: usize) -> Option<u64> {
        let mut sum = fields.len() as u64;
        for (name, schema) in named(members, "properties") {
            if let Some(field) = fields.get(name) {
                sum += self.apply(schema, field, nesting)?;
            }
        }
        for (pattern, schema) in named(members, "patternProperties") {
            for (name, field) in fields {
                // Assumes that it matches, although it may not.
                sum += matching(pattern, name) + self.apply(schema, field, nesting)?;
            }
        }
        for key in ["additionalProperties", "unevaluatedProperties", "propertyNames"] {
            let Some(schema) = members.get(key) else { continue };
            let properties = members.get("properties").and_then(Value::as_object);
            for (name, field) in fields {
                if !properties.is_some_and(|known| known.contains_key(name)) {
                    sum += self.apply(schema, field, nesting)?;
                }
            }
        }
        (sum <= MAX_STEPS).then_some(sum)
    }
}

/// Returns the cost of the keywords that contain no schema.
fn own(members: &Map<String, Value>, value: &Value) -> u64 {
    let choices = schemas(members, "enum").len() as u64;
    let composite = if value.is_object() || value.is_array() { 4 } else { 1 };
    let pattern = match (members.get("pattern").and_then(Value::as_str), value) {
        (Some(pattern), Value::String(text)) => matching(pattern, text),
        _ => 0,
    };
    choices * composite + pattern
}

fn matching(pattern: &str, text: &str) -> u64 {
    let around = ["(?=", "(?!", "(?<", "(?>"].iter().any(|group| pattern.contains(group));
    let back = pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && pair[1].is_ascii_digit());
    // A repetition counts as if it were written out.
    let counted = if pattern.contains('{') { 8 } else { 1 };
    1 + text.len() as u64 * counted + if around || back { LOOKING_AROUND } else { 0 }
}

/// Returns the faults of the references in a schema: those to other documents, and those without a target.
pub(super) fn references(root: &Value) -> Vec<SchemaFault> {
    let mut faults = Vec::new();
    let mut sound = BTreeSet::new();
    look(root, root, "", &mut sound, &mut faults);
    faults.truncate(MAX_FAULTS);
    faults
}

/// The keywords whose values are data, whatever they look like.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];
/// The keywords whose values are schemas by name.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

fn look(root: &Value, value: &Value, path: &str, sound: &mut BTreeSet<String>, faults: &mut Vec<SchemaFault>) {
    if let Value::Array(items) = value {
        for (index, item) in items.iter().enumerate() {
            look(root, item, &format!("{path}/{index}"), sound, faults);
        }
    }
    let Value::Object(members) = value else { return };
    for (key, member) in members {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        match member {
            Value::String(text) if ["$ref", "$dynamicRef", "$recursiveRef"].contains(&key.as_str()) => {
                if !sound.contains(text) {
                    match reference_fault(root, text) {
                        Some(message) => faults.push(SchemaFault { path, message }),
                        None => {
                            sound.insert(text.clone());
                        }
                    }
                }
            }
            Value::String(text) if key == "$id" && path != "/$id" => {
                let message = format!(
                    "gives a part of the schema the address `{}`, which is not supported: remove it",
                    clip(text)
                );
                faults.push(SchemaFault { path, message });
            }
            Value::Object(inner) if NAMED.contains(&key.as_str()) => {
                for (name, schema) in inner {
                    let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                    look(root, schema, &path, sound, faults);
                }
            }
            _ if DATA.contains(&key.as_str()) => {}
            _ => look(root, member, &path, sound, faults),
        }
    }
}

fn reference_fault(root: &Value, reference: &str) -> Option<String> {
    if !reference.starts_with('#') {
        return Some(format!(
            "refers to `{}`, but schemas are not fetched: copy that schema under `$defs` and refer to it as `#/$defs/…`",
            clip(reference)
        ));
    }
    match resolve(root, reference) {
        None => Some(format!("refers to `{}`, which does not exist", clip(reference))),
        Some(target) if !target.is_object() && !target.is_boolean() => {
            Some(format!("refers to `{}`, which is not a schema", clip(reference)))
        }
        Some(_) => None,
    }
}
