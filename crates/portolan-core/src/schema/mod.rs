//! JSON Schemas (2020-12) of what goes into a workflow and comes out of it.
//!
//! A schema stands by itself: nothing is fetched. Schemas and values come from outside, so that both compiling and
//! checking are bounded, and a fault never repeats more than a few words of what it is about.

mod cost;
mod hidden;
mod sample;
mod words;

use std::fmt;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use sample::sample;

/// The most faults that are told of one value.
pub const MAX_FAULTS: usize = 50;
/// How deep a schema, and a value that is checked, may nest.
const MAX_DEPTH: usize = 128;
/// The most values that a schema may be made of.
const MAX_SCHEMA_NODES: usize = 50_000;
/// Above how many steps only the first fault is told: making all of them takes memory for each.
const MAX_THOROUGH_STEPS: u64 = 200_000;
/// How large a compiled pattern may be, in bytes.
const MAX_PATTERN_BYTES: usize = 200_000;
/// How often a pattern that looks around may try again.
const MAX_BACKTRACKS: usize = 20_000;

/// A compiled schema. Cloning it is cheap; two are equal when their texts are.
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    value: Value,
    validator: Validator,
}

/// What is wrong with a value, or with a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// Where: a JSON pointer into what was looked at, empty for the whole of it.
    pub path: String,
    /// One lower-case sentence without a subject: `must be a string, but is 12`.
    pub message: String,
}

impl serde::Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.value.serialize(serializer)
    }
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str("it ")?
        } else {
            write!(f, "`{}` ", crate::diagnostic::clip(&self.path))?
        }
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.0.value)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl Eq for Schema {}

impl Schema {
    /// Compiles a schema.
    ///
    /// ```
    /// use portolan_core::schema::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::compile(&json!({"type": "object", "required": ["path"]})).unwrap();
    /// assert!(schema.check(&json!({"path": "."})).is_empty());
    /// assert_eq!(schema.check(&json!({}))[0].to_string(), "it has no `path`");
    /// ```
    ///
    /// # Errors
    /// Everything that is wrong with it, up to [`MAX_FAULTS`].
    pub fn compile(value: &Value) -> Result<Schema, Vec<SchemaFault>> {
        let fault =
            |path: &str, message: &str| vec![SchemaFault { path: path.to_owned(), message: message.to_owned() }];
        if !value.is_object() && !value.is_boolean() {
            return Err(fault("", "is not a schema: a schema is an object, `true` or `false`"));
        }
        let size = size(value, MAX_DEPTH).ok_or_else(|| fault("", &format!("nests deeper than {MAX_DEPTH} levels")))?;
        if size > MAX_SCHEMA_NODES {
            return Err(fault("", &format!("has more than {MAX_SCHEMA_NODES} values")));
        }
        let mut faults: Vec<SchemaFault> =
            rules(value).iter_errors(value).take(MAX_FAULTS).map(|error| words::of_schema(&error)).collect();
        // A draft is described in several parts, and each part says it.
        faults.dedup();
        let faults = if faults.is_empty() { cost::references(value) } else { faults };
        if !faults.is_empty() {
            return Err(faults);
        }
        let patterns = PatternOptions::fancy_regex().size_limit(MAX_PATTERN_BYTES).backtrack_limit(MAX_BACKTRACKS);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(value)
            .map_err(|error| vec![words::of_schema(&error)])?;
        Ok(Schema(Arc::new(Inner { value: value.clone(), validator })))
    }

    /// The schema as it was written.
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// Everything that is wrong with a value, up to [`MAX_FAULTS`]; of a very large value, the first fault alone.
    pub fn check(&self, value: &Value) -> Vec<SchemaFault> {
        let whole = |message: String| vec![SchemaFault { path: String::new(), message }];
        if size(value, MAX_DEPTH).is_none() {
            return whole(format!("nests deeper than the {MAX_DEPTH} levels that are checked"));
        }
        let Some(steps) = cost::of(&self.0.value, value) else {
            return whole("takes too many steps to check against its schema".to_owned());
        };
        let told = |error: &jsonschema::ValidationError<'_>| words::of_value(&self.0.value, error);
        if steps > MAX_THOROUGH_STEPS {
            return self.0.validator.validate(value).err().iter().map(told).collect();
        }
        if self.0.validator.is_valid(value) {
            return Vec::new();
        }
        let mut faults: Vec<SchemaFault> =
            self.0.validator.iter_errors(value).take(MAX_FAULTS).map(|error| told(&error)).collect();
        faults.sort_by(|a, b| a.path.cmp(&b.path));
        faults.dedup();
        faults
    }

    /// Whether what stands at `pointer` in a value is marked `writeOnly`, or lies inside of what is: it is never shown.
    pub fn hides(&self, pointer: &str) -> bool {
        hidden::hides(&self.0.value, pointer)
    }

    /// Where values are marked `writeOnly`: JSON pointers, with `*` for every item of an array and every other field of
    /// an object. Of a schema that contains itself, each place once; [`Schema::hides`] knows all of them.
    pub fn write_only(&self) -> Vec<String> {
        hidden::write_only(&self.0.value)
    }
}

/// What the draft that a schema names says of schemas; without a name, that of 2020-12.
fn rules(schema: &Value) -> jsonschema::meta::MetaValidator<'static> {
    let named = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    match ["draft-04", "draft-06", "draft-07", "2019-09"].iter().position(|draft| named.contains(draft)) {
        Some(0) => jsonschema::draft4::meta::validator(),
        Some(1) => jsonschema::draft6::meta::validator(),
        Some(2) => jsonschema::draft7::meta::validator(),
        Some(_) => jsonschema::draft201909::meta::validator(),
        None => jsonschema::draft202012::meta::validator(),
    }
}

/// How many values a value is made of; nothing when it nests deeper than `depth`.
fn size(value: &Value, depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Array(items) => items.iter().try_fold(1, |sum, item| Some(sum + size(item, depth)?)),
        Value::Object(members) => members.values().try_fold(1, |sum, item| Some(sum + size(item, depth)?)),
        _ => Some(1),
    }
}

/// What a local reference refers to.
fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&decoded(fragment));
    }
    anchored(root, fragment)
}

/// A pointer in a reference is part of an address, in which `%` begins two hexadecimal digits.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, more @ ..] = rest {
        let code = more.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn anchored<'s>(value: &'s Value, name: &str) -> Option<&'s Value> {
    match value {
        Value::Object(members) => {
            let is = |key: &str| members.get(key).and_then(Value::as_str) == Some(name);
            if is("$anchor") || is("$dynamicAnchor") {
                return Some(value);
            }
            members.values().find_map(|member| anchored(member, name))
        }
        Value::Array(items) => items.iter().find_map(|item| anchored(item, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
