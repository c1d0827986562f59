//! A server whose tool reckons, and whose answers are let go one by one, in the order that a seed decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::web::{Answer, Request, Web, event, reply, result};

/// When calls are answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// At once.
    AsTheyCome,
    /// When every run under way waits for an answer, one of them, by chance.
    Chosen { runs: usize, seed: u64 },
}

/// All clones are the same one.
#[derive(Clone)]
pub(crate) struct Gate {
    inner: Arc<Inner>,
    web: Arc<Web>,
}

struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    order: Order,
    chance: u64,
    /// The runs that are under way.
    live: BTreeSet<usize>,
    held: Vec<Held>,
    /// How often each call was made, by whom, where and with what.
    tries: BTreeMap<String, u64>,
}

/// A call that waits for its answer.
struct Held {
    who: usize,
    answer: Value,
    to: mpsc::UnboundedSender<String>,
}

impl Gate {
    pub(crate) async fn new(order: Order) -> Gate {
        let (runs, chance) = match order {
            Order::AsTheyCome => (0, 0),
            Order::Chosen { runs, seed } => (runs, seed),
        };
        let state = State { order, chance, live: (0..runs).collect(), held: Vec::new(), tries: BTreeMap::new() };
        let inner = Arc::new(Inner { state: Mutex::new(state), changed: Notify::new() });
        let asked = inner.clone();
        let web = Arc::new(Web::new(move |request| asked.asked(request)).await);
        Gate { inner, web }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.web.origin)
    }

    /// A run is over, or nobody waits for it any more.
    pub(crate) fn over(&self, who: usize) {
        let mut state = self.inner.state();
        state.live.remove(&who);
        state.held.retain(|held| held.who != who);
        drop(state);
        self.inner.changed.notify_one();
    }

    /// Waits until every run under way waits for an answer, and lets one go; false when no run is under way any more.
    pub(crate) async fn answer_one(&self) -> bool {
        loop {
            if let Some(done) = self.inner.state().let_one_go() {
                return done;
            }
            self.inner.changed.notified().await;
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panicked")
    }

    fn asked(&self, request: &Request) -> Answer {
        if request.body["method"] != "tools/call" {
            return result(request).map_or_else(|| Answer::status(202), |result| Answer::json(&result));
        }
        let answer = self.state().take(request);
        self.changed.notify_one();
        answer
    }
}

impl State {
    fn take(&mut self, request: &Request) -> Answer {
        let arguments = &request.body["params"]["arguments"];
        let tries = self.tries.entry(arguments.to_string()).or_default();
        *tries += 1;
        let answer = reply(request, reckoned(arguments, *tries));
        let who = arguments["who"].as_u64().and_then(|who| usize::try_from(who).ok()).expect("a run says who it is");
        if matches!(self.order, Order::AsTheyCome) {
            return Answer::json(&answer);
        }
        let (to, events) = mpsc::unbounded_channel();
        // A call of a run that has left comes to nothing.
        if self.live.contains(&who) {
            self.held.push(Held { who, answer, to });
        }
        Answer::Events(events)
    }

    fn let_one_go(&mut self) -> Option<bool> {
        if self.live.is_empty() {
            return Some(false);
        }
        let waiting: BTreeSet<usize> = self.held.iter().map(|held| held.who).collect();
        if waiting != self.live {
            return None;
        }
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let nth = usize::try_from(self.chance >> 33).expect("31 bits") % self.held.len();
        let Held { answer, to, .. } = self.held.swap_remove(nth);
        // Whoever asked may have given up on it.
        let _gone = to.send(event(&answer));
        Some(true)
    }
}

/// What the tool answers: it depends on the call alone, and on how often that was made.
fn reckoned(arguments: &Value, tries: u64) -> Value {
    let fails = match arguments["fate"].as_str() {
        Some("flaky") => tries % 2 == 1,
        Some("down") => true,
        _ => false,
    };
    let text = |key: &str| arguments[key].to_string();
    let number = |text: String| text.bytes().fold(17_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 9973);
    let value = number(text("who") + &text("path") + &text("v"));
    if fails {
        let message = format!("{} {}", text("path"), "x".repeat(usize::try_from(value % 50).expect("it is small")));
        return json!({"isError": true, "content": [{"type": "text", "text": message}]});
    }
    json!({"content": [], "structuredContent": {"v": value}})
}
