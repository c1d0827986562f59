//! Evaluation of expressions while they are being written, over the data of a run or over given values.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use portolan_core::diagnostic::clip;
use portolan_core::dialect::ExpressionError;
use portolan_core::evaluation::{EvaluatedField, Evaluation, EvaluationData, GivenValues, Moment, evaluate, frame_of};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::present::Redaction;
use portolan_core::run::{FramePath, Run};
use portolan_core::value::{NodeId, Timestamp};
use portolan_runtime::definition::Definition;
use portolan_runtime::script::{Suite, Tester};
use portolan_runtime::store::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answer::{Answer, Body, InPath};
use super::definitions::{WrittenText, broken, files_of};
use super::runs::address;
use super::{Studio, replies};
use crate::http::Refusal;

/// The text of a field, and the data to evaluate it over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvaluateRequest {
    files: Option<Vec<WrittenText>>,
    root: Option<String>,
    /// The node, as the drawing names it.
    node: Option<String>,
    field: String,
    text: String,
    #[serde(default)]
    with: With,
}

/// The data to evaluate over: that of a run, that of a test, or the values given here.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct With {
    run: Option<String>,
    seq: Option<u64>,
    /// The name of a test in the file beside the definition.
    test: Option<String>,
    input: Option<Value>,
    outputs: Map<String, Value>,
    variables: Map<String, Value>,
}

/// The result of an evaluation.
#[derive(Debug, Serialize)]
pub(super) struct EvaluateResponse {
    names: Vec<String>,
    /// `None` if the value is undefined or too large to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Wrong>,
}

/// An error and its span in UTF-16 units, as JavaScript strings count.
#[derive(Debug, Serialize)]
struct Wrong {
    message: String,
    help: Option<String>,
    from: usize,
    to: usize,
}

/// Evaluates a field's text. This has no effects.
pub(super) async fn field(
    State(studio): State<Arc<Studio>>,
    InPath(id): InPath<String>,
    Body(wanted): Body<EvaluateRequest>,
) -> Answer<EvaluateResponse> {
    let past = match &wanted.with.run {
        Some(run) => Some(RecordedRun::of(&studio, run, wanted.with.seq).await?),
        None => None,
    };
    let tested = match &wanted.with.test {
        Some(test) => Some(Tested::of(&studio, &id, test).await?),
        None => None,
    };
    let runtime = tokio::runtime::Handle::current();
    let blocking_task = tokio::task::spawn_blocking(move || {
        let library = studio.service.library();
        let files = wanted.files.map(|files| files_of(library, &id, files)).transpose()?;
        let sketch = library.sketch(&id, files)?;
        let dialect = sketch.dialect.ok_or_else(|| unknown("the text is not in a known format"))?;
        let root = wanted.root.as_ref().or(sketch.roots.first());
        let root = root.and_then(|root| sketch.graphs.get(root)).ok_or_else(|| unknown("there is no such workflow"))?;
        let node = wanted.node.as_deref().unwrap_or_default();
        let graph = graph_of(&sketch.graphs, root, node).ok_or_else(|| unknown("there is no such node"))?;
        let bare = wanted.node.as_ref().map(|_| NodeId::from(node.rsplit('/').next().unwrap_or(node)));
        let field = EvaluatedField { dialect, graph, node: bare.as_ref(), path: &wanted.field, text: &wanted.text };
        let given = |given| evaluate(&field, &EvaluationData::Given(given));
        let evaluation = match (&past, &tested) {
            (Some(past), _) => past.evaluate(&field, node),
            (None, Some(tested)) => given(runtime.block_on(tested.values(&[graph.id.value.as_str(), &graph.name]))?),
            (None, None) => {
                let With { input, outputs, variables, .. } = wanted.with;
                given(GivenValues { input, outputs, variables })
            }
        };
        Ok::<_, Refusal>(tell(&wanted.text, evaluation))
    });
    Ok(Json(blocking_task.await.map_err(broken)??))
}

fn unknown(message: &str) -> Refusal {
    let help = "load the definition again";
    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_step", message, help)
}

/// Returns the graph that contains a node of the drawing.
fn graph_of<'g>(graphs: &'g BTreeMap<String, Graph>, root: &'g Graph, drawn: &str) -> Option<&'g Graph> {
    let (around, _) = drawn.rsplit_once('/').unwrap_or_default();
    around.split('/').filter(|name| !name.is_empty()).try_fold(root, |graph, name| {
        let node = graph.nodes.iter().find(|node| node.id.as_str() == name)?;
        node.kind.workflows().find_map(|(id, _)| graphs.get(id))
    })
}

