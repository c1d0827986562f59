//! Connects to servers over HTTP. Redirects are followed only within a server, because the headers of an entry may
//! contain secrets for it alone.

use std::collections::HashMap;
use std::error::Error;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use rmcp::service::ClientLifecycleMode;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::worker::WorkerQuitReason;

use super::bounds::BoundedClient;
use super::connection::Parts;
use super::open::{ConnectionAttempt, Fault, Refusal, Texts};
use super::sse::EventStream;
use crate::http::{self, explained};

const MAX_REDIRECTS: usize = 5;
const HELP: &str = "check the `url` and the `headers` of its entry, and that the server is running";

impl ConnectionAttempt<'_> {
    /// Connects over streamable HTTP. If that fails and the entry allows either, it tries the older transport.
    pub(super) async fn http(
        &self,
        url: &str,
        headers: &Texts,
        either: bool,
        mode: ClientLifecycleMode,
    ) -> Result<Parts, Fault> {
        let target = Target::new(url, headers)?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str()).custom_headers(
            target.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<HashMap<_, _>>(),
        );
        config.max_sse_event_size = self.options.max_message;
        let transport = StreamableHttpClientTransport::with_client(BoundedClient(self.client()?), config);
        match self.shake(transport, mode.clone()).await {
            Ok(parts) => Ok(parts),
            Err(Refusal::Error(error)) if either => match self.older(target, mode).await {
                Ok(parts) => Ok(parts),
                // The error of the preferred transport is more useful.
                Err(_older) => Err(Refusal::Error(error).fault()),
            },
            Err(refusal) => Err(refusal.fault()),
        }
    }

    /// Connects over HTTP with server-sent events.
    pub(super) async fn sse(&self, url: &str, headers: &Texts, mode: ClientLifecycleMode) -> Result<Parts, Fault> {
        self.older(Target::new(url, headers)?, mode).await
    }

    async fn older(&self, target: Target, mode: ClientLifecycleMode) -> Result<Parts, Fault> {
        let (client, patience) = (self.client()?, self.options.handshake_timeout);
        let opened = EventStream::open(client, target.url, target.headers, self.intake(), patience).await;
        let stream = opened.map_err(|why| Fault::new(format!("cannot be reached ({why})"), HELP))?;
        self.shake(stream, mode).await.map_err(Refusal::fault)
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

/// Returns why a transport failed. rmcp's own message lacks the cause of a failed request, and contains its address.
pub(super) fn reason(error: &(dyn Error + 'static)) -> String {
    type HttpError = StreamableHttpError<reqwest::Error>;
    let http = match error.downcast_ref::<WorkerQuitReason<HttpError>>() {
        Some(WorkerQuitReason::Fatal { error, .. }) => Some(error),
        _ => error.downcast_ref::<HttpError>(),
    };
    match http {
        Some(StreamableHttpError::Client(error)) => explained(error),
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}
