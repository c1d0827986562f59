//! Runs: which there are, what happened to each, where it was at any moment; and what a person does with one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use portolan_core::present::{Overlay, Situation, Visit, history, visits};
use portolan_core::run::Actor;
use portolan_runtime::attachments::Origins;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Fork, Onto, Past, Request, event_word};
use portolan_runtime::store::{Record, RunStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::Studio;
use super::answer::{Answer, Body, InPath, InQuery, Refusal};
use super::definitions::broken;
use super::drawn::{Folds, about, draw};
use super::places;
use super::project::untrusted;
use super::tries::DrivenRun;
use crate::words::tasks as words;

/// The most runs of a list, and the most records of a page.
const MOST: usize = 10_000;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RunRow {
    all: bool,
    limit: usize,
}

impl Default for RunRow {
    fn default() -> RunRow {
        RunRow { all: true, limit: 200 }
    }
}

/// The runs of the project, the one that moved last first.
pub(super) async fn list(State(studio): State<Arc<Studio>>, InQuery(wanted): InQuery<RunRow>) -> Answer<Value> {
    let limit = wanted.limit.min(MOST);
    let mut runs = studio.service.list(!wanted.all, limit + 1).await?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    Ok(Json(json!({ "runs": runs, "more": more })))
}

/// A run as it is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunDetails<'v> {
    run: String,
    workflow: &'v str,
    definition: DefinitionRef,
    head: u64,
    over: bool,
    status: String,
    situation: &'v Situation,
    words: String,
    origin: Option<Value>,
    /// Why it does not go on.
    halt: Option<Value>,
    /// The commands that it leads through and that nobody has trusted.
    untrusted: Option<Value>,
    /// How it is driven, where it is tried here.
    driven: Option<DrivenRun>,
}

/// The definition that a run is held to.
#[derive(Serialize)]
struct DefinitionRef {
    id: String,
    name: String,
    digest: String,
    /// Whether agents are led through it.
    led: bool,
}

/// One run.
pub(super) async fn one(State(studio): State<Arc<Studio>>, InPath(run): InPath<String>) -> Answer<Value> {
    studio.told(&run).await
}

impl Studio {
    /// A run as the page is told of it.
    pub(super) async fn told(&self, run: &str) -> Answer<Value> {
        let address = address(run)?;
        // First: what it has ended with is kept by then.
        let driven = self.driven(run);
        let view = self.service.view(&Request::of(address), &self.person).await?;
        let past = self.past(run).await?;
        let past = past.lock().await;
        let halt = self.halt(&view.address, Some(past.hidden().clone())).await?;
        let definition = past.definition();
        let flow = definition.workflow.root();
        let origin = past.trail().run().and_then(|run| run.opening.origin.as_ref());
        let told = RunDetails {
            run: view.address.to_string(),
            workflow: &view.workflow,
            definition: DefinitionRef {
                id: definition.workflow.id().to_string(),
                name: flow.name.clone(),
                digest: definition.digest.to_string(),
                led: flow.interface.is_none(),
            },
            head: past.head(),
            over: view.situation.over,
            status: past.trail().run().map(|run| RunStatus::of(run).shown().to_owned()).unwrap_or_default(),
            situation: &view.situation,
            words: words::instructions(&view),
            origin: origin.map(|origin| json!(origin)),
            halt,
            // What runs by itself is refused where trust is lacking, and needs none where answers are written down.
            untrusted: flow.interface.is_none().then(|| untrusted(&self.service, definition)).flatten(),
            driven: driven.map(|driven| driven.masked(past.hidden())),
        };
        Ok(Json(serde_json::to_value(told).map_err(broken)?))
    }

    /// The past of a run up to now.
    pub(super) async fn past(&self, run: &str) -> Result<Arc<Mutex<Past>>, Refusal> {
        let known = self.pasts.lock().await.known(run);
        if let Some(past) = known {
            self.service.read_on(&mut *past.lock().await).await?;
            return Ok(past);
        }
        let past = self.service.past(&address(run)?).await?;
        Ok(self.pasts.lock().await.keep(run, past))
    }
}

