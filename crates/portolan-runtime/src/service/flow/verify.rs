//! Checks that a task is where its journal and the event log have led it. The stored snapshot of its run is a cache:
//! writing the snapshot alone would put the task into a phase that no event led to.

use portolan_core::run::Run;

use super::Flow;
use super::log::{fold, logged_up_to};
use crate::error::ServiceError;
use crate::store::{RunId, StoreError, store_error};

/// The number of records read at once.
const PAGE: usize = 500;

impl Flow<'_> {
    /// Returns what is wrong with the position of the task. `None` if it follows from the journal, and the event log
    /// has no records that the journal lacks.
    ///
    /// # Errors
    /// The task, the store or the log cannot be read.
    pub async fn strays(&self) -> Result<Option<String>, ServiceError> {
        match self.active_run().await? {
            Some((active, _)) => self.strays_of(&active.run).await,
            None => Ok(None),
        }
    }

    pub(super) async fn strays_of(&self, id: &RunId) -> Result<Option<String>, ServiceError> {
        let store = self.service.store();
        let mut run: Option<Run> = None;
        let (mut after, mut opened) = (0, None);
        loop {
            let page = match store.records(id, after, PAGE).await {
                // The caller that continues the task reports that the run is missing.
                Err(StoreError::NotFound { .. }) => return Ok(None),
                page => page.map_err(store_error)?,
            };
            let Some(last) = page.last() else { break };
            opened = opened.or_else(|| page.first().map(|first| first.event.at));
            after = last.seq;
            page.iter().for_each(|record| fold(&mut run, record));
        }
        let Some(opened) = opened else { return Ok(None) };
        let stored = store.load(id).await.map_err(store_error)?;
        // Another caller may have moved it while its journal was read.
        if stored.seq > after {
            return Ok(None);
        }
        if stored.seq != after || run.as_ref() != Some(&stored.run) {
            return Ok(Some("its journal does not lead to its current position".to_owned()));
        }
        let logged = logged_up_to(self.service, id, opened)?;
        let is_back = logged > after;
        Ok(is_back.then(|| format!("the event log has {logged} of its records, but the store has only {after}")))
    }

    /// Refuses to move a task whose position does not follow from its journal.
    pub(super) async fn must_not_stray(&self, task: &str, id: &RunId) -> Result<(), ServiceError> {
        match self.strays_of(id).await? {
            None => Ok(()),
            Some(why) => Err(ServiceError::failed(
                "task_damaged",
                format!("the task `{task}` was tampered with: {why}"),
                "ask a person to restore `.portolan/runs.db`; `portolan flow events` shows how far the task had come",
            )),
        }
    }
}
