//! Records a run as a test. Secrets are masked before they reach the file. The expected outcome is that of the masked
//! answers, so the test passes as written.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use portolan_core::diagnostic::is_unseen;
use portolan_core::dialect::script::{self, ScriptedAnswer, written};
use portolan_core::present::Redaction;
use portolan_core::run::Fault;
use portolan_core::source::{MAX_SOURCE_BYTES, Source};
use serde_json::{Map, Value, json};

use super::run::{CaseOutcome, Tester};
use crate::definition::Definition;
use crate::disk;
use crate::error::ServiceError;
use crate::tools::RecordedAnswers;

/// The data from which a test is recorded.
pub struct Recording<'r> {
    /// The name of the test.
    pub name: String,
    /// The file of functions.
    pub graph: &'r Path,
    /// The function.
    pub definition: &'r Arc<Definition>,
    /// The input of the run.
    pub input: &'r Value,
    /// The answers to its calls, by `function.node`.
    pub answers: BTreeMap<String, Vec<ScriptedAnswer>>,
    /// The values to be masked.
    pub hidden: &'r Redaction,
}

/// A recording as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingText {
    /// The text of the file.
    pub text: String,
    /// Whether something in it is masked.
    pub redacted: bool,
}

impl Recording<'_> {
    /// Returns the test file for `path`.
    ///
    /// # Errors
    /// The function no longer accepts the masked input, or the file would be too large to be read.
    pub async fn write(&self, path: &Path, tester: &Tester) -> Result<RecordingText, ServiceError> {
        let (test, redacted) = self.test(tester).await?;
        let text = text(path, &way(path, self.graph), &test, ("Recorded by `portolan run --record`", redacted));
        fits(&text)?;
        Ok(RecordingText { text, redacted })
    }

    /// Returns the test, and whether something in it is masked.
    pub(super) async fn test(&self, tester: &Tester) -> Result<(Map<String, Value>, bool), ServiceError> {
        let input = fitting(self.input, &self.hidden.value(self.input));
        let given = &self.answers;
        let answers: Vec<(String, Vec<ScriptedAnswer>)> =
            given.iter().map(|(name, answers)| (name.clone(), self.masked(answers))).collect();
        let redacted = input != *self.input || !answers.iter().map(|(name, answers)| (name, answers)).eq(given);
        let replay = Arc::new(RecordedAnswers::new(answers.clone()));
        let came = tester.come_to(self.definition, &input, replay, None).await?;
        if let CaseOutcome::Failed(Fault { code, message, .. }) = &came
            && code == "bad-input"
        {
            let help = "remove the masked field from `redact`, or write the test by hand";
            let message = format!("nothing was recorded: with its secrets masked, {message}");
            return Err(ServiceError::refused("not_recorded", message, help));
        }
        let mut test = Map::new();
        test.insert("name".to_owned(), json!(self.name));
        test.insert("tool".to_owned(), json!(self.definition.workflow.id()));
        test.insert("input".to_owned(), input);
        let mock = answers.iter().map(|(name, answers)| (name.clone(), written(answers)));
        test.insert("mock".to_owned(), Value::Object(mock.collect()));
        match came {
            CaseOutcome::To(output) => test.insert("expect".to_owned(), output),
            CaseOutcome::Failed(Fault { node, code, message, .. }) => {
                let fault = json!({ "node": node, "code": code, "message": message });
                test.insert("expectError".to_owned(), fault)
            }
        };
        Ok((test, redacted))
    }

    fn masked(&self, answers: &[ScriptedAnswer]) -> Vec<ScriptedAnswer> {
        let masked = |answer: &ScriptedAnswer| match answer {
            ScriptedAnswer::Output(output) => ScriptedAnswer::Output(fitting(output, &self.hidden.value(output))),
            ScriptedAnswer::Failure { message, code } => {
                ScriptedAnswer::Failure { message: self.hidden.text(message), code: code.clone() }
            }
        };
        answers.iter().map(masked).collect()
    }
}

/// Refuses a text that is too large to be read again.
pub(super) fn fits(text: &str) -> Result<(), ServiceError> {
    if text.len() <= MAX_SOURCE_BYTES {
        return Ok(());
    }
    let message = format!("the recording has {} bytes, but at most {MAX_SOURCE_BYTES} are read", text.len());
    Err(ServiceError::refused("too_large", message, "record a smaller run"))
}

/// Returns the masked value with the types of the original, so that schemas and expressions still accept it.
fn fitting(original: &Value, masked: &Value) -> Value {
    match (original, masked) {
        (Value::Object(original), Value::Object(masked)) if original.len() == masked.len() => {
            let fields = original.iter().zip(masked);
            Value::Object(fields.map(|((_, value), (name, masked))| (name.clone(), fitting(value, masked))).collect())
        }
        (Value::Array(original), Value::Array(masked)) => {
            Value::Array(original.iter().zip(masked).map(|(value, masked)| fitting(value, masked)).collect())
        }
        (Value::Number(_), Value::String(_)) => json!(0),
        (Value::Bool(_), Value::String(_)) => json!(false),
        (Value::Array(_), Value::String(_)) => json!([]),
        (Value::Object(_), Value::String(_)) => json!({}),
        (_, masked) => masked.clone(),
    }
}

