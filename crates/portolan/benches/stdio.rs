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

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

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
        server.call("CopyWorkflows", json!({ "workflowIds": [WORKFLOW] }));
        server
    });
    let (mut our_times, mut their_times, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    for walk in 0..walks {
        our_times.extend(walk_task(&mut ours, &tasks.path().join(format!("ours-{walk}.json"))));
        if let Some(theirs) = &mut theirs {
            their_times.extend(walk_task(theirs, &tasks.path().join(format!("theirs-{walk}.json"))));
        }
    }
    for _ in 0..walks.div_ceil(10) {
        stored.extend(walk_stored(&mut ours));
    }
    row("portolan: Next on a task file", our_times);
    row("peer: Next on a task file", their_times);
    row("portolan: Next on a stored run (fsync)", stored);
    println!("{:<40} {} KiB idle, {} KiB after", "portolan: resident memory", idle, ours.resident());
    if let Some(theirs) = &theirs {
        println!("{:<40} {} KiB after", "peer: resident memory", theirs.resident());
    }
}

fn row(name: &str, mut times: Vec<Duration>) {
    if times.is_empty() {
        return;
    }
    times.sort();
    let at = |quantile: f64| times[((times.len() - 1) as f64 * quantile) as usize].as_secs_f64() * 1e6;
    println!(
        "{name:<40} n={:<6} median {:>9.1} us   p99 {:>9.1} us   min {:>9.1} us",
        times.len(),
        at(0.5),
        at(0.99),
        at(0.0)
    );
}

fn echo(count: usize) -> Vec<Duration> {
    let mut cat = Pipe::start(&["cat".to_owned()], Path::new("/"));
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "Next" } }).to_string();
    (0..count).map(|_| timed(|| drop(cat.exchange(&line))).0).collect()
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

fn startup(name: &str, command: &[String], project: &Path, count: usize) {
    let times = (0..count).map(|_| timed(|| drop(Server::start(command, project))).0).collect();
    row(&format!("{name}: start to first answer"), times);
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

fn walk_task(server: &mut Server, file: &Path) -> Vec<Duration> {
    fs::write(
        file,
        r#"{"id":"1","subject":"bench","description":"","status":"pending","blocks":[],"blockedBy":[],"metadata":{}}"#,
    )
    .expect("a task");
    let path = file.to_string_lossy().into_owned();
    server.call("Init", json!({ "taskFilePath": path, "workflowType": WORKFLOW, "description": "bench" }));
    server.call("Start", json!({ "taskFilePath": path }));
    let mut times = Vec::new();
    loop {
        let (time, answer) = timed(|| server.call("Next", json!({ "taskFilePath": path, "result": "passed" })));
        times.push(time);
        if answer["terminal"] == "success" {
            break;
        }
    }
    let task: Value = serde_json::from_slice(&fs::read(file).expect("the task")).expect("JSON");
    assert_eq!(task["status"], "completed", "the file says what the server said");
    fs::remove_file(file).expect("removed");
    times
}

fn walk_stored(server: &mut Server) -> Vec<Duration> {
    let opened = server.call("Init", json!({ "workflowType": WORKFLOW }));
    let mut situation = server.call("Start", json!({ "run": opened["run"] }));
    let mut times = Vec::new();
    while situation["terminal"] != "success" {
        let arguments = situation["actions"]["required"][0]["arguments"].clone();
        let (time, answer) = timed(|| server.call("Next", arguments));
        times.push(time);
        situation = answer;
    }
    times
}

struct Server {
    pipe: Pipe,
    id: u64,
}

impl Server {
    fn start(command: &[String], project: &Path) -> Server {
        let mut server = Server { pipe: Pipe::start(command, project), id: 0 };
        let me = json!({ "name": "bench", "version": "1" });
        server.request("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me }));
        server.pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }).to_string();
        let answer: Value = serde_json::from_str(&self.pipe.exchange(&line)).expect("an answer");
        assert_eq!(answer["id"], self.id, "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert!(value.get("error").is_none(), "{tool}: {value}");
        value
    }

    /// Resident memory in KiB, as Linux counts it; 0 elsewhere.
    fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pipe.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
    }
}

struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn start(command: &[String], folder: &Path) -> Pipe {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Pipe { child, input, output: BufReader::new(output) }
    }

    fn send(&mut self, line: &str) {
        let mut bytes = line.as_bytes().to_vec();
        bytes.push(b'\n');
        self.input.as_mut().expect("open").write_all(&bytes).expect("sent");
    }

    fn exchange(&mut self, line: &str) -> String {
        self.send(line);
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
