//! What HTTP costs beside standard input and output, and how many clients one server serves.
//!
//! Both servers are the same program on the same project and are called in turn, call by call. The clients of 2026-07-28 send
//! plain requests over connections that are kept open; those of earlier revisions have sessions.
//!
//! ```sh
//! cargo bench -p portolan --bench http
//! PORTOLAN_BENCH_CALLS=5000 PORTOLAN_BENCH_SESSIONS=10000 PORTOLAN_BENCH_TASKS=/dev/shm cargo bench -p portolan --bench http
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "support/believed.rs"]
mod believed;
#[path = "support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use more of it")]
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use believed::believed;
use serde_json::{Value, json};
use support::{Server, command, row, timed};

const WORKFLOW: &str = "feature-development";
const CLIENTS: usize = 64;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let testing = std::env::args().any(|argument| argument == "--test");
    let number = |name: &str, usual: usize| {
        let given = std::env::var(name).ok().and_then(|given| given.parse().ok());
        if testing { 2 } else { given.unwrap_or(usual) }
    };
    let (calls, sessions) = (number("PORTOLAN_BENCH_CALLS", 2_000), number("PORTOLAN_BENCH_SESSIONS", 10_000));
    let period = if testing { Duration::from_millis(50) } else { Duration::from_secs(5) };
    let project = tempfile::tempdir().expect("a scratch folder");
    let tasks = std::env::var_os("PORTOLAN_BENCH_TASKS").map_or_else(|| project.path().to_owned(), PathBuf::from);
    let tasks = tempfile::tempdir_in(tasks).expect("a folder for task files");

    let own = vec![env!("CARGO_BIN_EXE_portolan").to_owned(), "serve".to_owned()];
    believed(&own[0], project.path(), WORKFLOW);
    let mut stdio = Server::start(&own, project.path());
    let http = HttpServer::start(&own[0], project.path());
    let mut client = http.client();

    let task = begun(&mut client, tasks.path(), "look");
    let (mut over_stdio, mut over_http) = (Vec::new(), Vec::new());
    for _ in 0..calls {
        over_stdio.push(timed(|| by_stdio(&mut stdio, "Current", &task)).0);
        over_http.push(timed(|| client.call("Current", &task)).0);
    }
    row("stdio: a situation", over_stdio);
    row("HTTP: a situation", over_http);

    let (mut over_stdio, mut over_http) = (Vec::new(), Vec::new());
    let (mut one, mut other) = (Walk::new("stdio"), Walk::new("http"));
    for _ in 0..calls {
        over_stdio.push(one.step(tasks.path(), |tool, given| by_stdio(&mut stdio, tool, given)));
        over_http.push(other.step(tasks.path(), |tool, given| client.call(tool, given)));
    }
    row("stdio: Next on a task file", over_stdio);
    row("HTTP: Next on a task file", over_http);

    for clients in [1, CLIENTS] {
        let looked = together(clients, period, |nth| {
            let mut client = http.client();
            let task = begun(&mut client, tasks.path(), &format!("many-{clients}-{nth}"));
            move || drop(client.call("Current", &task))
        });
        let moved = together(clients, period, |nth| {
            let (mut client, mut walk) = (http.client(), Walk::new(&format!("moved-{clients}-{nth}")));
            let folder = tasks.path();
            move || {
                walk.step(folder, |tool, given| client.call(tool, given));
            }
        });
        println!("{clients:>3} clients: {looked:>9.0} situations a second, {moved:>9.0} moves a second");
    }

    let (before, mut most) = (http.resident(), 0);
    for nth in 0..sessions {
        client.begin_session();
        // Reading it takes a while.
        if nth % 100 == 0 {
            most = most.max(http.resident());
        }
    }
    while client.suspended() < sessions {
        most = most.max(http.resident());
        std::thread::park_timeout(Duration::from_millis(200));
    }
    let each = (http.resident().saturating_sub(before)) as f64 / sessions as f64;
    let after = http.resident();
    println!("{sessions} idle sessions: {after} KiB resident, {each:.1} KiB for each, {most} KiB while they began");
}

