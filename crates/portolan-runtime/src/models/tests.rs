//! Anything that a provider sends gives an answer or a failure, and never a panic.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::failure::Speaker;
use super::remote::Pieces;
use super::{anthropic, openai};
use crate::clock::Clock;

fn speaker() -> Speaker {
    Speaker {
        provider: "openai",
        model: "m".to_owned(),
        host: "host".to_owned(),
        key: None,
        keyless: String::new(),
        clock: Clock::default(),
    }
}

/// Returns one example of each message of the protocols.
fn sound() -> Vec<Value> {
    let call = json!({"id": "c", "index": 0, "function": {"name": "n", "arguments": "{}"}, "extra_content": {"a": 1}});
    let said = json!({"content": [{"text": "a"}], "refusal": "no", "tool_calls": [call], "reasoning_content": "r",
        "reasoning_details": [{}]});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1},
        "input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 3});
    let block =
        |kind: &str| json!({"type": kind, "text": "t", "thinking": "h", "id": "i", "name": "n", "input": {"a": 1}});
    let delta = json!({"text": "t", "partial_json": "{", "thinking": "h", "signature": "s", "stop_reason": "end_turn"});
    vec![
        json!({"choices": [{"message": said, "delta": said, "finish_reason": "stop"}], "usage": usage, "model": "m"}),
        json!({"choices": [], "x_groq": {"usage": usage}}),
        json!({"error": {"message": "m", "code": 500}}),
        json!({"content": [block("text"), block("tool_use"), block("thinking")], "stop_reason": "x", "usage": usage}),
        json!({"type": "message_start", "message": {"model": "m", "usage": usage}}),
        json!({"type": "content_block_start", "content_block": block("thinking")}),
        json!({"type": "content_block_start", "content_block": block("tool_use")}),
        json!({"type": "content_block_delta", "delta": delta}),
        json!({"type": "content_block_stop"}),
        json!({"type": "message_delta", "delta": delta, "usage": usage}),
        json!({"type": "error", "error": {"type": "overloaded_error"}}),
        json!({"type": "message_stop"}),
    ]
}

/// Collects the pointers to all places of a value, including itself.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(n, item)| places(item, &format!("{at}/{n}"), all)),
        Value::Object(members) => members.iter().for_each(|(key, item)| places(item, &format!("{at}/{key}"), all)),
        _ => {}
    }
}

fn odd() -> impl Strategy<Value = Value> {
    let odd = [
        json!(null),
        json!(-1),
        json!(u64::MAX),
        json!(1.5),
        json!("é"),
        json!([]),
        json!([null]),
        json!({}),
        json!({"text": 7}),
        json!(true),
        json!([[["x"]]]),
    ];
    select(odd.to_vec())
}

/// Returns a message of the protocols with an odd value in one place.
fn twisted() -> impl Strategy<Value = Value> {
    (select(sound()), any::<prop::sample::Index>(), odd()).prop_map(|(mut value, place, odd)| {
        let mut all = Vec::new();
        places(&value, "", &mut all);
        *value.pointer_mut(&all[place.index(all.len())]).expect("one of its places") = odd;
        value
    })
}

proptest! {
    #[test]
    fn no_answer_panics(value in twisted(), cut in any::<prop::sample::Index>()) {
        let body = value.to_string().into_bytes();
        for body in [&body[..], &body[..cut.index(body.len())]] {
            drop(openai::answer(body, "openai", &speaker()));
            drop(anthropic::answer(body, "anthropic", &speaker()));
        }
    }

    #[test]
    fn no_stream_panics(values in prop::collection::vec(prop_oneof![select(sound()), twisted()], 0..12)) {
        let streams: [Box<dyn Pieces>; 2] =
            [Box::new(openai::Stream::of("openai")), Box::new(anthropic::Stream::of("anthropic"))];
        for mut stream in streams {
            for value in &values {
                drop(stream.event(value.to_string().as_bytes(), &|_: &str| {}, &speaker()));
            }
            drop(stream.finish());
        }
    }

    #[test]
    fn no_failure_panics(status in any::<u16>(), text in any::<String>(), value in twisted()) {
        let headers = reqwest::header::HeaderMap::new();
        let failure = speaker().refused(status, &headers, &text);
        prop_assert!(failure.message.len() < 10_000);
        prop_assert!(speaker().refused(status, &headers, &value.to_string()).message.len() < 10_000);
        prop_assert!(!speaker().within(&value).code.is_empty());
    }
}
