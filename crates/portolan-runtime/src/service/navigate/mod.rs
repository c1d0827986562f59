//! What is different where an agent is led: it holds a short handle or a token of its run, and is at one position at a time.
//!
//! What may be done is what the situation offers: a deed that it does not offer is refused here, with where the run is, and
//! changes nothing.

mod deeds;
mod drift;
mod state;

pub(super) use drift::may_migrate;
pub(super) use state::kept_under;

/// What agents hold of the runs that they begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum States {
    /// A short handle: the run is in the store.
    #[default]
    Handles,
    /// A token, which is all that there is of the run.
    Tokens,
    /// A token of a run that is in the store too: only its last one counts.
    Ledger,
}
