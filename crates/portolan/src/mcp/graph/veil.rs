//! What must not be shown of calls that are under way, or were lately: a server repeats what it was given on its standard
//! error, and in the errors of later calls, which know nothing of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::present::Redaction;
use portolan_core::run::Fault;
use portolan_runtime::service::ServiceError;

/// How many calls that are over are remembered.
const LATELY: usize = 100;

/// What none of the calls wants shown. All clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Veil(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    begun: u64,
    under_way: BTreeMap<u64, Redaction>,
    over: VecDeque<Redaction>,
}

/// A call under way.
pub(crate) struct Veiled {
    veil: Veil,
    call: u64,
}

impl Veil {
    /// A call begins, of which this is hidden; it is over when the answer is dropped.
    pub(crate) fn over(&self, hidden: Redaction) -> Veiled {
        let mut calls = self.calls();
        calls.begun += 1;
        let call = calls.begun;
        calls.under_way.insert(call, hidden);
        Veiled { veil: self.clone(), call }
    }

    /// The text as it may be shown.
    pub(crate) fn text(&self, text: &str) -> String {
        let calls = self.calls();
        calls.under_way.values().chain(&calls.over).fold(text.to_owned(), |text, hidden| hidden.text(&text))
    }

    /// The fault as it may be shown.
    pub(crate) fn fault(&self, fault: &Fault) -> Fault {
        let (message, detail) = (self.text(&fault.message), self.text(&fault.detail));
        Fault { message, detail, ..fault.clone() }
    }

    /// What is wrong with the input may repeat what must not be shown.
    pub(crate) fn error(&self, error: ServiceError) -> ServiceError {
        ServiceError { message: self.text(&error.message), help: self.text(&error.help), ..error }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Veiled {
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
