//! The hidden values of current and recent calls: a server repeats its input on standard error, and in the errors of
//! later calls, whose own redaction does not cover it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::present::Redaction;
use portolan_core::run::Fault;
use portolan_runtime::service::ServiceError;

/// The most ended calls that are remembered.
const LATELY: usize = 100;

/// The hidden values of all calls. Clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Veil(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    begun: u64,
    under_way: BTreeMap<u64, Redaction>,
    over: VecDeque<Redaction>,
}

/// A call in progress.
pub(crate) struct VeiledCall {
    veil: Veil,
    call: u64,
}

impl Veil {
    /// Registers the hidden values of a call. The call ends when the returned guard is dropped.
    pub(crate) fn over(&self, hidden: Redaction) -> VeiledCall {
        let mut calls = self.calls();
        calls.begun += 1;
        let call = calls.begun;
        calls.under_way.insert(call, hidden);
        VeiledCall { veil: self.clone(), call }
    }

    /// Masks a text.
    pub(crate) fn text(&self, text: &str) -> String {
        let calls = self.calls();
        calls.under_way.values().chain(&calls.over).fold(text.to_owned(), |text, hidden| hidden.text(&text))
    }

    /// Masks a fault.
    pub(crate) fn fault(&self, fault: &Fault) -> Fault {
        let (message, detail) = (self.text(&fault.message), self.text(&fault.detail));
        Fault { message, detail, ..fault.clone() }
    }

    /// Masks an error: it may repeat hidden values of the input.
    pub(crate) fn error(&self, error: ServiceError) -> ServiceError {
        ServiceError { message: self.text(&error.message), help: self.text(&error.help), ..error }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for VeiledCall {
    fn drop(&mut self) {
        let mut calls = self.veil.calls();
        if let Some(hidden) = calls.under_way.remove(&self.call).filter(|hidden| !hidden.is_empty()) {
            calls.over.push_back(hidden);
            if calls.over.len() > LATELY {
                calls.over.pop_front();
            }
        }
    }
}
