//! Stores a new run. If its workflow hides anything, the run is sealed, except for what lists show of it.

use std::sync::Arc;

use portolan_core::graph::{Server, Transport, Workflow};
use portolan_core::present::Redaction;
use portolan_core::run::{Opening, Run};

use super::Service;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::logging;
use crate::store::{NewRun, Record, RunId, StoreError, store_error};

impl Service {
    /// Stores a run whose only record is `record`.
    pub(super) async fn create(
        &self,
        definition: &Arc<Definition>,
        run: &Run,
        record: Record,
    ) -> Result<RunId, ServiceError> {
        self.hooks().may_begin(&definition.workflow, run).await?;
        loop {
            let id = RunId::random();
            match self.create_as(&id, definition, run, vec![record.clone()]).await {
                Ok(()) => return Ok(id),
                Err(StoreError::Taken) => {}
                Err(error) => return Err(store_error(error)),
            }
        }
    }

    /// Stores a run under this handle, with all its records.
    pub(super) async fn create_as(
        &self,
        id: &RunId,
        definition: &Arc<Definition>,
        run: &Run,
        records: Vec<Record>,
    ) -> Result<(), StoreError> {
        let new = NewRun {
            id: id.clone(),
            definition: definition.digest.clone(),
            definition_text: definition.text.clone(),
            cover: cover(&definition.workflow, &run.opening),
            run: run.clone(),
            records,
        };
        self.store().create(new).await?;
        logging::opened(Some(id.as_str()), definition.workflow.id());
        self.pinned.remember(definition.clone());
        Ok(())
    }
}

/// Returns the part of an opening that may be stored readable. `None` if the workflow hides nothing.
pub(super) fn cover(workflow: &Workflow, opening: &Opening) -> Option<Opening> {
    let hidden = Redaction::of_workflow(workflow);
    let mut servers = workflow.flows().flat_map(|(_, flow)| &flow.settings.servers);
    if hidden.is_empty() && !servers.any(is_confided_in) {
        return None;
    }
    let hidden = match &opening.input {
        Some(input) => hidden.learning(input),
        None => hidden,
    };
    let description = opening.description.as_deref().map(|text| hidden.text(text));
    Some(Opening { input: None, description, ..opening.clone() })
}

/// Checks whether a server receives a value that it might repeat. The value of a variable is known only when the server
/// starts.
fn is_confided_in(server: &Server) -> bool {
    match &server.transport {
        Transport::Stdio { env, .. } => env.values().any(|text| text.contains("${")),
        Transport::Http { headers, .. } | Transport::Sse { headers, .. } => {
            headers.values().any(|text| text.contains("${"))
        }
        Transport::Builtin(_) => false,
    }
}