/// How the page names a run: by its handle, or by the path of its task file.
pub(super) fn address(run: &str) -> Result<Address, Refusal> {
    if run.is_empty() || run.len() > 4_096 || run.contains('\0') {
        let help = "copy it from the list of runs";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "unknown_run", "that names no run", help));
    }
    Ok(Address::parse(run))
}

/// The definition that a run is held to, drawn.
pub(super) async fn drawing(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    Body(folds): Body<Folds>,
) -> Answer<Value> {
    let past = studio.past(&run).await?;
    let definition = past.lock().await.definition().clone();
    let drawn = tokio::task::spawn_blocking(move || {
        let moved = places::moved_in_run(studio.service.library(), &definition);
        let graphs = definition.graphs();
        let root = graphs.get(definition.workflow.id().as_str());
        let root = root.ok_or("the definition has no root")?;
        let drawing = draw(root, Some(&definition.workflow), &graphs, &folds, &moved);
        let about = about(&drawing, &graphs, root, None, None, &Origins::default());
        Ok::<_, &str>(json!({ "drawing": drawing, "about": about }))
    });
    Ok(Json(drawn.await.map_err(broken)?.map_err(broken)?))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Paged {
    after: u64,
    limit: Option<usize>,
}

/// A page of what happened to a run.
pub(super) async fn records(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    InQuery(wanted): InQuery<Paged>,
) -> Answer<Value> {
    let past = studio.past(&run).await?;
    let past = past.lock().await;
    let limit = wanted.limit.unwrap_or(1_000).min(MOST);
    let records = studio.service.page(&address(&run)?, wanted.after, limit).await?;
    let told: Vec<Value> = records.iter().map(|record| line(&past, record)).collect();
    Ok(Json(json!({ "records": told, "head": past.head() })))
}

fn line(past: &Past, record: &Record) -> Value {
    let text = past.hidden().text(&history(&record.event, &record.changes));
    json!({
        "seq": record.seq,
        "at": record.event.at,
        "by": by(&record.event.by),
        "kind": event_word(&record.event.what),
        "text": text,
    })
}

/// A record, whole.
pub(super) async fn record(
    State(studio): State<Arc<Studio>>,
    InPath((run, seq)): InPath<(String, u64)>,
) -> Answer<Value> {
    let past = studio.past(&run).await?;
    let past = past.lock().await;
    let found = studio.service.page(&address(&run)?, seq.saturating_sub(1), 1).await?;
    let found = found.first().filter(|record| record.seq == seq).ok_or_else(|| no_record(&past, seq))?;
    let found = serde_json::to_value(found).map_err(broken)?;
    Ok(Json(past.hidden().record(&found)))
}

/// A visit, with who reported what in the form that records have it.
fn visit(visit: &Visit) -> Value {
    let mut told = serde_json::to_value(visit).unwrap_or_default();
    for (told, report) in listed(&mut told, "reports").zip(&visit.reports) {
        told["by"] = by(&report.by);
    }
    for (told, altered) in listed(&mut told, "altered").zip(&visit.altered) {
        told["by"] = by(&altered.by);
    }
    told
}

fn listed<'t>(told: &'t mut Value, name: &str) -> impl Iterator<Item = &'t mut Value> {
    told.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Who did something.
pub(super) fn by(actor: &Actor) -> Value {
    match actor {
        Actor::Agent(name) => json!({ "is": "agent", "name": name }),
        Actor::Person { name, via } => json!({ "is": "person", "name": name, "via": via }),
        Actor::Engine => json!({ "is": "engine", "name": null }),
    }
}

fn no_record(past: &Past, seq: u64) -> Refusal {
    let help = format!("its records are numbered from 1 to {}", past.head());
    Refusal::new(StatusCode::NOT_FOUND, "unknown_record", format!("there is no record {seq}"), &help)
}

