//! How fast moves are made durable in PostgreSQL, beside the smallest function of SQL that compares and appends, called on as
//! many connections as there are callers.
//!
//! `cargo bench -p portolan-runtime --bench postgres`. The server is started by the benchmark, on this machine, with its
//! settings as they come. Rounds of all measurements follow one another.
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

#[path = "support/moves.rs"]
mod moves;
#[path = "support/reports.rs"]
mod reports;
#[path = "../src/store/contract/sample.rs"]
mod sample;
#[path = "../tests/common/postgres.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod server;

use std::sync::Arc;
use std::time::{Duration, Instant};

use moves::{all, call, median, open, texts};
use portolan_runtime::service::Service;
use portolan_runtime::store::{Keyring, ListFilter, PostgresStore, RunId, Store};
use reports::{begun, report, service};
use server::Server;
use tokio_postgres::NoTls;

/// The callers, and the machines that they are spread over: each has a store of its own.
const CALLERS: [(usize, usize); 4] = [(1, 1), (16, 1), (64, 1), (16, 16)];

/// What every store of journals does at least: the move is stored if the run is where the caller supposes.
const RAW: &str = "
    CREATE TABLE raw_runs (id TEXT PRIMARY KEY, seq BIGINT NOT NULL, snapshot TEXT NOT NULL);
    CREATE TABLE raw_records (id TEXT, seq BIGINT, record TEXT NOT NULL, PRIMARY KEY (id, seq));
    CREATE FUNCTION raw_append(run TEXT, expected BIGINT, record TEXT, whole TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE raw_runs SET seq = expected + 1, snapshot = whole WHERE id = run AND seq = expected;
        IF NOT FOUND THEN RETURN FALSE; END IF;
        INSERT INTO raw_records VALUES (run, expected + 1, record);
        RETURN TRUE;
    END $$";

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, time) = if is_bench { (5, Duration::from_secs(2)) } else { (1, Duration::from_millis(20)) };
    let Some(server) = Server::start() else { return };
    server.sql(RAW);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime needs nothing");
    println!(
        "{:<10}{:<14}{:>12}{:>12}{:>10}{:>12}{:>12}{:>12}{:>10}",
        "callers", "machines", "raw /s", "store /s", "ratio", "raw p50 ms", "store p50 ms", "service /s", "ratio"
    );
    for (callers, machines) in CALLERS {
        let (mut raws, mut stores, mut services) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            raws.push(runtime.block_on(raw(&server, callers, time)));
            stores.push(runtime.block_on(appends(&server, callers, machines, time)));
            services.push(runtime.block_on(reports(&server, callers, machines, time)));
        }
        let ((raw, raw_p50), (store, store_p50), (service, _)) = (median(raws), median(stores), median(services));
        println!(
            "{callers:<10}{machines:<14}{raw:>12.0}{store:>12.0}{:>10.2}{raw_p50:>12.3}{store_p50:>12.3}{service:>12.0}{:>10.2}",
            store / raw,
            service / raw
        );
    }
    runtime.block_on(first_page(&server, if is_bench { 1_000_000 } else { 1_000 }));
    println!("medians of {rounds} rounds of {time:?} each");
}

/// Texts of the sizes that a move of the store has. The connections are made before.
async fn raw(server: &Server, callers: usize, time: Duration) -> (f64, f64) {
    let (record, whole) = texts();
    let mut clients = Vec::new();
    for _ in 0..callers {
        let (client, connection) = tokio_postgres::connect(&server.address("postgres"), NoTls).await.expect("it runs");
        tokio::spawn(connection);
        let id = RunId::random().to_string();
        client.execute("INSERT INTO raw_runs VALUES ($1, 0, $2)", &[&id, &whole]).await.expect("there is room");
        let call = client.prepare("SELECT raw_append($1, $2, $3, $4)").await.expect("it is there");
        client.query_one(&call, &[&id, &0_i64, &record, &whole]).await.expect("nobody else writes it");
        clients.push((client, call, id));
    }
    let begin = Instant::now();
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|(client, call, id)| {
            let (record, whole) = (record.clone(), whole.clone());
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                for seq in 1_i64.. {
                    if begin.elapsed() >= time {
                        break;
                    }
                    let each = Instant::now();
                    client.query_one(&call, &[&id, &seq, &record, &whole]).await.expect("nobody else writes it");
                    latencies.push(each.elapsed());
                }
                latencies
            })
        })
        .collect();
    all(tasks, begin).await
}

fn store(server: &Server) -> Arc<dyn Store> {
    let address = server.address("postgres").parse().expect("an address");
    Arc::new(PostgresStore::at(address, Keyring::in_folder(&std::env::temp_dir())))
}

/// Moves of as many runs as there are callers, each caller waiting for each of its moves. The connections are made before.
async fn appends(server: &Server, callers: usize, machines: usize, time: Duration) -> (f64, f64) {
    let stores: Vec<_> = (0..machines).map(|_| store(server)).collect();
    moves_of(&stores, callers, time / 10).await;
    moves_of(&stores, callers, time).await
}

async fn moves_of(stores: &[Arc<dyn Store>], callers: usize, time: Duration) -> (f64, f64) {
    let mut runs = Vec::new();
    for store in stores.iter().cycle().take(callers) {
        runs.push((Arc::clone(store), open(&**store).await));
    }
    let begin = Instant::now();
    all(runs.into_iter().map(|(store, id)| tokio::spawn(call(store, id, time))).collect(), begin).await
}

/// The same through the service of each machine, which reads the run before.
async fn reports(server: &Server, callers: usize, machines: usize, time: Duration) -> (f64, f64) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let service = |machine: usize| service(&folder.path().join(machine.to_string()), store(server));
    let services: Vec<_> = (0..machines).map(service).collect();
    reports_of(&services, callers, time / 10).await;
    reports_of(&services, callers, time).await
}

async fn reports_of(services: &[Arc<Service>], callers: usize, time: Duration) -> (f64, f64) {
    let mut runs = Vec::new();
    for service in services.iter().cycle().take(callers) {
        runs.push((Arc::clone(service), begun(service).await));
    }
    let begin = Instant::now();
    all(runs.into_iter().map(|(service, view)| tokio::spawn(report(service, view, time))).collect(), begin).await
}

/// The first page of a list of many runs, which are copies of one.
async fn first_page(server: &Server, runs: usize) {
    let store = store(server);
    let id = open(&*store).await;
    server.sql(&format!(
        "INSERT INTO portolan.runs (id, definition, opened_at, opening) SELECT translate(lpad(to_hex(n), 8, '0'), '01', 'gh'), definition, opened_at, opening
             FROM portolan.runs, generate_series(1, {runs}) n WHERE id = '{id}';
         INSERT INTO portolan.positions SELECT r.number, p.seq, p.updated_at + r.number, p.status, p.result, p.step
             FROM portolan.runs r, portolan.positions p WHERE r.id LIKE 'copy%'
             AND p.run = (SELECT number FROM portolan.runs WHERE id = '{id}');
         ANALYZE portolan.runs; ANALYZE portolan.positions"
    ));
    for open_only in [false, true] {
        let mut times = Vec::new();
        for _ in 0..21 {
            let each = Instant::now();
            let _handles_of_copies_are_not_valid = store.list(ListFilter { open_only, limit: 100 }).await;
            times.push(each.elapsed());
        }
        times.sort();
        println!("first page of {runs} runs, open only {open_only}: {:?} at the median", times[times.len() / 2]);
    }
}
