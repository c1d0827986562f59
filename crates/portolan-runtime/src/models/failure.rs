//! The failures of providers, as messages with a remedy and without keys.

use std::time::Duration;

use portolan_core::chat::ModelError;
use portolan_core::diagnostic::is_unseen;
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;

use super::key::{Key, scrubbed};
use crate::clock::Clock;
use crate::http::explained;

/// The maximum number of characters of a provider's own message that are passed on.
const MAX_WORDS: usize = 400;

/// The provider, the model and the server whose failures are reported.
#[derive(Debug)]
pub(super) struct Speaker {
    pub(super) provider: &'static str,
    pub(super) model: String,
    /// The host and port.
    pub(super) host: String,
    pub(super) key: Option<Key>,
    /// The remedy for a key that is not sent.
    pub(super) keyless: String,
    pub(super) clock: Clock,
}

/// A provider's message about a failure.
#[derive(Default)]
struct Words {
    message: String,
    /// `code`, `type` and `status`, joined.
    kind: String,
    /// The numeric `code`, if it is an HTTP error status.
    status: Option<u16>,
}

impl Speaker {
    fn error(&self, code: &str, message: String) -> ModelError {
        ModelError::new(code, self.shown(&message))
    }

    /// Returns a text as it may be shown: one line without keys.
    pub(super) fn shown(&self, text: &str) -> String {
        let line: String = text.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect();
        scrubbed(&line, self.key.as_ref())
    }

    /// Returns the failure for a request without a reply.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        let (provider, host) = (self.provider, &self.host);
        if error.is_timeout() {
            return self.error("timed-out", format!("`{provider}` cannot be reached at `{host}` in time"));
        }
        let why = explained(error);
        self.error("unreachable", format!("`{provider}` cannot be reached at `{host}`: {why}"))
    }

    /// Returns the failure for an answer that broke off.
    pub(super) fn broken(&self, error: &reqwest::Error) -> ModelError {
        self.error("cut-off", format!("the answer of `{}` was interrupted: {}", self.provider, explained(error)))
    }

    /// Returns the failure for an answer that ended too early.
    pub(super) fn cut_off(&self) -> ModelError {
        self.error("cut-off", format!("the answer of `{}` ended too early", self.provider))
    }

    pub(super) fn silent(&self, idle: Duration) -> ModelError {
        self.error("timed-out", format!("`{}` sent nothing for {}", self.provider, seconds(idle)))
    }

    pub(super) fn too_slow(&self, whole: Duration) -> ModelError {
        self.error("timed-out", format!("`{}` did not answer within {}", self.provider, seconds(whole)))
    }

    pub(super) fn too_large(&self, max: usize) -> ModelError {
        self.error(
            "too-large",
            format!("the answer of `{}` has more than {max} bytes and was not read further", self.provider),
        )
    }

    /// Returns the failure for a reply that is no answer.
    pub(super) fn bad(&self, why: &str) -> ModelError {
        self.error("bad-answer", format!("the answer of `{}` at `{}` is not valid: {why}", self.provider, self.host))
    }

    /// Returns the failure for a reply with an error status.
    pub(super) fn refused(&self, status: u16, headers: &HeaderMap, text: &str) -> ModelError {
        if (300..400).contains(&status) {
            let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
            let to: String = to.chars().take(200).collect();
            let message =
                format!("`{}` redirects to `{to}`, which is not followed; name that address after `@`", self.provider);
            return ModelError { may_pass: false, ..self.error("unreachable", message) };
        }
        let words = serde_json::from_str(text).map_or_else(|_| plain(text), |value| read(&value));
        let mut failure = self.of_status(status, &words);
        failure.retry_after_ms = failure.may_pass.then(|| self.retry_after(headers)).flatten();
        failure
    }

    /// Returns the failure that is reported within an answer.
    pub(super) fn within(&self, error: &Value) -> ModelError {
        let words = read(error);
        let status = words.status.unwrap_or_else(|| status_of(&words.kind));
        self.of_status(status, &words)
    }

    fn of_status(&self, status: u16, words: &Words) -> ModelError {
        let code = code_of(status, words);
        let (provider, model) = (self.provider, &self.model);
        let what = match code {
            "refused-key" => match &self.key {
                Some(key) => format!("`{provider}` refuses the key in `{}`", key.variable()),
                None => format!("`{provider}` at `{}` requires a key, and none was sent{}", self.host, self.keyless),
            },
            "unknown-model" => format!("`{provider}` has no model `{model}` at `{}`", self.host),
            "rate-limited" => format!("`{provider}` received too many requests"),
            "overloaded" => format!("`{provider}` is overloaded"),
            "no-credit" => format!("the account at `{provider}` has no credit left"),
            "too-long" => format!("the conversation is longer than `{model}` can read"),
            "timed-out" => format!("`{provider}` timed out"),
            "bad-request" => format!("`{provider}` rejected the request"),
            _ => format!("`{provider}` failed"),
        };
        let message: String = words.message.trim().chars().take(MAX_WORDS).collect();
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        self.error(code, format!("{what} (status {status}){message}"))
    }

    /// Returns the time in milliseconds after which the provider accepts a retry: from `retry-after-ms`, or from
    /// `retry-after` in seconds or as a date.
    fn retry_after(&self, headers: &HeaderMap) -> Option<u64> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        if let Some(time) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
            return Some(time);
        }
        let after = text(RETRY_AFTER.as_str())?;
        if let Ok(seconds) = after.parse::<u64>() {
            return Some(seconds.saturating_mul(1_000));
        }
        if let Ok(seconds) = after.parse::<f64>() {
            return (seconds.is_finite() && (0.0..1e9).contains(&seconds)).then_some((seconds * 1_000.0).ceil() as u64);
        }
        let at = chrono::DateTime::parse_from_rfc2822(after).ok()?.timestamp_millis();
        Some(u64::try_from(at.saturating_sub(self.clock.now().0)).unwrap_or(0))
    }
}

