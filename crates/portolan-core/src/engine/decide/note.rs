//! Variables are given values while work goes on: claims that are not checked before the work is reported done.

use serde_json::Value;

use super::walk::Draft;
use super::{Rejection, Why, addressed, report};
use crate::run::{FramePath, Place};

pub(super) fn decide(draft: &mut Draft<'_>, path: &FramePath, values: &Value) -> Result<(), Rejection> {
    let frame = addressed(draft.before, path)?;
    match &frame.place {
        Place::Ready { .. } => report::take_values(draft, path, values),
        Place::Checking { node, .. } => Err(Rejection::new(
            Why::Checking,
            format!("the checks of `{node}` are being performed, with the values as they are"),
            "wait for their verdict, and give the values then",
        )),
        Place::Arrived { node, .. } | Place::Ended { node, .. } => Err(Rejection::new(
            Why::Over,
            format!("the run is over: it ended at `{node}`"),
            "nothing more is to be said of it; begin a new run for new work",
        )),
        place => Err(Rejection::new(
            Why::OutOfPlace,
            format!("`{}` is no work that gives values", place.node()),
            "give them at a step of yours",
        )),
    }
}
