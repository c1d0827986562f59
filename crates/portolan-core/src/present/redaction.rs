//! Redaction: the values of fields that a definition marks, and the confidential settings of its servers, are never
//! shown.
//!
//! Everything that shows a value of a function's run (a trace, a span, a log, a recording, an error) redacts it here.
//! It masks too much rather than too little: a field counts by its name at any place, since expressions copy values.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::graph::{FileSettings, Interface, Server, Transport, Workflow};
use crate::run::{Change, EffectResult, Event, EventKind, Fault, Place, Reply};

/// The replacement of a hidden value.
pub const MASK: &str = "[redacted]";

/// The minimum length of a text in a marked field that is searched for in other texts.
const MIN_LEARNT: usize = 4;
/// The minimum length of a header or variable that is: `1`, `true` and `info` are not secrets.
const MIN_TOLD: usize = 6;
/// The maximum number of learnt texts: a long run may learn one at every node.
const MAX_LEARNT: usize = 1_000;
/// The maximum depth of a shown value; deeper parts are masked whole.
const MAX_DEPTH: usize = 128;

/// The hidden values in the runs of a function.
///
/// Clones learn together: a text that one of them finds in a marked field is hidden by all from then on.
#[derive(Clone, Default)]
pub struct Redaction {
    /// Names of fields, in lower case.
    names: BTreeSet<String>,
    /// Paths from the root of a value; `*` is any step.
    pointers: BTreeSet<Vec<String>>,
    /// Texts that are masked everywhere.
    secrets: BTreeSet<String>,
    /// Further such texts, learnt during the run.
    learnt: Arc<Mutex<LearntTexts>>,
}

/// The learnt texts, oldest first; the oldest is dropped if there are too many.
#[derive(Clone, Default)]
struct LearntTexts {
    texts: BTreeSet<String>,
    order: VecDeque<String>,
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redaction({:?}, {:?}, {} secrets)", self.names, self.pointers, self.secrets.len())
    }
}

impl Redaction {
    /// Collects the values that a definition hides: `redact`, `writeOnly` in its schemas, headers and variables of its
    /// servers.
    pub fn of(interface: Option<&Interface>, settings: &FileSettings) -> Redaction {
        let mut redaction = Redaction::default();
        for place in &settings.redact {
            redaction.hide(place);
        }
        for schema in interface.iter().flat_map(|of| [&of.input, &of.output]).flatten() {
            for place in schema.value.write_only() {
                redaction.hide_marked(&place);
            }
        }
        redaction.hiding(settings.servers.iter().flat_map(confidential))
    }

    /// Collects the values that any of a workflow's flows hides.
    pub fn of_workflow(workflow: &Workflow) -> Redaction {
        let of_flows = workflow.flows().map(|(_, flow)| Redaction::of(flow.interface.as_deref(), &flow.settings));
        of_flows.fold(Redaction::default(), Redaction::and)
    }

    /// Combines two redactions.
    #[must_use]
    pub fn and(mut self, other: Redaction) -> Redaction {
        self.names.extend(other.names);
        self.pointers.extend(other.pointers);
        self.secrets.extend(other.secrets);
        let mut learnt = self.met().clone();
        let met = other.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        met.order.iter().for_each(|text| learnt.add(text.clone()));
        self.learnt = Arc::new(Mutex::new(learnt));
        self
    }

    /// Hides these texts everywhere, too: the values of variables.
    #[must_use]
    pub fn hiding(mut self, texts: impl IntoIterator<Item = String>) -> Redaction {
        for text in texts {
            // For `Bearer …`, a message may repeat only the token.
            let last = text.split_whitespace().next_back().map(str::to_owned);
            self.secrets.extend([Some(text), last].into_iter().flatten().filter(|text| text.len() >= MIN_TOLD));
        }
        self
    }

    /// Also hides copies of the values in the marked fields of this value. Clones made before do not.
    #[must_use]
    pub fn learning(mut self, value: &Value) -> Redaction {
        self.secrets.extend(self.marked_in(value));
        let learnt = self.met().clone();
        self.learnt = Arc::new(Mutex::new(learnt));
        self
    }

