//! Keeps out of the log texts that look like keys, tokens and passwords, and overlong texts.
//!
//! Secrets carry no mark here, so they are recognized by their shape. If in doubt, a text is masked.

use portolan_core::present::MASK;
use serde_json::{Map, Value};

/// The maximum length of a stored text, in bytes.
const MAX_TEXT_BYTES: usize = 4 * 1024;
/// The maximum depth of a stored value. Deeper values are left out.
const MAX_DEPTH: usize = 32;

/// The prefixes of tokens of well-known issuers, and the minimum number of characters that follow.
const SHAPES: &[(&str, usize)] = &[
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("sk-", 16),
    ("sk_live_", 12),
    ("sk_test_", 12),
    ("rk_live_", 12),
    ("whsec_", 16),
    ("xoxb-", 10),
    ("xoxa-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 20),
    ("SG.", 30),
    ("dop_v1_", 30),
    ("lin_api_", 20),
    ("shpat_", 20),
    ("eyJ", 30),
];

/// The length of the shortest token, in bytes.
const SHORTEST: usize = {
    let (mut shortest, mut at) = (usize::MAX, 0);
    while at < SHAPES.len() {
        let length = SHAPES[at].0.len() + SHAPES[at].1;
        if length < shortest {
            shortest = length;
        }
        at += 1;
    }
    shortest
};

/// Names of secrets, before `=` and `:` or as keys. They are compared without `_` and `-`.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "clientsecret",
    "apikey",
    "authorization",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "privatekey",
    "credentials",
];

/// Returns the value with secrets masked and long texts cut.
pub(super) fn redacted(value: &Value) -> Value {
    at_depth(value, 0)
}

fn at_depth(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => Value::from("…"),
        Value::Array(items) => items.iter().map(|item| at_depth(item, depth + 1)).collect(),
        Value::Object(members) => {
            let member = |(name, inner): (&String, &Value)| {
                let hidden = is_secret_name(name) && !matches!(inner, Value::Null | Value::Bool(_));
                let inner = if hidden { Value::from(MASK) } else { at_depth(inner, depth + 1) };
                (text(name), inner)
            };
            Value::Object(members.iter().map(member).collect::<Map<_, _>>())
        }
        Value::String(inner) => Value::String(text(inner)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns the text with secrets masked and cut to the maximum length.
pub(crate) fn text(text: &str) -> String {
    // A secret that was cut in two would not be recognized by its shape. More than is kept is therefore masked before
    // the cut.
    let end = text.floor_char_boundary(MAX_TEXT_BYTES * 2);
    let masked = mask(&text[..end]);
    if end == text.len() && masked.len() <= MAX_TEXT_BYTES {
        return masked;
    }
    let kept = &masked[..masked.floor_char_boundary(MAX_TEXT_BYTES)];
    format!("{kept}… ({} bytes in all)", text.len())
}

/// Returns the whole text, of any length, with its secrets masked.
pub fn masked(text: &str) -> String {
    mask(text)
}

fn mask(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    // Whether the preceding word announced a secret: `Bearer x`, `password: x`.
    let mut announced = false;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("-----BEGIN ") {
            let end = after
                .find("-----END ")
                .map_or(after.len(), |at| after[at..].find('\n').map_or(after.len(), |n| at + n));
            let is_key = after.lines().next().is_some_and(|line| line.contains("PRIVATE KEY"));
            shown.push_str(if is_key { MASK } else { "-----BEGIN " });
            rest = if is_key { &after[end..] } else { after };
            continue;
        }
        if !is_of_word(first) {
            shown.push(first);
            rest = &rest[first.len_utf8()..];
            announced &= matches!(first, ' ' | '"' | '\'' | ':' | '=' | '\\');
            continue;
        }
        let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        // A word with a slash is a path and no password: `https://host:8080/x@y`.
        let is_login = after.starts_with('@') && !word.contains('/') && shown.ends_with(':') && has_scheme(&shown);
        let is_bearer = word.eq_ignore_ascii_case("bearer");
        if announced && (is_bearer || word.eq_ignore_ascii_case("basic")) {
            shown.push_str(word);
        } else if announced || is_login || is_token(word) {
            shown.push_str(MASK);
            announced = false;
        } else {
            shown.push_str(word);
            announced = is_bearer || announces(word, after);
        }
        rest = after;
    }
    shown
}

/// Checks for letters, digits, and the separators that occur in tokens.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '~' | '%') || c.is_alphanumeric()
}

/// Checks whether the text after a word is its value, and secret.
fn announces(word: &str, after: &str) -> bool {
    let follows = after.trim_start_matches(['"', '\'', '\\', ' ']).starts_with([':', '=']);
    follows && is_secret_name(word.rsplit(['/', '.', '?']).next().unwrap_or(word))
}

