//! The studio: a page in the browser, and the HTTP interface that it uses, which programs may use, too.
//!
//! It listens on this machine only. Each start creates a token. The page receives it in the fragment of its address and
//! sends it with every request. A token does not identify a person: an agent runs as the same user and may have it. An
//! answer that only a person may give therefore needs a passkey, and a studio that an agent's host has started changes
//! nothing.

mod answer;
mod answering;
mod breakpoints;
mod calls;
mod confirming;
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
mod listing;
mod page;
mod places;
mod project;
mod replies;
mod requests;
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
use portolan_runtime::service::{Caller, Past, Service};
use portolan_supervision::people::{Challenges, Passkey};
use tokio::sync::{Mutex, broadcast, watch};

pub(crate) use listen::{StudioServer, StudioSettings, beside, listen};

use crate::http::Access;

/// The state that all requests share.
pub(crate) struct Studio {
    service: Arc<Service>,
    /// The person on whose behalf requests act.
    person: Caller,
    /// Who may send requests.
    access: Access,
    /// The origin of the page, for the verification of passkeys.
    origin: String,
    read_only: bool,
    /// The evidence that an agent's host has started the studio, if any.
    told_by: Option<String>,
    /// The pending passkey challenges.
    challenges: Challenges,
    /// The passkey that was enrolled. `None` if the studio enrols none.
    enrolled: Option<watch::Sender<Option<Passkey>>>,
    /// The runs that this studio drives.
    tries: tries::Tries,
    /// The histories of the last runs that were viewed.
    pasts: Mutex<Pasts>,
    /// Events of driven runs that are in no journal.
    live: broadcast::Sender<Live>,
    /// Becomes true when the server ends.
    ending: watch::Sender<bool>,
}

/// An event of a driven run that is not a record.
#[derive(Clone, Debug)]
enum Live {
    /// A model has produced text.
    Said(ModelChunk),
    /// The drive of the run has changed: it waits, continues, or is no longer driven.
    Driven { run: String },
}

impl Live {
    fn run(&self) -> &str {
        match self {
            Live::Said(ModelChunk { run, .. }) | Live::Driven { run } => run,
        }
    }
}

/// A piece of a model's text. The journal has only the whole text.
#[derive(Clone, Debug)]
struct ModelChunk {
    run: String,
    /// The state that the model works on.
    node: String,
    text: String,
    /// The time of the piece. A record that arrives later may be older.
    at: Timestamp,
}

/// A cache of run histories: folding a long journal takes a while.
#[derive(Default)]
struct Pasts {
    /// The histories by run, each with the clock of its last use.
    kept: BTreeMap<String, (u64, Arc<Mutex<Past>>)>,
    clock: u64,
}

/// The most histories in the cache.
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
