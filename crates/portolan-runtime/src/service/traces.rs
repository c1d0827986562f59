//! Traces of the runs that agents are led through: the spans of what an event has ended.

use std::collections::BTreeSet;

use portolan_core::graph::Workflow;
use portolan_core::run::{FramePath, Run};

use super::Service;
use super::hold::{Carrier, HeldRun};
use crate::carrier::Address;
use crate::store::RunId;
use crate::telemetry::{LedRun, Telemetry};

impl Service {
    /// Returns the name of a run's trace. `None` if no trace is collected, if the run is a function, which is traced
    /// while it is driven, or if it has no journal because it is only in its token.
    pub(super) fn trace_name(&self, held: &HeldRun) -> Option<String> {
        self.options.telemetry.as_ref()?;
        if held.definition.workflow.root().interface.is_some() {
            return None;
        }
        match &held.carrier {
            Carrier::Stored(id) => Some(id.to_string()),
            Carrier::Task { file, id, .. } => {
                Some(format!("{}\n{}", file.path().display(), id.as_deref().unwrap_or_default()))
            }
            Carrier::Token { .. } => None,
        }
    }

    /// Sends the spans of the steps that the last event has ended, and of the run if it is over. `before` is the run
    /// before the event. Nothing fails if the journal cannot be read: then the spans are missing.
    pub(super) async fn trace_ended(&self, held: &HeldRun, before: &Run) {
        let (Some(telemetry), Some(name)) = (&self.options.telemetry, self.trace_name(held)) else { return };
        if !has_ended(before, &held.run) || !telemetry.follows(&name) {
            return;
        }
        let address = match &held.carrier {
            Carrier::Stored(id) => Address::Stored(id.clone()),
            Carrier::Task { path, .. } => Address::Task(path.clone()),
            Carrier::Token { .. } => return,
        };
        self.send_ended(telemetry, &held.definition.workflow, &name, &address, held.seq).await;
    }

    /// Sends the span of a run that agents are led through and that ended while it was driven.
    pub(super) async fn trace_driven(&self, id: &RunId, workflow: &Workflow, run: &Run) {
        let Some(telemetry) = &self.options.telemetry else { return };
        if workflow.root().interface.is_some() || !run.is_over() || !telemetry.follows(id.as_str()) {
            return;
        }
        let address = Address::Stored(id.clone());
        self.send_ended(telemetry, workflow, id.as_str(), &address, u64::MAX).await;
    }

    /// Sends what the record `seq` has ended. Another process may have appended further ones, and sends what they end.
    async fn send_ended(&self, telemetry: &Telemetry, workflow: &Workflow, name: &str, address: &Address, seq: u64) {
        let Ok(mut records) = self.records(address).await else { return };
        records.retain(|record| record.seq <= seq);
        let handle = match address {
            Address::Stored(id) => Some(id.as_str()),
            Address::Task(_) | Address::State(_) => None,
        };
        telemetry.send_ended(&LedRun { workflow, name, handle, records: &records });
    }
}

/// Checks whether a run has left a position.
fn has_ended(before: &Run, after: &Run) -> bool {
    let positions = |run: &Run| -> BTreeSet<(FramePath, u64)> {
        run.positions().into_iter().map(|(path, frame)| (path, frame.since)).collect()
    };
    !before.is_over() && !positions(before).is_subset(&positions(after))
}
