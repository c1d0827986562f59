//! The passes of loops and the items of `forEach` nodes, each with its end: all of them share their drawn nodes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Mark;

/// The most passes of one node that are shown: a list may have thousands of items.
const SHOWN: usize = 60;

/// The last passes of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassStrip {
    /// The number of the first one, from 1.
    pub first: u32,
    /// The passes, in their order.
    pub passes: Vec<PassEnd>,
}

/// A pass, or an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PassEnd {
    /// [`Mark::Here`] while it is under way, or else its end.
    pub state: Mark,
    /// Whether something in it failed, even if it was repeated successfully.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// The passes of a node since the run came to it last.
#[derive(Clone, Debug, Default)]
pub(super) struct Passes(BTreeMap<u32, PassEnd>);

impl Passes {
    /// Begins a pass, by its index.
    pub(super) fn begin(&mut self, index: u32) {
        self.0.insert(index, PassEnd { state: Mark::Here, failed: false });
    }

    /// Ends a pass.
    pub(super) fn end(&mut self, index: u32, state: Mark) {
        self.0.entry(index).and_modify(|pass| pass.state = state);
    }

    /// Records a failure in a pass.
    pub(super) fn fail(&mut self, index: u32) {
        self.0.entry(index).and_modify(|pass| pass.failed = true);
    }

    /// Ends the passes under way as their node is left.
    pub(super) fn close(&mut self, is_failure: bool) {
        for pass in self.0.values_mut().filter(|pass| pass.state == Mark::Here) {
            pass.state = match (is_failure, pass.failed) {
                (false, _) => Mark::Done,
                (true, true) => Mark::Failed,
                (true, false) => Mark::Cancelled,
            };
        }
    }

    /// Returns the last ones. If the node is not under way (`is_open`), nor are they.
    pub(super) fn strip(&self, is_open: bool) -> Option<PassStrip> {
        let all = self.0.len();
        let mut last = self.0.iter().skip(all.saturating_sub(SHOWN)).peekable();
        let first = last.peek().map(|(index, _)| **index + 1)?;
        let ended = |pass: &PassEnd| match pass.state {
            Mark::Here if !is_open => PassEnd { state: Mark::Cancelled, ..*pass },
            _ => *pass,
        };
        Some(PassStrip { first, passes: last.map(|(_, pass)| ended(pass)).collect() })
    }
}
