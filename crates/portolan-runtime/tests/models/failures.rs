//! What keeps providers from answering, and what is said of it.

use std::net::TcpListener;

use expect_test::expect;
use portolan_runtime::models::open;
use serde_json::json;

use crate::provider::{Said, Turn};
use crate::support::{ask, asked, block_on, each, setup, user};

#[test]
fn errors_of_providers_are_told_apart() {
    let openai = |message: &str, code: &str| json!({"error": {"message": message, "type": "x", "code": code}});
    let anthropic = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    let cases = [
        ("openai", 400, openai("'tools' is too short", "invalid")),
        ("openai", 400, openai("This model's maximum context length is 128000 tokens", "context_length_exceeded")),
        ("anthropic", 400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")),
        ("openai", 401, openai("Incorrect API key provided: sk-secret-0123456789ABCDEF", "invalid_api_key")),
        ("anthropic", 401, anthropic("authentication_error", "invalid x-api-key")),
        ("openai", 403, openai("Country not supported", "unsupported")),
        ("openai", 404, openai("The model `m` does not exist", "model_not_found")),
        ("anthropic", 413, anthropic("request_too_large", "Request too large")),
        ("openai", 422, json!({"detail": "temperature: too hot"})),
        ("openai", 429, openai("Rate limit reached", "rate_limit_exceeded")),
        ("openai", 429, openai("You exceeded your current quota", "insufficient_quota")),
        ("openai", 500, json!("oops")),
        ("openai", 503, json!({"error": "loading the model"})),
        ("anthropic", 529, anthropic("overloaded_error", "Overloaded")),
    ];
    let mut lines = String::new();
    for (name, status, body) in cases {
        let whole = asked(name, false, Turn::error(status, body.clone()));
        let pieces = asked(name, true, Turn::error(status, body));
        assert_eq!(format!("{whole} | heard ``"), pieces, "a stream is refused as any other answer is");
        lines.push_str(&format!("{whole}\n"));
    }
    expect![[r#"
        bad-request (stays): `openai` rejected the request (status 400): 'tools' is too short
        too-long (stays): the conversation is longer than `m` can read (status 400): This model's maximum context length is 128000 tokens
        too-long (stays): the conversation is longer than `m` can read (status 400): prompt is too long: 210000 tokens > 200000 maximum
        refused-key (stays): `openai` refuses the key in `OPENAI_API_KEY` (status 401): Incorrect API key provided: [redacted]
        refused-key (stays): `anthropic` refuses the key in `ANTHROPIC_API_KEY` (status 401): invalid x-api-key
        refused-key (stays): `openai` refuses the key in `OPENAI_API_KEY` (status 403): Country not supported
        unknown-model (stays): `openai` has no model `m` at `HOST` (status 404): The model `m` does not exist
        too-long (stays): the conversation is longer than `m` can read (status 413): Request too large
        bad-request (stays): `openai` rejected the request (status 422): temperature: too hot
        rate-limited (may pass): `openai` received too many requests (status 429): Rate limit reached
        no-credit (stays): the account at `openai` has no credit left (status 429): You exceeded your current quota
        provider-failed (may pass): `openai` failed (status 500): oops
        overloaded (may pass): `openai` is overloaded (status 503): loading the model
        overloaded (may pass): `anthropic` is overloaded (status 529): Overloaded
    "#]].assert_eq(&lines);
}

#[test]
fn errors_that_are_no_json_are_told_in_a_line_and_in_short() {
    let mut lines = String::new();
    for (media_type, body) in [
        ("text/html", "<html><body>502 Bad Gateway</body></html>".to_owned()),
        ("text/plain", "upstream\n\u{1b}[31mfailed".to_owned()),
        ("application/json", "{\"error\": ".to_owned()),
        ("text/plain", "é".repeat(100_000)),
        ("text/plain", String::new()),
    ] {
        let said = asked("openai", false, Turn::raw(502, media_type, &body));
        assert!(said.len() < 1_000, "{} bytes", said.len());
        lines.push_str(&format!("{}\n", said.chars().take(100).collect::<String>()));
    }
    expect![[r#"
        provider-failed (may pass): `openai` failed (status 502)
        provider-failed (may pass): `openai` failed (status 502): upstream  [31mfailed
        provider-failed (may pass): `openai` failed (status 502): {"error":
        provider-failed (may pass): `openai` failed (status 502): éééééééééééééééééééééééééééééééééééééééééé
        provider-failed (may pass): `openai` failed (status 502)
    "#]]
    .assert_eq(&lines);
}

#[test]
fn a_provider_says_when_it_is_to_be_asked_again() {
    let mut lines = String::new();
    for (name, value) in [
        ("retry-after", "7"),
        ("retry-after", "0.25"),
        ("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT"),
        ("retry-after", "Tue, 14 Nov 2000 22:13:50 GMT"),
        ("retry-after-ms", "1500"),
        ("retry-after", "18446744073709551615"),
        ("retry-after", "-3"),
        ("retry-after", "soon"),
    ] {
        let said = asked("openai", false, Turn::error(429, json!({})).with(name, value));
        lines.push_str(&format!("{name}: {value}: {}\n", said.split(':').next().expect("a code")));
    }
    lines.push_str(&asked("openai", false, Turn::error(401, json!({})).with("retry-after", "7")));
    expect![[r#"
        retry-after: 7: rate-limited (may pass after 7000 ms)
        retry-after: 0.25: rate-limited (may pass after 250 ms)
        retry-after: Tue, 14 Nov 2023 22:13:50 GMT: rate-limited (may pass after 30000 ms)
        retry-after: Tue, 14 Nov 2000 22:13:50 GMT: rate-limited (may pass after 0 ms)
        retry-after-ms: 1500: rate-limited (may pass after 1500 ms)
        retry-after: 18446744073709551615: rate-limited (may pass after 18446744073709551615 ms)
        retry-after: -3: rate-limited (may pass)
        retry-after: soon: rate-limited (may pass)
        refused-key (stays): `openai` refuses the key in `OPENAI_API_KEY` (status 401)"#]]
    .assert_eq(&lines);
}

#[test]
fn errors_within_an_answer_are_errors() {
    let openai = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n\
                  data: {\"error\":{\"message\":\"too many requests\",\"code\":429}}\n\n";
    let anthropic = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"Hel\"}}\n\n\
                     event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let whole = json!({"error": {"message": "no provider left", "code": 502}}).to_string();
    let lines = [
        asked("openai", true, Turn::raw(200, "text/event-stream", openai)),
        asked("anthropic", true, Turn::raw(200, "text/event-stream", anthropic)),
        asked("openai", false, Turn::raw(200, "application/json", &whole)),
    ];
    expect![[r#"
        rate-limited (may pass): `openai` received too many requests (status 429): too many requests | heard `Hel`
        overloaded (may pass): `anthropic` is overloaded (status 529): Overloaded | heard `Hel`
        provider-failed (may pass): `openai` failed (status 502): no provider left"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn an_answer_that_breaks_off_is_none() {
    let said = Said::text("Hello there, you.").calling("c1", "search", r#"{"q": "maps"}"#);
    expect![[r#"
        openai    whole  cut-off (may pass): the answer of `openai` was interrupted: end of file before message length reached
        openai    pieces cut-off (may pass): the answer of `openai` ended too early | heard ``
        anthropic whole  cut-off (may pass): the answer of `anthropic` was interrupted: end of file before message length reached
        anthropic pieces cut-off (may pass): the answer of `anthropic` ended too early | heard ``
        ollama    whole  cut-off (may pass): the answer of `ollama` was interrupted: end of file before message length reached
        ollama    pieces cut-off (may pass): the answer of `ollama` ended too early | heard ``
    "#]].assert_eq(&each(|| Turn::Cut(said.clone(), 150)));
    expect![[r#"
        openai    whole  cut-off (may pass): the answer of `openai` was interrupted: end of file before message length reached
        openai    pieces cut-off (may pass): the answer of `openai` ended too early | heard ``
        anthropic whole  cut-off (may pass): the answer of `anthropic` was interrupted: end of file before message length reached
        anthropic pieces cut-off (may pass): the answer of `anthropic` ended too early | heard ``
        ollama    whole  cut-off (may pass): the answer of `ollama` was interrupted: end of file before message length reached
        ollama    pieces cut-off (may pass): the answer of `ollama` ended too early | heard ``
    "#]].assert_eq(&each(|| Turn::Cut(said.clone(), 0)));
}

/// Wherever a stream is cut, it is an answer as a whole or none at all.
#[test]
fn no_cut_makes_half_an_answer_a_whole_one() {
    let said = Said::default().calling("c1", "search", r#"{"q": "maps"}"#);
    for name in ["openai", "anthropic"] {
        let whole = asked(name, true, Turn::Says(said.clone()));
        let mut ends = 0;
        for after in (0..2_000).step_by(37) {
            let cut = asked(name, true, Turn::Cut(said.clone(), after));
            // Once it was said why the model stopped, nothing but the usage can be missing.
            let same = cut.split(" | ").next() == whole.split(" | ").next();
            assert!(same || cut.starts_with("cut-off"), "{name} after {after}: {cut}");
            ends += usize::from(same);
        }
        assert!(ends > 0, "{name} never comes to its end");
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    let mut lines = String::new();
    for (name, is_stream, media_type, body) in [
        ("openai", false, "text/html", "<html>Welcome!</html>"),
        ("openai", true, "text/html", "<html>Welcome!</html>"),
        ("openai", false, "application/json", "{\"choices\": []}"),
        ("openai", false, "application/json", "{\"choices\": [{\"message\": 7}]}"),
        ("openai", false, "application/json", "[]"),
        ("openai", false, "application/json", "{\"choices\": [{\"mess"),
        ("openai", false, "text/plain", "{\"choices\": [{\"message\": {\"content\": \"fine\"}}]}"),
        ("openai", false, "application/json", "\u{0}\u{1}"),
        ("openai", true, "text/event-stream", "data: no json\n\n"),
        ("openai", true, "text/event-stream", "data: [DONE]\n\n"),
        ("openai", true, "text/event-stream", ": nothing\n\n"),
        ("anthropic", false, "application/json", "{\"type\": \"message\"}"),
        ("anthropic", true, "text/event-stream", "event: message_stop\ndata: {}\n\n"),
        ("anthropic", true, "text/event-stream", "data: {\"type\":\"message_start\"}\n\n"),
    ] {
        lines.push_str(&format!("{}\n", asked(name, is_stream, Turn::raw(200, media_type, body))));
    }
    expect![[r#"
        bad-answer (stays): the answer of `openai` at `HOST` is not valid: its content type is `text/html`; check the address of the model
        bad-answer (stays): the answer of `openai` at `HOST` is not valid: its content type is `text/html`; check the address of the model | heard ``
        bad-answer (stays): the answer of `openai` at `HOST` is not valid: it has no choice
        bad-answer (stays): the answer of `openai` at `HOST` is not valid: its JSON does not have the form of an answer (line 1, column 26)
        bad-answer (stays): the answer of `openai` at `HOST` is not valid: it has no choice
        bad-answer (stays): the answer of `openai` at `HOST` is not valid: its JSON ends too soon (line 1, column 19)
        `fine` | Other("") | ? in ? out ? cached ? thought
        bad-answer (stays): the answer of `openai` at `HOST` is not valid: it is not JSON (line 1, column 1)
        bad-answer (stays): the answer of `openai` at `HOST` is not valid: a part of it is not valid: it is not JSON (line 1, column 2) | heard ``
        cut-off (may pass): the answer of `openai` ended too early | heard ``
        cut-off (may pass): the answer of `openai` ended too early | heard ``
        bad-answer (stays): the answer of `anthropic` at `HOST` is not valid: it has no content
        bad-answer (stays): the answer of `anthropic` at `HOST` is not valid: a part of it is not valid: its JSON does not have the form of an answer (line 1, column 2) | heard ``
        cut-off (may pass): the answer of `anthropic` ended too early | heard ``
    "#]].assert_eq(&lines);
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_unreachable() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").port()
    };
    let told = |name: &str| {
        let model = open(name, &setup("http://127.0.0.1:1")).expect("a model");
        block_on(ask(model.as_ref(), &user("Hello?"), false))
    };
    let refused = told(&format!("openai:m@http://127.0.0.1:{port}/v1")).replace(&port.to_string(), "PORT");
    // The number of the error is another one on each system.
    let refused = refused.split(" (os error").next().unwrap_or_default();
    let expected = "unreachable (may pass): `openai` cannot be reached at `127.0.0.1:PORT`: Connection refused";
    assert_eq!(refused, expected);
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = crate::provider::FakeProvider::new([Turn::Says(Said::text("Gotcha."))]);
    for status in [301, 302, 307, 308] {
        let to = format!("{}/v1/chat/completions", elsewhere.origin);
        let said = asked("openai", false, Turn::raw(status, "text/plain", "").with("location", &to));
        let said = said.replace(&elsewhere.origin, "ELSEWHERE");
        assert_eq!(
            said,
            "unreachable (stays): `openai` redirects to `ELSEWHERE/v1/chat/completions`, which is not followed; name that \
             address after `@`"
        );
    }
    assert!(elsewhere.requests().is_empty(), "the request, and its key, went elsewhere");
}
