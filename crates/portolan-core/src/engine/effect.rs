//! What is to happen next, as data. Some effects are performed by runners; the others are presented.

use crate::graph::{CheckBy, Workflow};
use crate::run::{EffectId, FramePath, Place, Run};
use crate::value::NodeId;

/// Something to perform or to present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The agent is told what to do.
    Instruct {
        /// At which position.
        frame: FramePath,
        /// The node.
        node: NodeId,
    },
    /// A person is asked.
    Ask {
        /// At which position.
        frame: FramePath,
        /// The node.
        node: NodeId,
    },
    /// Something is found out.
    Perform(Work),
}

/// Work for a runner, with everything it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Under which it is settled, once, however often it is performed.
    pub id: EffectId,
    /// What to find out.
    pub check: CheckBy,
    /// What to do when a crash leaves it unknown whether it was performed.
    pub after_crash: AfterCrash,
}

/// What to do when a crash leaves it unknown whether an effect was performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCrash {
    /// Perform it again: finding something out twice does no harm.
    Repeat,
    /// Ask a person: it may have done something in the world.
    Ask,
}

impl Run {
    /// The effects to perform or present, in order of the definition.
    pub fn pending(&self, workflow: &Workflow) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (path, frame) in self.positions() {
            match &frame.place {
                Place::Ready { node } => effects.push(Effect::Instruct { frame: path, node: node.clone() }),
                Place::Waiting { node, .. } => effects.push(Effect::Ask { frame: path, node: node.clone() }),
                Place::Checking { node, settled, .. } => {
                    let checks = &workflow.flow(&frame.flow).step(node).node.accept;
                    let open = checks.iter().filter(|check| !settled.iter().any(|(id, _)| *id == check.id));
                    effects.extend(open.map(|check| {
                        let id = EffectId {
                            frame: path.clone(),
                            node: node.clone(),
                            since: frame.since,
                            check: check.id.clone(),
                        };
                        Effect::Perform(Work { id, check: check.by.clone(), after_crash: AfterCrash::Repeat })
                    }));
                }
                Place::Forked { .. }
                | Place::Gathering { .. }
                | Place::Within { .. }
                | Place::Arrived { .. }
                | Place::Ended { .. } => {}
            }
        }
        effects
    }
}