fn seconds(time: Duration) -> String {
    if time.as_millis().is_multiple_of(1_000) {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

/// Returns the text of an error that is no JSON. A page for people gives no message.
fn plain(text: &str) -> Words {
    let text = text.trim();
    let message = if text.starts_with('<') { String::new() } else { text.to_owned() };
    Words { message, ..Words::default() }
}

/// Reads `{"error": {"message", "type", "code"}}` and the variants of providers.
fn read(value: &Value) -> Words {
    let error = value.get("error").unwrap_or(value);
    let error = error.as_array().and_then(|errors| errors.first()).unwrap_or(error);
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let message = text("message").or_else(|| error.as_str()).or_else(|| text("detail"));
    let kinds: Vec<&str> = ["code", "type", "status"].into_iter().filter_map(text).collect();
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    Words {
        message: message.unwrap_or_default().to_owned(),
        kind: kinds.join(" ").to_ascii_lowercase(),
        status: status.filter(|status| (400..600).contains(status)),
    }
}

/// Returns the status that the failure would have had before the answer began.
fn status_of(kind: &str) -> u16 {
    const KINDS: &[(&str, u16)] = &[
        ("overloaded", 529),
        ("rate_limit", 429),
        ("quota", 429),
        ("authentication", 401),
        ("api_key", 401),
        ("permission", 403),
        ("not_found", 404),
        ("too_large", 413),
        ("invalid_request", 400),
        ("timeout", 408),
    ];
    KINDS.iter().find(|(word, _)| kind.contains(word)).map_or(500, |(_, status)| *status)
}

fn code_of(status: u16, words: &Words) -> &'static str {
    let message = words.message.to_ascii_lowercase();
    let says = |word: &str| words.kind.contains(word) || message.contains(word);
    match status {
        402 => "no-credit",
        429 if says("insufficient_quota") || says("credit balance") => "no-credit",
        429 => "rate-limited",
        401 => "refused-key",
        403 if says("rate limit") => "rate-limited",
        403 => "refused-key",
        404 => "unknown-model",
        408 => "timed-out",
        413 => "too-long",
        400 | 422 if TOO_LONG.iter().any(|word| says(word)) => "too-long",
        400 if words.kind.contains("model_not_found") => "unknown-model",
        400 if says("credit balance") => "no-credit",
        400 if says("api key not valid") => "refused-key",
        400..=499 => "bad-request",
        503 | 529 => "overloaded",
        _ => "provider-failed",
    }
}

/// The messages of providers about a conversation that is too long.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "exceeds the context",
    "context window",
];
