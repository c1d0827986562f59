//! Navigation: an agent holds a short handle or a token of its run, and is at one position at a time.
//!
//! The situation offers the possible actions. Any other action is refused here, with the situation of the run, and
//! changes nothing.

mod deeds;
mod drift;
mod state;

pub(super) use drift::may_migrate;
pub(super) use state::kept_under;

/// The form in which agents hold the runs that they begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum States {
    /// A short handle: the run is in the store.
    #[default]
    Handles,
    /// A token that contains the whole run.
    Tokens,
    /// A token of a run that is also in the store: only the last token counts.
    Ledger,
}
