//! What a server is told of the trace, with a server of its own process.

use std::path::Path;
use std::sync::Arc;

use portolan_core::graph::{Server, Transport};
use portolan_core::source::Span;
use portolan_runtime::drive::{Control, ExecutionObserver, Outcome, Phase, TraceContext};
use portolan_runtime::servers::{PoolOptions, ServerSetup, Servers};
use portolan_runtime::service::How;
use portolan_runtime::tools::Tools;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::collector::Collector;
use crate::world::{World, block_on, call, hex, named, says};

const MISBEHAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/misbehaving.py");
const ECHO: &str = "f
    entry: start > ask
    ask: call echo {\"word\": \"hidden-argument\"} > exit
    exit: end";
const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The server `s`, with a secret in its environment.
pub(crate) fn tools() -> Arc<Tools> {
    let transport = Transport::Stdio {
        command: "python3".to_owned(),
        args: vec![MISBEHAVING.to_owned(), "normal".to_owned()],
        cwd: None,
        env: [("API_KEY".to_owned(), "hidden-variable".to_owned())].into_iter().collect(),
    };
    let server = Server { name: "s".to_owned(), span: Span::default(), transport, timeout_ms: None, disabled: false };
    let setup = ServerSetup { server, folder: Path::new(".").to_owned() };
    Arc::new(Tools::of(Arc::new(Servers::new(vec![setup], PoolOptions::default()))))
}

/// The `_meta` that the server was sent.
fn meta(world: &World, trace: TraceContext) -> Value {
    let finished = world.call_with(ECHO, json!({}), How { trace, ..How::with(tools()) });
    let Outcome::Done(Some(output)) = finished.outcome else { panic!("it answers: {finished:?}") };
    output["meta"].clone()
}

#[test]
fn a_server_is_told_the_span_of_its_call() {
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &[]);
    let told = meta(&world, TraceContext::fresh());
    world.close();
    let spans = collector.spans();
    let call = named(&spans, "tools/call echo");
    let expected = format!("00-{}-{}-01", hex(&call.trace_id), hex(&call.span_id));
    assert_eq!(told["traceparent"], json!(expected));
    assert_eq!(call.parent_span_id, named(&spans, "ask").span_id);
}

#[test]
fn a_server_is_told_that_its_trace_is_not_recorded() {
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &["OTEL_TRACES_SAMPLER=always_off"]);
    let told = meta(&world, TraceContext::within(CALLER).expect("a trace"));
    world.close();
    let told = told["traceparent"].as_str().expect("a traceparent");
    assert!(told.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && told.ends_with("-00"), "{told}");
    assert!(collector.all().is_empty());
}

#[test]
fn where_nothing_is_collected_the_callers_trace_is_passed_on() {
    let world = World::with(&Default::default());
    assert!(world.telemetry.is_none());
    let state = TraceContext { state: Some("vendor=1".into()), ..TraceContext::within(CALLER).expect("a trace") };
    let told = meta(&world, state);
    assert_eq!((&told["traceparent"], &told["tracestate"]), (&json!(CALLER), &json!("vendor=1")));
    assert_eq!(meta(&world, TraceContext::fresh())["traceparent"], Value::Null);
}

#[test]
fn a_call_that_is_stopped_has_a_span_all_the_same() {
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &[]);
    let (tell, mut begun) = mpsc::unbounded_channel();
    let watch = ExecutionObserver::new(
        move |began| {
            // The test may be over before the run is.
            let _ = tell.send(began.node.to_string());
        },
        |_| {},
    );
    let control = Control::new(false, []);
    let graph = "f
        entry: start > ask
        ask: call slow {} > exit
        exit: end";
    block_on(async {
        let service = world.service();
        let how = How { watch: Some(watch), control: Some(control.clone()), ..How::with(tools()) };
        let stop = async {
            assert_eq!(begun.recv().await.as_deref(), Some("ask"));
            control.stop().expect("it is running");
        };
        let (finished, ()) = tokio::join!(call(&service, graph, json!({}), how), stop);
        assert_eq!((finished.outcome, control.phase()), (Outcome::Cancelled, Phase::Stopped));
    });
    world.close();
    let spans = collector.spans();
    for name in ["tools/call slow", "ask", "invoke_workflow f"] {
        assert_eq!(says(named(&spans, name), "error.type"), "cancelled", "{name}");
    }
    assert_eq!(spans.len(), 4);
}

#[test]
fn a_run_that_is_dropped_has_spans_all_the_same() {
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &[]);
    let (tell, mut begun) = mpsc::unbounded_channel();
    let watch = ExecutionObserver::new(
        move |_| {
            let _ = tell.send(());
        },
        |_| {},
    );
    let graph = "f
        entry: start > ask
        ask: call slow {} > exit
        exit: end";
    block_on(async {
        let service = world.service();
        let how = How { watch: Some(watch), ..How::with(tools()) };
        tokio::select! {
            finished = call(&service, graph, json!({}), how) => panic!("nobody answers: {finished:?}"),
            begun = begun.recv() => begun.expect("the call begins"),
        }
    });
    world.close();
    let spans = collector.spans();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["entry", "tools/call slow", "ask", "invoke_workflow f"]);
    assert_eq!(says(&spans[3], "portolan.outcome"), "cancelled");
}
