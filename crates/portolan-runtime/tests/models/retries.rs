//! Asking again, in time that passes at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use portolan_core::chat::{ModelAnswer, ModelError};
use portolan_core::source::Source;
use portolan_runtime::models::{AnswerFuture, Model, ModelQuestion, RetryPolicy, RetryingModel, Script, Sink, open};
use tokio::time::{Instant, timeout};

use crate::provider::{FakeProvider, Said, Turn};
use crate::support::{Heard, at_once, block_on, outcome_text, setup, user};

/// A script that notes when it is asked.
struct Noting {
    script: Script,
    began: Mutex<Option<Instant>>,
    at: Mutex<Vec<u128>>,
}

impl Noting {
    fn new(answers: &str) -> Arc<Noting> {
        let script = Script::read(&Source::new("answers.yaml", answers), "scripted:x").expect("answers");
        Arc::new(Noting { script, began: Mutex::default(), at: Mutex::default() })
    }

    fn at(&self) -> Vec<u128> {
        self.at.lock().expect("no panic").clone()
    }
}

impl Model for Noting {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn ask<'a>(&'a self, question: ModelQuestion<'a>, sink: Option<&'a dyn Sink>) -> AnswerFuture<'a> {
        let began = *self.began.lock().expect("no panic").get_or_insert_with(Instant::now);
        self.at.lock().expect("no panic").push(began.elapsed().as_millis());
        self.script.ask(question, sink)
    }
}

fn backoff(seed: u64) -> RetryPolicy {
    let second = Duration::from_secs(1);
    RetryPolicy { attempts: 5, first: second, longest: 5 * second, attempt: 60 * second, total: 100 * second, seed }
}

async fn ask(model: &dyn Model) -> Result<ModelAnswer, ModelError> {
    let request = user("Hello?");
    model.ask(ModelQuestion { request: &request, tools: &[], asker: None }, None).await
}

/// Asks by the rules, and tells what came of it and when it was asked.
fn check(answers: &str, backoff: RetryPolicy) -> String {
    let noting = Noting::new(answers);
    let model = RetryingModel::new(Arc::clone(&noting) as Arc<dyn Model>, backoff);
    let said = at_once(ask(&model));
    format!("{}\n    asked at {:?}", outcome_text(&said).split(" | ").next().unwrap_or_default(), noting.at())
}

const BUSY: &str = "- {fail: {code: overloaded, message: no room}, repeat: true}\n";

#[test]
fn waits_grow_and_have_an_end() {
    expect![[r#"
        overloaded (may pass): no room (asked 5 times)
            asked at [0, 829, 2364, 4844, 9292]"#]]
    .assert_eq(&check(BUSY, backoff(1)));
}

#[test]
fn the_same_seed_waits_the_same() {
    let of = |seed| check(BUSY, RetryPolicy { attempts: 8, ..backoff(seed) });
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

/// The n-th wait is at least half of what is due, and never longer than that.
#[test]
fn no_wait_leaves_its_bounds() {
    for seed in 0..50 {
        let noting = Noting::new(BUSY);
        let model =
            RetryingModel::new(Arc::clone(&noting) as Arc<dyn Model>, RetryPolicy { attempts: 8, ..backoff(seed) });
        at_once(ask(&model)).expect_err("it stays busy");
        let at = noting.at();
        for (pair, due) in at.windows(2).zip([1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000]) {
            let wait = pair[1] - pair[0];
            // A timer rounds up to the next millisecond.
            assert!((due / 2..=due + 1).contains(&wait), "seed {seed}: {wait} of {due}");
        }
    }
}

#[test]
fn what_passes_is_asked_again_and_what_stays_is_not() {
    let lines = [
        check("- fail: {code: rate-limited, message: slow down}\n- text: Hello.\n", backoff(1)),
        check("- fail: {code: refused-key, message: who are you}\n- text: Hello.\n", backoff(1)),
        check(
            "- fail: {code: timed-out, message: too late}\n- fail: {code: bad-request, message: no}\n- text: a\n",
            backoff(1),
        ),
        check(
            "- {fail: {code: overloaded, message: no room}}\n- text: Hello.\n",
            RetryPolicy { attempts: 0, ..backoff(1) },
        ),
    ];
    expect![[r#"
        `Hello.`
            asked at [0, 829]
        refused-key (stays): who are you
            asked at [0]
        bad-request (stays): no (asked 2 times)
            asked at [0, 829]
        overloaded (may pass): no room
            asked at [0]"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn a_provider_is_waited_for_as_long_as_it_asks() {
    let asks = |after: &str| {
        format!("- fail: {{code: rate-limited, message: slow, retry_after_ms: {after}}}\n- text: Hello.\n")
    };
    let lines = [check(&asks("20000"), backoff(1)), check(&asks("1"), backoff(1)), check(&asks("100000"), backoff(1))];
    expect![[r#"
        `Hello.`
            asked at [0, 20000]
        `Hello.`
            asked at [0, 829]
        rate-limited (may pass after 100000 ms): slow
            asked at [0]"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn an_attempt_that_takes_too_long_is_given_up() {
    let slow = "- {text: too late, delay_ms: 61000}\n- text: Hello.\n";
    let always = "- {text: too late, delay_ms: 61000, repeat: true}\n";
    let lines = [check(slow, backoff(1)), check(always, backoff(1))];
    expect![[r#"
        `Hello.`
            asked at [0, 60829]
        timed-out (may pass): the model did not answer within 39171 ms (asked 2 times)
            asked at [0, 60829]"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn whoever_stops_waiting_ends_it() {
    let noting = Noting::new(BUSY);
    let model =
        RetryingModel::new(Arc::clone(&noting) as Arc<dyn Model>, RetryPolicy { attempts: 1_000, ..backoff(1) });
    at_once(async {
        assert!(timeout(Duration::from_secs(6), ask(&model)).await.is_err());
        let asked = noting.at().len();
        assert!(asked > 2, "{asked}");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(noting.at().len(), asked);
    });
}

/// What was heard before an answer broke off is heard again, and the listener knows.
#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    let said = Said::text("Hello there, you.");
    let provider = FakeProvider::new([Turn::Cut(said.clone(), 350), Turn::Says(said)]);
    let model = open("openai:m", &setup(&provider.origin)).expect("a model");
    let quick = RetryPolicy { first: Duration::from_millis(1), ..backoff(1) };
    let model = RetryingModel::new(model, quick);
    let (heard, request) = (Heard::default(), user("Hello?"));
    let question = ModelQuestion { request: &request, tools: &[], asker: None };
    let said = block_on(model.ask(question, Some(&heard as &dyn Sink)));
    expect![[r#"
        `Hello there, you.` | Stop | 11 in 7 out 4 cached 2 thought
        heard Hello<again>|Hello| there,| you."#]]
    .assert_eq(&format!("{}\nheard {}", outcome_text(&said), heard.text()));
    assert_eq!(provider.requests().len(), 2);
}
