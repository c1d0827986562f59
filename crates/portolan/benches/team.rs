//! How soon a client of one machine sees what a person answered on another, with their store in PostgreSQL.
//!
//! The person's machine is this process, the other one the real server, whose client has subscribed to the run. The
//! database, both machines and the client share the processors, and their clocks. The first row is from the moment at
//! which the person is told that the answer is stored, until the client has read the notification; the second until
//! it has also read the new situation; the third is the answer itself.
//!
//! ```sh
//! cargo bench -p portolan --bench team
//! ```
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../../portolan-runtime/tests/common/postgres.rs"]
#[expect(dead_code, reason = "the tests of the store use more of it")]
mod postgres;
#[path = "support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use more of it")]
mod support;

use std::fs;
use std::path::Path;
use std::time::Instant;

use portolan_core::run::{Actor, Channel};
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Act, Caller, Options, Report, Request, Service, StoreAt};
use serde_json::{Value, json};
use support::{Server, row};

const ASKING: &str = r#"{
  "nodes": {
    "start": { "type": "start" },
    "ask": { "type": "end", "result": "blocked", "escalation": "hitl", "description": "May it be published?" },
    "done": { "type": "end", "result": "success" }
  },
  "edges": [{ "from": "start", "to": "ask" }, { "from": "ask", "to": "done", "on": "passed" }]
}"#;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let answers = if std::env::args().any(|argument| argument == "--bench") { 300 } else { 3 };
    let Some(database) = postgres::Server::start() else {
        println!("PostgreSQL is not installed: nothing was measured");
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let (here, there) = (scratch.path().join("here"), scratch.path().join("there"));
    for machine in [&here, &there] {
        fs::create_dir_all(machine.join(".flow/workflows")).expect("a folder");
        fs::write(machine.join(".flow/workflows/asking.json"), ASKING).expect("a workflow");
    }
    let store = database.address("postgres");
    let words = [env!("CARGO_BIN_EXE_portolan"), "serve", "--store", &store].map(str::to_owned);
    let mut server = Server::start(&words, &there);
    let person = Person::of(&here, &store);
    let (mut noticed, mut seen, mut answered) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..answers {
        let run = waiting(&mut server);
        let (begun, told) = person.answers(&run);
        answered.push(told - begun);
        let uri = json!(format!("portolan://runs/{run}"));
        loop {
            let notification: Value = serde_json::from_str(&server.pipe.receive()).expect("a notification");
            assert_eq!(notification["method"], "notifications/resources/updated", "{notification}");
            if notification["params"]["uri"] == uri {
                break;
            }
        }
        // It can be read before this process has learnt that the answer is stored.
        noticed.push(Instant::now().saturating_duration_since(told));
        let now = call(&mut server, "Current", &json!({ "run": run }));
        assert_eq!(now["terminal"], "success", "{now}");
        seen.push(told.elapsed());
    }
    row("stored until the client is notified", noticed);
    row("stored until it has read the situation", seen);
    row("the answer itself", answered);
}

/// A person at a machine.
struct Person {
    service: Service,
    runtime: tokio::runtime::Runtime,
}

impl Person {
    fn of(project: &Path, store: &str) -> Person {
        let store = StoreAt::Postgres(Box::new(store.parse().expect("an address")));
        let trust = Some(project.with_extension("person"));
        let options = Options { store, trust, ..Options::of(project.to_owned()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Person { service: Service::new(options).expect("a service"), runtime }
    }

    /// Answers the question of a run. Returns when it was begun, and when the answer was stored.
    fn answers(&self, run: &str) -> (Instant, Instant) {
        let by = Actor::Person { name: "ada".to_owned(), via: Channel::CommandLine };
        let ada = Caller { by, can_ask: true };
        let wanted = Request::of(Address::parse(run));
        self.runtime.block_on(async {
            let asked = self.service.view(&wanted, &ada).await.expect("a question");
            let wanted = Request { revision: Some(asked.situation.position.revision), ..wanted };
            let begun = Instant::now();
            self.service.act(&wanted, &Act::Report(Report::of("passed")), &ada).await.expect("it counts");
            (begun, Instant::now())
        })
    }
}

/// Begins a run on the server's machine, leads it to the question, and subscribes to it.
fn waiting(server: &mut Server) -> String {
    let opened = call(server, "Init", &json!({ "workflowType": "asking" }));
    let run = opened["run"].as_str().expect("a run").to_owned();
    call(server, "Start", &json!({ "run": run }));
    let subscribed = server.request("resources/subscribe", json!({ "uri": format!("portolan://runs/{run}") }));
    assert_eq!(subscribed["error"], Value::Null, "{subscribed}");
    run
}

fn call(server: &mut Server, tool: &str, arguments: &Value) -> Value {
    let answer = server.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    answer["result"]["structuredContent"].clone()
}
