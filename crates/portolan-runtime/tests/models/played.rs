//! Answers that are played, and written down.

use std::sync::Arc;

use expect_test::expect;
use portolan_core::chat::{ModelAnswer, ModelError, Request};
use portolan_core::source::Source;
use portolan_runtime::models::{Model, ModelQuestion, ModelRecorder, Script, Sink, open};
use tokio::time::{Duration, Instant};

use crate::provider::{FakeProvider, Said, Turn};
use crate::support::{Heard, at_once, block_on, outcome_text, setup, user};

fn script(text: &str) -> Script {
    Script::read(&Source::new("answers.yaml", text), "scripted:answers.yaml").unwrap_or_else(|error| panic!("{error}"))
}

async fn ask(model: &dyn Model, asker: Option<&str>, text: &str) -> Result<ModelAnswer, ModelError> {
    let request: Request = user(text);
    model.ask(ModelQuestion { request: &request, tools: &[], asker }, None).await
}

/// Asks as `asker: text` or `text`, one line after the other.
fn play(answers: &str, requests: &[&str]) -> String {
    let script = script(answers);
    let mut lines = String::new();
    for request in requests {
        let (asker, text) = request.split_once(": ").map_or((None, *request), |(asker, text)| (Some(asker), text));
        let said = at_once(ask(&script, asker, text));
        lines.push_str(&format!("{request} -> {}\n", outcome_text(&said).split(" | ").next().unwrap_or_default()));
    }
    lines.push_str(&format!("{} left\n", script.left()));
    lines
}

