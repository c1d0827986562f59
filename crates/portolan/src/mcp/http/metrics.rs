//! The metrics of a server, in the text format of OpenMetrics.
//!
//! The duration of calls is named as OpenTelemetry's conventions for MCP have it (`mcp.server.operation.duration`).

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use portolan_runtime::service::{RunLine, Service, ServiceError};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::event_metrics::{EventMetrics, durations};
use super::{MOST_REQUESTS, Server};
use crate::http::Refusal;

const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The most runs that are counted.
const MOST_RUNS: usize = 10_000;

/// The metrics that calls and events add to.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Histogram, fn() -> Histogram>,
    events: EventMetrics,
}

/// What a duration belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    mcp_method_name: &'static str,
    gen_ai_tool_name: String,
    /// The code of the refusal, empty if there is none.
    error_type: String,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::default();
        let calls = Family::new_with_constructor(durations as fn() -> Histogram);
        let about = "How long calls of tools take, by tool and by the code of the refusal";
        registry.register_with_unit("mcp_server_operation_duration", about, Unit::Seconds, calls.clone());
        let events = EventMetrics::of(&mut registry);
        Metrics { registry, calls, events }
    }

    /// Returns what counts the events of the runtime, as a layer of the process's subscriber.
    pub(crate) fn events(&self) -> EventMetrics {
        self.events.clone()
    }

    /// Counts a call. `error` is the code of its refusal.
    pub(in crate::mcp) fn called(&self, tool: &str, error: Option<&str>, took: Duration) {
        let labels = CallLabels {
            mcp_method_name: "tools/call",
            gen_ai_tool_name: tool.to_owned(),
            error_type: error.unwrap_or_default().to_owned(),
        };
        self.calls.get_or_create(&labels).observe(took.as_secs_f64());
    }

    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Returns the open runs of a project. A project of many whose store fails must not hide the figures of the others.
async fn open_runs(server: &Server, service: &Service) -> Result<Vec<RunLine>, ServiceError> {
    let runs = service.list(true, MOST_RUNS).await;
    if server.projects.folder().is_some() { Ok(runs.unwrap_or_default()) } else { runs }
}

/// Answers with all metrics.
pub(super) async fn all(State(server): State<Arc<Server>>) -> Result<Response, Refusal> {
    let counted = server.metrics.text().map_err(|error| {
        let message = format!("the metrics cannot be written: {error}");
        ServiceError::failed("not_written", message, "try again")
    })?;
    let (mut open, mut waiting) = (0, 0);
    let services = server.projects.services();
    for service in &services {
        let runs = open_runs(&server, service).await?;
        open += runs.len();
        waiting += runs.iter().filter(|run| run.status == "waiting").count();
    }
    let (sessions, suspended) = server.session_count();
    let pending = MOST_REQUESTS - server.requests.available_permits();
    let several =
        server.projects.folder().map(|_| ("portolan_projects_open", "Projects that are open", services.len()));
    let mut text = counted.trim_end_matches("# EOF\n").to_owned();
    let gauges = [
        ("portolan_requests_pending", "Requests that are being processed", pending),
        ("portolan_sessions", "Sessions of clients that have some", sessions),
        (
            "portolan_sessions_suspended",
            "Sessions of which only the first message is kept, until the next one",
            suspended,
        ),
        ("portolan_runs_open", "Runs that have not ended", open),
        ("portolan_runs_waiting", "Runs that wait for a person", waiting),
    ];
    for (name, about, value) in gauges.into_iter().chain(several) {
        let _written = write!(text, "# HELP {name} {about}.\n# TYPE {name} gauge\n{name} {value}\n");
    }
    text.push_str("# EOF\n");
    Ok(([(CONTENT_TYPE, TYPE)], text).into_response())
}
