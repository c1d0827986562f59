//! What comes of what providers say.

use expect_test::expect;
use portolan_runtime::models::{ModelQuestion, Sink, open};
use serde_json::json;

use crate::provider::{Counted, FakeProvider, Gate, Said, Turn};
use crate::support::{asked, block_on, each, outcome_text, setup, tools, user};

#[test]
fn a_text_is_heard_word_by_word_and_kept_as_a_whole() {
    expect![[r#"
        openai    whole  ` Hello there, you.
        ` | Stop | 11 in 7 out 4 cached 2 thought
        openai    pieces ` Hello there, you.
        ` | Stop | 11 in 7 out 4 cached 2 thought | heard ` Hello| there,| you.
        `
        anthropic whole  ` Hello there, you.
        ` | Stop | 11 in 7 out 4 cached ? thought
        anthropic pieces ` Hello there, you.
        ` | Stop | 11 in 7 out 4 cached ? thought | heard ` Hello| there,| you.
        `
        ollama    whole  ` Hello there, you.
        ` | Stop | 11 in 7 out 4 cached 2 thought
        ollama    pieces ` Hello there, you.
        ` | Stop | 11 in 7 out 4 cached 2 thought | heard ` Hello| there,| you.
        `
    "#]]
    .assert_eq(&each(|| Turn::Says(Said::text(" Hello there, you.\n"))));
}

#[test]
fn several_tools_are_asked_for_at_once() {
    let said = Said::text("One moment.")
        .calling("c1", "search", r#"{"q": "maps", "deep": {"n": [1, 2.5]}}"#)
        .calling("c2", "look", "{}");
    expect![[r#"
        openai    whole  `One moment.` | c1 search({"q":"maps","deep":{"n":[1,2.5]}}) | c2 look({}) | Tools | 11 in 7 out 4 cached 2 thought
        openai    pieces `One moment.` | c1 search({"q":"maps","deep":{"n":[1,2.5]}}) | c2 look({}) | Tools | 11 in 7 out 4 cached 2 thought | heard `One| moment.`
        anthropic whole  `One moment.` | c1 search({"q":"maps","deep":{"n":[1,2.5]}}) | c2 look({}) | Tools | 11 in 7 out 4 cached ? thought
        anthropic pieces `One moment.` | c1 search({"q":"maps","deep":{"n":[1,2.5]}}) | c2 look({}) | Tools | 11 in 7 out 4 cached ? thought | heard `One| moment.`
        ollama    whole  `One moment.` | c1 search({"q":"maps","deep":{"n":[1,2.5]}}) | c2 look({}) | Tools | 11 in 7 out 4 cached 2 thought
        ollama    pieces `One moment.` | c1 search({"q":"maps","deep":{"n":[1,2.5]}}) | c2 look({}) | Tools | 11 in 7 out 4 cached 2 thought | heard `One| moment.`
    "#]].assert_eq(&each(|| Turn::Says(said.clone())));
}

#[test]
fn arguments_that_are_no_json_stay_what_the_model_wrote() {
    let said = Said::default().calling("c1", "search", r#"{"q": "ma"#).calling("", "look", "");
    expect![[r#"
        openai    whole  c1 search(text "{\"q\": \"ma") | call_2 look({}) | Tools | 11 in 7 out 4 cached 2 thought
        openai    pieces c1 search(text "{\"q\": \"ma") | call_2 look({}) | Tools | 11 in 7 out 4 cached 2 thought | heard ``
        anthropic whole  c1 search({}) | call_2 look({}) | Tools | 11 in 7 out 4 cached ? thought
        anthropic pieces c1 search(text "{\"q\": \"ma") | call_2 look({}) | Tools | 11 in 7 out 4 cached ? thought | heard ``
        ollama    whole  c1 search(text "{\"q\": \"ma") | call_2 look({}) | Tools | 11 in 7 out 4 cached 2 thought
        ollama    pieces c1 search(text "{\"q\": \"ma") | call_2 look({}) | Tools | 11 in 7 out 4 cached 2 thought | heard ``
    "#]].assert_eq(&each(|| Turn::Says(said.clone())));
}

#[test]
fn an_answer_that_ran_out_of_tokens_says_so() {
    let said = Said::text("And then");
    let mut lines = String::new();
    for (name, finish) in [
        ("openai", "length"),
        ("anthropic", "max_tokens"),
        ("openai", "content_filter"),
        ("anthropic", "refusal"),
        ("openai", "odd"),
        ("anthropic", "pause_turn"),
        ("openai", "stop"),
    ] {
        for is_stream in [false, true] {
            let said = if finish == "stop" { said.clone().calling("c", "look", "{}") } else { said.clone() };
            let line = asked(name, is_stream, Turn::Says(said.finish(finish).usage(Counted::Nothing)));
            lines.push_str(&format!("{name} {finish}: {line}\n"));
        }
    }
    expect![[r#"
        openai length: `And then` | Length | ? in ? out ? cached ? thought
        openai length: `And then` | Length | ? in ? out ? cached ? thought | heard `And| then`
        anthropic max_tokens: `And then` | Length | ? in ? out ? cached ? thought
        anthropic max_tokens: `And then` | Length | ? in ? out ? cached ? thought | heard `And| then`
        openai content_filter: `And then` | Filtered | ? in ? out ? cached ? thought
        openai content_filter: `And then` | Filtered | ? in ? out ? cached ? thought | heard `And| then`
        anthropic refusal: `And then` | Filtered | ? in ? out ? cached ? thought
        anthropic refusal: `And then` | Filtered | ? in ? out ? cached ? thought | heard `And| then`
        openai odd: `And then` | Other("odd") | ? in ? out ? cached ? thought
        openai odd: `And then` | Other("odd") | ? in ? out ? cached ? thought | heard `And| then`
        anthropic pause_turn: `And then` | Other("pause_turn") | ? in ? out ? cached ? thought
        anthropic pause_turn: `And then` | Other("pause_turn") | ? in ? out ? cached ? thought | heard `And| then`
        openai stop: `And then` | c look({}) | Tools | ? in ? out ? cached ? thought
        openai stop: `And then` | c look({}) | Tools | ? in ? out ? cached ? thought | heard `And| then`
    "#]]
    .assert_eq(&lines);
}

#[test]
fn what_is_not_said_of_the_usage_is_unknown() {
    let mut lines = String::new();
    let lies = [
        json!({"prompt_tokens": -5, "completion_tokens": "7", "input_tokens": -5, "output_tokens": "7"}),
        json!({"prompt_tokens": 1e30, "completion_tokens": 2.5, "input_tokens": [1], "output_tokens": {"n": 1}}),
        json!({"prompt_tokens": u64::MAX, "prompt_tokens_details": [], "input_tokens": u64::MAX,
            "cache_read_input_tokens": u64::MAX}),
        json!({"prompt_tokens": 0, "completion_tokens": 0, "input_tokens": 0, "output_tokens": 0}),
        json!("plenty"),
    ];
    for usage in [Counted::Nothing].into_iter().chain(lies.map(Counted::Told)) {
        for name in ["openai", "anthropic"] {
            for is_stream in [false, true] {
                let said = asked(name, is_stream, Turn::Says(Said::text("a").usage(usage.clone())));
                let counted = said.split(" | ").nth(2).unwrap_or(&said);
                lines.push_str(&format!("{name:<9} {is_stream:<5} {counted}\n"));
            }
        }
        lines.push('\n');
    }
    expect![[r#"
        openai    false ? in ? out ? cached ? thought
        openai    true  ? in ? out ? cached ? thought
        anthropic false ? in ? out ? cached ? thought
        anthropic true  ? in ? out ? cached ? thought

        openai    false ? in ? out ? cached ? thought
        openai    true  ? in ? out ? cached ? thought
        anthropic false ? in ? out ? cached ? thought
        anthropic true  ? in ? out ? cached ? thought

        openai    false ? in ? out ? cached ? thought
        openai    true  ? in ? out ? cached ? thought
        anthropic false ? in ? out ? cached ? thought
        anthropic true  ? in ? out ? cached ? thought

        openai    false 18446744073709551615 in ? out ? cached ? thought
        openai    true  18446744073709551615 in ? out ? cached ? thought
        anthropic false ? in ? out 18446744073709551615 cached ? thought
        anthropic true  ? in ? out 18446744073709551615 cached ? thought

        openai    false 0 in 0 out ? cached ? thought
        openai    true  0 in 0 out ? cached ? thought
        anthropic false 0 in 0 out ? cached ? thought
        anthropic true  0 in 0 out ? cached ? thought

        openai    false ? in ? out ? cached ? thought
        openai    true  ? in ? out ? cached ? thought
        anthropic false ? in ? out ? cached ? thought
        anthropic true  ? in ? out ? cached ? thought

    "#]]
    .assert_eq(&lines);
}

/// Each word is let through only once the one before it was heard.
#[test]
fn slow_words_are_heard_when_they_come() {
    for (name, before) in [("openai", 2), ("anthropic", 4)] {
        let gate = Gate::default();
        let provider = FakeProvider::new([Turn::Paced(Said::text("one two three"), gate.clone())]);
        let model = open(&format!("{name}:m"), &setup(&provider.origin)).expect("a model");
        gate.open(before);
        let heard = std::sync::Mutex::new(Vec::new());
        let hear = |text: &str| {
            heard.lock().expect("no panic").push(text.to_owned());
            gate.open(if heard.lock().expect("no panic").len() == 3 { 100 } else { 1 });
        };
        let (request, tools) = (user("Hello?"), tools());
        let question = ModelQuestion { request: &request, tools: &tools, asker: None };
        let said = block_on(model.ask(question, Some(&hear as &dyn Sink)));
        assert!(said.is_ok(), "{}", outcome_text(&said));
        assert_eq!(*heard.lock().expect("no panic"), ["one", " two", " three"]);
    }
}

#[test]
fn what_providers_want_back_is_kept_for_them() {
    let openai = json!({"choices": [{"message": {"role": "assistant", "content": [{"type": "thinking", "thinking": []},
        {"type": "text", "text": "Hm."}], "reasoning_content": "let me see", "reasoning_details": [{"data": "x"}],
        "tool_calls": [{"id": "c", "type": "function", "extra_content": {"google": {"thought_signature": "s"}},
        "function": {"name": "look", "arguments": {"at": 1}}}]}, "finish_reason": "stop"}]});
    let pieces = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"let \"}}]}\n\n\
                  data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"me\",\"reasoning_details\":[{\"data\":\"x\"}]}}]}\n\n\
                  data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"look\"},\"extra_content\":{\"s\":1}},\
                  {\"function\":{\"arguments\":\"{}\"}},{\"id\":\"d\",\"function\":{\"name\":\"see\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\n";
    let anthropic = json!({"content": [{"type": "thinking", "thinking": "let me see", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"}, {"type": "server_tool_use", "id": "x"},
        {"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}}], "stop_reason": "tool_use"});
    let blocks = "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"thinking\",\"thinking\":\"let\"}}\n\n\
                  data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\" me\"}}\n\n\
                  data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s\"}}\n\n\
                  data: {\"type\":\"content_block_stop\"}\n\n\
                  data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"Hm\"}}\n\n\
                  data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let mut lines = String::new();
    for (name, body) in [("openai", openai.to_string()), ("anthropic", anthropic.to_string())] {
        lines.push_str(&format!("{}\n", asked(name, false, Turn::raw(200, "application/json", &body))));
    }
    for (name, body) in [("openai", pieces), ("anthropic", blocks)] {
        lines.push_str(&format!("{}\n", asked(name, true, Turn::raw(200, "text/event-stream", body))));
    }
    expect![[r#"
        `Hm.` | c look({"at":1}) {"openai":{"extra_content":{"google":{"thought_signature":"s"}}}} | {"openai":{"reasoning_content":"let me see","reasoning_details":[{"data":"x"}]}} | Tools | ? in ? out ? cached ? thought
        c look({"at":1}) | {"anthropic":{"thoughts":[{"type":"thinking","thinking":"let me see","signature":"s"},{"type":"redacted_thinking","data":"x"}]}} | Tools | ? in ? out ? cached ? thought
        c look({}) {"openai":{"extra_content":{"s":1}}} | d see({}) | {"openai":{"reasoning_content":"let me","reasoning_details":[{"data":"x"}]}} | Tools | ? in ? out ? cached ? thought | heard ``
        `Hm` | {"anthropic":{"thoughts":[{"type":"thinking","thinking":"let me","signature":"s"}]}} | Stop | ? in ? out ? cached ? thought | heard `Hm`
    "#]].assert_eq(&lines);
}

#[test]
fn a_server_that_does_not_stream_is_heard_too() {
    let body = json!({"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}).to_string();
    expect!["`Hello.` | Stop | ? in ? out ? cached ? thought | heard `Hello.`"].assert_eq(&asked(
        "openai",
        true,
        Turn::raw(200, "application/json", &body),
    ));
}

#[test]
fn the_text_of_a_refusal_is_the_answer() {
    let whole = json!({"choices": [{"message": {"content": null, "refusal": "I cannot."}, "finish_reason": "stop"}]});
    let pieces = "data: {\"choices\":[{\"delta\":{\"refusal\":\"I \"}}]}\n\n\
                  data: {\"choices\":[{\"delta\":{\"refusal\":\"cannot.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let lines = [
        asked("openai", false, Turn::raw(200, "application/json", &whole.to_string())),
        asked("openai", true, Turn::raw(200, "text/event-stream", pieces)),
    ];
    expect![[r#"
        `I cannot.` | Stop | ? in ? out ? cached ? thought
        `I cannot.` | Stop | ? in ? out ? cached ? thought | heard `I |cannot.`"#]]
    .assert_eq(&lines.join("\n"));
}

/// The id depends only on the position, so that the same answer always gives the same journal.
#[test]
fn a_call_without_an_id_is_named_by_its_place() {
    let call = |name: &str| json!({"type": "function", "function": {"name": name, "arguments": "{}"}});
    let calls = json!([call("look"), call("see")]);
    let whole = json!({"choices": [{"message": {"content": null, "tool_calls": calls}, "finish_reason": "stop"}]});
    let pieces = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}},\
                  {\"index\":1,\"function\":{\"name\":\"see\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\n";
    let lines = [
        asked("openai", false, Turn::raw(200, "application/json", &whole.to_string())),
        asked("openai", true, Turn::raw(200, "text/event-stream", pieces)),
    ];
    expect![[r#"
        call_1 look({}) | call_2 see({}) | Tools | ? in ? out ? cached ? thought
        call_1 look({}) | call_2 see({}) | Tools | ? in ? out ? cached ? thought | heard ``"#]]
    .assert_eq(&lines.join("\n"));
}
