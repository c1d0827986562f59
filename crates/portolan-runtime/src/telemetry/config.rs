//! The configuration of traces, from the standard variables of OpenTelemetry. An invalid value is reported and ignored:
//! a run does not fail because of its tracing.

use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::sampler::Sampler;

/// The default timeout of an export.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest wait for the last export at the end of the process.
const FLUSH: Duration = Duration::from_secs(5);
/// The maximum size of a queue or a batch, so that a variable cannot exhaust the machine's memory.
const MAX_SPANS: usize = 1 << 20;

/// The configuration that the variables describe.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) endpoint: Url,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
    pub(super) flush: Duration,
    pub(super) resource: Vec<(String, String)>,
    pub(super) sampler: Sampler,
    /// The maximum number of queued spans.
    pub(super) queue: usize,
    /// The maximum number of spans in one export.
    pub(super) batch: usize,
    /// How long a span waits for others at most.
    pub(super) delay: Duration,
}

/// Looks up variables by name.
pub(super) type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

impl Config {
    /// Reads the configuration. Returns `None` if the variables name no collector, or switch traces off. Adds the
    /// errors in them to `notes`.
    pub(super) fn read(variables: Variables<'_>, notes: &mut Vec<String>) -> Option<Config> {
        let mut reading = VariableReader { variables, notes };
        let (name, url) = reading.endpoint()?;
        if reading.is_off() {
            return None;
        }
        let endpoint = match Url::parse(&url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
            _ => {
                reading.note(format!(
                    "`{name}` is not a valid address: no traces are sent; write it as `http://host:4318`"
                ));
                return None;
            }
        };
        reading.note_unsupported();
        let timeout = reading.milliseconds("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT");
        let timeout = timeout.or_else(|| reading.milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT")).unwrap_or(TIMEOUT);
        let queue = reading.spans("OTEL_BSP_MAX_QUEUE_SIZE").unwrap_or(2_048);
        Some(Config {
            endpoint,
            headers: reading.headers(),
            timeout,
            flush: timeout.min(FLUSH),
            resource: reading.resource(),
            sampler: reading.sampler(),
            queue,
            batch: reading.spans("OTEL_BSP_MAX_EXPORT_BATCH_SIZE").unwrap_or(512).min(queue),
            delay: reading.milliseconds("OTEL_BSP_SCHEDULE_DELAY").unwrap_or(Duration::from_secs(5)),
        })
    }

    /// Returns the address without the parts that may be secret.
    pub(super) fn shown(&self) -> String {
        let mut shown = self.endpoint.clone();
        // This fails only for addresses without a host, which were refused before.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        shown.set_query(None);
        shown.set_fragment(None);
        shown.to_string()
    }
}

struct VariableReader<'r> {
    variables: Variables<'r>,
    notes: &'r mut Vec<String>,
}

