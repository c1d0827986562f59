//! How many expressions are evaluated a second on one core, the conversion of the context and of the result included.
//!
//! `benches/jsonata.mjs` does the same with the reference implementation, over the same cases: given its command, the two
//! are measured in turn, a fifth of a second each, so that whatever else the machine does falls on both.
//!
//! ```sh
//! cargo bench -p portolan-core --bench expressions
//! npm install jsonata@2.2.2
//! PORTOLAN_BENCH_JSONATA="node $PWD/crates/portolan-core/benches/jsonata.mjs $PWD" cargo bench -p portolan-core --bench expressions
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "and measures time; the crate knows none")]
#![expect(clippy::disallowed_types, reason = "and starts the peer; the crate starts nothing")]

use std::fmt;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use portolan_core::expr::{Expr, JsonLogic, Jsonata, Scope};
use serde_json::{Value, json};

/// The cases: `filter, sort and map` is over a hundred items, which both benches make of its one.
const CASES: &str = include_str!("expressions.json");

fn cases() -> Vec<(String, String, Value)> {
    let Value::Array(cases) = serde_json::from_str(CASES).expect("JSON") else { panic!("cases") };
    let text = |case: &Value, field: &str| case[field].as_str().expect("text").to_owned();
    let mut found = Vec::new();
    for case in cases {
        let mut data = case["data"].clone();
        if let Some(times) = case["times"].as_u64() {
            let items =
                (0..times).map(|nth| json!({ "id": format!("item {nth}"), "price": (nth * 37) % 100, "qty": nth % 7 }));
            data["items"] = items.collect();
        }
        found.push((text(&case, "name"), text(&case, "expression"), data));
    }
    found
}

fn evaluate(bench: &mut Bench) {
    for (name, text, data) in cases() {
        let expression = Expr::Jsonata(Jsonata::parse(&text).expect("it can be read"));
        bench.beside(&name, || expression.eval(&Scope::of(&data)).expect("it has a value"));
    }
    let rule = json!({ ">": [{ "var": "entry.value" }, 10] });
    let rule = Expr::Logic(JsonLogic::parse(&rule).expect("it is a rule"));
    let data = json!({ "entry": { "value": 12 } });
    bench.rate("a comparison in JSON Logic", || rule.holds(&Scope::of(&data)).expect("it has a value"));
}

fn parse(bench: &Bench) {
    for (name, text, _) in cases() {
        bench.rate(&format!("reading `{name}`"), || Jsonata::parse(&text).expect("it can be read"));
    }
}

struct Bench {
    /// What the names of the cases hold that are wanted.
    only: Option<String>,
    rounds: usize,
    round: Duration,
    peer: Option<Peer>,
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    fn rate<T>(&self, name: &str, mut once: impl FnMut() -> T) {
        if self.wants(name) {
            let rates = (0..self.rounds).map(|_| rate(self.round, &mut once)).collect();
            println!("{name}: {}", Rates::of(rates));
        }
    }

    /// The same in turn with the peer, where there is one.
    fn beside<T>(&mut self, name: &str, mut once: impl FnMut() -> T) {
        if !self.wants(name) {
            return;
        }
        let Some(peer) = &mut self.peer else { return self.rate(name, once) };
        let pair = || (rate(self.round, &mut once), peer.rate(name, self.round));
        let pairs: Vec<(f64, f64)> = std::iter::repeat_with(pair).take(self.rounds).collect();
        let ratio = Rates::of(pairs.iter().map(|(ours, theirs)| ours / theirs).collect()).median;
        let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        println!("{name}: {}", Rates::of(ours));
        println!("{name}, the peer: {}; median of the ratios: {ratio:.2}", Rates::of(theirs));
    }
}

/// Evaluations a second.
struct Rates {
    median: f64,
    best: f64,
    rounds: usize,
}

impl Rates {
    fn of(mut rates: Vec<f64>) -> Rates {
        rates.sort_by(f64::total_cmp);
        let at = |place: usize| rates.get(place).copied().expect("at least one round");
        Rates { median: at(rates.len() / 2), best: at(rates.len() - 1), rounds: rates.len() }
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rates { median, best, rounds } = self;
        write!(f, "median {median:.0}, best {best:.0} a second of one core, {rounds} rounds")
    }
}

fn rate<T>(round: Duration, once: &mut impl FnMut() -> T) -> f64 {
    let begun = used();
    let mut done = 0;
    loop {
        (0..200).for_each(|_| drop(black_box(once())));
        done += 200;
        let took = used() - begun;
        if took >= round {
            return f64::from(done) / took.as_secs_f64();
        }
    }
}

/// The reference implementation in a process of its own, which is told what to do line by line.
struct Peer {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(command: &str) -> Peer {
        let mut words = command.split_whitespace();
        let mut process = Command::new(words.next().expect("a program"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Peer { process, answers }
    }

    fn rate(&mut self, name: &str, round: Duration) -> f64 {
        let question = json!({ "name": name, "ms": round.as_secs_f64() * 1e3 });
        writeln!(self.process.stdin.as_mut().expect("a pipe"), "{question}").expect("it listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        answer.trim().parse().expect("a number")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The processor time of this thread: what else runs on the machine takes none of it.
#[cfg(target_os = "linux")]
fn used() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    Duration::from_nanos(stat.split(' ').next().and_then(|spent| spent.parse().ok()).expect("nanoseconds"))
}

/// The time on the clock: on a busy machine it is more than was used.
#[cfg(not(target_os = "linux"))]
fn used() -> Duration {
    static BEGUN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    BEGUN.elapsed()
}

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let testing = !std::env::args().any(|argument| argument == "--bench");
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let (rounds, round) = if testing { (1, Duration::ZERO) } else { (25, Duration::from_millis(200)) };
    let peer = std::env::var("PORTOLAN_BENCH_JSONATA").ok().map(|command| Peer::start(&command));
    let mut bench = Bench { only, rounds, round, peer };
    evaluate(&mut bench);
    parse(&bench);
}
