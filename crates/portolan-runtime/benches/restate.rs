//! How fast moves are made durable in Restate, beside the smallest object that compares and appends, called as often at the
//! same time.
//!
//! `cargo build --release --all-targets --manifest-path crates/portolan-restate/Cargo.toml`, then
//! `cargo bench -p portolan-runtime --bench restate` with `RESTATE_SERVER` and `RESTATE_OBJECTS` set to the two programs.
//! The server is started by the benchmark, on this machine. Rounds of all measurements follow one another. With `-- stalls` it only
//! kills servers.
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

#[path = "support/moves.rs"]
mod moves;
#[path = "../src/store/contract/sample.rs"]
mod sample;
#[path = "../tests/common/restate.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod server;

use std::sync::Arc;
use std::time::{Duration, Instant};

use moves::{all, call, median, open, texts};
use portolan_runtime::store::{Keyring, ListFilter, RestateStore, RunId, Store};
use server::Restate;

const CALLERS: [usize; 3] = [1, 16, 64];

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, time, runs) =
        if is_bench { (5, Duration::from_secs(4), 10_000) } else { (1, Duration::from_millis(200), 20) };
    let stall = if is_bench { Duration::from_secs(15) } else { Duration::from_millis(500) };
    if std::env::args().any(|argument| argument == "stalls") {
        return stalls(stall);
    }
    let Some(server) = Restate::start() else { return };
    let _peer = server.serve_peer();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime needs nothing");
    println!(
        "{:<10}{:>12}{:>12}{:>10}{:>12}{:>12}",
        "callers", "peer /s", "store /s", "ratio", "peer p50 ms", "store p50 ms"
    );
    for callers in CALLERS {
        let (mut peers, mut stores) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            peers.push(runtime.block_on(peer(&server, callers, time)));
            stores.push(runtime.block_on(appends(&server, callers, time)));
        }
        let ((peer, peer_p50), (store, store_p50)) = (median(peers), median(stores));
        println!("{callers:<10}{peer:>12.0}{store:>12.0}{:>10.2}{peer_p50:>12.3}{store_p50:>12.3}", store / peer);
    }
    runtime.block_on(lists(&server, runs));
    drop(server);
    stalls(stall);
    println!("medians of {rounds} rounds of {time:?} each");
}

/// Texts of the sizes that a move of the store has.
async fn peer(server: &Restate, callers: usize, time: Duration) -> (f64, f64) {
    let (record, whole) = texts();
    let client = portolan_runtime::http::client().build().expect("a client");
    let begin = Instant::now();
    let tasks = (0..callers).map(|_| {
        let url = format!("{}/Peer/{}/next", server.url(), RunId::random());
        let (record, whole, client) = (record.clone(), whole.clone(), client.clone());
        tokio::spawn(async move {
            let mut latencies = Vec::new();
            for expected in 0_u64.. {
                if begin.elapsed() >= time {
                    break;
                }
                let body = serde_json::json!({ "expected": expected, "record": record, "whole": whole });
                let each = Instant::now();
                let request = client.post(&url).header("content-type", "application/json").body(body.to_string());
                let answer = request.send().await.expect("it answers").text().await.expect("it ends");
                assert_eq!(answer, "true", "nobody else writes it");
                latencies.push(each.elapsed());
            }
            latencies
        })
    });
    all(tasks.collect(), begin).await
}

fn store(server: &Restate, space: &str) -> Arc<dyn Store> {
    let address = server.address(space).parse().expect("an address");
    Arc::new(RestateStore::at(address, Keyring::in_folder(&std::env::temp_dir())))
}

/// Moves of as many runs as there are callers, each caller waiting for each of its moves.
async fn appends(server: &Restate, callers: usize, time: Duration) -> (f64, f64) {
    let store = store(server, "moves");
    let mut runs = Vec::new();
    for _ in 0..callers {
        runs.push(open(&*store).await);
    }
    let begin = Instant::now();
    let tasks = runs.into_iter().map(|id| tokio::spawn(call(Arc::clone(&store), id, time)));
    all(tasks.collect(), begin).await
}

/// The first page of a list of some runs.
async fn lists(server: &Restate, runs: usize) {
    let store = store(server, "lists");
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..runs {
        if opening.len() >= 64 {
            opening.join_next().await.expect("there are some").expect("nobody panics");
        }
        let store = Arc::clone(&store);
        opening.spawn(async move { open(&*store).await });
    }
    opening.join_all().await;
    // The index is behind after so many.
    while store.status().await.expect("it can be counted").open < u64::try_from(runs).expect("it is small") {}
    let mut took: Vec<Duration> = Vec::new();
    for _ in 0..9 {
        let begin = Instant::now();
        store.list(ListFilter::default()).await.expect("it can be listed");
        took.push(begin.elapsed());
    }
    took.sort();
    println!("the first page of {runs} runs: {:.1} ms", took[took.len() / 2].as_secs_f64() * 1000.0);
}

/// What callers wait for when a server of three is killed: the longest call that is under way then or begins soon after.
fn stalls(time: Duration) {
    let Some(mut cluster) = Restate::cluster(3) else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let store = store(&cluster, "stalls");
    for place in 0..3 {
        let store = Arc::clone(&store);
        let callers = runtime.spawn(async move {
            let mut calls = Vec::new();
            for _ in 0..16 {
                let id = open(&*store).await;
                calls.push(tokio::spawn(call(Arc::clone(&store), id, time)));
            }
            let mut latencies = Vec::new();
            for calls in calls {
                latencies.extend(calls.await.expect("every move is carried out"));
            }
            latencies
        });
        // In the midst of the calls.
        runtime.block_on(async { tokio::time::sleep(time / 3).await });
        cluster.crash(place);
        let mut latencies = runtime.block_on(callers).expect("nobody panics");
        latencies.sort();
        println!(
            "server {place} of 3 killed: {} moves in {time:?}, p50 {:.1} ms, the longest {:.2} s",
            latencies.len(),
            latencies[latencies.len() / 2].as_secs_f64() * 1000.0,
            latencies[latencies.len() - 1].as_secs_f64()
        );
        cluster.go_on(place);
    }
}
