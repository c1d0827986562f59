//! The HTTP transport of 2024-11-05: the server sends its messages as events of one stream that stays open. The first
//! event names the address to which messages are posted. rmcp has no such transport.

use std::io;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use rmcp::RoleClient;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::time::timeout;

use super::http::is_same_origin;
use super::intake::Intake;
use super::message::{IdScan, Message};
use crate::http::{Data, Events, explained};

const EVENT_STREAM: &str = "text/event-stream";

/// The maximum time to post a message. The server only accepts it, and answers over the stream.
const POST_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct EventStream {
    client: Client,
    headers: HeaderMap,
    /// The address for messages to the server.
    endpoint: Url,
    stream: Response,
    events: Events<IdScan>,
    intake: Intake,
}

impl EventStream {
    /// Opens the stream at `url`, or returns why that is not possible.
    pub(super) async fn open(
        client: Client,
        url: Url,
        headers: HeaderMap,
        intake: Intake,
        patience: Duration,
    ) -> Result<EventStream, String> {
        let opening = async {
            let request = client.get(url).headers(headers.clone()).header(ACCEPT, EVENT_STREAM);
            let stream = request.send().await.map_err(|error| explained(&error))?;
            check(&stream)?;
            let mut events = Events::new(intake.max_message);
            let mut stream = stream;
            let endpoint = endpoint(&mut stream, &mut events).await?;
            Ok(EventStream { client: client.clone(), headers, endpoint, stream, events, intake })
        };
        match timeout(patience, opening).await {
            Ok(opened) => opened,
            Err(_elapsed) => Err("it did not send the address for messages in time".to_owned()),
        }
    }
}

fn check(stream: &Response) -> Result<(), String> {
    if !stream.status().is_success() {
        return Err(format!("HTTP {}", stream.status()));
    }
    let kind = stream.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    match kind.starts_with(EVENT_STREAM.as_bytes()) {
        true => Ok(()),
        false => Err(format!("it sends `{}`, not `{EVENT_STREAM}`", String::from_utf8_lossy(kind))),
    }
}

/// Returns the address for messages, from the first event.
async fn endpoint(stream: &mut Response, events: &mut Events<IdScan>) -> Result<Url, String> {
    loop {
        while let Some(event) = events.next() {
            let Data::Whole(data) = event.data else { continue };
            if event.name == "endpoint" {
                let endpoint = String::from_utf8_lossy(&data);
                let endpoint =
                    stream.url().join(endpoint.trim()).map_err(|error| format!("a bad endpoint: {error}"))?;
                // The headers may contain secrets for this server only.
                return match is_same_origin(stream.url(), &endpoint) {
                    true => Ok(endpoint),
                    false => Err("it wants messages to be sent to another server".to_owned()),
                };
            }
        }
        match stream.chunk().await {
            Ok(Some(chunk)) => events.feed(&chunk),
            Ok(None) => return Err("its stream ended at once".to_owned()),
            Err(error) => return Err(explained(&error)),
        }
    }
}

impl Transport<RoleClient> for EventStream {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone()).timeout(POST_TIMEOUT);
        async move {
            let body = serde_json::to_vec(&message)?;
            let request = request.header(CONTENT_TYPE, "application/json").body(body);
            let response = request.send().await.map_err(|error| io::Error::other(explained(&error)))?;
            match response.status() {
                status if status.is_success() => Ok(()),
                status => Err(io::Error::other(format!("HTTP {status}"))),
            }
        }
    }

    async fn receive(&mut self) -> Option<Message> {
        while !self.intake.is_given_up() {
            while let Some(event) = self.events.next() {
                let message = match event.data {
                    _ if event.name != "message" => None,
                    Data::Whole(data) => self.intake.take(&data),
                    Data::TooLarge(scan) => self.intake.too_large(&scan),
                };
                if message.is_some() {
                    return message;
                }
            }
            match self.stream.chunk().await {
                Ok(Some(chunk)) => self.events.feed(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
