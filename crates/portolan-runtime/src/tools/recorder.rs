//! Records answers as they arrive, so that the run can be repeated without its servers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::engine::Effect;
use portolan_core::run::Reply;
use serde_json::Value;

use super::recorded_answers::{ScriptedAnswer, TOOL_ERROR, name};

/// Records answers. All clones share them.
#[derive(Clone, Debug, Default)]
pub struct CallRecorder(Arc<Mutex<Places>>);

/// One place for each call, in the order in which they began. It is empty until the call is answered.
type Places = BTreeMap<String, Vec<Option<ScriptedAnswer>>>;

impl CallRecorder {
    /// Returns the answers so far, by `function.node`. A cancelled call counts as a failure in its turn. Otherwise
    /// later calls would get the wrong answers.
    pub fn answers(&self) -> BTreeMap<String, Vec<ScriptedAnswer>> {
        let nodes = self.places().clone().into_iter();
        let answers =
            |places: Vec<Option<ScriptedAnswer>>| places.into_iter().map(|it| it.unwrap_or_else(dropped)).collect();
        nodes.map(|(name, places)| (name, answers(places))).collect()
    }

    pub(super) fn place(&self, effect: &Effect) -> usize {
        let mut places = self.places();
        let node = places.entry(name(effect)).or_default();
        node.push(None);
        node.len() - 1
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record(&self, effect: &Effect, place: usize, reply: &Reply) {
        if let Some(slot) = self.places().get_mut(&name(effect)).and_then(|node| node.get_mut(place)) {
            *slot = Some(answered(reply));
        }
    }
}

/// Returns the recorded form of an answer.
pub(super) fn answered(reply: &Reply) -> ScriptedAnswer {
    match reply {
        Reply::Output(output) => ScriptedAnswer::Output(output.as_deref().cloned().unwrap_or(Value::Null)),
        Reply::Failed(fault) => {
            let code = Some(fault.code.clone()).filter(|code| code != TOOL_ERROR);
            ScriptedAnswer::Failure { message: fault.message.clone(), code }
        }
    }
}

/// Returns the answer of a call that was cancelled.
pub(super) fn dropped() -> ScriptedAnswer {
    let message = "the call was cancelled before it was answered".to_owned();
    ScriptedAnswer::Failure { message, code: Some("cancelled".to_owned()) }
}
