//! Runs: their list, their records, their state at any moment, and a person's operations on them.

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
use super::answer::{Answer, Body, InPath, InQuery};
use super::definitions::broken;
use super::drawn::{Folds, about, draw};
use super::places;
use super::project::untrusted;
use super::tries::DrivenRun;
use crate::http::Refusal;
use crate::words::tasks as words;

/// The most runs in a list, and the most records in a page.
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

/// Lists the runs of the project, the last one that moved first.
pub(super) async fn list(State(studio): State<Arc<Studio>>, InQuery(wanted): InQuery<RunRow>) -> Answer<Value> {
    let limit = wanted.limit.min(MOST);
    let mut runs = studio.service.list(!wanted.all, limit + 1).await?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    Ok(Json(json!({ "runs": runs, "more": more })))
}

/// The current state of a run.
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
    /// Why it does not continue.
    halt: Option<Value>,
    /// The commands on its way that are not trusted.
    untrusted: Option<Value>,
    /// How the studio drives it, if it does.
    driven: Option<DrivenRun>,
}

/// The definition that a run is pinned to.
#[derive(Serialize)]
struct DefinitionRef {
    id: String,
    name: String,
    digest: String,
    /// Whether agents follow it.
    led: bool,
    /// Whether its file still has it. `None` if the run is over, or if no file has a valid one of its name.
    current: Option<bool>,
}

/// Returns one run.
pub(super) async fn one(State(studio): State<Arc<Studio>>, InPath(run): InPath<String>) -> Answer<Value> {
    studio.run_json(&run).await
}

impl Studio {
    /// Returns a run as the page shows it.
    pub(super) async fn run_json(&self, run: &str) -> Answer<Value> {
        let address = address(run)?;
        // Read before the view, so that the view has the records of a drive that has ended.
        let driven = self.driven(run);
        let view = self.service.view(&Request::of(address), &self.person).await?;
        let past = self.past(run).await?;
        let past = past.lock().await;
        let halt = self.halt(&view.address, Some(past.hidden().clone())).await?;
        let definition = past.definition();
        let flow = definition.workflow.root();
        let origin = past.trail().run().and_then(|run| run.opening.origin.as_ref());
        let status = match &halt {
            Some(halt) if halt["turn"] == "held" => "waiting".to_owned(),
            _ => past.trail().run().map(|run| RunStatus::of(run).shown().to_owned()).unwrap_or_default(),
        };
        let details = RunDetails {
            run: view.address.to_string(),
            workflow: &view.workflow,
            definition: DefinitionRef {
                id: definition.workflow.id().to_string(),
                name: flow.name.clone(),
                digest: definition.digest.to_string(),
                led: flow.interface.is_none(),
                current: if view.situation.over { None } else { self.service.is_current(definition) },
            },
            head: past.head(),
            over: view.situation.over,
            status,
            situation: &view.situation,
            words: words::instructions(&view),
            origin: origin.map(|origin| json!(origin)),
            halt,
            // A function is refused without trust when it is driven, and needs none if its answers are given.
            untrusted: flow.interface.is_none().then(|| untrusted(&self.service, definition)).flatten(),
            driven: driven.map(|driven| driven.masked(past.hidden())),
        };
        Ok(Json(serde_json::to_value(details).map_err(broken)?))
    }

    /// Returns the history of a run up to its last record.
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

/// Parses the page's name of a run: its handle, or the path of its task file.
pub(super) fn address(run: &str) -> Result<Address, Refusal> {
    if run.is_empty() || run.len() > 4_096 || run.contains('\0') {
        let help = "copy it from the list of runs";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "unknown_run", "this does not name a run", help));
    }
    Ok(Address::parse(run))
}

/// Draws the definition that a run is pinned to.
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
pub(super) struct PageQuery {
    after: u64,
    limit: Option<usize>,
}

/// Returns a page of a run's records.
pub(super) async fn records(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    InQuery(wanted): InQuery<PageQuery>,
) -> Answer<Value> {
    let past = studio.past(&run).await?;
    let past = past.lock().await;
    let limit = wanted.limit.unwrap_or(1_000).min(MOST);
    let records = studio.service.page(&address(&run)?, wanted.after, limit).await?;
    let lines: Vec<Value> = records.iter().map(|record| line(&past, record)).collect();
    Ok(Json(json!({ "records": lines, "head": past.head() })))
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

/// Returns one complete record.
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

/// Converts a visit, with actors in the form that records have.
fn visit(visit: &Visit) -> Value {
    let mut object = serde_json::to_value(visit).unwrap_or_default();
    for (entry, report) in listed(&mut object, "reports").zip(&visit.reports) {
        entry["by"] = by(&report.by);
    }
    for (entry, altered) in listed(&mut object, "altered").zip(&visit.altered) {
        entry["by"] = by(&altered.by);
    }
    object
}

fn listed<'t>(object: &'t mut Value, name: &str) -> impl Iterator<Item = &'t mut Value> {
    object.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Converts an actor.
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

/// Returns a run as it was after one of its records.
pub(super) async fn at(State(studio): State<Arc<Studio>>, InPath((run, seq)): InPath<(String, u64)>) -> Answer<Value> {
    let past = studio.past(&run).await?;
    let past = past.lock().await;
    let moment = studio.service.moment(&past, seq, &studio.person).await?;
    let values = moment.values.into_iter().map(|(frame, value)| FrameValues { frame, value }).collect();
    let answer = MomentTold {
        seq: moment.seq,
        at: moment.at,
        words: words::instructions(&moment.view),
        situation: moment.view.situation,
        overlay: moment.overlay,
        values,
    };
    Ok(Json(serde_json::to_value(answer).map_err(broken)?))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Until {
    at: Option<u64>,
}

/// The most visits that are returned, the latest ones.
const MOST_VISITS: u32 = 200;

/// The number of records read at once. Other requests are answered between two pages.
const PAGE: u64 = 1_000;

/// Reads the records after `after`, up to `last`.
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

/// Returns the visits of a node of the drawing.
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
    let blocking_task = tokio::task::spawn_blocking(move || {
        let records = records.iter().map(|record| (record.seq, &record.event, record.changes.as_slice()));
        let mut found = visits(&definition.workflow, before.run.as_ref(), records, &node, &hidden);
        let more = found.len().saturating_sub(MOST_VISITS as usize);
        found.drain(..more);
        let earlier = before.visits as usize + more;
        json!({ "visits": found.iter().map(visit).collect::<Vec<_>>(), "earlier": earlier })
    });
    Ok(Json(blocking_task.await.map_err(broken)?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForkRequest {
    seq: u64,
    /// Variables, and their values in the new run.
    set: Option<Map<String, Value>>,
    /// The definition that the new run is pinned to.
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

/// Forks a run.
pub(super) async fn fork(
    State(studio): State<Arc<Studio>>,
    InPath(run): InPath<String>,
    Body(wanted): Body<ForkRequest>,
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
