//! What a client waits for: start-up, `Next` over stdio with task files and with stored runs, memory.
//!
//! Beside each figure stands the machine's own floor from the same run: a line echoed by `cat`, a file written to a
//! temporary name and renamed, an fdatasync. Another Navigator-style server is measured in turn with it, walk by walk,
//! when `PORTOLAN_BENCH_PEER` holds its command (words separated by spaces).
//!
//! ```sh
//! cargo bench -p portolan --bench stdio
//! PORTOLAN_BENCH_WALKS=500 PORTOLAN_BENCH_TASKS=/dev/shm cargo bench -p portolan --bench stdio
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "support/believed.rs"]
mod believed;
#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use believed::believed;
use serde_json::{Value, json};
use support::{Processor, Server, echo, row, startup, timed};

const WORKFLOW: &str = "feature-development";

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let testing = std::env::args().any(|argument| argument == "--test");
    let walks = std::env::var("PORTOLAN_BENCH_WALKS").ok().and_then(|walks| walks.parse().ok()).unwrap_or(200);
    let walks = if testing { 1 } else { walks };
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let tasks = std::env::var_os("PORTOLAN_BENCH_TASKS").map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    let tasks = tempfile::tempdir_in(tasks).expect("a folder for task files");
    let own = vec![env!("CARGO_BIN_EXE_portolan").to_owned(), "serve".to_owned()];
    let peer: Option<Vec<String>> =
        std::env::var("PORTOLAN_BENCH_PEER").ok().map(|line| line.split_whitespace().map(str::to_owned).collect());

    believed(&own[0], scratch.path(), WORKFLOW);
    println!("{walks} walks of {WORKFLOW}, task files in {}", tasks.path().display());
    row("floor: a line through cat", echo(walks * 10));
    row("floor: write and rename 2 KiB", rename(tasks.path(), walks * 10));
    row("floor: fdatasync of 4 KiB", sync(scratch.path(), walks));
    startup("portolan", &own, scratch.path(), if testing { 1 } else { 20 });
    if let Some(peer) = &peer {
        startup("peer", peer, scratch.path(), if testing { 1 } else { 20 });
    }

    let mut ours = Server::start(&own, scratch.path());
    let idle = ours.resident();
    let mut theirs = peer.as_ref().map(|peer| {
        let mut server = Server::start(peer, scratch.path());
        call(&mut server, "CopyWorkflows", json!({ "workflowIds": [WORKFLOW] }));
        server
    });
    let (mut our_processor, mut their_processor) = (Processor::default(), Processor::default());
    let (mut our_times, mut their_times, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    for walk in 0..walks {
        our_times.extend(walk_task(&mut ours, &tasks.path().join(format!("ours-{walk}.json")), &mut our_processor));
        if let Some(theirs) = &mut theirs {
            let file = tasks.path().join(format!("theirs-{walk}.json"));
            their_times.extend(walk_task(theirs, &file, &mut their_processor));
        }
    }
    for _ in 0..walks.div_ceil(10) {
        stored.extend(walk_stored(&mut ours));
    }
    row("portolan: Next on a task file", our_times);
    our_processor.row("");
    row("peer: Next on a task file", their_times);
    their_processor.row("");
    row("portolan: Next on a stored run (fsync)", stored);
    for (name, more) in [
        ("a handle (fsync)", &[][..]),
        ("a token", &["--stateless"]),
        ("a token, with a ledger", &["--stateless", "--ledger"]),
    ] {
        row(&format!("portolan: a step by {name}"), navigated(&own, scratch.path(), more, walks.div_ceil(20)));
    }
    println!("{:<40} {} KiB idle, {} KiB after", "portolan: resident memory", idle, ours.resident());
    if let Some(theirs) = &theirs {
        println!("{:<40} {} KiB after", "peer: resident memory", theirs.resident());
    }
}

