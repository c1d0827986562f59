//! The arguments of a tool call: typed, bounded, and all faults at once.

use portolan_core::diagnostic::{clip, closest, list};
use portolan_core::value::described;
use portolan_runtime::service::ServiceError;
use serde_json::{Map, Value};

/// The longest id, word or path that a tool takes, in bytes: as long as a path can be. Errors repeat them.
const MAX_WORD_BYTES: usize = 4 << 10;
/// The longest text that a tool takes, in bytes. What it is for has a narrower limit.
const MAX_TEXT_BYTES: usize = 256 << 10;
/// The most strings that a list may hold.
const MAX_STRINGS: usize = 1_000;

/// The arguments while they are read.
pub(super) struct Arguments {
    given: Map<String, Value>,
    known: Vec<&'static str>,
    faults: Vec<String>,
}

impl Arguments {
    pub(super) fn new(given: Option<Map<String, Value>>) -> Arguments {
        Arguments { given: given.unwrap_or_default(), known: Vec::new(), faults: Vec::new() }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.given.remove(name).filter(|value| !value.is_null())
    }

    /// An id, a word or a path.
    pub(super) fn string(&mut self, name: &'static str) -> Option<String> {
        self.bounded(name, MAX_WORD_BYTES)
    }

    /// A text that somebody wrote.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.bounded(name, MAX_TEXT_BYTES)
    }

    fn bounded(&mut self, name: &'static str, most: usize) -> Option<String> {
        match self.take(name)? {
            Value::String(text) if text.len() <= most => Some(text),
            Value::String(_) => self.wrong(name, &format!("at most {most} bytes long"), "longer"),
            other => self.wrong(name, "a string", described(&other)),
        }
    }

    /// An id, a word or a path that must be there.
    pub(super) fn required(&mut self, name: &'static str) -> String {
        self.not_empty(name, Arguments::string)
    }

    /// A text that must be there.
    pub(super) fn required_text(&mut self, name: &'static str) -> String {
        self.not_empty(name, Arguments::text)
    }

    fn not_empty(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Arguments, &'static str) -> Option<String>,
    ) -> String {
        let before = self.faults.len();
        let value = read(self, name).filter(|text| !text.is_empty());
        if value.is_none() && self.faults.len() == before {
            self.faults.push(format!("`{name}` is missing"));
        }
        value.unwrap_or_default()
    }

    /// Any JSON, `null` too.
    pub(super) fn any(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.given.remove(name)
    }

    /// Any JSON that must be there.
    pub(super) fn required_any(&mut self, name: &'static str) -> Value {
        self.any(name).unwrap_or_else(|| {
            self.faults.push(format!("`{name}` is missing"));
            Value::Null
        })
    }

    pub(super) fn object(&mut self, name: &'static str) -> Option<Map<String, Value>> {
        match self.take(name)? {
            Value::Object(members) => Some(members),
            other => self.wrong(name, "an object", described(&other)),
        }
    }

    /// An object that must be there.
    pub(super) fn required_object(&mut self, name: &'static str) -> Map<String, Value> {
        let before = self.faults.len();
        let value = self.object(name);
        if value.is_none() && self.faults.len() == before {
            self.faults.push(format!("`{name}` is missing"));
        }
        value.unwrap_or_default()
    }

    pub(super) fn number(&mut self, name: &'static str) -> Option<u64> {
        let value = self.take(name)?;
        match value.as_u64() {
            Some(number) => Some(number),
            None => self.wrong(name, "a whole number", described(&value)),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        match self.take(name) {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(other) => self.wrong(name, "true or false", described(&other)).unwrap_or_default(),
        }
    }

    pub(super) fn strings(&mut self, name: &'static str) -> Option<Vec<String>> {
        let value = self.take(name)?;
        let Value::Array(items) = &value else { return self.wrong(name, "an array of strings", described(&value)) };
        if items.len() > MAX_STRINGS {
            return self.wrong(name, &format!("at most {MAX_STRINGS} long"), "longer");
        }
        let mut strings = Vec::new();
        for item in items {
            match item {
                Value::String(text) if text.len() <= MAX_WORD_BYTES => strings.push(text.clone()),
                Value::String(_) => {
                    return self.wrong(
                        name,
                        &format!("an array of strings of at most {MAX_WORD_BYTES} bytes"),
                        "one with a longer one",
                    );
                }
                other => return self.wrong(name, "an array of strings", &format!("one with {}", described(other))),
            }
        }
        Some(strings)
    }

    fn wrong<T>(&mut self, name: &str, wanted: &str, found: &str) -> Option<T> {
        self.faults.push(format!("`{name}` must be {wanted}, but is {found}"));
        None
    }

    /// Fails with everything that was wrong, or goes on.
    pub(super) fn finish(mut self) -> Result<(), ServiceError> {
        for name in self.given.keys() {
            let near = closest(name, self.known.iter().copied());
            let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            self.faults.push(format!("`{}` is no argument of this tool{hint}", clip(name)));
        }
        if self.faults.is_empty() {
            return Ok(());
        }
        let help =
            format!("the arguments are {}", if self.known.is_empty() { "none".to_owned() } else { list(&self.known) });
        Err(ServiceError::refused("invalid_arguments", self.faults.join("; "), help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_faults_come_at_once() {
        let given = json!({"taskFilePath": 5, "reslt": "passed", "revision": "x"});
        let mut arguments = Arguments::new(given.as_object().cloned());
        arguments.string("taskFilePath");
        arguments.required("result");
        arguments.number("revision");
        let error = arguments.finish().expect_err("faults");
        assert_eq!(
            error.message,
            "`taskFilePath` must be a string, but is a number; `result` is missing; `revision` must be a whole number, \
             but is a string; `reslt` is no argument of this tool, did you mean `result`?"
        );
    }
}
