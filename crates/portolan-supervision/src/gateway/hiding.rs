//! Hides the tools that no open step allows, for clients whose lists may change. A client that does not list again loses
//! nothing: a call of a hidden tool is refused as any other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Map;
use tokio::time::{MissedTickBehavior, interval};

use super::{Gateway, GatewayCall, LOOK, OfferedTool};

/// The names of the hidden tools, as last determined.
#[derive(Default)]
pub(super) struct HiddenTools(Mutex<BTreeSet<String>>);

impl HiddenTools {
    /// Replaces the names. Returns whether they differ.
    fn replace(&self, names: BTreeSet<String>) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *known, names.clone()) != names
    }
}

impl Gateway {
    /// Hides the tools that no open step allows.
    #[must_use]
    pub fn hiding(self) -> Gateway {
        Gateway { hidden: Some(HiddenTools::default()), ..self }
    }

    /// Returns the tools that the steps allow now, sorted by name; or all of them if none are hidden. Guards are not
    /// asked, since they judge arguments.
    pub async fn open(&self) -> Vec<Arc<OfferedTool>> {
        let offered = self.offered();
        let Some(hidden) = &self.hidden else { return offered };
        let (mut open, mut names) = (Vec::new(), BTreeSet::new());
        for tool in offered {
            match self.keeper.step_allows(&self.intent(&listing(&tool))).await {
                true => open.push(tool),
                false => drop(names.insert(tool.name.clone())),
            }
        }
        if hidden.replace(names) {
            self.changes.send_modify(|count| *count += 1);
        }
        open
    }

    /// Announces changes of what is hidden, whoever moves the runs.
    pub(super) async fn follow_runs(self: Arc<Self>) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.open().await;
        }
    }
}

/// Returns a call of a tool for the rules of steps, which do not read arguments.
fn listing(tool: &Arc<OfferedTool>) -> GatewayCall {
    GatewayCall {
        tool: Arc::clone(tool),
        arguments: Map::new(),
        client: String::new(),
        does: None,
        offer: None,
        branch: None,
    }
}
