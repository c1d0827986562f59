//! An HTTP client that turns an oversized reply into an error of its call, and keeps the connection.
//!
//! rmcp reads the events of a reply up to its bound, and treats a larger one as the end of the connection. The request
//! that it would have answered is the one whose reply contains the events.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::message;

type Headers = HashMap<HeaderName, HeaderValue>;
type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;
type Fault = StreamableHttpError<reqwest::Error>;

/// Checks for rmcp's error about its bound, which it reports only as text.
pub(super) fn is_too_large(words: &str) -> bool {
    words.contains("exceeded the maximum size")
}

#[derive(Clone)]
pub(super) struct BoundedClient(pub(super) reqwest::Client);

/// The events of the reply to a request.
struct Replies {
    events: Events,
    to: RequestId,
    max: usize,
}

impl Stream for Replies {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(context).map(|event| match event {
            Some(Err(error)) if is_too_large(&error.to_string()) => Some(Ok(self.left_out())),
            event => event,
        })
    }
}

impl Replies {
    fn left_out(&self) -> Sse {
        let why = format!("it is larger than {} bytes", self.max);
        let answer = message::dropped(self.to.clone(), &why);
        let data = serde_json::to_string(&answer).expect("a message is JSON");
        Sse { data: Some(data), ..Sse::default() }
    }
}

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let response = self.0.post_message_with_max_sse_event_size(uri, message, session, auth, headers, max).await?;
        Ok(match (response, request) {
            (StreamableHttpPostResponse::Sse(events, session), Some(to)) => {
                StreamableHttpPostResponse::Sse(Box::pin(Replies { events, to, max }), session)
            }
            (response, _) => response,
        })
    }

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.0.post_message(uri, message, session, auth, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<(), Fault> {
        self.0.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<Events, Fault> {
        self.0.get_stream(uri, session, last, auth, headers).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        auth: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Result<Events, Fault> {
        self.0.get_stream_with_max_sse_event_size(uri, session, last, auth, headers, max).await
    }
}
