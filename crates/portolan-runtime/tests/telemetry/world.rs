//! A service that is traced, and how its traces read as text.

use crate::common::calls::{Calls, FunctionCall};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use portolan_core::run::Actor;
use portolan_runtime::service::{FunctionResult, How, Options, Service, StoreAt};
use portolan_runtime::telemetry::{Notes, Telemetry};
use portolan_runtime::tools::{RecordedAnswers, ScriptedAnswer, Tools};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::graph::definition;

/// Long enough for any machine, and never reached unless something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    folder: TempDir,
    pub(crate) telemetry: Option<Telemetry>,
    notes: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// Traced to a collector, with more variables as `NAME=value`.
    pub(crate) fn to(url: &str, more: &[&str]) -> World {
        let mut set: BTreeMap<String, String> = BTreeMap::new();
        set.insert("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), url.to_owned());
        let more = more.iter().map(|pair| pair.split_once('=').expect("NAME=value"));
        set.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
        World::with(&set)
    }

    pub(crate) fn with(set: &BTreeMap<String, String>) -> World {
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = notes.clone();
        let note: Notes = Arc::new(move |text| kept.lock().expect("nobody panics").push(text.to_owned()));
        let telemetry = Telemetry::of(&|name| set.get(name).cloned(), note);
        World { folder: tempfile::tempdir().expect("a scratch folder"), telemetry, notes }
    }

    pub(crate) fn service(&self) -> Service {
        let (project, data) = (self.folder.path().join("project"), self.folder.path().join("data"));
        std::fs::create_dir_all(&project).expect("our own folder");
        let telemetry = self.telemetry.clone();
        let options = Options { store: StoreAt::Memory, trust: Some(data), telemetry, ..Options::of(project) };
        Service::new(options).expect("a service")
    }

    /// Calls a function whose tools answer `{}`.
    pub(crate) fn call(&self, graph: &str) -> FunctionResult {
        self.call_with(graph, json!({}), How::with(Arc::new(answers(graph, &json!({})))))
    }

    pub(crate) fn call_with(&self, graph: &str, input: Value, how: How) -> FunctionResult {
        block_on(call(&self.service(), graph, input, how))
    }

    /// Sends what waits.
    pub(crate) fn close(&self) {
        self.telemetry.as_ref().expect("it is traced").close();
    }

    pub(crate) fn lost(&self) -> u64 {
        self.telemetry.as_ref().expect("it is traced").lost()
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().expect("nobody panics").clone()
    }
}

pub(crate) async fn call(service: &Service, graph: &str, input: Value, how: How) -> FunctionResult {
    let by = Actor::Agent("me".to_owned());
    let call = FunctionCall { definition: definition(graph), input, by, how, kept: false };
    service.call_function(call).await.expect("it is driven to an end")
}

/// The same answer for every node.
pub(crate) fn answers(graph: &str, answer: &Value) -> Tools {
    let nodes = graph.lines().filter_map(|line| line.trim().split_once(": ")).map(|(node, _)| node.to_owned());
    let answers = nodes.map(|node| (node, vec![ScriptedAnswer::Output(answer.clone())])).collect::<Vec<_>>();
    Tools::written(Arc::new(RecordedAnswers::new(answers)))
}

/// Runs `test` to its end on a runtime of its own.
pub(crate) fn block_on<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("nothing hangs") })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The span of a name.
pub(crate) fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span `{name}`"))
}

/// What a span says of itself.
pub(crate) fn says(span: &Span, attribute: &str) -> String {
    let found = span.attributes.iter().find(|pair| pair.key == attribute);
    match found.and_then(|pair| pair.value.clone()).and_then(|any| any.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

/// Spans as a tree, each below its parent, in the order in which they ended. A child stands within its parent's time.
pub(crate) fn tree(spans: &[Span]) -> String {
    let known = |id: &[u8]| spans.iter().any(|span| span.span_id == id);
    let mut text = String::new();
    for root in spans.iter().filter(|span| !known(&span.parent_span_id)) {
        draw(&mut text, root, spans, 0);
    }
    assert_eq!(text.matches("\n").count(), spans.len(), "each span stands in the tree once:\n{text}");
    text
}

fn draw(text: &mut String, span: &Span, spans: &[Span], depth: usize) {
    let kind = format!("{:?}", span.kind()).to_ascii_uppercase();
    let error = if span.status.as_ref().is_some_and(|status| status.code == 2) { " ERROR" } else { "" };
    text.push_str(&format!("{:indent$}{}  {kind}{error}", "", span.name, indent = depth * 2));
    for pair in &span.attributes {
        text.push_str(&format!(" {}={}", pair.key, says(span, &pair.key)));
    }
    text.push('\n');
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "`{}` ends before it begins", span.name);
    for child in spans.iter().filter(|child| child.parent_span_id == span.span_id) {
        assert_eq!(child.trace_id, span.trace_id, "`{}` is of another trace", child.name);
        let within = span.start_time_unix_nano <= child.start_time_unix_nano
            && child.end_time_unix_nano <= span.end_time_unix_nano;
        assert!(within, "`{}` stands outside the time of `{}`", child.name, span.name);
        draw(text, child, spans, depth + 1);
    }
}
