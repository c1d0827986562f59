//! The studio: a page in the browser, and the interface that it uses, which programs may use too.
//!
//! It listens on this machine only. Each start has a token, which the page is given in the fragment of its address and
//! sends with every request. A token is not a person: an agent runs as the same user and may have it. So what only a
//! person may say is said here only with a passkey, and a studio that an agent's host has started changes nothing.

mod answer;
mod answering;
mod breakpoints;
mod definitions;
mod drawn;
mod enrolling;
mod evaluate;
mod events;
mod facts;
mod guard;
mod halts;
mod inbox;
mod listen;
mod page;
mod places;
mod project;
mod replies;
mod routes;
mod runs;
mod saving;
mod servers;
#[cfg(test)]
mod tests;
mod tries;

use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::value::Timestamp;
use portolan_runtime::people::{Challenges, Passkey};
use portolan_runtime::service::{Caller, Past, Service};
use tokio::sync::{Mutex, broadcast, watch};

pub(crate) use listen::{Listening, Opening, listen};

/// What all requests share.
pub(crate) struct Studio {
    service: Arc<Service>,
    /// Whose word is told by it.
    person: Caller,
    /// What every request of the interface carries.
    token: String,
    /// The addresses that it is reached by, as `Host` names them.
    hosts: Vec<String>,
    /// The origin of the page, as passkeys know it.
    origin: String,
    read_only: bool,
    /// What tells that an agent's host has started it.
    told_by: Option<String>,
    /// What passkeys are to sign.
    challenges: Challenges,
    /// The passkey that was enrolled; nothing where none is to be.
    enrolled: Option<watch::Sender<Option<Passkey>>>,
    /// The runs that are tried out.
    tries: tries::Tries,
    /// The pasts of the runs that were looked at last.
    pasts: Mutex<Pasts>,
    /// What happens in runs that are tried and stands in no journal.
    live: broadcast::Sender<Live>,
    /// Becomes true when the server ends.
    ending: watch::Sender<bool>,
}

/// What happens in a run that is tried, and is no record.
#[derive(Clone, Debug)]
enum Live {
    /// A model says something.
    Said(ModelChunk),
    /// The run is driven otherwise than before: it waits, goes on, or is driven no more.
    Driven { run: String },
}

impl Live {
    fn run(&self) -> &str {
        match self {
            Live::Said(ModelChunk { run, .. }) | Live::Driven { run } => run,
        }
    }
}

/// A piece of what a model says. It is in no journal: there it stands once it is whole.
#[derive(Clone, Debug)]
struct ModelChunk {
    run: String,
    /// The state that the model works on.
    node: String,
    text: String,
    /// When: a record that is told later may be of before.
    at: Timestamp,
}

/// Pasts that were read: the fold of a long journal takes a while.
#[derive(Default)]
struct Pasts {
    /// By the run, with when it was last used.
    kept: BTreeMap<String, (u64, Arc<Mutex<Past>>)>,
    clock: u64,
}

/// How many pasts are kept.
const MOST_PASTS: usize = 4;

impl Pasts {
    fn known(&mut self, run: &str) -> Option<Arc<Mutex<Past>>> {
        self.clock += 1;
        let (used, past) = self.kept.get_mut(run)?;
        *used = self.clock;
        Some(Arc::clone(past))
    }

    fn keep(&mut self, run: &str, past: Past) -> Arc<Mutex<Past>> {
        let past = Arc::new(Mutex::new(past));
        self.clock += 1;
        self.kept.insert(run.to_owned(), (self.clock, Arc::clone(&past)));
        if self.kept.len() > MOST_PASTS {
            let oldest = self.kept.iter().min_by_key(|(_, (used, _))| *used).map(|(run, _)| run.clone());
            oldest.map(|run| self.kept.remove(&run));
        }
        past
    }
}
