//! Records a model's answers as they arrive, as a file that [`Script`](super::Script) plays.

use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::chat::script::{ScriptedModelAnswer, written};
use portolan_core::chat::{ModelAnswer, ModelError};

use super::{AnswerFuture, Model, ModelQuestion, Sink};

/// A model whose answers are recorded.
///
/// Data that only its provider understands, such as signatures of thoughts, is left out: a script replaces any model.
pub struct ModelRecorder {
    model: Arc<dyn Model>,
    /// One place for each request, in order. It is empty until the request is answered.
    places: Mutex<Vec<Option<ScriptedModelAnswer>>>,
}

impl ModelRecorder {
    /// Records the answers of `model`.
    pub fn new(model: Arc<dyn Model>) -> ModelRecorder {
        ModelRecorder { model, places: Mutex::new(Vec::new()) }
    }

    /// Returns the answers so far, as the text of a file. Dropped requests are not in it.
    pub fn text(&self) -> String {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        written(&places.iter().flatten().cloned().collect::<Vec<ScriptedModelAnswer>>())
    }

    fn begin(&self) -> usize {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.push(None);
        places.len() - 1
    }

    fn put(&self, place: usize, asker: Option<&str>, says: Result<ModelAnswer, ModelError>) {
        let line = ScriptedModelAnswer { to: asker.map(str::to_owned), repeat: false, delay_ms: 0, says };
        self.places.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(line);
    }
}

impl Model for ModelRecorder {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn ask<'a>(&'a self, question: ModelQuestion<'a>, sink: Option<&'a dyn Sink>) -> AnswerFuture<'a> {
        let place = self.begin();
        let future = self.model.ask(question, sink);
        Box::pin(async move {
            let says = future.await;
            self.put(place, question.asker, says.clone());
            says
        })
    }
}
