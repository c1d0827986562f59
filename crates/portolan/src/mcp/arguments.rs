//! Reads the arguments of a tool call: typed, limited in size, with all faults reported at once.

use portolan_core::diagnostic::{clip, closest, list};
use portolan_core::value::described;
use portolan_runtime::service::ServiceError;
use serde_json::{Map, Value};

/// The longest id, word or path, in bytes: the longest possible path. Errors repeat these arguments.
const MAX_WORD_BYTES: usize = 4 << 10;
/// The longest text, in bytes. Its use may have a lower limit.
const MAX_TEXT_BYTES: usize = 256 << 10;
/// The most strings in a list.
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

    /// Takes an id, a word or a path.
    pub(super) fn string(&mut self, name: &'static str) -> Option<String> {
        self.bounded(name, MAX_WORD_BYTES)
    }

    /// Takes a text.
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

    /// Takes a required id, word or path.
    pub(super) fn required(&mut self, name: &'static str) -> String {
        self.not_empty(name, Arguments::string)
    }

    /// Takes a required text.
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

    /// Takes any JSON value, `null` included.
    pub(super) fn any(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.given.remove(name)
    }

    /// Takes a required JSON value.
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

    /// Takes a required object.
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

    /// Fails with all faults, or succeeds if there are none.
    pub(super) fn finish(mut self) -> Result<(), ServiceError> {
        for name in self.given.keys() {
            let near = closest(name, self.known.iter().copied());
            let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            self.faults.push(format!("`{}` is not an argument of this tool{hint}", clip(name)));
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
             but is a string; `reslt` is not an argument of this tool, did you mean `result`?"
        );
    }
}