/// Checks whether a name ends with the name of a secret, as `DB_PASSWORD` and `client-secret` do.
pub fn is_secret_name(name: &str) -> bool {
    NAMES.iter().any(|secret| {
        // Backwards, since almost no name ends with the same letter as a secret's.
        let mut letters = name.bytes().rev().filter(u8::is_ascii_alphanumeric);
        secret.bytes().rev().all(|letter| letters.next().is_some_and(|found| found.eq_ignore_ascii_case(&letter)))
    })
}

/// Checks whether a word is a token of a known shape, or contains one after a separator.
fn is_token(word: &str) -> bool {
    let begins = |part: &str| {
        SHAPES.iter().any(|(begin, least)| {
            part.strip_prefix(begin).is_some_and(|tail| {
                tail.len() >= *least && tail.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
            })
        })
    };
    // `https://host/ghp_…` and `x=ghp_…` contain one too, so a shape counts unless a letter or digit precedes it. Almost
    // every word of a log is shorter than any token.
    let long_enough = word.char_indices().take_while(|(at, _)| word.len() - at >= SHORTEST);
    let mut follows_letter = false;
    for (at, c) in long_enough {
        if !follows_letter && begins(&word[at..]) {
            return true;
        }
        follows_letter = c.is_alphanumeric();
    }
    false
}

/// Checks whether the last word of the text begins like a URL that may contain a login: `scheme://user:`.
fn has_scheme(shown: &str) -> bool {
    let word = shown.rsplit(char::is_whitespace).next().unwrap_or(shown);
    word.contains("://") || word.starts_with("//")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_known_by_their_shapes() {
        let ghp = "ghp_".to_owned() + "0123456789abcdefghijABCDEFGHIJ012345";
        let cases = [
            (format!("push with {ghp} failed"), "push with [redacted] failed"),
            (
                format!("https://x-access-token:{ghp}@github.com/a/b"),
                "https://x-access-token:[redacted]@github.com/a/b",
            ),
            ("https://ann:hunter2@host/x".into(), "https://ann:[redacted]@host/x"),
            ("Authorization: Bearer abc.def".into(), "Authorization: Bearer [redacted]"),
            ("curl -H 'authorization: basic YWJj'".into(), "curl -H 'authorization: basic [redacted]'"),
            ("DB_PASSWORD=hunter2 make".into(), "DB_PASSWORD=[redacted] make"),
            (r#"{"apiKey": "x1"}"#.into(), r#"{"apiKey": "[redacted]"}"#),
            ("AKIAIOSFODNN7EXAMPLE".into(), "[redacted]"),
            (
                "the key\n-----BEGIN RSA PRIVATE KEY-----\nMIIx\n-----END RSA PRIVATE KEY-----\nend".into(),
                "the key\n[redacted]\nend",
            ),
            ("sk-proj-abcDEF0123456789abc".into(), "[redacted]"),
        ];
        for (text, shown) in cases {
            assert_eq!(super::text(&text), shown);
        }
    }

    #[test]
    fn the_shortest_token_of_each_shape_is_masked_after_any_separator() {
        for (begin, least) in SHAPES {
            let token = format!("{begin}{}7", "a".repeat(least - 1));
            for (before, after) in [("", ""), ("https://host/", ""), ("é.", "é"), ("a-", " b")] {
                assert!(is_token(&format!("{before}{token}")), "{before}{token}");
                assert!(mask(&format!("{before}{token}{after}")).contains(MASK), "{before}{token}{after}");
            }
            assert!(!is_token(&token[..token.len() - 1]), "{token} without its end");
            assert!(!is_token(&format!("x{token}")), "x{token}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "feat(api): mend the token reader",
            "the password is asked for",
            "task-force sk-short risk-assessment-of-the-whole",
            "Branch \"feat/build-auth\" matches prefix \"feat/\".",
            "see https://example.com:8080/x@y",
            "0a3b87a2d6be11e32e77f0a3b87a2d6be11e32e7",
        ] {
            assert_eq!(super::text(text), text);
        }
    }

    #[test]
    fn values_are_masked_cut_and_flattened() {
        let mut deep = json!(1);
        for _ in 0..200 {
            deep = json!([deep]);
        }
        let value = json!({ "password": "x", "ok": true, "long": "é".repeat(5_000), "deep": deep });
        let kept = redacted(&value);
        assert_eq!((&kept["password"], &kept["ok"]), (&json!("[redacted]"), &json!(true)));
        let long = kept["long"].as_str().expect("a text");
        assert!(long.len() < MAX_TEXT_BYTES + 40 && long.ends_with("… (10000 bytes in all)"), "{long}");
        assert!(serde_json::from_str::<Value>(&kept.to_string()).is_ok(), "it can be read again");
    }

    #[test]
    fn a_secret_on_the_edge_is_masked_before_the_text_is_cut() {
        let text = format!("{} password=hunter2hunter2", "x".repeat(MAX_TEXT_BYTES - 15));
        assert!(!super::text(&text).contains("hunter"));
    }
}
