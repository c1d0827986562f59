//! One helper for each kind of test: ask a model, and tell what came of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_core::chat::{Arguments, Message, ModelAnswer, ModelError, ModelSettings, Request, Role, ToolSpec};
use portolan_core::value::Timestamp;
use portolan_runtime::clock::Clock;
use portolan_runtime::models::{Model, ModelQuestion, ModelSetup, ResponseLimits, Sink, Variables, open};
use serde_json::{Value, json};

use crate::provider::{FakeProvider, Turn};

/// The key of every provider in these tests.
pub(crate) const KEY: &str = "sk-secret-0123456789ABCDEF";

/// The providers that are spoken to, one for each way of speaking and one that is served on one's own machine.
pub(crate) const SPOKEN: [&str; 3] = ["openai", "anthropic", "ollama"];

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// A runtime whose time passes at once when nothing else is to do.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(future)
}

pub(crate) fn limits() -> ResponseLimits {
    let second = Duration::from_secs(1);
    ResponseLimits { connect: 10 * second, idle: 60 * second, whole: 60 * second, max_bytes: 1 << 20 }
}

/// With every key set, and with `origin` as the place where the provider's own variable says that it is.
pub(crate) fn setup(origin: &str) -> ModelSetup {
    let origin = origin.to_owned();
    let lookup = move |name: &str| match name {
        name if name.ends_with("_API_KEY") => Some(KEY.to_owned()),
        "OLLAMA_BASE_URL" => Some(origin.clone()),
        name if name.ends_with("_BASE_URL") => Some(format!("{origin}/v1")),
        _ => None,
    };
    ModelSetup {
        folder: std::env::temp_dir(),
        variables: Variables::new(lookup),
        limits: limits(),
        clock: Clock::Still(Timestamp(1_700_000_000_000)),
    }
}

pub(crate) fn user(text: &str) -> Request {
    Request {
        model: None,
        messages: Arc::new(vec![Arc::new(Message::text(Role::User, text))]),
        tools: Arc::default(),
        settings: ModelSettings::default(),
        answer_schema: None,
    }
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    vec![ToolSpec { name: "search".into(), description: "looks things up".into(), parameters }]
}

/// What is heard of an answer while it is said.
#[derive(Default)]
pub(crate) struct Heard(Mutex<String>);

impl Heard {
    pub(crate) fn text(&self) -> String {
        self.0.lock().expect("no panic").clone()
    }
}

impl Sink for Heard {
    fn on_text(&self, text: &str) {
        let mut heard = self.0.lock().expect("no panic");
        let between = if heard.is_empty() { "" } else { "|" };
        heard.push_str(between);
        heard.push_str(text);
    }

    fn on_restart(&self) {
        self.0.lock().expect("no panic").push_str("<again>");
    }
}

/// Asks a model, whole or in pieces, and tells what came of it in a line.
pub(crate) async fn ask(model: &dyn Model, request: &Request, is_stream: bool) -> String {
    let heard = Heard::default();
    let tools = tools();
    let question = ModelQuestion { request, tools: &tools, asker: None };
    let said = model.ask(question, is_stream.then_some(&heard as &dyn Sink)).await;
    let said = outcome_text(&said);
    if is_stream { format!("{said} | heard `{}`", heard.text()) } else { said }
}

/// Asks a provider that takes these turns.
pub(crate) fn asked(name: &str, is_stream: bool, turn: Turn) -> String {
    let provider = FakeProvider::new([turn]);
    let model = open(&format!("{name}:m"), &setup(&provider.origin)).expect("a model");
    let said = block_on(ask(model.as_ref(), &user("Hello?"), is_stream));
    // Where the server stands is another place each time.
    said.replace(provider.origin.trim_start_matches("http://"), "HOST")
}

/// The same for each provider, whole and in pieces.
pub(crate) fn each(turn: impl Fn() -> Turn) -> String {
    let mut lines = String::new();
    for name in SPOKEN {
        for is_stream in [false, true] {
            let way = if is_stream { "pieces" } else { "whole" };
            lines.push_str(&format!("{name:<9} {way:<6} {}\n", asked(name, is_stream, turn())));
        }
    }
    lines
}

pub(crate) fn outcome_text(said: &Result<ModelAnswer, ModelError>) -> String {
    match said {
        Ok(answer) => answer_text(answer),
        Err(failure) => {
            let again = if failure.may_pass { "may pass" } else { "stays" };
            let after = failure.retry_after_ms.map(|after| format!(" after {after} ms")).unwrap_or_default();
            format!("{} ({again}{after}): {}", failure.code, failure.message)
        }
    }
}

fn answer_text(answer: &ModelAnswer) -> String {
    let message = &answer.message;
    let mut parts: Vec<String> = message.content.iter().map(|text| format!("`{text}`")).collect();
    parts.extend(message.tool_calls.iter().map(|call| {
        let arguments = match &call.arguments {
            Arguments::Json(value) => value.to_string(),
            Arguments::Text(text) => format!("text {text:?}"),
        };
        let extra = call.extra.as_ref().map(|extra| format!(" {extra}")).unwrap_or_default();
        format!("{} {}({arguments}){extra}", call.id, call.name)
    }));
    parts.extend(message.extra.iter().map(Value::to_string));
    parts.push(format!("{:?}", answer.finish));
    let usage = answer.usage;
    let count = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
    let [input, output, cached, reasoning] = [usage.input, usage.output, usage.cached, usage.reasoning].map(count);
    parts.push(format!("{input} in {output} out {cached} cached {reasoning} thought"));
    parts.join(" | ")
}