fn rename(folder: &Path, count: usize) -> Vec<Duration> {
    let (temporary, target) = (folder.join(".floor.tmp"), folder.join("floor"));
    let body = vec![b'x'; 2048];
    let write = || {
        fs::write(&temporary, &body).expect("written");
        fs::rename(&temporary, &target).expect("renamed");
    };
    (0..count).map(|_| timed(write).0).collect()
}

fn sync(folder: &Path, count: usize) -> Vec<Duration> {
    let mut file = fs::File::create(folder.join("floor.sync")).expect("a file");
    let body = vec![b'x'; 4096];
    (0..count)
        .map(|_| {
            timed(|| {
                file.write_all(&body).expect("written");
                file.sync_data().expect("synced");
            })
            .0
        })
        .collect()
}

fn walk_task(server: &mut Server, file: &Path, processor: &mut Processor) -> Vec<Duration> {
    fs::write(
        file,
        r#"{"id":"1","subject":"bench","description":"","status":"pending","blocks":[],"blockedBy":[],"metadata":{}}"#,
    )
    .expect("a task");
    let path = file.to_string_lossy().into_owned();
    call(server, "Init", json!({ "taskFilePath": path, "workflowType": WORKFLOW, "description": "bench" }));
    call(server, "Start", json!({ "taskFilePath": path }));
    let times = processor.count(server, |server| {
        let mut times = Vec::new();
        loop {
            let (time, answer) = timed(|| call(server, "Next", json!({ "taskFilePath": path, "result": "passed" })));
            times.push(time);
            if answer["terminal"] == "success" {
                return (times.len(), times);
            }
        }
    });
    let task: Value = serde_json::from_slice(&fs::read(file).expect("the task")).expect("JSON");
    assert_eq!(task["status"], "completed", "the file says what the server said");
    fs::remove_file(file).expect("removed");
    times
}

fn walk_stored(server: &mut Server) -> Vec<Duration> {
    let opened = call(server, "Init", json!({ "workflowType": WORKFLOW }));
    let mut situation = call(server, "Start", json!({ "run": opened["run"] }));
    let mut times = Vec::new();
    while situation["terminal"] != "success" {
        let arguments = situation["actions"]["required"][0]["arguments"].clone();
        let (time, answer) = timed(|| call(server, "Next", arguments));
        times.push(time);
        situation = answer;
    }
    times
}

/// An agent is led through the example of some sixty steps, by what it holds.
fn navigated(own: &[String], folder: &Path, more: &[&str], walks: usize) -> Vec<Duration> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/activities");
    let files = ["work-package", "follow-up.yaml"].map(|name| example.join(name).to_string_lossy().into_owned());
    let sets = ["--toolset".to_owned(), "navigate".to_owned()];
    let command: Vec<String> =
        own.iter().cloned().chain(files).chain(sets).chain(more.iter().map(|&word| word.to_owned())).collect();
    let mut server = Server::start(&command, folder);
    let mut times = Vec::new();
    for _ in 0..walks {
        let mut now = call(
            &mut server,
            "start_workflow",
            json!({ "workflow_id": "work-package", "variables": { "ticket": "PR-7" } }),
        );
        while now["complete"] != true {
            let action = now["availableActions"]["required"][0].clone();
            let mut arguments = action["arguments"].clone();
            match now["checkpoint"]["options"][0]["id"].as_str() {
                Some(option) => arguments["option_id"] = json!(option),
                None => arguments["summary"] = json!("It was done as it was asked for."),
            }
            let (time, answer) = timed(|| call(&mut server, action["tool"].as_str().expect("a tool"), arguments));
            times.push(time);
            now = answer;
        }
    }
    times
}

/// A call of one of the tools that lead agents; their answers are text.
fn call(server: &mut Server, tool: &str, arguments: Value) -> Value {
    let answer = server.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
    let value: Value = serde_json::from_str(text).expect("JSON");
    assert!(value.get("error").is_none(), "{tool}: {value}");
    value
}