/// How often clients that work at the same time do their work in a second, once each is ready.
fn together<W: FnMut()>(clients: usize, period: Duration, ready: impl Fn(usize) -> W + Sync) -> f64 {
    let (count, barrier) = (AtomicU64::new(0), Barrier::new(clients));
    std::thread::scope(|scope| {
        for nth in 0..clients {
            let (count, barrier, ready) = (&count, &barrier, &ready);
            scope.spawn(move || {
                let mut work = ready(nth);
                barrier.wait();
                let end = Instant::now() + period;
                while Instant::now() < end {
                    work();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    count.load(Ordering::Relaxed) as f64 / period.as_secs_f64()
}

/// A walk through the workflow on task files, one after the other.
struct Walk {
    name: String,
    nth: usize,
    task: Option<Value>,
}

impl Walk {
    fn new(name: &str) -> Walk {
        Walk { name: name.to_owned(), nth: 0, task: None }
    }

    /// Takes one step, and returns its time. What begins a walk is not timed.
    fn step(&mut self, folder: &Path, mut call: impl FnMut(&str, &Value) -> Value) -> Duration {
        if self.task.is_none() {
            self.nth += 1;
            let task = task_file(folder, &format!("{}-{}", self.name, self.nth));
            call("Init", &with(&task, &json!({ "workflowType": WORKFLOW, "description": "bench" })));
            call("Start", &task);
            self.task = Some(task);
        }
        let task = self.task.clone().expect("it has begun");
        let (time, answer) = timed(|| call("Next", &with(&task, &json!({ "result": "passed" }))));
        if answer["terminal"] == "success" {
            fs::remove_file(task["taskFilePath"].as_str().expect("a path")).expect("removed");
            self.task = None;
        }
        time
    }
}

fn task_file(folder: &Path, name: &str) -> Value {
    let file = folder.join(format!("{name}.json"));
    fs::write(
        &file,
        r#"{"id":"1","subject":"bench","description":"","status":"pending","blocks":[],"blockedBy":[],"metadata":{}}"#,
    )
    .expect("a task");
    json!({ "taskFilePath": file })
}

fn with(task: &Value, more: &Value) -> Value {
    let mut arguments = task.clone();
    for (name, value) in more.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    arguments
}

fn begun(client: &mut Client, folder: &Path, name: &str) -> Value {
    let task = task_file(folder, name);
    client.call("Init", &with(&task, &json!({ "workflowType": WORKFLOW, "description": "bench" })));
    client.call("Start", &task);
    task
}

fn by_stdio(server: &mut Server, tool: &str, arguments: &Value) -> Value {
    answer_content(&server.request("tools/call", json!({ "name": tool, "arguments": arguments })), tool)
}

/// The content of an answer, which must be no error.
fn answer_content(answer: &Value, tool: &str) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {answer}"));
    let value: Value = serde_json::from_str(text).expect("JSON");
    assert!(value.get("error").is_none(), "{tool}: {value}");
    value
}

/// `portolan serve --http`.
struct HttpServer {
    child: Child,
    host: String,
    token: String,
}

impl HttpServer {
    fn start(program: &str, project: &Path) -> HttpServer {
        let words = [program, "serve", "--http", "127.0.0.1:0"].map(str::to_owned);
        let mut child =
            command(&words, project).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut address = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut address).expect("it prints its address");
        let host = address.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let token = fs::read_to_string(project.join(".portolan/serve.token")).expect("the token");
        HttpServer { child, host, token }
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_nodelay(true).expect("it can be set");
        Client { stream: BufReader::new(stream), host: self.host.clone(), token: self.token.clone() }
    }

    /// Resident memory in KiB, as Linux counts it; 0 elsewhere.
    fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// A connection that is kept open.
struct Client {
    stream: BufReader<TcpStream>,
    host: String,
    token: String,
}

impl Client {
    /// Calls a tool as a client of 2026-07-28.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let more = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n");
        answer_content(&self.post(&message, &more), tool)
    }

    /// Begins a session as a client of an earlier revision, and leaves it idle.
    fn begin_session(&mut self) {
        let me = json!({ "name": "bench", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": me });
        let answer = self.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }), "");
        assert_eq!(answer["result"]["serverInfo"]["name"], "portolan", "{answer}");
    }

    /// How many sessions are suspended.
    fn suspended(&mut self) -> usize {
        let (host, token) = (&self.host, &self.token);
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).expect("it listens");
        let text = self.body();
        let count = text.lines().find_map(|line| line.strip_prefix("portolan_sessions_suspended "));
        count.and_then(|count| count.parse().ok()).expect("it is counted")
    }

    fn post(&mut self, message: &Value, more: &str) -> Value {
        let body = message.to_string();
        let (host, token, length) = (&self.host, &self.token, body.len());
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{more}Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("it listens");
        let text = self.body();
        let start = text.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("no message: {text}"));
        let mut messages = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        messages.next().expect("a message").expect("it is JSON")
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("it answers");
        line.truncate(line.trim_end().len());
        line
    }

    /// The body of a response, of a length or in chunks.
    fn body(&mut self) -> String {
        let status = self.line();
        assert!(status.contains(" 200 "), "{status}");
        let mut length = None;
        loop {
            let line = self.line().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(given) = line.strip_prefix("content-length: ") {
                length = given.parse::<usize>().ok();
            }
        }
        let mut bytes = Vec::new();
        if let Some(length) = length {
            bytes.resize(length, 0);
            self.stream.read_exact(&mut bytes).expect("it answers");
            return String::from_utf8(bytes).expect("it is text");
        }
        loop {
            let size = usize::from_str_radix(&self.line(), 16).expect("the size of a chunk");
            let at = bytes.len();
            bytes.resize(at + size, 0);
            self.stream.read_exact(&mut bytes[at..]).expect("it answers");
            self.line();
            if size == 0 {
                return String::from_utf8(bytes).expect("it is text");
            }
        }
    }
}
