//! A model of a provider, called over HTTP.

use std::fmt;
use std::time::Instant;

use portolan_core::chat::{ModelAnswer, ModelError};
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde_json::Value;

use super::failure::Speaker;
use super::http::{self, Reply, ResponseLimits};
use super::key::{Place, base_variable, place};
use super::providers::{Protocol, Provider};
use super::{AnswerFuture, Model, ModelQuestion, ModelSetup, OpenError, Sink, anthropic, openai};
use crate::http::{Data, Events};
use crate::logging;

/// The maximum size of a stream's event in bytes.
const MAX_EVENT_BYTES: usize = 1 << 20;
/// The maximum ratio of a stream's size to that of its answer: each word comes in an envelope.
const ENVELOPE: usize = 64;

/// A model of a provider.
pub struct RemoteModel {
    name: String,
    provider: &'static Provider,
    speaker: Speaker,
    client: Client,
    url: Url,
    /// Whether the address is the provider itself, not another server with its protocol.
    is_own: bool,
    limits: ResponseLimits,
}

impl fmt::Debug for RemoteModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("name", &self.name).field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// The parts of a request.
pub(super) struct RequestParts<'a> {
    pub(super) provider: &'static Provider,
    pub(super) model: &'a str,
    pub(super) is_own: bool,
    pub(super) question: ModelQuestion<'a>,
    pub(super) stream: bool,
}

/// An answer that arrives in pieces.
pub(super) trait Pieces {
    /// Takes in an event. Returns `true` if the answer is complete.
    ///
    /// # Errors
    /// It is no piece of an answer, reports a failure, or exceeds a limit.
    fn event(&mut self, data: &[u8], sink: &dyn Sink, speaker: &Speaker) -> Result<bool, ModelError>;

    /// Returns the number of bytes kept so far.
    fn size(&self) -> usize;

    /// Returns the answer. `None` if it is incomplete.
    fn finish(self: Box<Self>) -> Option<ModelAnswer>;
}

impl RemoteModel {
    pub(super) fn open(
        name: &str,
        provider: &'static Provider,
        model: String,
        base: Option<Url>,
        setup: &ModelSetup,
    ) -> Result<RemoteModel, OpenError> {
        let Place { base, key, is_own } = place(provider, base, &setup.variables)?;
        let port = base.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = format!("{}{port}", base.host_str().unwrap_or_default());
        let failed = |why: String| {
            OpenError::new(
                "bad-model-name",
                format!("`{host}` cannot be contacted: {why}"),
                "check the address of the model",
            )
        };
        let path = match provider.protocol {
            Protocol::OpenAi => "chat/completions",
            Protocol::Anthropic => "messages",
        };
        let url = format!("{}/{path}", base.as_str().trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|error| failed(error.to_string()))?;
        let client = http::client(&setup.limits, &base).map_err(failed)?;
        let keyless = match provider.key {
            Some(key) if !is_own => {
                format!("; set `{}` to its address to have `{key}` sent there", base_variable(provider))
            }
            _ => String::new(),
        };
        let speaker = Speaker { provider: provider.name, model, host, key, keyless, clock: setup.clock.clone() };
        Ok(RemoteModel { name: name.to_owned(), provider, speaker, client, url, is_own, limits: setup.limits.clone() })
    }

    async fn asked(&self, question: ModelQuestion<'_>, sink: Option<&dyn Sink>) -> Result<ModelAnswer, ModelError> {
        let parts = RequestParts {
            provider: self.provider,
            model: &self.speaker.model,
            is_own: self.is_own,
            question,
            stream: sink.is_some(),
        };
        let body: Value = match self.provider.protocol {
            Protocol::OpenAi => openai::request(&parts),
            Protocol::Anthropic => anthropic::request(&parts),
        };
        let body = body.to_string().into_bytes();
        let headers = self.headers(sink.is_some());
        let reply = http::post(&self.client, self.url.clone(), headers, body, &self.limits, &self.speaker).await?;
        match sink {
            Some(sink) if reply.media_type() == "text/event-stream" => self.streamed(reply, sink).await,
            // A server that does not stream sends the whole answer.
            Some(sink) => {
                let answer = self.plain(reply).await?;
                answer.message.content.iter().for_each(|text| sink.on_text(text));
                Ok(answer)
            }
            None => self.plain(reply).await,
        }
    }

    fn headers(&self, stream: bool) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let accept = if stream { "text/event-stream" } else { "application/json" };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let (name, before) = match self.provider.protocol {
            Protocol::OpenAi => ("authorization", "Bearer "),
            Protocol::Anthropic => {
                headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
                ("x-api-key", "")
            }
        };
        if let Some(value) = self.speaker.key.as_ref().and_then(|key| key.header(before)) {
            headers.insert(HeaderName::from_static(name), value);
        }
        headers
    }

    async fn plain(&self, reply: Reply) -> Result<ModelAnswer, ModelError> {
        let media_type = reply.media_type();
        let body = reply.whole(self.limits.max_bytes, &self.speaker).await?;
        let answer = match self.provider.protocol {
            Protocol::OpenAi => openai::answer(&body, self.provider.name, &self.speaker),
            Protocol::Anthropic => anthropic::answer(&body, self.provider.name, &self.speaker),
        };
        answer.map_err(|failure| match media_type.contains("json") || failure.code != "bad-answer" {
            true => failure,
            false => {
                let kind: String = media_type.chars().take(80).collect();
                self.speaker.bad(&format!("its content type is `{kind}`; check the address of the model"))
            }
        })
    }

    async fn streamed(&self, mut reply: Reply, sink: &dyn Sink) -> Result<ModelAnswer, ModelError> {
        let mut pieces: Box<dyn Pieces + Send> = match self.provider.protocol {
            Protocol::OpenAi => Box::new(openai::Stream::of(self.provider.name)),
            Protocol::Anthropic => Box::new(anthropic::Stream::of(self.provider.name)),
        };
        let mut events: Events = Events::new(MAX_EVENT_BYTES.min(self.limits.max_bytes));
        // The bytes read in all, and since the last event: a provider may send data without events, or never end.
        let (mut read, mut silent) = (0_usize, 0_usize);
        'reply: while let Some(piece) = reply.piece(&self.speaker).await? {
            (read, silent) = (read.saturating_add(piece.len()), silent.saturating_add(piece.len()));
            events.feed(&piece);
            while let Some(event) = events.next() {
                silent = 0;
                let Data::Whole(data) = event.data else { return Err(self.speaker.too_large(MAX_EVENT_BYTES)) };
                if pieces.event(&data, sink, &self.speaker)? {
                    break 'reply;
                }
            }
            let max = self.limits.max_bytes;
            if pieces.size() > max
                || silent > max.saturating_add(MAX_EVENT_BYTES)
                || read > max.saturating_mul(ENVELOPE)
            {
                return Err(self.speaker.too_large(max));
            }
        }
        pieces.finish().ok_or_else(|| self.speaker.cut_off())
    }
}

impl Model for RemoteModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, question: ModelQuestion<'a>, sink: Option<&'a dyn Sink>) -> AnswerFuture<'a> {
        Box::pin(async move {
            let (whole, began) = (self.limits.whole, Instant::now());
            let future = tokio::time::timeout(whole, self.asked(question, sink));
            let answer = future.await.unwrap_or_else(|_elapsed| Err(self.speaker.too_slow(whole)));
            logging::model_answered((self.speaker.provider, &self.speaker.model), began, &answer);
            answer
        })
    }
}