#[test]
fn answers_are_played_in_their_order() {
    expect![[r#"
        a -> `one`
        b -> `{"two":2}`
        c -> call_1 look({})
        d -> overloaded (may pass): no room
        e -> not-scripted (stays): no answer is left for a request that ends in `e`; write one, or let one `repeat`
        0 left
    "#]]
    .assert_eq(&play(
        "- text: one\n- json: {two: 2}\n- tool_calls: [{name: look}]\n- fail: {code: overloaded, message: no room}\n",
        &["a", "b", "c", "d", "e"],
    ));
}

#[test]
fn an_answer_can_be_meant_for_somebody() {
    let answers = "- text: for anybody\n- {for: draft, text: first draft}\n- {for: draft, text: further draft, repeat: true}\n\
                   - {for: maps, text: about maps}\n";
    expect![[r#"
        draft: about maps -> `first draft`
        draft: x -> `further draft`
        draft: y -> `further draft`
        tell me of maps -> `about maps`
        tell me of maps -> `for anybody`
        draft: z -> `further draft`
        review: a draft -> `further draft`
        review: nothing -> not-scripted (stays): no answer is left for a request of `review` that ends in `nothing`; write one, or let one `repeat`
        0 left
    "#]].assert_eq(&play(
        answers,
        &[
            "draft: about maps",
            "draft: x",
            "draft: y",
            "tell me of maps",
            "tell me of maps",
            "draft: z",
            "review: a draft",
            "review: nothing",
        ],
    ));
}

#[test]
fn a_request_that_nobody_expected_is_shown_in_short() {
    let long = format!("tell me\nof {}", "everything ".repeat(100));
    let said = at_once(ask(&script("[]"), Some("draft"), &long));
    expect!["not-scripted (stays): no answer is left for a request of `draft` that ends in `tell me of everything everything everything everything everything everything eve…`; write one, or let one `repeat`"].assert_eq(&outcome_text(&said));
}

/// Branches ask in any order; what each gets is written for it by name.
#[test]
fn branches_get_their_own_answers_in_whichever_order_they_ask() {
    let answers = "- {for: a, text: a1}\n- {for: b, text: b1, delay_ms: 50}\n- {for: a, text: a2, delay_ms: 10}\n\
                   - {for: b, text: b2}\n- {for: c, text: c1}\n- {for: c, text: c2}\n";
    let orders = [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"], ["b", "a", "c"]];
    for order in orders {
        let script = Arc::new(script(answers));
        let all = at_once(async {
            let branches = order.map(|name| {
                let script = Arc::clone(&script);
                tokio::spawn(async move {
                    let mut said = Vec::new();
                    for _ in 0..2 {
                        let answer =
                            ask(script.as_ref(), Some(name), "all branches say a b c").await.expect("an answer");
                        said.extend(answer.message.content);
                    }
                    said.join(" ")
                })
            });
            let mut all = Vec::new();
            for branch in branches {
                all.push(branch.await.expect("no panic"));
            }
            all.sort();
            all
        });
        assert_eq!(all, ["a1 a2", "b1 b2", "c1 c2"], "{order:?}");
    }
}

#[test]
fn an_answer_is_held_back_as_long_as_it_says() {
    at_once(async {
        let began = Instant::now();
        let script = script("- {text: later, delay_ms: 1500}\n- {text: now}\n");
        ask(&script, None, "x").await.expect("an answer");
        assert_eq!(began.elapsed(), Duration::from_millis(1_500));
        ask(&script, None, "x").await.expect("an answer");
        assert_eq!(began.elapsed(), Duration::from_millis(1_500));
    });
}

#[test]
fn what_is_played_is_heard() {
    let heard = Heard::default();
    let request = user("x");
    let question = ModelQuestion { request: &request, tools: &[], asker: None };
    at_once(script("- text: Hello.").ask(question, Some(&heard as &dyn Sink))).expect("an answer");
    assert_eq!(heard.text(), "Hello.");
}

#[test]
fn a_file_of_answers_is_opened_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let setup = portolan_runtime::models::ModelSetup::of(folder.path());
    std::fs::write(folder.path().join("good.yaml"), "- text: Hello.\n").expect("written");
    std::fs::write(folder.path().join("bad.yaml"), "- txet: Hello.\n- text: a\n  finish: soon\n").expect("written");
    std::fs::create_dir(folder.path().join("folder.yaml")).expect("a folder");
    let model = open("scripted:good.yaml", &setup).expect("a model");
    assert_eq!(model.name(), "scripted:good.yaml");
    assert!(outcome_text(&at_once(ask(model.as_ref(), None, "x"))).starts_with("`Hello.`"));
    let place = folder.path().display().to_string();
    let mut lines = String::new();
    for name in ["scripted:bad.yaml", "scripted:none.yaml", "scripted:folder.yaml"] {
        let error = open(name, &setup).err().expect("an error");
        let told = format!("{}: {error}\n", error.code).replace(&place, "FOLDER");
        lines.push_str(&told.replace(" (os error 2)", ""));
    }
    expect![[r#"
        bad-script: `FOLDER/bad.yaml` has 3 faults that must be corrected; correct what is listed
        FOLDER/bad.yaml:1:3: answer 1 says nothing; write one of `text`, `json` and `fail`; `tool_calls` can be alone or beside a text
        FOLDER/bad.yaml:1:3: answer 1 has a field `txet`, which has no meaning here; did you mean `text`?
        FOLDER/bad.yaml:3:11: `finish` of answer 2 is `soon`, which is not one of its values; write one of `stop`, `length`, `tools` and `filtered`
        unreadable: `FOLDER/none.yaml` cannot be read: No such file or directory; name a readable text file
        unreadable: `FOLDER/folder.yaml` cannot be read: it is not a regular file; name a readable text file
    "#]].assert_eq(&lines);
}

/// What was recorded of a provider plays the same without it.
#[test]
fn a_recording_says_the_same() {
    let provider = FakeProvider::new([
        Turn::Says(Said::text("One moment.").calling("c1", "search", r#"{"q": "maps"}"#)),
        Turn::error(429, serde_json::json!({"error": "slow down"})).with("retry-after", "1"),
        Turn::Says(Said::text("Here: é \"x\"\n")),
        Turn::Says(Said::default().calling("c2", "search", "{\"q\"").finish("length")),
    ]);
    let recorder = ModelRecorder::new(open("openai:m", &setup(&provider.origin)).expect("a model"));
    let asked = |model: &dyn Model| {
        let askers = [Some("find"), Some("find"), Some("sum"), None];
        let said = askers.map(|asker| outcome_text(&block_on(ask(model, asker, "where are the maps?"))));
        said.join("\n")
    };
    let said = asked(&recorder);
    let file = recorder.text();
    expect![[r#"
        [
          {"for":"find","text":"One moment.","tool_calls":[{"id":"c1","name":"search","arguments":{"q":"maps"}}],"usage":{"input":11,"output":7,"cached":4,"reasoning":2},"finish":"tools","model":"m-1"},
          {"for":"find","fail":{"code":"rate-limited","message":"`openai` received too many requests (status 429): slow down","may_pass":true,"retry_after_ms":1000}},
          {"for":"sum","text":"Here: é \"x\"\n","usage":{"input":11,"output":7,"cached":4,"reasoning":2},"finish":"stop","model":"m-1"},
          {"tool_calls":[{"id":"c2","name":"search","arguments":"{\"q\""}],"usage":{"input":11,"output":7,"cached":4,"reasoning":2},"finish":"length","model":"m-1"}
        ]
    "#]].assert_eq(&file);
    assert_eq!(asked(&script(&file)), said);
}

/// Nobody waited for the second; the first stands in the file alone.
#[test]
fn what_nobody_waited_for_is_not_recorded() {
    let recorder = ModelRecorder::new(Arc::new(script("- text: one\n- {text: two, delay_ms: 1000}\n")));
    at_once(async {
        ask(&recorder, None, "x").await.expect("an answer");
        let late = tokio::time::timeout(Duration::from_millis(10), ask(&recorder, None, "x")).await;
        assert!(late.is_err());
    });
    expect![[r#"
        [
          {"text":"one","finish":"stop"}
        ]
    "#]]
    .assert_eq(&recorder.text());
}
