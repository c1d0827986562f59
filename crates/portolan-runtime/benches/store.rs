//! How fast moves are made durable, beside how fast the same disk makes anything durable.
//!
//! `cargo bench -p portolan-runtime --bench store`. The disk is the one of the temporary directory: set `TMPDIR` for
//! another. Rounds of all measurements follow one another, so that each is compared with the disk of the same moment.
#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

#[path = "support/moves.rs"]
#[expect(dead_code, reason = "the benchmarks of servers use more of it")]
mod moves;
#[path = "../src/store/contract/sample.rs"]
mod sample;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use moves::{call, open};
use portolan_runtime::store::{Keyring, SqliteStore, Store};
use tempfile::TempDir;

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, time) = if is_bench { (7, Duration::from_secs(1)) } else { (1, Duration::from_millis(20)) };
    let home = TempDir::new().expect("there is room for a directory");
    let mut columns: [Vec<Rate>; 3] = Default::default();
    for round in 0..rounds {
        let file = |name: &str| home.path().join(format!("{name}-{round}"));
        columns[0].push(disk(&file("disk"), time));
        columns[1].push(appends(&file("one.db"), 1, time));
        columns[2].push(appends(&file("many.db"), 16, time));
    }
    let disk = median(&mut columns[0]).each_second;
    println!("{:<28}{:>12}{:>10}{:>10}{:>12}", "", "per second", "p50 ms", "p99 ms", "of the disk");
    for (name, column) in
        ["fdatasync of 4 KiB appended", "append, 1 caller", "append, 16 callers"].iter().zip(&mut columns)
    {
        let Rate { each_second, p50, p99 } = median(column);
        println!("{name:<28}{each_second:>12.0}{p50:>10.3}{p99:>10.3}{:>12.2}", each_second / disk);
    }
    println!("median of {rounds} rounds of {time:?} each");
}

#[derive(Clone, Copy)]
struct Rate {
    each_second: f64,
    p50: f64,
    p99: f64,
}

impl Rate {
    fn of(mut latencies: Vec<Duration>, took: Duration) -> Rate {
        latencies.sort();
        let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
        let count = f64::from(u32::try_from(latencies.len()).expect("a round is short"));
        Rate { each_second: count / took.as_secs_f64(), p50: at(50), p99: at(99) }
    }
}

fn median(rates: &mut [Rate]) -> Rate {
    rates.sort_by(|a, b| a.each_second.total_cmp(&b.each_second));
    rates[rates.len() / 2]
}

/// What the disk can do: the smallest thing that is durable.
fn disk(file: &Path, time: Duration) -> Rate {
    let mut file = File::create(file).expect("there is room");
    let (begin, mut latencies) = (Instant::now(), Vec::new());
    while begin.elapsed() < time {
        let each = Instant::now();
        file.write_all(&[7; 4096]).expect("there is room");
        file.sync_data().expect("the disk works");
        latencies.push(each.elapsed());
    }
    Rate::of(latencies, begin.elapsed())
}

/// Moves of as many runs as there are callers, each caller waiting for each of its moves.
fn appends(file: &Path, callers: usize, time: Duration) -> Rate {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::at(file, Keyring::in_folder(file)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime needs nothing");
    runtime.block_on(async {
        let mut ids = Vec::new();
        for _ in 0..callers {
            ids.push(open(&*store).await);
        }
        let begin = Instant::now();
        let callers: Vec<_> = ids.into_iter().map(|id| tokio::spawn(call(Arc::clone(&store), id, time))).collect();
        let mut latencies = Vec::new();
        for caller in callers {
            latencies.extend(caller.await.expect("nobody panics"));
        }
        Rate::of(latencies, begin.elapsed())
    })
}
