//! The run is called off.

use super::walk::Draft;
use super::{Rejection, Why};
use crate::graph::EndResult;
use crate::run::FramePath;

pub(super) fn decide(draft: &mut Draft<'_>) -> Result<(), Rejection> {
    if draft.run.is_over() {
        return Err(Rejection::new(
            Why::Over,
            format!("the run is over: it ended at `{}`", draft.run.root.place.node()),
            "there is nothing to cancel",
        ));
    }
    let node = draft.run.root.place.node().clone();
    draft.end(&FramePath::default(), &node, EndResult::Cancelled);
    Ok(())
}
