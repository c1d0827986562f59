//! The metrics that come from what the runtime reports as `tracing` events: moves, ends of runs, effects, requests to other
//! servers and to models.
//!
//! Durations, tokens and numbers of calls are named as OpenTelemetry's conventions for MCP and for generative AI have them.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// The upper bounds of durations, in seconds.
const SECONDS: [f64; 14] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0];
/// The upper bounds of numbers of tokens, as the conventions have them.
const TOKENS: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
    67108864.0,
];
/// The upper bounds of numbers of calls, as the conventions have them.
const CALLS: [f64; 11] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
/// The most sets of labels. Definitions and servers choose names and codes: what more of them have is counted as `other`.
const MOST_SETS: usize = 2_000;
const OTHER: &str = "other";
/// The outcome of a run that did what it is for.
const SUCCESS: &str = "success";

pub(super) fn durations() -> Histogram {
    Histogram::new(SECONDS)
}

fn tokens() -> Histogram {
    Histogram::new(TOKENS)
}

fn calls() -> Histogram {
    Histogram::new(CALLS)
}

/// Names of labels with their values.
type Labels = Vec<(&'static str, String)>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// The metrics of events. All clones count together.
#[derive(Clone)]
pub(crate) struct EventMetrics(Arc<Families>);

struct Families {
    moves: Family<Labels, Counter>,
    effects: Histograms,
    requests: Histograms,
    models: Histograms,
    usage: Histograms,
    workflows: Histograms,
    inference_calls: Histograms,
    tool_calls: Histograms,
    /// The number of sets of labels in all.
    sets: AtomicUsize,
}

impl EventMetrics {
    pub(super) fn of(registry: &mut Registry) -> EventMetrics {
        let families = Families {
            moves: Family::default(),
            effects: Family::new_with_constructor(durations),
            requests: Family::new_with_constructor(durations),
            models: Family::new_with_constructor(durations),
            usage: Family::new_with_constructor(tokens),
            workflows: Family::new_with_constructor(durations),
            inference_calls: Family::new_with_constructor(calls),
            tool_calls: Family::new_with_constructor(calls),
            sets: AtomicUsize::new(0),
        };
        registry.register("portolan_moves", "Events that were decided, by their kind", families.moves.clone());
        let about = "How long effects take, such as checks, calls and requests to models, by kind and result";
        registry.register_with_unit("portolan_effect_duration", about, Unit::Seconds, families.effects.clone());
        let about = "How long requests to other servers take, by server, tool and code of the failure";
        registry.register_with_unit("mcp_client_operation_duration", about, Unit::Seconds, families.requests.clone());
        let about = "How long requests to models take, by provider, model and code of the failure";
        registry.register_with_unit("gen_ai_client_operation_duration", about, Unit::Seconds, families.models.clone());
        let about = "The tokens of requests to models, by provider, model, and input or output";
        registry.register("gen_ai_client_token_usage", about, families.usage.clone());
        families.register_workflows(registry);
        EventMetrics(Arc::new(families))
    }

    /// Checks whether something is counted. Spans are not, so that none is kept where there is no log.
    pub(crate) fn counts(what: &Metadata<'_>) -> bool {
        let targets = ["portolan::run", "portolan::effect", "portolan::server", "portolan::model"];
        what.is_event() && targets.contains(&what.target())
    }

    /// Counts what the fields of an event say.
    fn count(&self, target: &str, fields: &Fields) {
        let all = &*self.0;
        let took = fields.took_ms.map(|took| took / 1e3);
        match (target, took) {
            ("portolan::run", None) if !fields.event.is_empty() => {
                let labels = all.bounded(&[("event", &fields.event)], |labels| all.moves.get(labels).is_some());
                all.moves.get_or_create(&labels).inc();
            }
            ("portolan::run", Some(took)) => all.workflow_ended(fields, took),
            ("portolan::effect", Some(took)) => {
                all.observe(&all.effects, &[("kind", &fields.kind), ("result", &fields.result)], took);
            }
            ("portolan::server", Some(took)) if !fields.method.is_empty() => {
                let tool = ("gen_ai_tool_name", &*fields.tool);
                let (server, error) = (("server", &*fields.server), ("error_type", &*fields.code));
                all.observe(&all.requests, &[("mcp_method_name", &fields.method), server, tool, error], took);
            }
            ("portolan::model", Some(took)) => {
                let operation = ("gen_ai_operation_name", "chat");
                let provider = ("gen_ai_provider_name", &*fields.provider);
                let model = ("gen_ai_request_model", &*fields.model);
                all.observe(&all.models, &[operation, provider, model, ("error_type", &fields.code)], took);
                for (kind, count) in [("input", fields.input_tokens), ("output", fields.output_tokens)] {
                    let Some(count) = count else { continue };
                    all.observe(&all.usage, &[operation, provider, model, ("gen_ai_token_type", kind)], count);
                }
            }
            _ => {}
        }
    }
}

impl Families {
    fn register_workflows(&self, registry: &mut Registry) {
        let about = "How long runs take from their beginning to their end, by workflow and by how they failed";
        registry.register_with_unit("gen_ai_workflow_duration", about, Unit::Seconds, self.workflows.clone());
        let about = "The requests to models of a run, by workflow";
        registry.register("gen_ai_invoke_workflow_inference_calls", about, self.inference_calls.clone());
        let about = "The calls of tools of a run, by workflow";
        registry.register("gen_ai_invoke_workflow_tool_calls", about, self.tool_calls.clone());
    }

    fn workflow_ended(&self, fields: &Fields, took: f64) {
        let operation = ("gen_ai_operation_name", "invoke_workflow");
        let workflow = ("gen_ai_workflow_name", &*fields.workflow);
        let error = if fields.outcome == SUCCESS { "" } else { &fields.outcome };
        self.observe(&self.workflows, &[operation, workflow, ("error_type", error)], took);
        for (histograms, calls) in [(&self.inference_calls, fields.model_calls), (&self.tool_calls, fields.tool_calls)]
        {
            self.observe(histograms, &[operation, workflow], calls.unwrap_or_default());
        }
    }

    fn observe(&self, histograms: &Histograms, labels: &[(&'static str, &str)], value: f64) {
        let labels = self.bounded(labels, |labels| histograms.get(labels).is_some());
        histograms.get_or_create(&labels).observe(value);
    }

    /// Returns the labels, or those of `other` if there are too many others already.
    fn bounded(&self, labels: &[(&'static str, &str)], is_there: impl Fn(&Labels) -> bool) -> Labels {
        let own: Labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        if is_there(&own) || self.sets.fetch_add(1, Ordering::Relaxed) < MOST_SETS {
            return own;
        }
        labels.iter().map(|(name, _)| (*name, OTHER.to_owned())).collect()
    }
}

impl<S: Subscriber> Layer<S> for EventMetrics {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.count(event.metadata().target(), &fields);
    }
}

/// The fields of events that are counted.
#[derive(Default)]
struct Fields {
    event: String,
    kind: String,
    result: String,
    server: String,
    method: String,
    tool: String,
    provider: String,
    model: String,
    code: String,
    workflow: String,
    outcome: String,
    took_ms: Option<f64>,
    input_tokens: Option<f64>,
    output_tokens: Option<f64>,
    model_calls: Option<f64>,
    tool_calls: Option<f64>,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let kept = match field.name() {
            "event" => &mut self.event,
            "kind" => &mut self.kind,
            "result" => &mut self.result,
            "server" => &mut self.server,
            "method" => &mut self.method,
            "tool" => &mut self.tool,
            "provider" => &mut self.provider,
            "model" => &mut self.model,
            "code" => &mut self.code,
            "workflow" => &mut self.workflow,
            "outcome" => &mut self.outcome,
            _ => return,
        };
        value.clone_into(kept);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        match field.name() {
            "took_ms" => self.took_ms = Some(value),
            "input_tokens" => self.input_tokens = Some(value),
            "output_tokens" => self.output_tokens = Some(value),
            "model_calls" => self.model_calls = Some(value),
            "tool_calls" => self.tool_calls = Some(value),
            _ => {}
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_f64(field, value as f64);
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn Debug) {}
}
