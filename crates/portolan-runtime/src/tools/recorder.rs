//! Answers are written down as they come, so that the same run can be made again without its servers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::engine::Effect;
use portolan_core::run::Reply;
use serde_json::Value;

use super::written::{ScriptedAnswer, TOOL_ERROR, name};

/// Writes answers down. All clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct CallRecorder(Arc<Mutex<Places>>);

/// One place for each call, in the order in which they began; empty until it is answered.
type Places = BTreeMap<String, Vec<Option<ScriptedAnswer>>>;

impl CallRecorder {
    /// What was answered so far, by `function.node`. A call that nobody waited for any more stands in its turn as a
    /// failure: without one, the calls after it would get each other's answers.
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

/// An answer as it is written down.
pub(super) fn answered(reply: &Reply) -> ScriptedAnswer {
    match reply {
        Reply::Output(output) => ScriptedAnswer::Output(output.as_deref().cloned().unwrap_or(Value::Null)),
        Reply::Failed(fault) => {
            let code = Some(fault.code.clone()).filter(|code| code != TOOL_ERROR);
            ScriptedAnswer::Failure { message: fault.message.clone(), code }
        }
    }
}

/// What stands for the answer of a call that nobody waited for.
pub(super) fn dropped() -> ScriptedAnswer {
    let message = "the call was cancelled before it was answered".to_owned();
    ScriptedAnswer::Failure { message, code: Some("cancelled".to_owned()) }
}
