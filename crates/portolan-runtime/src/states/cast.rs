//! The models of a run: each is opened once, at its first use. Adds the cost to their answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::chat::prices::Prices;
use portolan_core::chat::{ModelAnswer, ModelError, Request, ToolSpec};
use portolan_core::engine::ModelRequest;
use portolan_core::value::NodeId;

use crate::models::{self, Model, ModelQuestion, Sink};

/// A listener of a model's streamed text. It receives the state, and the next part of the text.
pub type ModelListener = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// The models of a run.
#[derive(Clone)]
pub struct ModelBindings {
    setup: models::ModelSetup,
    /// The default model.
    usual: Option<String>,
    prices: Arc<Prices>,
    listener: Option<ModelListener>,
    open: Arc<Mutex<BTreeMap<String, Arc<dyn Model>>>>,
}

impl Default for ModelBindings {
    fn default() -> ModelBindings {
        ModelBindings::of(models::ModelSetup::of("."))
    }
}

impl ModelBindings {
    /// Returns models that are opened with `setup`. Their prices are unknown.
    pub fn of(setup: models::ModelSetup) -> ModelBindings {
        ModelBindings { setup, usual: None, prices: Arc::default(), listener: None, open: Arc::default() }
    }

    /// Sets the default model, for definitions that name none.
    #[must_use]
    pub fn usually(self, model: Option<String>) -> ModelBindings {
        ModelBindings { usual: model, ..self }
    }

    /// Sets the prices of models.
    #[must_use]
    pub fn priced(self, prices: Prices) -> ModelBindings {
        ModelBindings { prices: Arc::new(prices), ..self }
    }

    /// Sets a listener of the models' streamed text.
    #[must_use]
    pub fn with_listener(self, listener: ModelListener) -> ModelBindings {
        ModelBindings { listener: Some(listener), ..self }
    }

    /// Adds an open model under a name.
    #[must_use]
    pub fn with(self, name: &str, model: Arc<dyn Model>) -> ModelBindings {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), model);
        self
    }

    /// Opens a model, unless it is open.
    ///
    /// # Errors
    /// Its name is invalid, or its key is missing. A retry does not help.
    pub fn open(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = open.get(name) {
            return Ok(model.clone());
        }
        let model = models::open(name, &self.setup).map_err(|error| ModelError {
            code: error.code.to_owned(),
            message: format!("{}; {}", error.message, error.help),
            may_pass: false,
            retry_after_ms: None,
        })?;
        open.insert(name.to_owned(), model.clone());
        Ok(model)
    }

    pub(super) async fn ask(
        &self,
        node: &NodeId,
        model_request: &ModelRequest,
        tools: &[ToolSpec],
    ) -> Result<ModelAnswer, ModelError> {
        // The answers of judges are only for the engine.
        self.ask_for(&model_request.request, node.as_str(), model_request.judge.is_none(), tools).await
    }

    /// Asks the model that a request names, or else the default one.
    pub(super) async fn ask_for(
        &self,
        request: &Request,
        asker: &str,
        is_heard: bool,
        tools: &[ToolSpec],
    ) -> Result<ModelAnswer, ModelError> {
        let name = request.model.as_deref().or(self.usual.as_deref()).ok_or_else(|| ModelError {
            code: "no-model".to_owned(),
            message: format!("no model is set for `{asker}`; name one with `--model`, or in the file"),
            may_pass: false,
            retry_after_ms: None,
        })?;
        let model = self.open(name)?;
        let question = ModelQuestion { request, tools, asker: Some(asker) };
        let listener = self.listener.as_ref().filter(|_| is_heard);
        let sink = listener.map(|listener| {
            let (listener, asker) = (listener.clone(), asker.to_owned());
            move |text: &str| listener(&asker, text)
        });
        let sink = sink.as_ref().map(|sink| sink as &dyn Sink);
        let mut answer = model.ask(question, sink).await?;
        if answer.cost_microdollars.is_none() {
            answer.cost_microdollars = self.prices.cost(name, &answer.usage);
        }
        Ok(answer)
    }
}
