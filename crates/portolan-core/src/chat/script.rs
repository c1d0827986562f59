//! Scripted model answers: a file of answers that replace a model, and the file that a recording produces. Does not
//! know how they are replayed.

use serde_json::{Map, Value, json};

use super::{Arguments, Finish, Message, ModelAnswer, ModelError, Role, ToolUse, Usage};
use crate::diagnostic::Diagnostic;
use crate::source::fields::{FaultList, Fields};
use crate::source::{self, Source, Tree, TreeKind};

/// The maximum number of answers in one file.
const MAX_ANSWERS: usize = 10_000;
/// The maximum number of tool calls in one answer.
const MAX_CALLS: usize = 128;
/// The maximum delay of an answer: an hour.
const MAX_DELAY_MS: u64 = 3_600_000;

/// A scripted answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedModelAnswer {
    /// The requests that it answers, by the requester's name or a part of the last user message; `None` matches any
    /// request.
    pub to: Option<String>,
    /// Whether it can be given more than once.
    pub repeat: bool,
    /// The delay in milliseconds.
    pub delay_ms: u64,
    /// The answer, or the error instead of one.
    pub says: Result<ModelAnswer, ModelError>,
}

/// Reads a file of answers: a list, in JSON or YAML. Returns `None` if it has errors, and all diagnostics at once.
pub fn answers(source: &Source) -> (Option<Vec<ScriptedModelAnswer>>, Vec<Diagnostic>) {
    let (tree, found) = source::parse(source);
    let mut faults = FaultList(found);
    let answers = tree.and_then(|tree| read(&tree, &mut faults));
    let mut faults = faults.0;
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    let sound = !faults.iter().any(Diagnostic::is_error);
    (answers.filter(|_| sound), faults)
}

fn read(tree: &Tree, faults: &mut FaultList) -> Option<Vec<ScriptedModelAnswer>> {
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("a file of answers must be a list of answers, but is {}", tree.describe());
        let help = "begin each answer with a dash: `- text: Hello.`";
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help(help));
        return None;
    };
    if items.len() > MAX_ANSWERS {
        let message = format!("there are {} answers, more than the {MAX_ANSWERS} that are read", items.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.head()).help("split the file"));
        return None;
    }
    let mut calls = 0;
    Some(items.iter().enumerate().filter_map(|(at, item)| one(item, at, &mut calls, faults)).collect())
}

fn one(tree: &Tree, at: usize, calls: &mut usize, faults: &mut FaultList) -> Option<ScriptedModelAnswer> {
    let mut fields = Fields::of(tree, format!("answer {}", at + 1), faults)?;
    let to = fields.string("for", faults).map(|to| to.value);
    let repeat = fields.flag("repeat", faults).is_some_and(|flag| flag.value);
    let delay_ms = fields.duration_ms("delay_ms", 0..=MAX_DELAY_MS, faults).map_or(0, |delay| delay.value);
    let text = fields.string("text", faults).map(|text| text.value);
    let json = fields.optional("json").map(|tree| tree.value().to_string());
    let uses = tool_calls(&mut fields, calls, faults);
    let usage = fields.optional("usage").and_then(|tree| usage(tree, at, faults)).unwrap_or_default();
    let finish = fields.choice("finish", FINISHES, faults);
    let model = fields.string("model", faults).map(|model| model.value);
    let failure = fields.optional("fail");
    conflicts(tree, failure, at, faults);
    let failure = failure.map(|tree| unanswered(tree, at, faults));
    fields.finish(faults);
    let says = match failure {
        Some(failure) => Err(failure?),
        None => {
            let finish = finish.map_or(if uses.is_empty() { Finish::Stop } else { Finish::Tools }, Ending::finish);
            let content = text.or(json);
            let message = Message { content, tool_calls: uses, ..Message::text(Role::Assistant, "") };
            Ok(ModelAnswer { message, finish, usage, model, cost_microdollars: None })
        }
    };
    Some(ScriptedModelAnswer { to, repeat, delay_ms, says })
}

#[derive(Clone, Copy)]
enum Ending {
    Stop,
    Length,
    Tools,
    Filtered,
}

const FINISHES: &[(&str, Ending)] =
    &[("stop", Ending::Stop), ("length", Ending::Length), ("tools", Ending::Tools), ("filtered", Ending::Filtered)];

impl Ending {
    fn finish(self) -> Finish {
        match self {
            Ending::Stop => Finish::Stop,
            Ending::Length => Finish::Length,
            Ending::Tools => Finish::Tools,
            Ending::Filtered => Finish::Filtered,
        }
    }
}

/// Reports conflicting contents: an answer has a text, a JSON value or a failure; tool calls go with all but the last.
fn conflicts(tree: &Tree, failure: Option<&Tree>, at: usize, faults: &mut FaultList) {
    let keys: Vec<&str> =
        ["text", "json", "tool_calls"].into_iter().filter(|key| tree.get(key).is_some_and(is_some)).collect();
    let message = match (failure, keys.as_slice()) {
        (Some(_), [first, ..]) => format!("answer {} has both `{first}` and `fail`", at + 1),
        (None, ["text", "json", ..]) => format!("answer {} has both `text` and `json`", at + 1),
        (None, []) => format!("answer {} says nothing", at + 1),
        _ => return,
    };
    let help = "write one of `text`, `json` and `fail`; `tool_calls` can be alone or beside a text";
    faults.push(Diagnostic::error("conflict", message).at(tree.head()).help(help));
}

