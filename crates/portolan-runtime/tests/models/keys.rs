//! Keys: where they come from, whom they are sent to, and that nobody else sees them.

use expect_test::expect;
use portolan_runtime::models::{ModelSetup, PROVIDERS, Variables, open};
use serde_json::json;

use crate::provider::{FakeProvider, Said, Turn};
use crate::support::{KEY, ask, block_on, setup, user};

fn with(variables: &[(&str, &str)]) -> ModelSetup {
    let known: Vec<(String, String)> =
        variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let lookup = move |name: &str| known.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    ModelSetup { variables: Variables::new(lookup), ..setup("http://127.0.0.1:1") }
}

#[test]
fn a_key_that_is_not_set_is_named_before_anything_is_sent() {
    let mut lines = String::new();
    for (name, variables) in [
        ("openai:m", &[][..]),
        ("anthropic:m", &[("ANTHROPIC_API_KEY", "  ")]),
        ("gemini:m", &[("OPENAI_API_KEY", KEY)]),
        ("openai:m", &[("OPENAI_API_KEY", "two\nlines")]),
        ("openai:m", &[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "ftp://host")]),
        ("ollama:m", &[]),
        ("omlx:m", &[]),
        ("openai:m@http://127.0.0.1:8080/v1", &[]),
    ] {
        let said =
            open(name, &with(variables)).map_or_else(|error| format!("{}: {error}", error.code), |_| "opened".into());
        lines.push_str(&format!("{name}: {said}\n"));
    }
    expect![[r#"
        openai:m: no-key: `openai` requires a key, but `OPENAI_API_KEY` is not set; set the environment variable `OPENAI_API_KEY`
        anthropic:m: no-key: `anthropic` requires a key, but `ANTHROPIC_API_KEY` is not set; set the environment variable `ANTHROPIC_API_KEY`
        gemini:m: no-key: `gemini` requires a key, but `GEMINI_API_KEY` is not set; set the environment variable `GEMINI_API_KEY`
        openai:m: no-key: the key in `OPENAI_API_KEY` has characters that cannot be sent; set `OPENAI_API_KEY` to the key only
        openai:m: bad-model-name: the variable `OPENAI_BASE_URL` does not hold a valid address: the address `ftp://host` of the model cannot be used: it begins with `ftp:`; write it as `https://host/path`, or unset it
        ollama:m: opened
        omlx:m: opened
        openai:m@http://127.0.0.1:8080/v1: opened
    "#]].assert_eq(&lines);
    for provider in PROVIDERS.iter().filter(|provider| provider.key.is_some() && !provider.key_optional) {
        let error = open(&format!("{provider}:m"), &with(&[])).err().expect("no key");
        assert!(error.help.contains(provider.key.expect("a variable")), "{error}");
    }
}

/// An address in a name is somebody's text: it must not be able to call for a key.
#[test]
fn a_key_goes_nowhere_but_to_its_provider() {
    let provider = FakeProvider::new([Turn::Says(Said::text("Hello."))]);
    let sent = |name: &str, variables: &[(&str, &str)]| {
        let model = open(name, &with(variables)).expect("a model");
        block_on(ask(model.as_ref(), &user("Hello?"), false));
        let seen = provider.requests().pop().expect("a request");
        ["authorization", "x-api-key"]
            .iter()
            .any(|name| seen.headers.get(*name).is_some_and(|value| value.contains(KEY)))
    };
    let (origin, base) = (&provider.origin, format!("{}/v1", provider.origin));
    let keys = [("OPENAI_API_KEY", KEY), ("ANTHROPIC_API_KEY", KEY)];
    for name in ["openai", "anthropic"] {
        let named = format!("{name}:m@{origin}/v1");
        let variable = format!("{}_BASE_URL", name.to_uppercase());
        assert!(!sent(&named, &keys), "{named}");
        let elsewhere = [keys[0], keys[1], (variable.as_str(), "http://127.0.0.2:9/v1")];
        assert!(!sent(&named, &elsewhere), "{named}");
        let here = [keys[0], keys[1], (variable.as_str(), base.as_str())];
        assert!(sent(&named, &here), "{named}");
        assert!(sent(&format!("{name}:m"), &here), "{name}");
    }
}

#[test]
fn a_server_that_wants_a_key_is_told_of() {
    let provider = FakeProvider::new([Turn::error(401, json!({"error": "who are you?"}))]);
    let name = format!("openai:m@{}/v1", provider.origin);
    let model = open(&name, &with(&[("OPENAI_API_KEY", KEY)])).expect("a model");
    let said = block_on(ask(model.as_ref(), &user("Hello?"), false));
    expect!["refused-key (stays): `openai` at `HOST` requires a key, and none was sent; set `OPENAI_BASE_URL` to its address to have `OPENAI_API_KEY` sent there (status 401): who are you?"].assert_eq(&said.replace(provider.origin.trim_start_matches("http://"), "HOST"));
}

/// Whatever a provider says, and wherever it says it.
#[test]
fn no_error_shows_the_key() {
    let echo = format!("bad key {KEY}, and also Bearer {KEY}; sk-another-0123456789ABCDEF");
    let turns = || {
        [
            Turn::error(401, json!({"error": {"message": echo}})),
            Turn::error(500, json!({"message": echo})),
            Turn::raw(502, "text/plain", &echo),
            Turn::raw(200, &format!("text/{KEY}"), "no answer"),
            Turn::raw(302, "text/plain", "").with("location", &format!("http://127.0.0.1/{KEY}")),
            Turn::raw(200, "application/json", &json!({"error": {"message": echo}}).to_string()),
            Turn::raw(
                200,
                "text/event-stream",
                &format!("data: {}\n\n", json!({"type": "error", "error": {"message": echo}})),
            ),
            Turn::raw(200, "application/json", &format!("{{\"choices\": \"{KEY}\"")),
        ]
    };
    for name in ["openai:m", "anthropic:m"] {
        for is_stream in [false, true] {
            let provider = FakeProvider::new(turns());
            let model = open(name, &setup(&provider.origin)).expect("a model");
            for _ in turns() {
                let said = block_on(ask(model.as_ref(), &user("Hello?"), is_stream));
                assert!(!said.contains("0123456789ABCDEF"), "{said}");
            }
        }
    }
    let shown = format!("{:?}", setup("http://127.0.0.1:1"));
    assert!(!shown.contains(KEY), "{shown}");
}
