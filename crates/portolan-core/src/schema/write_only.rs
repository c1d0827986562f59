//! Finds the values that a schema marks `writeOnly`: they are passed on, and never shown.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::resolve;

/// The maximum number of listed places.
const MAX_PLACES: usize = 1_000;
/// The maximum number of schemas that are searched for them.
const MAX_LOOKS: usize = 100_000;

const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 3] = ["then", "else", "if"];

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// Returns the schemas that apply to the same value, including the given ones.
fn applied<'s>(root: &'s Value, schemas: Vec<&'s Value>) -> Vec<&'s Map<String, Value>> {
    let mut visited = BTreeSet::new();
    let mut waiting = schemas;
    let mut applied = Vec::new();
    while let Some(schema) = waiting.pop() {
        let Some(members) = schema.as_object().filter(|_| visited.insert(address(schema))) else { continue };
        applied.push(members);
        for key in ["$ref", "$dynamicRef"] {
            let target = members.get(key).and_then(Value::as_str).and_then(|reference| resolve(root, reference));
            waiting.extend(target);
        }
        waiting.extend(LISTS.iter().filter_map(|key| members.get(*key)?.as_array()).flatten());
        waiting.extend(SINGLE.iter().filter_map(|key| members.get(*key)));
        let dependent = members.get("dependentSchemas").and_then(Value::as_object);
        waiting.extend(dependent.into_iter().flat_map(Map::values));
    }
    applied
}

fn is_marked(members: &Map<String, Value>) -> bool {
    members.get("writeOnly") == Some(&Value::Bool(true))
}

/// Returns the schemas of the value under `segment`.
fn below<'s>(members: &'s Map<String, Value>, segment: &str) -> Vec<&'s Value> {
    let mut found = Vec::new();
    let named = members.get("properties").and_then(|properties| properties.get(segment));
    let listed = segment.parse::<usize>().ok().and_then(|index| members.get("prefixItems")?.get(index));
    found.extend(named.into_iter().chain(listed));
    // In doubt a value is hidden: a pattern may match, and an item may be an additional one.
    let patterns = members.get("patternProperties").and_then(Value::as_object);
    found.extend(patterns.into_iter().flat_map(Map::values));
    if named.is_none() {
        found.extend(["additionalProperties", "unevaluatedProperties"].iter().filter_map(|key| members.get(*key)));
    }
    found.extend(["items", "contains", "unevaluatedItems"].iter().filter_map(|key| members.get(*key)));
    found
}

pub(super) fn hides(root: &Value, pointer: &str) -> bool {
    let mut schemas = vec![root];
    let segments = pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"));
    for segment in segments {
        let here = applied(root, schemas);
        if here.iter().any(|members| is_marked(members)) {
            return true;
        }
        schemas = here.iter().flat_map(|members| below(members, &segment)).collect();
    }
    applied(root, schemas).iter().any(|members| is_marked(members))
}

pub(super) fn write_only(root: &Value) -> Vec<String> {
    let mut walk = Walk { root, looks: 0, inside: Vec::new(), found: BTreeSet::new() };
    walk.look(root, String::new());
    walk.found.into_iter().collect()
}

struct Walk<'s> {
    root: &'s Value,
    looks: usize,
    /// The schemas on the path to here, so that one that contains itself is not searched again.
    inside: Vec<usize>,
    found: BTreeSet<String>,
}

impl<'s> Walk<'s> {
    fn look(&mut self, schema: &'s Value, path: String) {
        self.looks += 1;
        if self.looks > MAX_LOOKS || self.found.len() >= MAX_PLACES || self.inside.contains(&address(schema)) {
            return;
        }
        self.inside.push(address(schema));
        for members in applied(self.root, vec![schema]) {
            if is_marked(members) {
                self.found.insert(path.clone());
            }
            for (name, inner) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
                self.look(inner, format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")));
            }
            let listed = members.get("prefixItems").and_then(Value::as_array);
            for (index, inner) in listed.into_iter().flatten().enumerate() {
                self.look(inner, format!("{path}/{index}"));
            }
            let patterns = members.get("patternProperties").and_then(Value::as_object);
            let any = ["items", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties"];
            let any = any.iter().filter_map(|key| members.get(*key));
            for inner in patterns.into_iter().flat_map(Map::values).chain(any) {
                self.look(inner, format!("{path}/*"));
            }
        }
        self.inside.pop();
    }
}
