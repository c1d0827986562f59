//! What `openapi.json` says of the replies of the interface holds of each one that a test gets.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use portolan_core::schema::Schema;
use serde_json::{Value, json};

use crate::served::Answer;

/// The description, as the program has it.
pub(crate) static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../src/web/openapi.json")).expect("the description is JSON")
});

const LEFT_OUT: [&str; 0] = [];

/// Schemas of replies, by the words of [`Reply`].
static SCHEMAS: Mutex<BTreeMap<String, Option<Schema>>> = Mutex::new(BTreeMap::new());

/// A reply that the description has.
struct Reply {
    /// Its method, its path and its status: `GET /runs/{run} 200`.
    words: String,
    content: &'static Value,
}

/// Fails unless a reply is what the description says of its method, its path and its status. Other requests than those
/// to the interface have none.
pub(crate) fn holds_of(method: &str, path: &str, answer: &Answer) {
    let Some(path) = path.strip_prefix("/api/v1").filter(|rest| rest.starts_with('/')) else { return };
    // The head alone is nothing that is described.
    if method == "HEAD" {
        return;
    }
    let path = path.split('?').next().unwrap_or_default();
    let reply = Reply::of(method, path, answer.status);
    if LEFT_OUT.contains(&&*reply.words) {
        return;
    }
    let is_json = answer.header("content-type") == Some("application/json");
    let Some(schema) = reply.schema() else {
        assert!(!is_json, "{}: the description has no JSON for {method} {path}", reply.words);
        return;
    };
    // What is no HTTP does not get as far as the interface.
    if answer.body.is_empty() && answer.status == 400 {
        return;
    }
    assert!(is_json, "{}: {method} {path} is answered with no JSON: {}", reply.words, answer.head);
    let faults = schema.check(&answer.json());
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{}: {method} {path}: {}", reply.words, faults.join("; "));
}

impl Reply {
    /// What is not described is refused as everything is.
    fn of(method: &str, path: &str, status: u16) -> Reply {
        let paths = DESCRIPTION["paths"].as_object().expect("it has paths");
        let operation = paths
            .iter()
            .filter(|(known, _)| leads(known, path))
            .find_map(|(known, methods)| Some((known, methods.get(method.to_ascii_lowercase())?.get("responses")?)));
        let (name, responses) =
            operation.map_or(("(no path)", &Value::Null), |(known, responses)| (known.as_str(), responses));
        let code = status.to_string();
        let (word, response) = match (&responses[&code], &responses["default"]) {
            (Value::Null, Value::Null) => ("default", &DESCRIPTION["components"]["responses"]["Refused"]),
            (Value::Null, other) => ("default", other),
            (of_status, _) => (&*code, of_status),
        };
        let response = match response["$ref"].as_str().and_then(|way| way.strip_prefix('#')) {
            Some(pointer) => DESCRIPTION.pointer(pointer).expect("it is there"),
            None => response,
        };
        let words = format!("{method} {name} {word}");
        assert!(word != "default" || status >= 400, "{words}: no reply with the status {status} is described");
        Reply { words, content: &response["content"]["application/json"]["schema"] }
    }

    /// The schema, compiled once. It refers to others of the description, which stand beside it.
    fn schema(&self) -> Option<Schema> {
        let mut known = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = known.entry(self.words.clone()).or_insert_with(|| {
            let whole = json!({ "allOf": [self.content], "components": DESCRIPTION["components"] });
            let compiled = Schema::compile(&whole);
            (!self.content.is_null()).then(|| compiled.unwrap_or_else(|faults| panic!("{}: {faults:?}", self.words)))
        });
        compiled.clone()
    }
}

/// Whether a path is one of those that are described with `{names}` in place of words.
fn leads(described: &str, path: &str) -> bool {
    let (mut known, mut words) = (described.split('/'), path.split('/'));
    loop {
        match (known.next(), words.next()) {
            (None, None) => return true,
            (Some(known), Some(word)) if known == word || known.starts_with('{') && !word.is_empty() => {}
            _ => return false,
        }
    }
}

#[test]
fn a_reply_that_is_not_as_it_is_described_fails() {
    let reply = |status: u16, body: &Value| {
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json");
        Answer { status, head, body: body.to_string() }
    };
    let fails = |path: &str, answer: &Answer| {
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| holds_of("GET", path, answer)));
        held.err().map(|why| *why.downcast::<String>().expect("a text"))
    };
    let refused = json!({ "error": { "code": "x", "message": "x", "help": "x" } });
    for path in ["/api/v1/runs?limit=1", "/api/v1/nothing", "/mcp"] {
        assert_eq!(fails(path, &reply(404, &refused)), None, "{path}");
    }
    assert_eq!(fails("/api/v1/runs", &reply(200, &json!({ "runs": [], "more": false }))), None);
    for (path, answer, why) in [
        ("/api/v1/runs", reply(200, &json!({ "runs": [] })), "GET /runs 200: GET /runs: it has no `more`"),
        (
            "/api/v1/runs/abcdefgh",
            reply(404, &json!({})),
            "GET /runs/{run} default: GET /runs/abcdefgh: it has no `error`",
        ),
        ("/api/v1/nothing", reply(200, &json!({})), "GET (no path) default: no reply with the status 200 is described"),
    ] {
        assert_eq!(fails(path, &answer).as_deref(), Some(why), "{path}");
    }
}
