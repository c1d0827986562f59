//! The client for which a call is made: what a server may ask it during the call, and the log messages that it wants.
//!
//! A server's question is data. Who answers, and how long that may take, is the caller's business.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ElicitRequestParams, InputRequest, InputRequests, InputResponses};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Something that a client can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientFeature {
    /// A form for its user.
    Form,
    /// An address for its user to open.
    Url,
    /// An answer of its model.
    Sampling,
    /// An answer of its model, which may use tools.
    SamplingTools,
    /// An answer of its model with the context of other servers.
    SamplingContext,
    /// Its folders.
    Roots,
}

/// What a client can be asked. By default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientFeatures(BTreeSet<ClientFeature>);

impl ClientFeatures {
    /// Returns what a client has declared.
    pub fn of(declared: &ClientCapabilities) -> ClientFeatures {
        let elicitation = declared.elicitation.as_ref();
        let sampling = declared.sampling.as_ref();
        let all = [
            // A capability without a mode stands for forms: earlier revisions know no other mode.
            (ClientFeature::Form, elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none())),
            (ClientFeature::Url, elicitation.is_some_and(|it| it.url.is_some())),
            (ClientFeature::Sampling, sampling.is_some()),
            (ClientFeature::SamplingTools, sampling.is_some_and(|it| it.tools.is_some())),
            (ClientFeature::SamplingContext, sampling.is_some_and(|it| it.context.is_some())),
            (ClientFeature::Roots, declared.roots.is_some()),
        ];
        ClientFeatures(all.into_iter().filter(|(_, has)| *has).map(|(feature, _)| feature).collect())
    }

    /// Returns the capabilities to declare to a server.
    pub(super) fn declared(&self) -> ClientCapabilities {
        let mut all = Map::new();
        for feature in &self.0 {
            let (name, part) = match feature {
                ClientFeature::Form => ("elicitation", Some("form")),
                ClientFeature::Url => ("elicitation", Some("url")),
                ClientFeature::Sampling => ("sampling", None),
                ClientFeature::SamplingTools => ("sampling", Some("tools")),
                ClientFeature::SamplingContext => ("sampling", Some("context")),
                ClientFeature::Roots => ("roots", None),
            };
            let entry = all.entry(name).or_insert_with(|| json!({}));
            if let Some(part) = part {
                entry[part] = json!({});
            }
        }
        serde_json::from_value(Value::Object(all)).expect("these are capabilities of clients")
    }

    /// Checks whether there is nothing to ask.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn covers(&self, other: &ClientFeatures) -> bool {
        self.0.is_superset(&other.0)
    }

    pub(super) fn with(&self, other: &ClientFeatures) -> ClientFeatures {
        ClientFeatures(self.0.union(&other.0).copied().collect())
    }

    /// Returns what a question needs that is not among these, in the words of the protocol.
    #[expect(deprecated, reason = "servers of earlier revisions ask for the client's model")]
    pub(super) fn missing_for(&self, question: &InputRequest) -> Option<&'static str> {
        let (feature, name) = match question {
            InputRequest::Elicitation(request) => match request.params {
                ElicitRequestParams::UrlElicitationParams { .. } => (ClientFeature::Url, "elicitation (url)"),
                _ => (ClientFeature::Form, "elicitation (form)"),
            },
            InputRequest::CreateMessage(request)
                if request.params.tools.is_some() || request.params.tool_choice.is_some() =>
            {
                (ClientFeature::SamplingTools, "sampling with tools")
            }
            InputRequest::CreateMessage(_) => (ClientFeature::Sampling, "sampling"),
            InputRequest::ListRoots(_) => (ClientFeature::Roots, "roots"),
            _ => return Some("a question of a kind that is not known"),
        };
        (!self.0.contains(&feature)).then_some(name)
    }
}

/// The answers to questions, by the names of the questions.
pub type Answers = Pin<Box<dyn Future<Output = Result<InputResponses, Unanswered>> + Send>>;

/// Answers the questions that a server asks during a call. Each has a name.
pub type OnQuestions = Arc<dyn Fn(InputRequests) -> Answers + Send + Sync>;

/// The reason why questions have no answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The reason, as one sentence.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// The severity of a log message, the least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for finding faults.
    Debug,
    /// General information.
    Info,
    /// Normal, but significant.
    Notice,
    /// A warning.
    Warning,
    /// An error.
    Error,
    /// A critical condition.
    Critical,
    /// Action must be taken at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

/// A log message of a server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LogMessage {
    /// Its severity.
    pub level: LogLevel,
    /// The part of the server that wrote it.
    pub logger: Option<String>,
    /// The message, in any form. Values of the server's variables that look like secrets are redacted.
    pub data: Value,
}

/// A listener of log messages.
pub type OnLog = Arc<dyn Fn(LogMessage) + Send + Sync>;

/// The client for which calls are made.
#[derive(Clone)]
pub struct CallClient {
    /// Identifies it. A question of a server names no call, so that it may concern any call of one client.
    pub id: Arc<str>,
    /// What it can be asked.
    pub features: ClientFeatures,
    /// Answers questions. Without it, none are allowed.
    pub on_questions: Option<OnQuestions>,
    /// The least severe log messages that it wants, and their listener.
    pub log: Option<(LogLevel, OnLog)>,
}

/// Returns a single question in the form of several.
pub(super) fn single(name: &str, question: InputRequest) -> InputRequests {
    BTreeMap::from([(name.to_owned(), question)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(declared: Value) -> ClientFeatures {
        ClientFeatures::of(&serde_json::from_value(declared).expect("capabilities"))
    }

    #[test]
    fn what_a_client_declares_is_declared_to_the_server() {
        for declared in [
            json!({}),
            json!({ "elicitation": { "form": {} } }),
            json!({ "elicitation": { "form": {}, "url": {} }, "roots": {}, "sampling": { "tools": {} } }),
            json!({ "sampling": { "context": {} }, "elicitation": { "url": {} } }),
        ] {
            let told = serde_json::to_value(features(declared.clone()).declared()).expect("JSON");
            assert_eq!(told, declared);
        }
    }

    #[test]
    fn a_capability_without_a_mode_stands_for_forms() {
        let told = features(json!({ "elicitation": {}, "experimental": { "x": {} } })).declared();
        assert_eq!(serde_json::to_value(told).expect("JSON"), json!({ "elicitation": { "form": {} } }));
    }
}
