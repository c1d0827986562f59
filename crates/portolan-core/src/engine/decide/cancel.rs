//! Cancels the run.

use super::walk::Draft;
use super::{Rejection, RejectionReason};

pub(super) fn decide(draft: &mut Draft<'_>) -> Result<(), Rejection> {
    if draft.before.is_over() {
        return Err(Rejection::new(
            RejectionReason::Over,
            format!("the run has ended at `{}`", draft.before.root.place.node()),
            "there is nothing to cancel",
        ));
    }
    draft.cancel();
    Ok(())
}
