//! Answers without end, and those that never come.

use std::time::Duration;

use expect_test::expect;
use portolan_runtime::models::{ModelSetup, ResponseLimits, open};

use crate::provider::{FakeProvider, Turn};
use crate::support::{SPOKEN, ask, block_on, each, limits, setup, user};

#[test]
fn too_large_an_answer_is_not_read_on() {
    let turn = || Turn::Huge { media_type: "application/json", head: "{\"a\":\"".to_owned(), bytes: 50_000_000 };
    expect![[r#"
        openai    whole  too-large (stays): the answer of `openai` has more than 1048576 bytes and was not read further
        openai    pieces too-large (stays): the answer of `openai` has more than 1048576 bytes and was not read further | heard ``
        anthropic whole  too-large (stays): the answer of `anthropic` has more than 1048576 bytes and was not read further
        anthropic pieces too-large (stays): the answer of `anthropic` has more than 1048576 bytes and was not read further | heard ``
        ollama    whole  too-large (stays): the answer of `ollama` has more than 1048576 bytes and was not read further
        ollama    pieces too-large (stays): the answer of `ollama` has more than 1048576 bytes and was not read further | heard ``
    "#]].assert_eq(&each(turn));
    let turn = || Turn::Huge { media_type: "text/event-stream", head: "data: \"".to_owned(), bytes: 50_000_000 };
    expect![[r#"
        openai    whole  too-large (stays): the answer of `openai` has more than 1048576 bytes and was not read further
        openai    pieces too-large (stays): the answer of `openai` has more than 1048576 bytes and was not read further | heard ``
        anthropic whole  too-large (stays): the answer of `anthropic` has more than 1048576 bytes and was not read further
        anthropic pieces too-large (stays): the answer of `anthropic` has more than 1048576 bytes and was not read further | heard ``
        ollama    whole  too-large (stays): the answer of `ollama` has more than 1048576 bytes and was not read further
        ollama    pieces too-large (stays): the answer of `ollama` has more than 1048576 bytes and was not read further | heard ``
    "#]]
    .assert_eq(&each(turn));
}

#[test]
fn an_answer_without_end_comes_to_one() {
    let words = "data: {\"choices\":[{\"delta\":{\"content\":\"and on and on\"}}]}\n\n";
    let blocks = "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"n\"}}\n\n";
    let pings = ": still here\n\n";
    let calls = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"n\",\"arguments\":\"[[[[[[[[\"}}]}}]}\n\n";
    let details = "data: {\"choices\":[{\"delta\":{\"reasoning_details\":[[],[],[],[]]}}]}\n\n";
    let mut lines = String::new();
    for (name, again) in
        [("openai", words), ("anthropic", blocks), ("openai", pings), ("openai", calls), ("openai", details)]
    {
        let provider = FakeProvider::new([Turn::Endless { media_type: "text/event-stream", again: again.to_owned() }]);
        let small = ModelSetup { limits: ResponseLimits { max_bytes: 100_000, ..limits() }, ..setup(&provider.origin) };
        let model = open(&format!("{name}:m"), &small).expect("a model");
        let said = block_on(ask(model.as_ref(), &user("Hello?"), true));
        let said = said.replace(provider.origin.trim_start_matches("http://"), "HOST");
        lines.push_str(&format!("{}\n", said.split(" | heard").next().unwrap_or_default()));
    }
    expect![[r#"
        too-large (stays): the answer of `openai` has more than 100000 bytes and was not read further
        bad-answer (stays): the answer of `anthropic` at `HOST` is not valid: it asks for more than 128 tools
        too-large (stays): the answer of `openai` has more than 100000 bytes and was not read further
        too-large (stays): the answer of `openai` has more than 100000 bytes and was not read further
        too-large (stays): the answer of `openai` has more than 100000 bytes and was not read further
    "#]]
    .assert_eq(&lines);
}

/// A provider numbers its calls as it likes, and need not be believed.
#[test]
fn a_call_with_a_huge_number_is_one_call() {
    let pieces = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":4294967294,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n\
                  data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":18446744073709551615,\"id\":\"d\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let said = crate::support::asked("openai", true, Turn::raw(200, "text/event-stream", pieces));
    expect!["c f({}) | d g({}) | Tools | ? in ? out ? cached ? thought | heard ``"].assert_eq(&said);
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let mut lines = String::new();
    for name in SPOKEN {
        for (is_stream, turn) in [(false, Turn::Silence), (true, Turn::Silence)] {
            let provider = FakeProvider::new([turn]);
            let hasty = ResponseLimits { whole: Duration::from_millis(50), ..limits() };
            let setup = ModelSetup { limits: hasty, ..setup(&provider.origin) };
            let model = open(&format!("{name}:m"), &setup).expect("a model");
            lines.push_str(&format!("{}\n", block_on(ask(model.as_ref(), &user("Hello?"), is_stream))));
        }
    }
    expect![[r#"
        timed-out (may pass): `openai` did not answer within 50 ms
        timed-out (may pass): `openai` did not answer within 50 ms | heard ``
        timed-out (may pass): `anthropic` did not answer within 50 ms
        timed-out (may pass): `anthropic` did not answer within 50 ms | heard ``
        timed-out (may pass): `ollama` did not answer within 50 ms
        timed-out (may pass): `ollama` did not answer within 50 ms | heard ``
    "#]]
    .assert_eq(&lines);
}

#[test]
fn a_stream_that_falls_silent_is_given_up() {
    let gate = crate::provider::Gate::default();
    gate.open(3);
    let provider = FakeProvider::new([Turn::Paced(crate::provider::Said::text("one two"), gate)]);
    let setup = ModelSetup {
        limits: ResponseLimits { idle: Duration::from_millis(50), ..limits() },
        ..setup(&provider.origin)
    };
    let model = open("openai:m", &setup).expect("a model");
    expect!["timed-out (may pass): `openai` sent nothing for 50 ms | heard `one| two`"].assert_eq(&block_on(ask(
        model.as_ref(),
        &user("Hello?"),
        true,
    )));
}