impl VariableReader<'_> {
    /// Returns a variable that is set. An empty one counts as not set.
    fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn endpoint(&self) -> Option<(&'static str, String)> {
        const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        if let Some(url) = self.variable(TRACES) {
            return Some((TRACES, url));
        }
        self.variable(ALL).map(|url| (ALL, format!("{}/v1/traces", url.trim_end_matches('/'))))
    }

    fn is_off(&mut self) -> bool {
        if self.variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return true;
        }
        match self.variable("OTEL_TRACES_EXPORTER").as_deref() {
            None | Some("otlp") => false,
            Some("none") => true,
            Some(other) => {
                let other = portolan_core::diagnostic::clip(other);
                self.note(format!(
                    "`OTEL_TRACES_EXPORTER` is `{other}`: no traces are sent; the supported values are `otlp` and `none`"
                ));
                true
            }
        }
    }

    fn note_unsupported(&mut self) {
        for (first, second, known, what) in [
            (
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
                "OTEL_EXPORTER_OTLP_PROTOCOL",
                "http/protobuf",
                "traces are sent as `http/protobuf`, which a collector accepts on port 4318",
            ),
            (
                "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
                "OTEL_EXPORTER_OTLP_COMPRESSION",
                "none",
                "traces are sent uncompressed",
            ),
        ] {
            let (name, value) = match self.variable(first) {
                Some(value) => (first, value),
                None => (second, self.variable(second).unwrap_or_else(|| known.to_owned())),
            };
            if value != known {
                let value = portolan_core::diagnostic::clip(&value);
                self.note(format!("`{name}` is `{value}`, which is not supported: {what}"));
            }
        }
    }

    fn headers(&mut self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for name in ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"] {
            for (key, value) in self.pairs(name) {
                let header = HeaderName::from_str(&key).ok().zip(HeaderValue::from_str(&value).ok());
                let Some((key, mut value)) = header else {
                    // Neither is printed: the value may be a secret, and the name a misplaced one.
                    self.note(format!("a header in `{name}` cannot be sent: it is ignored"));
                    continue;
                };
                value.set_sensitive(true);
                headers.insert(key, value);
            }
        }
        headers
    }

    /// Returns the attributes of the sender, with their names in the semantic conventions. Variables override our own
    /// values.
    fn resource(&mut self) -> Vec<(String, String)> {
        let own = [
            ("service.name", "portolan"),
            ("service.version", env!("CARGO_PKG_VERSION")),
            ("telemetry.sdk.name", "portolan"),
            ("telemetry.sdk.language", "rust"),
            ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        ];
        let mut resource: indexmap::IndexMap<String, String> =
            own.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        resource.extend(self.pairs("OTEL_RESOURCE_ATTRIBUTES"));
        resource.extend(self.variable("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name)));
        resource.into_iter().collect()
    }

    fn sampler(&mut self) -> Sampler {
        let Some(name) = self.variable("OTEL_TRACES_SAMPLER") else { return Sampler::default() };
        let argument = self.variable("OTEL_TRACES_SAMPLER_ARG");
        Sampler::named(&name, argument.as_deref()).unwrap_or_else(|| {
            let name = portolan_core::diagnostic::clip(&name);
            self.note(format!(
                "`OTEL_TRACES_SAMPLER` is `{name}`, which is not supported or lacks its argument: every trace is recorded"
            ));
            Sampler::default()
        })
    }

    fn milliseconds(&mut self, name: &str) -> Option<Duration> {
        self.number(name).map(Duration::from_millis)
    }

    fn spans(&mut self, name: &str) -> Option<usize> {
        self.number(name).map(|number| usize::try_from(number).unwrap_or(usize::MAX).clamp(1, MAX_SPANS))
    }

    fn number(&mut self, name: &str) -> Option<u64> {
        let value = self.variable(name)?;
        let number = value.parse().ok();
        if number.is_none() {
            let value = portolan_core::diagnostic::clip(&value);
            self.note(format!("`{name}` is `{value}`, which is not a whole number: it is ignored"));
        }
        number
    }

    /// Parses `name=value,name=value`, with percent-encoded values such as `%20`.
    fn pairs(&mut self, name: &str) -> Vec<(String, String)> {
        let Some(text) = self.variable(name) else { return Vec::new() };
        let mut pairs = Vec::new();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').map(|(key, value)| (unescaped(key.trim()), unescaped(value.trim()))) {
                Some((Some(key), Some(value))) if !key.is_empty() => pairs.push((key, value)),
                _ => self.note(format!("a part of `{name}` is not `name=value`: it is ignored")),
            }
        }
        pairs
    }
}

