//! How the number of runs that are driven in a second grows with the number of workers, where neither the processor nor
//! the store is what they wait for: each run calls a tool that takes a tenth of a second. And how many runs are driven
//! where they are.
//!
//! `cargo bench -p portolan-runtime --bench workers`. The runs are in PostgreSQL, which the benchmark starts, on this machine.
//! Each worker drives four runs at once, with a store, connections and a server of tools of its own. `workers.py` fits a
//! model to the lines of JSON at the end.
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

#[path = "../tests/common/postgres.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod server;

use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use portolan_core::run::Actor;
use portolan_core::value::Timestamp;
use portolan_runtime::graphs::Graphs;
use portolan_runtime::servers::PoolOptions;
use portolan_runtime::service::{Caller, Function, Open, Options, Service, StoreAt, Worker, WorkerOptions};
use portolan_runtime::store::Digest;
use portolan_runtime::trust::TrustEntry;
use serde_json::json;
use server::Server;

const GRAPH: &str = r#"version: "1.0"
server: {name: slow, version: "1"}
mcpServers:
  slow: {command: python3, args: [SERVER]}
tools:
  - name: slow
    description: waits
    inputSchema: {type: object}
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: call1}
"#;

/// A server whose tool takes a while, any number of times at once.
const SERVER: &str = r#"
import json, sys, threading
lock = threading.Lock()
def send(id, result):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        server = {"name": "slow", "version": "1"}
        send(id, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server})
    elif method == "tools/list":
        send(id, {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        threading.Timer(SECONDS, send, (id, {"content": [{"type": "text", "text": "{}"}]})).start()
    elif id is not None:
        send(id, {})
"#;

/// The runs that each worker drives at once.
const AT_ONCE: usize = 4;

/// What is driven, and by how many.
#[derive(Clone, Copy)]
struct Setting {
    workers: usize,
    /// The calls of each run, one after another.
    calls: usize,
    /// How long each takes, in milliseconds.
    takes: u32,
    /// The number of runs of a round, so that it takes some seconds.
    runs: usize,
}

/// The settings to which the model is fitted, and one that it has to predict.
const MIXES: [Setting; 8] = [
    Setting { workers: 1, calls: 1, takes: 100, runs: 240 },
    Setting { workers: 2, calls: 1, takes: 100, runs: 480 },
    Setting { workers: 4, calls: 1, takes: 100, runs: 960 },
    Setting { workers: 1, calls: 8, takes: 1, runs: 400 },
    Setting { workers: 4, calls: 8, takes: 1, runs: 400 },
    Setting { workers: 1, calls: 1, takes: 1, runs: 1_200 },
    Setting { workers: 4, calls: 1, takes: 1, runs: 1_200 },
    Setting { workers: 8, calls: 3, takes: 30, runs: 2_400 },
];

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, share) = if is_bench { (3, 1) } else { (1, 60) };
    let Some(server) = Server::start() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let growing = [1, 2, 3, 4].map(|workers| Setting { workers, calls: 1, takes: 100, runs: 240 * workers });
    let rates = medians(&growing, rounds, |setting| runtime.block_on(driven(&server, setting, setting.runs / share)));
    println!("{:<12}{:>12}{:>12}", "workers", "runs /s", "ratio");
    for (setting, rate) in growing.iter().zip(&rates) {
        println!("{:<12}{rate:>12.1}{:>12.2}", setting.workers, rate / rates[0]);
    }
    println!("medians of {rounds} rounds of {} runs for each worker\n", growing[0].runs / share);
    let rates = medians(&MIXES, rounds, |setting| runtime.block_on(driven(&server, setting, setting.runs / share)));
    for (Setting { workers, calls, takes, .. }, rate) in MIXES.iter().zip(&rates) {
        let at_once = AT_ONCE;
        println!(
            "{}",
            json!({ "workers": workers, "atOnce": at_once, "calls": calls, "takesMs": takes, "rate": rate })
        );
    }
}

