//! How many expressions are evaluated a second on one core, the conversion of the context and of the result included.
//!
//! `benches/jsonata.mjs` does the same with the reference implementation, over the same cases.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "and measures time; the crate knows none")]

use std::hint::black_box;
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

fn evaluate(bench: &Bench) {
    for (name, text, data) in cases() {
        let expression = Expr::Jsonata(Jsonata::parse(&text).expect("it can be read"));
        bench.rate(&name, || expression.eval(&Scope::of(&data)).expect("it has a value"));
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
    rounds: u32,
    round: Duration,
}

impl Bench {
    fn rate<T>(&self, name: &str, mut once: impl FnMut() -> T) {
        if self.only.as_ref().is_some_and(|only| !name.contains(only)) {
            return;
        }
        let mut best = 0.0_f64;
        for _ in 0..self.rounds {
            let begun = used();
            let mut done = 0;
            let took = loop {
                (0..200).for_each(|_| drop(black_box(once())));
                done += 200;
                let took = used() - begun;
                if took >= self.round {
                    break took;
                }
            };
            best = best.max(f64::from(done) / took.as_secs_f64());
        }
        println!("{name}: {best:.0} a second of one core, best of {}", self.rounds);
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
    let testing = std::env::args().any(|argument| argument == "--test");
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let (rounds, round) = if testing { (1, Duration::ZERO) } else { (5, Duration::from_secs(1)) };
    let bench = Bench { only, rounds, round };
    evaluate(&bench);
    parse(&bench);
}
