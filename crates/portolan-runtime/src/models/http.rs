//! The HTTP of providers: one request, and its reply read piece by piece up to a limit. No redirect is followed,
//! because the request has a key for one server.

use std::time::Duration;

use portolan_core::chat::ModelError;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, Url, redirect};

use super::failure::Speaker;
use crate::http;

/// The limits of an answer's time and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseLimits {
    /// The maximum time to connect to the server.
    pub connect: Duration,
    /// The maximum time without data after the head of the reply.
    pub idle: Duration,
    /// The maximum time of the whole answer.
    pub whole: Duration,
    /// The maximum size of an answer in bytes, of its JSON or of its combined pieces.
    pub max_bytes: usize,
}

impl Default for ResponseLimits {
    fn default() -> ResponseLimits {
        ResponseLimits {
            connect: Duration::from_secs(10),
            // Models may think for minutes before the first word.
            idle: Duration::from_secs(300),
            whole: Duration::from_secs(900),
            // The longest answers have some 128000 tokens at present, which is about half a megabyte.
            max_bytes: 8 << 20,
        }
    }
}

/// The maximum size of an error's text that is read.
const MAX_ERROR_BYTES: usize = 64 << 10;

pub(super) fn client(limits: &ResponseLimits, base: &Url) -> Result<Client, String> {
    let client = http::client().connect_timeout(limits.connect).redirect(redirect::Policy::none());
    // A proxy cannot resolve the local names of this machine.
    let is_local = matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let client = if is_local { client.no_proxy() } else { client };
    client.build().map_err(|error| http::explained(&error))
}

/// A reply with a success status.
pub(super) struct Reply {
    response: Response,
    idle: Duration,
}

impl Reply {
    /// Returns the media type, in lower case and without parameters.
    pub(super) fn media_type(&self) -> String {
        let value = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Returns the next piece. `None` at the end.
    pub(super) async fn piece(&mut self, speaker: &Speaker) -> Result<Option<Vec<u8>>, ModelError> {
        match tokio::time::timeout(self.idle, self.response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece.map(Vec::from)),
            Ok(Err(error)) => Err(speaker.broken(&error)),
            Err(_elapsed) => Err(speaker.silent(self.idle)),
        }
    }

    /// Returns the whole body.
    pub(super) async fn whole(mut self, max: usize, speaker: &Speaker) -> Result<Vec<u8>, ModelError> {
        let announced = self.response.content_length().and_then(|length| usize::try_from(length).ok());
        if announced.is_some_and(|length| length > max) {
            return Err(speaker.too_large(max));
        }
        let mut body = Vec::new();
        while let Some(piece) = self.piece(speaker).await? {
            if body.len() + piece.len() > max {
                return Err(speaker.too_large(max));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

/// Sends a request, and waits for the head of its reply. An error status becomes a failure with the provider's message.
pub(super) async fn post(
    client: &Client,
    url: Url,
    headers: HeaderMap,
    body: Vec<u8>,
    limits: &ResponseLimits,
    speaker: &Speaker,
) -> Result<Reply, ModelError> {
    let request = client.post(url).headers(headers).header(CONTENT_TYPE, "application/json").body(body);
    let response = request.send().await.map_err(|error| speaker.unreachable(&error))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut reply = Reply { response, idle: limits.idle };
    if status.is_success() {
        return Ok(reply);
    }
    let mut text = Vec::new();
    // An error whose text breaks off is the same error.
    while text.len() < MAX_ERROR_BYTES
        && let Ok(Some(piece)) = reply.piece(speaker).await
    {
        text.extend_from_slice(&piece);
    }
    text.truncate(MAX_ERROR_BYTES);
    Err(speaker.refused(status.as_u16(), &headers, &String::from_utf8_lossy(&text)))
}