/// Returns the median of each setting's rate, over rounds of all.
fn medians(settings: &[Setting], rounds: usize, rate: impl Fn(Setting) -> f64) -> Vec<f64> {
    let mut rates = vec![Vec::new(); settings.len()];
    for _ in 0..rounds {
        for (setting, rates) in settings.iter().zip(&mut rates) {
            rates.push(rate(*setting));
        }
    }
    let median = |mut rates: Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    rates.into_iter().map(median).collect()
}

/// Returns the graph of a run that calls the tool so often.
fn graph(program: &Path, calls: usize) -> String {
    let mut text = GRAPH.replace("SERVER", &program.to_string_lossy());
    for call in 1..=calls {
        let next = if call == calls { "exit".to_owned() } else { format!("call{}", call + 1) };
        text += &format!("      - {{id: call{call}, type: mcp, server: slow, tool: wait, args: {{}}, next: {next}}}\n");
    }
    text + "      - {id: exit, type: exit}\n"
}

fn service(server: &Server, folder: &Path) -> Arc<Service> {
    let store = StoreAt::Postgres(Box::new(server.address("postgres").parse().expect("an address")));
    let options = Options { store, trust: Some(folder.with_file_name("data")), ..Options::of(folder) };
    Arc::new(Service::new(options).expect("a service"))
}

/// Returns the number of runs that are driven in a second.
async fn driven(server: &Server, Setting { workers, calls, takes, .. }: Setting, runs: usize) -> f64 {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().canonicalize().expect("it is there").join("project");
    std::fs::create_dir(&folder).expect("there is room");
    let (program, graph) = (folder.join("server.py"), folder.join("slow.yaml"));
    let seconds = (f64::from(takes) / 1_000.0).to_string();
    std::fs::write(&program, SERVER.replace("SECONDS", &seconds)).expect("there is room");
    std::fs::write(&graph, self::graph(&program, calls)).expect("there is room");
    let service = self::service(server, &folder);
    let graphs = Graphs::open(vec![graph], None, service.library(), PoolOptions::default()).expect("it is valid");
    let definition = graphs.current(service.library()).functions.called(None).expect("it is the only one").clone();
    let (commands, path) = (definition.commands.clone().expect("it starts a server"), "slow.yaml".to_owned());
    let (project, file, at) = (folder.clone(), Digest::of(b""), Timestamp(0));
    service.trust().record(TrustEntry { project, commands, file, path, at, runs: Vec::new() }).expect("recorded");
    for _ in 0..runs {
        let function = Some(Function { definition: definition.clone(), remembered: None, folder: None });
        let wanted = Open { function, input: Some(Arc::new(json!({}))), ..Open::default() };
        let view = service.open(&wanted, &Caller { by: Actor::Engine, can_ask: false }).await.expect("it begins");
        service.hand_over(view.address.handle().expect("it is stored")).await.expect("it is stored");
    }
    let begin = Instant::now();
    let working: Vec<_> = (0..workers)
        .map(|_| {
            let options = WorkerOptions { at_once: AT_ONCE, model: None, mcp: None, folder: folder.clone() };
            let worker = Arc::new(Worker::new(self::service(server, &folder), options).expect("it needs no model"));
            tokio::spawn(async move {
                let mut done = 0;
                let mut tell = |driven: Result<portolan_runtime::service::DrivenRun, _>| {
                    driven.expect("the store can be read").outcome.expect("it can be driven");
                    done += 1;
                };
                worker.run(true, pending(), &mut tell).await.expect("the store can be read");
                done
            })
        })
        .collect();
    let mut done = 0;
    for worker in working {
        done += worker.await.expect("nobody panics");
    }
    assert_eq!(done, runs, "each run was driven once");
    f64::from(u32::try_from(runs).expect("a round is short")) / begin.elapsed().as_secs_f64()
}
