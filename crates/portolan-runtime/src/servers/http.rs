//! Connects to servers over HTTP. Redirects are followed only within a server, because the headers of an entry may
//! contain secrets for it alone.

use std::collections::HashMap;
use std::error::Error;
use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::worker::WorkerQuitReason;

use super::bounds::BoundedClient;
use super::connection::Parts;
use super::open::{ConnectionAttempt, Fault, Refusal, Texts, discovery};
use super::sse::EventStream;
use crate::http::{self, explained};

const MAX_REDIRECTS: usize = 5;
const HELP: &str = "check the `url` and the `headers` of its entry, and that the server is running";

impl ConnectionAttempt<'_> {
    /// Connects over streamable HTTP. If that fails and the entry allows either, it tries the older transport.
    pub(super) async fn http(&self, url: &str, headers: &Texts, either: bool) -> Result<Parts, Fault> {
        let (target, client, begun) = (Target::new(url, headers)?, self.client()?, Instant::now());
        // A server of an older revision may never answer this greeting, so it gets only half of the time.
        let refused = match self.streamable(&client, &target, discovery(), self.options.handshake_timeout / 2).await {
            Ok(parts) => return Ok(parts),
            Err(Refusal::Error(error)) if is_unreachable(&error) => return Err(Refusal::Error(error).fault()),
            Err(refused) => refused,
        };
        let left = self.options.handshake_timeout.saturating_sub(begun.elapsed());
        match self.streamable(&client, &target, ClientLifecycleMode::Initialize, left).await {
            Ok(parts) => Ok(parts),
            Err(refusal) => {
                let is_error = matches!(refusal, Refusal::Error(_));
                let fault = match refusal.fault() {
                    // Of a server that knows no handshake, the answer to its own greeting says more.
                    fault if fault.speaks_newer => return Err(refused.fault()),
                    fault => fault,
                };
                // If both transports fail, the error of the preferred one is more useful.
                match is_error && either {
                    true => self.older(target).await.map_err(|_older| fault),
                    false => Err(fault),
                }
            }
        }
    }

    async fn streamable(
        &self,
        client: &Client,
        target: &Target,
        mode: ClientLifecycleMode,
        limit: Duration,
    ) -> Result<Parts, Refusal> {
        let headers = target.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        let mut config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str())
            .custom_headers(headers.collect::<HashMap<_, _>>());
        config.max_sse_event_size = self.options.max_message;
        let transport = StreamableHttpClientTransport::with_client(BoundedClient(client.clone()), config);
        self.shake(transport, mode, limit).await
    }

    /// Connects over HTTP with server-sent events, which no server of the newest revision uses.
    pub(super) async fn sse(&self, url: &str, headers: &Texts) -> Result<Parts, Fault> {
        self.older(Target::new(url, headers)?).await
    }

    async fn older(&self, target: Target) -> Result<Parts, Fault> {
        let (client, patience) = (self.client()?, self.options.handshake_timeout);
        let opened = EventStream::open(client, target.url, target.headers, self.intake(), patience).await;
        let stream = opened.map_err(|why| Fault::new(format!("cannot be reached ({why})"), HELP))?;
        self.shake(stream, ClientLifecycleMode::Initialize, patience).await.map_err(Refusal::fault)
    }

    fn client(&self) -> Result<Client, Fault> {
        http::client()
            .connect_timeout(self.options.handshake_timeout)
            .redirect(redirect::Policy::custom(redirected))
            .build()
            .map_err(|error| Fault::new(format!("cannot be reached ({})", explained(&error)), HELP))
    }
}

fn redirected(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from = attempt.previous().first();
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("it redirects too often");
    }
    match from.is_some_and(|from| is_same_origin(from, attempt.url())) {
        true => attempt.follow(),
        false => attempt.error("it redirects to another server"),
    }
}

pub(super) fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

/// The address of requests, and their headers.
struct Target {
    url: Url,
    headers: HeaderMap,
}

impl Target {
    fn new(url: &str, headers: &Texts) -> Result<Target, Fault> {
        let wrong = |what: String, help: &str| Fault::new(format!("cannot be reached: {what}"), help);
        let help = "write it as `https://host/path`";
        let parsed = Url::parse(url).map_err(|error| wrong(format!("its `url` is not a valid URL ({error})"), help))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(wrong(format!("its `url` begins with `{}:`", parsed.scheme()), help));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let header = HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::try_from(value.as_str()).ok());
            let Some((name, mut value)) = header else {
                return Err(wrong(format!("its header `{name}` cannot be sent"), "correct it in its entry"));
            };
            value.set_sensitive(true);
            map.insert(name, value);
        }
        Ok(Target { url: parsed, headers: map })
    }
}

type HttpError = StreamableHttpError<reqwest::Error>;

/// Returns what failed below a transport, if that is known.
fn http_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e HttpError> {
    match error.downcast_ref::<WorkerQuitReason<HttpError>>() {
        Some(WorkerQuitReason::Fatal { error, .. }) => Some(error),
        _ => error.downcast_ref::<HttpError>(),
    }
}

/// Checks whether a server was not even connected to, so that no other greeting can help.
fn is_unreachable(error: &ClientInitializeError) -> bool {
    let ClientInitializeError::TransportError { error, .. } = error else { return false };
    matches!(http_error(error.error.as_ref()), Some(StreamableHttpError::Client(error)) if error.is_connect())
}

/// Returns why a transport failed. rmcp's own message lacks the cause of a failed request, and contains its address.
pub(super) fn reason(error: &(dyn Error + 'static)) -> String {
    match http_error(error) {
        Some(StreamableHttpError::Client(error)) => explained(error),
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}
