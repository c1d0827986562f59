//! Phases.

use serde::Serialize;

use crate::value::NodeId;

/// The settings that make work a phase. Work whose checks do not hold stays at its node, however often it is claimed.
/// It goes back only if it is reported as failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// The node at which failed work starts again; `None` if there is none.
    pub back: Option<NodeId>,
    /// The maximum number of times that a run may go back.
    pub cap: u32,
    /// The node at which going back is counted. Phases with the same node share the cap.
    pub counted_at: NodeId,
}
