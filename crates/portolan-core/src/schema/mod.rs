//! JSON Schemas (2020-12) of the inputs and outputs of workflows.
//!
//! A schema is self-contained: nothing is fetched. Schemas and values come from outside, so both compiling and checking
//! are bounded, and a fault never quotes more than a few words of a value.

mod cost;
mod plain;
mod sample;
mod words;
mod write_only;

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use sample::sample;

/// The maximum number of faults that are reported for one value.
pub const MAX_FAULTS: usize = 50;
/// The maximum nesting of a schema, and of a value that is checked.
const MAX_DEPTH: usize = 128;
/// The maximum number of values that a schema consists of.
const MAX_SCHEMA_NODES: usize = 50_000;
/// The number of steps above which only the first fault is reported, because each fault takes memory.
const MAX_THOROUGH_STEPS: u64 = 200_000;
/// The maximum size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 200_000;
/// The maximum number of times that a pattern with lookaround may backtrack.
const MAX_BACKTRACKS: usize = 20_000;

/// A compiled schema. Cloning it is cheap. Two are equal if their texts are.
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    value: Value,
    /// That of a plain schema is built for the first value that is checked.
    validator: OnceLock<Result<Validator, Vec<SchemaFault>>>,
}

impl Inner {
    fn validator(&self) -> &Result<Validator, Vec<SchemaFault>> {
        self.validator.get_or_init(|| {
            let patterns = PatternOptions::fancy_regex().size_limit(MAX_PATTERN_BYTES).backtrack_limit(MAX_BACKTRACKS);
            let options = jsonschema::options().offline().with_pattern_options(patterns);
            options.build(&self.value).map_err(|error| vec![words::of_schema(&error)])
        })
    }
}

/// A fault of a value or of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// Its place: a JSON pointer into the checked value, empty for the value as a whole.
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
    /// All its faults, up to [`MAX_FAULTS`].
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
        let inner = Inner { value: value.clone(), validator: OnceLock::new() };
        if !plain::is_plain(value) {
            let mut faults: Vec<SchemaFault> =
                rules(value).iter_errors(value).take(MAX_FAULTS).map(|error| words::of_schema(&error)).collect();
            // The metaschema of a draft has several parts, and each part reports the fault.
            faults.dedup();
            let faults = if faults.is_empty() { cost::references(value) } else { faults };
            if !faults.is_empty() {
                return Err(faults);
            }
            if let Err(faults) = inner.validator() {
                return Err(faults.clone());
            }
        }
        Ok(Schema(Arc::new(inner)))
    }

    /// Returns the schema as it was written.
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// Returns all faults of a value, up to [`MAX_FAULTS`]. For a very large value, it returns only the first one.
    pub fn check(&self, value: &Value) -> Vec<SchemaFault> {
        let whole = |message: String| vec![SchemaFault { path: String::new(), message }];
        if size(value, MAX_DEPTH).is_none() {
            return whole(format!("nests deeper than the {MAX_DEPTH} levels that are checked"));
        }
        let Some(steps) = cost::of(&self.0.value, value) else {
            return whole("takes too many steps to check against its schema".to_owned());
        };
        let to_fault = |error: &jsonschema::ValidationError<'_>| words::of_value(&self.0.value, error);
        let validator = match self.0.validator() {
            Ok(validator) => validator,
            Err(faults) => return faults.clone(),
        };
        if steps > MAX_THOROUGH_STEPS {
            return validator.validate(value).err().iter().map(to_fault).collect();
        }
        if validator.is_valid(value) {
            return Vec::new();
        }
        let mut faults: Vec<SchemaFault> =
            validator.iter_errors(value).take(MAX_FAULTS).map(|error| to_fault(&error)).collect();
        faults.sort_by(|a, b| a.path.cmp(&b.path));
        faults.dedup();
        faults
    }

    /// Checks whether the value at `pointer` is marked `writeOnly`, or is inside of a value that is. It is never shown.
    pub fn hides(&self, pointer: &str) -> bool {
        write_only::hides(&self.0.value, pointer)
    }

    /// Returns the places of values that are marked `writeOnly`: JSON pointers, with `*` for every item of an array and
    /// every other field of an object. A schema that contains itself yields each place once; [`Schema::hides`] detects
    /// all.
    pub fn write_only(&self) -> Vec<String> {
        write_only::write_only(&self.0.value)
    }
}

/// Returns the metaschema of the draft that a schema names, or that of 2020-12 if it names none.
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

/// Returns the number of values that a value consists of, or `None` if it nests deeper than `depth`.
fn size(value: &Value, depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Array(items) => items.iter().try_fold(1, |sum, item| Some(sum + size(item, depth)?)),
        Value::Object(members) => members.values().try_fold(1, |sum, item| Some(sum + size(item, depth)?)),
        _ => Some(1),
    }
}

/// Returns the target of a local reference.
fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&decoded(fragment));
    }
    anchored(root, fragment)
}

/// Decodes a pointer in a reference: it is part of an address, in which `%` begins two hexadecimal digits.
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
