//! The run is called off.

use super::walk::Draft;
use super::{Rejection, Why};

pub(super) fn decide(draft: &mut Draft<'_>) -> Result<(), Rejection> {
    if draft.run.is_over() {
        return Err(Rejection::new(
            Why::Over,
            format!("the run is over: it ended at `{}`", draft.run.root.place.node()),
            "there is nothing to cancel",
        ));
    }
    draft.cancel();
    Ok(())
}
