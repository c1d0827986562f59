//! What the benchmarks that drive servers have in common: a process, a client, a row of figures.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) fn row(name: &str, mut times: Vec<Duration>) {
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

/// A line through `cat`, there and back: what no server over pipes can undercut.
pub(crate) fn echo(count: usize) -> Vec<Duration> {
    let mut cat = Pipe::start(&["cat".to_owned()], Path::new("/"));
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "Next" } }).to_string();
    (0..count).map(|_| timed(|| drop(cat.exchange(&line))).0).collect()
}

pub(crate) fn startup(name: &str, command: &[String], project: &Path, count: usize) {
    let times = (0..count).map(|_| timed(|| drop(Server::start(command, project))).0).collect();
    row(&format!("{name}: start to first answer"), times);
}

pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

pub(crate) struct Server {
    pub(crate) pipe: Pipe,
    id: u64,
}

impl Server {
    pub(crate) fn start(command: &[String], project: &Path) -> Server {
        let mut server = Server { pipe: Pipe::start(command, project), id: 0 };
        let me = json!({ "name": "bench", "version": "1" });
        server.request("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me }));
        server.pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }).to_string();
        self.pipe.send(&line);
        // Notifications that nobody waits for come in between.
        loop {
            let answer: Value = serde_json::from_str(&self.pipe.receive()).expect("an answer");
            if answer["method"].is_null() {
                assert_eq!(answer["id"], self.id, "{answer}");
                return answer;
            }
        }
    }

    /// The processor time of all of its threads, and the kernel's part of that, as Linux counts them; nothing elsewhere.
    fn processor(&self) -> (Duration, Duration) {
        let process = Path::new("/proc").join(self.pipe.child.id().to_string());
        let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
        let runs = |thread: fs::DirEntry| -> Option<u64> {
            fs::read_to_string(thread.path().join("schedstat")).ok()?.split(' ').next()?.parse().ok()
        };
        let all = Duration::from_nanos(threads.filter_map(runs).sum());
        // The name of the program, which may hold anything, ends at the last bracket; the time stands 13 words behind it.
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let mut words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = words.nth(12).and_then(|ticks| ticks.parse().ok()).unwrap_or_default();
        (all, Duration::from_millis(ticks * 10))
    }

    /// Resident memory in KiB, as Linux counts it; 0 elsewhere.
    pub(crate) fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pipe.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
    }
}

/// The processor time of servers while they were called.
#[derive(Default)]
pub(crate) struct Processor {
    calls: usize,
    all: Duration,
    kernel: Duration,
}

impl Processor {
    /// Counts what a server takes while it is called: `work` says how often.
    pub(crate) fn count<T>(&mut self, server: &mut Server, work: impl FnOnce(&mut Server) -> (usize, T)) -> T {
        let before = server.processor();
        let (calls, done) = work(server);
        let after = server.processor();
        self.calls += calls;
        self.all += after.0.saturating_sub(before.0);
        self.kernel += after.1.saturating_sub(before.1);
        done
    }

    /// A line where there is something to tell. The kernel's part is counted in ticks of 10 ms: it means something over
    /// thousands of calls.
    pub(crate) fn row(&self, name: &str) {
        if self.calls > 0 && !self.all.is_zero() {
            let each = |time: Duration| time.as_secs_f64() * 1e6 / self.calls as f64;
            let (all, kernel) = (each(self.all), each(self.kernel));
            println!("{name:<40} processor time a call {all:>9.1} us, of which the kernel has {kernel:.1} us");
        }
    }
}

/// A program in a folder, with the person's records beside that.
pub(crate) fn command(words: &[String], folder: &Path) -> Command {
    let mut command = Command::new(&words[0]);
    let mut data = folder.as_os_str().to_owned();
    data.push("-data");
    command.args(&words[1..]).current_dir(folder).env("PORTOLAN_DATA_DIR", data);
    command
}

pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    pub(crate) fn start(words: &[String], folder: &Path) -> Pipe {
        let mut child = command(words, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Pipe { child, input, output: BufReader::new(output) }
    }

    pub(crate) fn send(&mut self, line: &str) {
        let mut bytes = line.as_bytes().to_vec();
        bytes.push(b'\n');
        self.input.as_mut().expect("open").write_all(&bytes).expect("sent");
    }

    pub(crate) fn exchange(&mut self, line: &str) -> String {
        self.send(line);
        self.receive()
    }

    pub(crate) fn receive(&mut self) -> String {
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Pipe {
    /// Not every peer leaves when its client does.
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
