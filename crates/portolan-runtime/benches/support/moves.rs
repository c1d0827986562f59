//! Moves of runs of a store, each caller waiting for each of its moves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_runtime::store::{Digest, NewRun, Record, RunId, Store};

use crate::sample::Sample;

pub(crate) async fn open(store: &dyn Store) -> RunId {
    let Sample { run, event, changes } = Sample::opened("mend the door");
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
    let mut sample = Sample::opened("mend the door");
    for seq in 1.. {
        if begin.elapsed() >= time {
            break;
        }
        let each = Instant::now();
        sample = sample.moved("agent", "implement");
        let record = Record { seq: seq + 1, event: sample.event.clone(), changes: sample.changes.clone() };
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

/// Returns the rate of a round, with its median latency in milliseconds.
pub(crate) fn rate(mut latencies: Vec<Duration>, took: Duration) -> (f64, f64) {
    latencies.sort();
    let count = f64::from(u32::try_from(latencies.len()).expect("a round is short"));
    (count / took.as_secs_f64(), latencies[latencies.len() / 2].as_secs_f64() * 1000.0)
}
