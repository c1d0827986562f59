//! Server-sent events.
//!
//! | event | data | when |
//! |---|---|---|
//! | `here` | the version of the program | at the beginning |
//! | `record` | a summary of a record of a run | any process has written the record |
//! | `said` | a run, a state of it, a piece of text, and the time | a model says it, in a run driven here |
//! | `driven` | a run, or null for any | a run driven here waits, continues, or is no longer driven |
//! | `definitions` | nothing | a definition on disk may have changed |
//! | `calls` | nothing | a call waits for a person, or no longer |
//! | `requests` | nothing | the event log is longer: there may be other requests in the inbox |
//! | `bye` | nothing | the server ends |
//!
//! The identifier of an event is the time of its record. A stream that continues another one (`Last-Event-ID`) repeats
//! everything since then, and some records before: the run and the number identify a record. `said` and `driven` are
//! sent from `here` on. A client that requests a run after `here`, and again after each `driven`, has its current
//! state.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_core::Stream;
use portolan_core::value::Timestamp;
use portolan_runtime::service::{Feed, RunEvent};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::answer::InQuery;
use super::runs::{address, by as by_whom};
use super::{Live, ModelChunk, Studio};
use crate::http::Refusal;

/// How often to check the definitions, the waiting calls and the event log on disk.
const LOOK_AT_FILES: Duration = Duration::from_secs(1);
/// The number of events queued for a slow reader. No more are read while the queue is full.
const MOST_WAITING: usize = 1_024;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EventsRequest {
    run: Option<String>,
}

/// Opens a stream of events.
pub(super) async fn stream(
    State(studio): State<Arc<Studio>>,
    InQuery(wanted): InQuery<EventsRequest>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let only = wanted.run.as_deref().map(address).transpose()?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let feed = match last {
        Some(last) => Feed::since(Timestamp(last), only),
        None => Feed::from_now(studio.service.now(), only),
    };
    let (to, from) = mpsc::channel(MOST_WAITING);
    tokio::spawn(tell(studio, feed, wanted.run, to));
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    Ok(Sse::new(Events(from)).keep_alive(alive))
}

struct Events(mpsc::Receiver<Event>);

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}

/// Sends events until the reader or the server is gone.
async fn tell(studio: Arc<Studio>, mut feed: Feed, only: Option<String>, to: mpsc::Sender<Event>) {
    let (mut ending, mut live) = (studio.ending.subscribe(), studio.live.subscribe());
    let sending = async {
        // A reader that has received `here` must receive every change after it, so the marks are taken first.
        let mut marks = (studio.service.library().marks(), studio.marks_of_calls(), studio.mark_of_requests());
        let here = event("here", &json!({ "version": env!("CARGO_PKG_VERSION") }));
        to.send(here).await.ok()?;
        let mut looked = Instant::now();
        loop {
            // A store that cannot be read may be readable later. The next successful read returns what is missing.
            for happened in studio.service.news(&mut feed).await.unwrap_or_default() {
                to.send(record(&happened)).await.ok()?;
            }
            if looked.elapsed() >= LOOK_AT_FILES {
                looked = Instant::now();
                let now = (studio.service.library().marks(), studio.marks_of_calls(), studio.mark_of_requests());
                if marks.0 != now.0 {
                    to.send(event("definitions", &json!({}))).await.ok()?;
                }
                if marks.1 != now.1 {
                    to.send(event("calls", &json!({}))).await.ok()?;
                }
                if marks.2 != now.2 {
                    to.send(event("requests", &json!({}))).await.ok()?;
                }
                marks = now;
            }
            let mut news = pin!(timeout_at(looked + LOOK_AT_FILES, studio.service.some_news(&mut feed)));
            loop {
                let received = tokio::select! {
                    received = live.recv() => received,
                    _ = &mut news => break,
                };
                let event = match received {
                    Ok(update) if only.as_ref().is_none_or(|only| only == update.run()) => now(&update),
                    Ok(_) => continue,
                    // A missed piece of a model's text is in the record that follows. The state of driven runs is in no
                    // record.
                    Err(RecvError::Lagged(_)) => event("driven", &json!({ "run": null })),
                    Err(RecvError::Closed) => return None,
                };
                to.send(event).await.ok()?;
            }
        }
    };
    let over = tokio::select! {
        None::<()> = sending => false,
        () = to.closed() => false,
        // The guard of the value must not be held across an await.
        over = async { ending.wait_for(|is_over| *is_over).await.is_ok() } => over,
    };
    if over {
        let _late = to.send(event("bye", &json!({}))).await;
    }
}

/// Converts a live event, which is in no journal.
fn now(update: &Live) -> Event {
    match update {
        Live::Said(ModelChunk { run, node, text, at }) => {
            event("said", &json!({ "run": run, "node": node, "text": text, "at": at.0 }))
        }
        Live::Driven { run } => event("driven", &json!({ "run": run })),
    }
}

fn event(name: &'static str, data: &serde_json::Value) -> Event {
    Event::default().event(name).data(data.to_string())
}

fn record(happened: &RunEvent) -> Event {
    let RunEvent { line, seq, at, by, kind, text, nodes } = happened;
    let data = json!({
        "run": line.run, "workflow": line.workflow, "status": line.status, "step": line.step,
        "updatedAt": line.updated_at, "description": line.description,
        "seq": seq, "at": at, "by": by_whom(by), "kind": kind, "text": text, "nodes": nodes,
    });
    event("record", &data).id(at.0.to_string())
}