/// A run at a moment.
#[derive(Serialize)]
struct MomentTold {
    seq: u64,
    at: portolan_core::value::Timestamp,
    situation: Situation,
    words: String,
    overlay: Overlay,
    values: Vec<FrameValues>,
}

#[derive(Serialize)]
struct FrameValues {
    frame: String,
    value: Value,
}

/// A run as it was after one of its records.
pub(super) async fn at(State(studio): State<Arc<Studio>>, InPath((run, seq)): InPath<(String, u64)>) -> Answer<Value> {
    let past = studio.past(&run).await?;
    let past = past.lock().await;
    let moment = studio.service.moment(&past, seq, &studio.person).await?;
    let values = moment.values.into_iter().map(|(frame, value)| FrameValues { frame, value }).collect();
    let told = MomentTold {
        seq: moment.seq,
        at: moment.at,
        words: words::instructions(&moment.view),
        situation: moment.view.situation,
        overlay: moment.overlay,
        values,
    };
    Ok(Json(serde_json::to_value(told).map_err(broken)?))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Until {
    at: Option<u64>,
}

/// The most visits that are told, the latest of all.
const MOST_VISITS: u32 = 200;

/// How many records are read at once. Others are answered between two pages.
const PAGE: u64 = 1_000;

/// The records behind `after`, up to `last`.
async fn between(studio: &Studio, run: &Address, after: u64, last: u64) -> Result<Vec<Record>, Refusal> {
    let mut records = Vec::new();
    let mut after = after;
    while after < last {
        let count = usize::try_from((last - after).min(PAGE)).unwrap_or(usize::MAX);
        let page = studio.service.page(run, after, count).await?;
        let Some(read) = page.last() else { break };
        after = read.seq;
        records.extend(page);
    }
    Ok(records)
}

/// What happened at a node of the drawing.
pub(super) async fn node(
    State(studio): State<Arc<Studio>>,
    InPath((run, node)): InPath<(String, String)>,
    InQuery(until): InQuery<Until>,
) -> Answer<Value> {
    let past = studio.past(&run).await?;
    let (definition, hidden, last, before) = {
        let past = past.lock().await;
        let last = until.at.unwrap_or(past.head()).min(past.head());
        (past.definition().clone(), past.hidden().clone(), last, past.before_visits(&node, last, MOST_VISITS))
    };
    let records = between(&studio, &address(&run)?, before.seq, last).await?;
    let told = tokio::task::spawn_blocking(move || {
        let records = records.iter().map(|record| (record.seq, &record.event, record.changes.as_slice()));
        let mut found = visits(&definition.workflow, before.run.as_ref(), records, &node, &hidden);
        let more = found.len().saturating_sub(MOST_VISITS as usize);
        found.drain(..more);
        let earlier = before.visits as usize + more;
        json!({ "visits": found.iter().map(visit).collect::<Vec<_>>(), "earlier": earlier })
    });
    Ok(Json(told.await.map_err(broken)?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forking {
    seq: u64,
    /// Variables, and the values that they have in the new run.
    set: Option<Map<String, Value>>,
    /// What the new run is held to.
    #[serde(default)]
    definition: Which,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Which {
    #[default]
    Pinned,
    Current,
}

/// Begins a run with the past of another.
pub(super) async fn fork(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    Body(wanted): Body<Forking>,
) -> Answer<Value> {
    let values = wanted.set.filter(|set| !set.is_empty()).map(|set| Arc::new(Value::Object(set)));
    let onto = match wanted.definition {
        Which::Pinned => Onto::Pinned,
        Which::Current => Onto::Current,
    };
    let fork = Fork { seq: wanted.seq, values, onto };
    let view = studio.service.fork(&address(&run)?, fork, &studio.person).await?;
    let fork = view.address.to_string();
    studio.also_try(&run, &fork).await?;
    Ok(Json(json!({ "run": fork })))
}