fn is_some(tree: &Tree) -> bool {
    !matches!(tree.kind, TreeKind::Null)
}

fn tool_calls(fields: &mut Fields<'_>, calls: &mut usize, faults: &mut FaultList) -> Vec<ToolUse> {
    let Some(tree) = fields.optional("tool_calls") else { return Vec::new() };
    let items = match &tree.kind {
        TreeKind::Array(items) if items.len() <= MAX_CALLS => items,
        _ => {
            let wanted = format!("a list of at most {MAX_CALLS} tools");
            return fields.wrong("tool_calls", &wanted, tree, faults).unwrap_or_default();
        }
    };
    let mut uses = Vec::new();
    for item in items {
        *calls += 1;
        let Some(mut call) = Fields::of(item, format!("tool call {calls}"), faults) else { continue };
        let id = call.string("id", faults).map_or_else(|| format!("call_{calls}"), |id| id.value);
        let name = call.required_string("name", faults);
        // A string holds the model's raw arguments: they may be invalid JSON, and a test may need exactly that.
        let arguments = match call.optional("arguments") {
            None => Arguments::read(""),
            Some(tree) => tree.as_str().map_or_else(|| Arguments::Json(tree.value().into()), Arguments::read),
        };
        call.finish(faults);
        uses.extend(name.map(|name| ToolUse { id, name: name.value, arguments, extra: None }));
    }
    uses
}

fn usage(tree: &Tree, at: usize, faults: &mut FaultList) -> Option<Usage> {
    let mut fields = Fields::of(tree, format!("answer {} is empty", at + 1), faults)?;
    let [input, output, cached, reasoning] = ["input", "output", "cached", "reasoning"]
        .map(|key| fields.count(key, 0..=u32::MAX, faults).map(|count| u64::from(count.value)));
    fields.finish(faults);
    Some(Usage { input, output, cached, reasoning })
}

fn unanswered(tree: &Tree, at: usize, faults: &mut FaultList) -> Option<ModelError> {
    let mut fields = Fields::of(tree, format!("`fail` of answer {}", at + 1), faults)?;
    let code = fields.required_string("code", faults);
    let message = fields.string("message", faults);
    let may_pass = fields.flag("may_pass", faults);
    let retry_after_ms = fields.duration_ms("retry_after_ms", 0..=MAX_DELAY_MS, faults).map(|time| time.value);
    fields.finish(faults);
    let code = code?.value;
    let may_pass = may_pass.map_or_else(|| ModelError::passes(&code), |flag| flag.value);
    let message = message.map_or_else(|| format!("the script fails with `{code}`"), |message| message.value);
    Some(ModelError { code, message, may_pass, retry_after_ms })
}

/// Writes answers as a file that [`answers`] reads: JSON, which is YAML, with one answer per line. Keeps the ids of the
/// tool calls, and omits data that only a provider understands.
pub fn written(answers: &[ScriptedModelAnswer]) -> String {
    let lines: Vec<String> = answers.iter().map(|answer| format!("  {}", line(answer))).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

fn line(answer: &ScriptedModelAnswer) -> Value {
    let mut line = Map::new();
    let mut put = |key: &str, value: Value| drop(line.insert(key.to_owned(), value));
    if let Some(to) = &answer.to {
        put("for", json!(to));
    }
    match &answer.says {
        Ok(answer) => put_answer(answer, &mut put),
        Err(failure) => put("fail", json!(failure)),
    }
    if answer.repeat {
        put("repeat", json!(true));
    }
    if answer.delay_ms > 0 {
        put("delay_ms", json!(answer.delay_ms));
    }
    Value::Object(line)
}

fn put_answer(answer: &ModelAnswer, put: &mut impl FnMut(&str, Value)) {
    let message = &answer.message;
    if message.content.is_some() || message.tool_calls.is_empty() {
        put("text", json!(message.content.as_deref().unwrap_or_default()));
    }
    if !message.tool_calls.is_empty() {
        let call = |call: &ToolUse| {
            let arguments = match &call.arguments {
                // A text that is a JSON string would be read as the content of that string.
                Arguments::Json(value) if value.is_string() => json!(value.to_string()),
                Arguments::Json(value) => value.as_ref().clone(),
                Arguments::Text(text) => json!(text),
            };
            json!({"id": call.id, "name": call.name, "arguments": arguments})
        };
        put("tool_calls", message.tool_calls.iter().map(call).collect());
    }
    if answer.usage != Usage::default() {
        put("usage", json!(answer.usage));
    }
    let finish = match &answer.finish {
        Finish::Stop | Finish::Other(_) => "stop",
        Finish::Length => "length",
        Finish::Tools => "tools",
        Finish::Filtered => "filtered",
    };
    put("finish", json!(finish));
    if let Some(model) = &answer.model {
        put("model", json!(model));
    }
}

#[cfg(test)]
mod tests;