/// Decodes `%XX` escapes. Returns `None` if an escape is malformed or the bytes are not UTF-8.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let hex = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Compares the configuration that lines of `NAME=value` describe.
    fn reads(lines: &str, told: Expect) {
        let set: Vec<(&str, &str)> = lines.lines().filter_map(|line| line.trim().split_once('=')).collect();
        let variable = |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        let mut notes = Vec::new();
        let config = Config::read(&variable, &mut notes);
        let mut text = config.map_or_else(|| "off\n".to_owned(), |config| shown(&config));
        for note in notes {
            text.push_str(&format!("note: {note}\n"));
        }
        told.assert_eq(&text);
    }

    fn shown(config: &Config) -> String {
        let mut text = format!("{}\n", config.shown());
        for (name, value) in &config.headers {
            text.push_str(&format!("header {name}: {value:?} of {} bytes\n", value.len()));
        }
        let resource = config.resource.iter().filter(|(name, _)| !name.starts_with("telemetry.sdk"));
        for (name, value) in resource.filter(|(name, _)| name != "service.version") {
            text.push_str(&format!("{name}={value}\n"));
        }
        let Config { timeout, flush, queue, batch, delay, .. } = config;
        text.push_str(&format!("{timeout:?}, at the end {flush:?}; {queue} wait, {batch} go, after {delay:?}\n"));
        text
    }

    #[test]
    fn without_an_address_nothing_is_sent() {
        reads("OTEL_SERVICE_NAME=x", expect!["off\n"]);
        reads("OTEL_EXPORTER_OTLP_ENDPOINT=  ", expect!["off\n"]);
        reads("OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318\nOTEL_SDK_DISABLED=TRUE", expect!["off\n"]);
        reads("OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318\nOTEL_TRACES_EXPORTER=none", expect!["off\n"]);
    }

    #[test]
    fn the_address_is_completed_unless_it_is_the_one_of_traces() {
        reads(
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318/",
            expect![[r#"
            http://h:4318/v1/traces
            service.name=portolan
            10s, at the end 5s; 2048 wait, 512 go, after 5s
        "#]],
        );
        reads(
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318\nOTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t/in?key=secret",
            expect![[r#"
                https://t/in
                service.name=portolan
                10s, at the end 5s; 2048 wait, 512 go, after 5s
            "#]],
        );
    }

    #[test]
    fn every_variable_counts() {
        reads(
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://me:secret@h:4318
             OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20secret, x-team = a
             OTEL_EXPORTER_OTLP_TRACES_HEADERS=x-team=bb
             OTEL_EXPORTER_OTLP_TIMEOUT=3000
             OTEL_SERVICE_NAME=mine
             OTEL_RESOURCE_ATTRIBUTES=service.name=lost,deployment.environment.name=a%2Cb
             OTEL_BSP_MAX_QUEUE_SIZE=100
             OTEL_BSP_SCHEDULE_DELAY=10",
            expect![[r#"
                http://h:4318/v1/traces
                header authorization: Sensitive of 13 bytes
                header x-team: Sensitive of 2 bytes
                service.name=mine
                deployment.environment.name=a,b
                3s, at the end 3s; 100 wait, 100 go, after 10ms
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_used_is_told_and_passed_over() {
        reads(
            "OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318",
            expect![[r#"
            off
            note: `OTEL_EXPORTER_OTLP_ENDPOINT` is not a valid address: no traces are sent; write it as `http://host:4318`
        "#]],
        );
        reads(
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318\nOTEL_TRACES_EXPORTER=zipkin",
            expect![[r#"
            off
            note: `OTEL_TRACES_EXPORTER` is `zipkin`: no traces are sent; the supported values are `otlp` and `none`
        "#]],
        );
        reads(
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4317
             OTEL_EXPORTER_OTLP_PROTOCOL=grpc
             OTEL_EXPORTER_OTLP_COMPRESSION=gzip
             OTEL_EXPORTER_OTLP_HEADERS=secret,na me=secret,x=%zz
             OTEL_EXPORTER_OTLP_TIMEOUT=soon
             OTEL_TRACES_SAMPLER=jaeger_remote",
            expect![[r#"
                http://h:4317/v1/traces
                service.name=portolan
                10s, at the end 5s; 2048 wait, 512 go, after 5s
                note: `OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`, which is not supported: traces are sent as `http/protobuf`, which a collector accepts on port 4318
                note: `OTEL_EXPORTER_OTLP_COMPRESSION` is `gzip`, which is not supported: traces are sent uncompressed
                note: `OTEL_EXPORTER_OTLP_TIMEOUT` is `soon`, which is not a whole number: it is ignored
                note: a part of `OTEL_EXPORTER_OTLP_HEADERS` is not `name=value`: it is ignored
                note: a part of `OTEL_EXPORTER_OTLP_HEADERS` is not `name=value`: it is ignored
                note: a header in `OTEL_EXPORTER_OTLP_HEADERS` cannot be sent: it is ignored
                note: `OTEL_TRACES_SAMPLER` is `jaeger_remote`, which is not supported or lacks its argument: every trace is recorded
            "#]],
        );
    }
}