/// Writes YAML with one line per field: its name and JSON. Writes JSON if the file has that extension, and if the YAML
/// would not parse to the same test.
pub(super) fn text(path: &Path, graph: &str, test: &Map<String, Value>, (from, redacted): (&str, bool)) -> String {
    let whole = json!({ "graph": graph, "tests": [test] });
    let plain = || format!("{}\n", serde_json::to_string_pretty(&whole).unwrap_or_default());
    if path.extension().is_some_and(|extension| extension == "json") {
        return plain();
    }
    let mut text = format!("# {from}; `portolan test` runs it.\n");
    if redacted {
        text += "# Redacted values are masked; the expected values are computed from the masked ones.\n";
    }
    text += &format!("graph: {}\ntests:\n", line(&json!(graph)));
    for (at, (name, value)) in test.iter().enumerate() {
        let lead = if at == 0 { "  - " } else { "    " };
        match value {
            Value::Object(answers) if name == "mock" && !answers.is_empty() => {
                text += &format!("{lead}{name}:\n");
                for (node, answer) in answers {
                    text += &format!("      {}: {}\n", line(&json!(node)), line(answer));
                }
            }
            value => text += &format!("{lead}{name}: {}\n", line(value)),
        }
    }
    let (read, _) = script::script(&Source::new("recording.yaml", &text));
    let (meant, _) = script::script(&Source::new("recording.json", plain()));
    if format!("{:?}", read.map(shape)) == format!("{:?}", meant.map(shape)) { text } else { plain() }
}

/// Returns the content of a script without its positions.
fn shape(script: script::Script) -> impl std::fmt::Debug {
    let case = |case: script::Case| {
        let answers: Vec<_> = case.answers.into_iter().map(|(name, answers)| (name, answers.value)).collect();
        (case.name.value, case.input, answers, case.expected)
    };
    script.cases.into_iter().map(case).collect::<Vec<_>>()
}

/// Writes JSON on one line, escaping the characters that YAML does not accept literally.
fn line(value: &Value) -> String {
    let mut line = String::new();
    for c in value.to_string().chars() {
        if is_unseen(c) || c == '\u{feff}' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                line += &format!("\\u{unit:04x}");
            }
        } else {
            line.push(c);
        }
    }
    line
}

/// Returns the relative path from the folder of one file to another file.
pub(super) fn way(from: &Path, to: &Path) -> String {
    let folder = disk::folder_of(from);
    let (Ok(folder), Ok(target)) = (folder.canonicalize(), to.canonicalize()) else { return to.display().to_string() };
    let (mut here, mut there) = (folder.components().peekable(), target.components().peekable());
    while here.peek().is_some() && here.peek() == there.peek() {
        here.next();
        there.next();
    }
    let up = here.map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(there).collect();
    way.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use portolan_core::present::MASK;

    use super::*;

    fn test(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn a_recording_reads_back_as_what_it_says() {
        let odd = json!({"a: b": "x\u{85}\u{1b}# \u{202e}", "n": [1.5, null, true], "": {}});
        let test = test(
            json!({"name": "t: #", "tool": "t", "input": odd, "mock": {"t.n": odd, "t.o": {"each": [1, odd]}}, "expect": odd}),
        );
        let text = text(Path::new("a.test.yaml"), "g.yaml", &test, ("Recorded", false));
        assert!(text.starts_with("# Recorded"), "it is YAML:\n{text}");
        let (script, faults) = script::script(&Source::new("a.test.yaml", &text));
        assert_eq!(faults, []);
        let case = &script.expect("it is sound").cases[0];
        assert_eq!((&case.input, &case.expected), (&odd, &script::Expectation::Output(odd.clone())));
        assert_eq!(case.answers["t.n"].value, [ScriptedAnswer::Output(odd.clone())]);
    }

    #[test]
    fn what_yaml_would_not_read_is_written_as_json() {
        let long = "k".repeat(2_000);
        let test = test(json!({"name": "t", "tool": "t", "input": {long.as_str(): 1}, "mock": {}, "expect": {}}));
        for name in ["a.yaml", "a.json"] {
            let text = text(Path::new(name), "g.yaml", &test, ("Recorded", false));
            let (script, faults) = script::script(&Source::new(name, &text));
            assert_eq!(faults, [], "{name}");
            assert_eq!(script.expect("it is sound").cases[0].input, json!({long.as_str(): 1}), "{name}");
        }
    }

    #[test]
    fn a_mask_has_the_type_of_what_it_hides() {
        let original = json!({"a": 7, "b": [1], "c": true, "d": "x", "e": {"f": 1}, "g": 3});
        let masked = json!({"a": MASK, "b": MASK, "c": MASK, "d": MASK, "e": {"f": MASK}, "g": 3});
        let fitted = json!({"a": 0, "b": [], "c": false, "d": MASK, "e": {"f": 0}, "g": 3});
        assert_eq!(fitting(&original, &masked), fitted);
    }

    #[test]
    fn the_way_to_the_graph_is_relative() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("tests/deep")).expect("a folder");
        std::fs::write(at("g.yaml"), "").expect("a file");
        assert_eq!(way(&at("g.test.yaml"), &at("g.yaml")), "g.yaml");
        assert_eq!(way(&at("tests/deep/g.test.yaml"), &at("g.yaml")), "../../g.yaml");
    }
}
