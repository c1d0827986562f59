//! Moves of runs of a store, each caller waiting for each of its moves.
//!
//! A record has some 600 bytes and the run after it some 2 KiB, as in a workflow with a dozen steps and variables.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use portolan_core::run::{Data, EventKind};
use portolan_runtime::store::{Digest, NewRun, Record, RunId, Store};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::sample::Sample;

/// Returns a run with variables of 1,700 characters.
pub(crate) fn opened() -> Sample {
    let mut opened = Sample::opened("mend the door");
    let variables = [("notes".to_owned(), Value::from(text(1700)))].into_iter().collect();
    opened.run.root.data = Some(Arc::new(Data { variables, ..Data::default() }));
    opened
}

/// Returns the run one move further, with a note of 420 characters.
pub(crate) fn moved(sample: Sample) -> Sample {
    static NOTE: LazyLock<String> = LazyLock::new(|| text(420));
    let mut moved = sample.moved("agent", "implement");
    if let EventKind::Reported { note, .. } = &mut moved.event.what {
        *note = Some(NOTE.clone());
    }
    moved
}

/// Returns the texts of a move, as a store writes them: the record, and the run after it.
pub(crate) fn texts() -> (String, String) {
    let sample = moved(opened());
    let record = serde_json::to_string(&(&sample.event, &sample.changes)).expect("JSON");
    (record, serde_json::to_string(&sample.run).expect("JSON"))
}

/// Returns words in no order, which compress about as well as a description.
pub(crate) fn text(length: usize) -> String {
    const WORDS: &str = "the requirement of a design is reviewed before its tests and every question with an answer";
    let (words, mut random) = (WORDS.split(' ').collect::<Vec<_>>(), fastrand::Rng::with_seed(1));
    let mut text = String::new();
    while text.len() < length {
        text.push_str(words[random.usize(..words.len())]);
        text.push(' ');
    }
    text.truncate(length);
    text
}

pub(crate) async fn open(store: &dyn Store) -> RunId {
    let Sample { run, event, changes } = opened();
    let (id, records) = (RunId::random(), vec![Record { seq: 1, event, changes }]);
    let new = NewRun {
        id: id.clone(),
        definition: Digest::of("{}"),
        definition_text: "{}".into(),
        cover: None,
        run,
        records,
    };
    store.create(new).await.expect("there is room");
    id
}

pub(crate) async fn call(store: Arc<dyn Store>, id: RunId, time: Duration) -> Vec<Duration> {
    let (begin, mut latencies) = (Instant::now(), Vec::new());
    let mut sample = opened();
    for seq in 1.. {
        if begin.elapsed() >= time {
            break;
        }
        sample = moved(sample);
        let record = Record { seq: seq + 1, event: sample.event.clone(), changes: sample.changes.clone() };
        let each = Instant::now();
        store.append(&id, seq, &record, &sample.run).await.expect("nobody else writes this run");
        latencies.push(each.elapsed());
    }
    latencies
}

/// Returns the median rate, with the median latency of the same round in milliseconds.
pub(crate) fn median(mut rounds: Vec<(f64, f64)>) -> (f64, f64) {
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    rounds[rounds.len() / 2]
}

/// Waits for the callers of a round, which return how long each move took. Returns the rate of the round, with the median
/// latency in milliseconds.
pub(crate) async fn all(callers: Vec<JoinHandle<Vec<Duration>>>, begin: Instant) -> (f64, f64) {
    let mut latencies = Vec::new();
    for caller in callers {
        latencies.extend(caller.await.expect("nobody panics"));
    }
    let took = begin.elapsed();
    latencies.sort();
    let count = f64::from(u32::try_from(latencies.len()).expect("a round is short"));
    (count / took.as_secs_f64(), latencies[latencies.len() / 2].as_secs_f64() * 1000.0)
}