/// The names of the tests beside a definition.
#[derive(Debug, Serialize)]
pub(super) struct TestNames {
    tests: Vec<String>,
}

/// Lists the tests beside a definition.
pub(super) async fn tests(State(studio): State<Arc<Studio>>, InPath(id): InPath<String>) -> Answer<TestNames> {
    let suite = suite_of(&studio, &id).await?;
    Ok(Json(TestNames { tests: suite.map(|suite| suite.names()).unwrap_or_default() }))
}

async fn suite_of(studio: &Arc<Studio>, id: &str) -> Result<Option<Suite>, Refusal> {
    let (studio, id) = (Arc::clone(studio), id.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let library = studio.service.library();
        library.text(&id)?;
        let Some(path) = library.path(&id).filter(|path| path.is_file()) else { return Ok(None) };
        Suite::beside(&path, library).map_err(replies::faulty)
    });
    read.await.map_err(broken)?
}

/// A test, which runs with its written answers.
struct Tested {
    suite: Suite,
    tester: Tester,
    test: String,
}

impl Tested {
    async fn of(studio: &Arc<Studio>, id: &str, test: &str) -> Result<Tested, Refusal> {
        let suite = suite_of(studio, id).await?;
        let known = |suite: &Suite| suite.names().iter().any(|name| name == test);
        let suite = suite.filter(known).ok_or_else(|| {
            let message = format!("there is no test `{}` beside the definition", clip(test));
            let help = "`portolan test` lists the tests; choose another one";
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_test", &message, help)
        })?;
        Ok(Tested { suite, tester: Tester::beside(&studio.service)?, test: test.to_owned() })
    }

    async fn values(&self, names: &[&str]) -> Result<GivenValues, Refusal> {
        let values = self.tester.values(&self.suite, &self.test, names).await?.unwrap_or_default();
        Ok(GivenValues { input: Some(values.input), outputs: values.outputs, variables: Map::new() })
    }
}

/// A run up to one of its records.
struct RecordedRun {
    definition: Arc<Definition>,
    hidden: Redaction,
    records: Vec<Record>,
}

impl RecordedRun {
    async fn of(studio: &Studio, run: &str, seq: Option<u64>) -> Result<RecordedRun, Refusal> {
        let past = studio.past(run).await?;
        let (definition, hidden, head) = {
            let past = past.lock().await;
            (past.definition().clone(), past.hidden().clone(), past.head())
        };
        let last = usize::try_from(seq.unwrap_or(head).min(head)).unwrap_or(usize::MAX);
        let records = studio.service.page(&address(run)?, 0, last).await?;
        Ok(RecordedRun { definition, hidden, records })
    }

    /// Evaluates at the last moment at which the node's workflow was active.
    fn evaluate(&self, field: &EvaluatedField<'_>, node: &str) -> Evaluation {
        let workflow: &Workflow = &self.definition.workflow;
        let found = fold(&self.records, self.records.len())
            .and_then(|run| frame_of(&run, node).map(|frame| (run, frame)))
            .or_else(|| self.earlier(node));
        let at = self.records.last().map_or(Timestamp(0), |record| record.event.at);
        match &found {
            Some((run, frame)) => {
                let moment = Moment { workflow, run, frame, at, hidden: &self.hidden };
                evaluate(field, &EvaluationData::Run(moment))
            }
            None => evaluate(field, &EvaluationData::Given(GivenValues::default())),
        }
    }

    fn earlier(&self, node: &str) -> Option<(Run, FramePath)> {
        let mut run: Option<Run> = None;
        let mut last = None;
        for (at, record) in self.records.iter().enumerate() {
            take(&mut run, record);
            if run.as_ref().is_some_and(|run| frame_of(run, node).is_some()) {
                last = Some(at + 1);
            }
        }
        let run = fold(&self.records, last?)?;
        let frame = frame_of(&run, node)?;
        Some((run, frame))
    }
}

fn fold(records: &[Record], count: usize) -> Option<Run> {
    let mut run = None;
    records.iter().take(count).for_each(|record| take(&mut run, record));
    run
}

fn take(run: &mut Option<Run>, record: &Record) {
    match run {
        Some(run) => record.changes.iter().for_each(|change| run.apply(change)),
        None => *run = Run::fold(&record.changes),
    }
}

fn tell(text: &str, evaluation: Evaluation) -> EvaluateResponse {
    let Evaluation { names, value, kind, fault } = evaluation;
    let error = fault.map(|ExpressionError { message, help, span }| {
        let units = |byte: usize| text.get(..byte).unwrap_or(text).encode_utf16().count();
        Wrong { message, help, from: units(span.start), to: units(span.end) }
    });
    EvaluateResponse { names, value, kind, error }
}