    /// Learns from a value of the run. All clones hide its marked fields from then on.
    pub fn learn(&self, value: &Value) {
        let found = self.marked_in(value);
        if !found.is_empty() {
            let mut met = self.met();
            found.into_iter().for_each(|text| met.add(text));
        }
    }

    /// Learns from all values in a journal.
    pub fn learn_from<'r>(&self, records: impl IntoIterator<Item = (&'r Event, &'r [Change])>) {
        for (event, changes) in records {
            match &event.what {
                EventKind::Opened(opening) => opening.input.iter().for_each(|input| self.learn(input)),
                EventKind::Settled { result: EffectResult::Reply(Reply::Output(Some(output))), .. } => {
                    self.learn(output);
                }
                _ => {}
            }
            for change in changes {
                match change {
                    Change::Given { data, .. } => self.learn(&data.input),
                    Change::Moved { place: Place::Calling { arguments, .. }, .. } => self.learn(arguments),
                    Change::Altered { output, .. } => self.learn(output),
                    Change::Executed { output: Some(output), .. } | Change::Finished { output: Some(output), .. } => {
                        self.learn(output);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns the texts in the marked fields of a value.
    fn marked_in(&self, value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        if self.marks() {
            self.look(value, &mut Vec::new(), &mut found);
        }
        found
    }

    fn look(&self, value: &Value, way: &mut Vec<String>, found: &mut Vec<String>) {
        if self.hides(way) {
            return texts(value, 0, found);
        }
        let mut step = |name: String, inner: &Value| {
            way.push(name);
            self.look(inner, way, found);
            way.pop();
        };
        match value {
            Value::Object(members) => members.iter().for_each(|(name, inner)| step(name.clone(), inner)),
            Value::Array(items) => items.iter().enumerate().for_each(|(at, inner)| step(at.to_string(), inner)),
            Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    /// Checks whether the value at a path is hidden.
    fn hides(&self, way: &[String]) -> bool {
        way.len() > MAX_DEPTH
            || way.last().is_some_and(|name| self.names.contains(&name.to_ascii_lowercase()))
            || self.pointers.iter().any(|pointer| leads(pointer, way))
    }

    fn met(&self) -> MutexGuard<'_, LearntTexts> {
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks whether there are marked fields to learn from.
    pub fn marks(&self) -> bool {
        !self.names.is_empty() || !self.pointers.is_empty()
    }

    /// Checks whether it hides everything that another one does, except for what that one has learnt.
    pub fn hides_all_of(&self, other: &Redaction) -> bool {
        self.names.is_superset(&other.names)
            && self.pointers.is_superset(&other.pointers)
            && self.secrets.is_superset(&other.secrets)
    }

    /// Checks whether it hides nothing.
    pub fn is_empty(&self) -> bool {
        !self.marks() && self.secrets.is_empty() && self.met().order.is_empty()
    }

    /// Returns the value with hidden parts masked.
    pub fn value(&self, value: &Value) -> Value {
        if self.is_empty() { value.clone() } else { self.walk(value, &mut Vec::new()) }
    }

    /// Returns a JSON record of a journal with hidden parts masked: each value in it is a root of its own.
    pub fn record(&self, record: &Value) -> Value {
        match record {
            Value::Object(members) => {
                let shown = members.iter().map(|(name, inner)| {
                    let inner = match (name.as_str(), inner) {
                        ("input" | "output" | "arguments" | "value", inner) => self.value(inner),
                        // The keys are node names: a node may have one of the names above.
                        ("latest", Value::Object(nodes)) => {
                            nodes.iter().map(|(node, output)| (node.clone(), self.record(output))).collect()
                        }
                        ("values", Value::Object(given)) => {
                            given.iter().map(|(name, value)| (name.clone(), self.value(value))).collect()
                        }
                        ("items" | "done", Value::Array(items)) => items.iter().map(|item| self.value(item)).collect(),
                        (_, inner) => self.record(inner),
                    };
                    (name.clone(), inner)
                });
                Value::Object(shown.collect())
            }
            Value::Array(items) => items.iter().map(|item| self.record(item)).collect(),
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(_) | Value::Bool(_) | Value::Null => record.clone(),
        }
    }

    /// Returns the text with hidden parts masked. `name=value` and `"name": "value"` are masked for hidden names.
    pub fn text(&self, text: &str) -> String {
        let mut text = self.without_secrets(text);
        for name in &self.names {
            text = without_field(&text, name);
        }
        text
    }

    /// Returns the fault with hidden parts masked.
    pub fn fault(&self, fault: &Fault) -> Fault {
        let Fault { node, code, message, detail } = fault;
        let (message, detail) = (self.text(message), self.text(detail));
        Fault { node: node.clone(), code: code.clone(), message, detail }
    }

    fn hide(&mut self, place: &str) {
        match place.strip_prefix('/') {
            Some(way) => {
                self.pointers.insert(way.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect());
            }
            None => {
                self.names.insert(place.to_ascii_lowercase());
            }
        }
    }

    /// Hides a field that a schema marks, by its name, so that its copies are hidden too.
    fn hide_marked(&mut self, pointer: &str) {
        match pointer.rsplit('/').find(|step| *step != "*" && !step.is_empty()) {
            Some(name) => {
                let name = name.replace("~1", "/").replace("~0", "~");
                self.names.insert(name.to_ascii_lowercase());
            }
            None => self.hide(if pointer.is_empty() { "/*" } else { pointer }),
        }
    }

    fn walk(&self, value: &Value, way: &mut Vec<String>) -> Value {
        if self.hides(way) {
            // `null` is not a secret, and an empty field helps to find the fault.
            return if value.is_null() { Value::Null } else { Value::from(MASK) };
        }
        let mut step = |name: String, inner: &Value| {
            way.push(name);
            let shown = self.walk(inner, way);
            way.pop();
            shown
        };
        match value {
            Value::Object(members) => {
                let shown = members.iter().map(|(name, inner)| (self.text_of_name(name), step(name.clone(), inner)));
                Value::Object(shown.collect::<Map<String, Value>>())
            }
            Value::Array(items) => {
                Value::Array(items.iter().enumerate().map(|(at, inner)| step(at.to_string(), inner)).collect())
            }
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) if self.is_secret(&number.to_string()) => Value::from(MASK),
            Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
        }
    }

    /// Masks secrets in a field name, which a secret may have become.
    fn text_of_name(&self, name: &str) -> String {
        self.without_secrets(name)
    }

    fn is_secret(&self, text: &str) -> bool {
        self.secrets.contains(text) || self.met().texts.contains(text)
    }

    fn without_secrets(&self, text: &str) -> String {
        let met = self.met();
        let all = self.secrets.iter().chain(&met.texts);
        let mut found: Vec<&String> = all.filter(|secret| text.contains(secret.as_str())).collect();
        // A secret may be part of another one.
        found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        found.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK))
    }
}

impl LearntTexts {
    fn add(&mut self, text: String) {
        if !self.texts.insert(text.clone()) {
            return;
        }
        self.order.push_back(text);
        if self.order.len() > MAX_LEARNT
            && let Some(oldest) = self.order.pop_front()
        {
            self.texts.remove(&oldest);
        }
    }
}

fn leads(pointer: &[String], way: &[String]) -> bool {
    pointer.len() == way.len() && pointer.iter().zip(way).all(|(wanted, step)| wanted == "*" || wanted == step)
}

/// Collects the texts and numbers in a hidden value.
fn texts(value: &Value, depth: usize, found: &mut Vec<String>) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::String(text) if text.len() >= MIN_LEARNT => found.push(text.clone()),
        Value::Number(number) if number.to_string().len() >= MIN_LEARNT => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, depth + 1, found)),
        Value::Object(members) => members.values().for_each(|member| texts(member, depth + 1, found)),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// Returns the confidential settings of a server, as far as the definition contains them.
fn confidential(server: &Server) -> Vec<String> {
    let settings = match &server.transport {
        Transport::Stdio { env, .. } => env,
        Transport::Http { headers, .. } | Transport::Sse { headers, .. } => headers,
        Transport::Builtin(_) => return Vec::new(),
    };
    settings.values().filter(|text| !text.contains("${")).cloned().collect()
}

/// Masks the value after `name` and `:` or `=`: a quoted text or a word.
fn without_field(text: &str, name: &str) -> String {
    // ASCII folding keeps all byte offsets.
    let folded = text.to_ascii_lowercase();
    let mut shown = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in folded.match_indices(name) {
        if at < done || folded[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let after = at + name.len();
        if let Some((start, end)) = value_range(&text[after..]) {
            shown.push_str(&text[done..after + start]);
            shown.push_str(MASK);
            done = after + end;
        }
    }
    shown.push_str(&text[done..]);
    shown
}

/// Returns the range of the value in a rest such as `": "value"…` or `=value …`.
fn value_range(rest: &str) -> Option<(usize, usize)> {
    let bare = rest.trim_start_matches(['"', '\'', '\\', ' ']);
    let value = bare.strip_prefix([':', '='])?.trim_start_matches([' ', '\\']);
    let start = rest.len() - value.len();
    let length = match value.chars().next()? {
        quote @ ('"' | '\'') => {
            let inner = &value[1..];
            let end = inner.char_indices().scan(false, |escaped, (at, c)| {
                let ends = c == quote && !*escaped;
                *escaped = c == '\\' && !*escaped;
                Some((at, ends))
            });
            let end = end.into_iter().find(|(_, ends)| *ends).map_or(inner.len(), |(at, _)| at);
            return Some((start + 1, start + 1 + end));
        }
        _ => value.find(|c: char| c.is_whitespace() || ",;&)]}\"'".contains(c)).unwrap_or(value.len()),
    };
    (length > 0 && !value.starts_with(MASK)).then_some((start, start + length))
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;
    use crate::source::{Span, Spanned};

    fn settings(redact: &[&str], headers: &[(&str, &str)]) -> FileSettings {
        let headers: IndexMap<String, String> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let transport = Transport::Http { url: "http://localhost".to_owned(), headers, either: false };
        let span = Span::default();
        let server = Server { name: "s".to_owned(), span, transport, timeout_ms: None, disabled: false };
        FileSettings {
            servers: vec![server],
            redact: redact.iter().map(|place| (*place).to_owned()).collect(),
            ..FileSettings::default()
        }
    }

    #[test]
    fn a_name_is_masked_wherever_it_stands() {
        let hidden = Redaction::of(None, &settings(&["Token"], &[]));
        let value = json!({"token": "abc", "a": [{"TOKEN": {"x": 1}}, {"token": null}], "tokens": 3});
        let shown = json!({"token": MASK, "a": [{"TOKEN": MASK}, {"token": null}], "tokens": 3});
        assert_eq!(hidden.value(&value), shown);
    }

    #[test]
    fn a_pointer_is_masked_only_where_it_leads() {
        let hidden = Redaction::of(None, &settings(&["/users/*/name", "/a~1b"], &[]));
        let value = json!({"users": [{"name": "x", "age": 1}], "name": "y", "a/b": 1});
        assert_eq!(hidden.value(&value), json!({"users": [{"name": MASK, "age": 1}], "name": "y", "a/b": MASK}));
    }

    #[test]
    fn headers_are_masked_in_every_text_also_without_their_first_word() {
        let hidden =
            Redaction::of(None, &settings(&[], &[("Authorization", "Bearer s3cr3t-token"), ("X", "${TOKEN}")]));
        assert_eq!(hidden.text("sent Bearer s3cr3t-token"), "sent [redacted]");
        assert_eq!(hidden.value(&json!(["got s3cr3t-token, ${TOKEN}"])), json!(["got [redacted], ${TOKEN}"]));
        assert!(!format!("{hidden:?}").contains("s3cr3t"), "a redaction shows nothing of what it hides");
    }

    #[test]
    fn what_a_marked_field_holds_is_masked_where_it_was_copied() {
        let hidden =
            Redaction::of(None, &settings(&["pin", "key"], &[])).learning(&json!({"pin": 123_456, "key": ["hunter2"]}));
        let copied = json!({"args": {"code": 123_456, "k": "x-hunter2"}, "hunter2": 1});
        assert_eq!(hidden.value(&copied), json!({"args": {"code": MASK, "k": "x-[redacted]"}, "[redacted]": 1}));
        assert_eq!(hidden.text("no user for 123456"), "no user for [redacted]");
    }

    #[test]
    fn what_is_met_on_the_way_is_hidden_by_every_clone() {
        let hidden = Redaction::of(None, &settings(&["apiKey"], &[]));
        let clone = hidden.clone();
        assert_eq!(clone.text("bad key sk-123"), "bad key sk-123");
        hidden.learn(&json!({"session": {"apikey": "sk-123"}, "id": "sk-9999"}));
        assert_eq!(clone.text("bad key sk-123 of sk-9999"), "bad key [redacted] of sk-9999");
        assert_eq!(clone.and(Redaction::default()).value(&json!(["sk-123"])), json!([MASK]));
        // Secrets learnt for one call do not affect others.
        let apart = hidden.clone().learning(&json!({"apiKey": "of-one-call"}));
        assert_eq!(apart.text("of-one-call sk-123"), "[redacted] [redacted]");
        assert_eq!(hidden.text("of-one-call"), "of-one-call");
    }

    #[test]
    fn of_too_much_that_is_met_the_oldest_is_forgotten() {
        let hidden = Redaction::of(None, &settings(&["k"], &[])).learning(&json!({"k": "of the input"}));
        for nth in 0..=MAX_LEARNT {
            hidden.learn(&json!({"k": format!("key {nth} of many")}));
        }
        assert_eq!(hidden.text("key 0 of many"), "key 0 of many");
        assert_eq!(hidden.text(&format!("key {MAX_LEARNT} of many, of the input")), "[redacted], [redacted]");
    }

    #[test]
    fn every_value_of_a_record_is_a_root() {
        let hidden = Redaction::of(None, &settings(&["/user/pin", "token"], &[]));
        let value = json!({"user": {"pin": 1}, "token": "x"});
        let shown = json!({"user": {"pin": MASK}, "token": MASK});
        let record = |value: &Value| {
            json!({"seq": 1, "event": {"what": {"opened": {"workflow": "token", "input": value}}}, "changes": [
                {"given": {"data": {"input": value, "outputs": {"latest": {"value": {"at": 1, "value": value}}}}}},
                {"moved": {"place": {"calling": {"arguments": value}}}},
                {"moved": {"place": {"each": {"items": [value], "done": [null, value]}}}},
                {"finished": {"output": value, "fault": {"message": "token=abc"}}}]})
        };
        let expected = record(&shown).to_string().replace("token=abc", "token=[redacted]");
        assert_eq!(hidden.record(&record(&value)).to_string(), expected);
    }

    #[test]
    fn a_field_is_masked_inside_of_a_text() {
        let hidden = Redaction::of(None, &settings(&["password"], &[]));
        let cases = [
            (r#"{"password": "a \" b", "user": "u"}"#, r#"{"password": "[redacted]", "user": "u"}"#),
            ("Password=abc&user=u", "Password=[redacted]&user=u"),
            ("password: abc, user", "password: [redacted], user"),
            ("the password was wrong", "the password was wrong"),
            ("my_password=abc", "my_password=abc"),
            ("password: [redacted]", "password: [redacted]"),
            ("password=", "password="),
            ("password=\"é", "password=\"[redacted]"),
        ];
        for (text, shown) in cases {
            assert_eq!(hidden.text(text), shown);
        }
    }

    #[test]
    fn what_a_schema_marks_is_hidden_by_its_name() {
        let schema = json!({"$defs": {"s": {"type": "string", "writeOnly": true}},
            "properties": {"login": {"properties": {"Key": {"$ref": "#/$defs/s"}}}, "pins": {"items": {"writeOnly": true}}}});
        let value = Schema::compile(&schema).expect("it is sound");
        let marked = Interface { input: Some(Spanned { value, span: Span::default() }), ..Interface::default() };
        let shown = Redaction::of(Some(&marked), &settings(&[], &[]))
            .value(&json!({"copy": {"key": "k"}, "pins": [1], "login": {}}));
        assert_eq!(shown, json!({"copy": {"key": MASK}, "pins": MASK, "login": {}}));
    }

    #[test]
    fn nothing_marked_is_nothing_masked() {
        let hidden = Redaction::of(None, &settings(&[], &[("Level", "info")]));
        assert!(hidden.is_empty());
        assert_eq!(hidden.value(&json!({"password": "info"})), json!({"password": "info"}));
    }
}
