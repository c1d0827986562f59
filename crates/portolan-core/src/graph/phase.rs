//! Phases.

use serde::Serialize;

use crate::value::NodeId;

/// What makes work a phase: it is held until what it claims has been shown. Work whose checks do not hold stays where it
/// is, however often it is claimed; it goes back only where somebody says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Where the work is taken up again when it is reported as failed; nothing where it cannot be.
    pub back: Option<NodeId>,
    /// How many times a run may go back.
    pub cap: u32,
    /// The node at which going back is counted: phases that share one share the cap.
    pub counted_at: NodeId,
}
