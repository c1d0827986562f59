//! What a run works on is not told: not in spans, not in notes.

use serde_json::json;

use portolan_runtime::service::How;

use crate::collector::Collector;
use crate::servers::tools;
use crate::world::World;

#[test]
fn nothing_that_a_run_works_on_reaches_a_span() {
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &["OTEL_EXPORTER_OTLP_HEADERS=authorization=hidden-header"]);
    let graph = "f
        entry: start > world
        world: call world {\"a\": \"hidden-argument\"} > odd
        odd: call raw {\"line\": \"hidden-line\"} > exit ! last
        last: value \"hidden-value\" > exit
        exit: end";
    // The server answers with its whole environment first, and then with an error that quotes what it was given.
    let graph = graph.replace("hidden-line", &escaped_error());
    let finished = world.call_with(&graph, json!({"password": "hidden-input"}), How::with(tools()));
    assert!(format!("{finished:?}").contains("hidden-value"), "the run itself has it: {finished:?}");
    world.close();
    let exports = collector.all();
    assert!(!exports.is_empty());
    for export in exports {
        let body = String::from_utf8_lossy(&export.body).into_owned();
        assert!(!body.contains("hidden"), "a secret is in the export: {body}");
        assert_eq!(export.headers["authorization"], "hidden-header", "the header itself is the collector's");
    }
    assert_eq!(world.notes(), Vec::<String>::new());
    assert!(!format!("{:?}", world.telemetry).contains("hidden"));
}

/// A line of JSON in a text of JSON: a call that is refused.
fn escaped_error() -> String {
    let line = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"hidden-message"}}"#;
    line.replace('"', "\\\"")
}
