//! Whether a task stands where its journal and the event log have led it. Its run is kept as its last record left it, for
//! speed; whoever writes that alone would have it in a phase that nothing led to.

use portolan_core::run::Run;

use super::Flow;
use super::log::{fold, logged_up_to};
use crate::error::ServiceError;
use crate::store::{RunId, StoreError, store_error};

/// How many records are read at once.
const PAGE: usize = 500;

impl Flow<'_> {
    /// What is wrong with where the task stands; nothing where it is what its journal comes to and the event log knows no
    /// more of it than the journal does.
    ///
    /// # Errors
    /// The task, the store or the log cannot be read.
    pub async fn strays(&self) -> Result<Option<String>, ServiceError> {
        match self.seen().await? {
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
                // Whoever goes on with it tells that it is not there.
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
        // Somebody may have moved it while its journal was read.
        if stored.seq > after {
            return Ok(None);
        }
        if stored.seq != after || run.as_ref() != Some(&stored.run) {
            return Ok(Some("its journal does not lead to where it stands".to_owned()));
        }
        let logged = logged_up_to(self.service, id, opened)?;
        let is_back = logged > after;
        Ok(is_back.then(|| format!("the event log knows {logged} of its records, and the store has only {after}")))
    }

    /// Refuses to move a task that stands where nothing has led it.
    pub(super) async fn must_not_stray(&self, task: &str, id: &RunId) -> Result<(), ServiceError> {
        match self.strays_of(id).await? {
            None => Ok(()),
            Some(why) => Err(ServiceError::failed(
                "task_damaged",
                format!("the task `{task}` was tampered with: {why}"),
                "a person puts `.portolan/runs.db` back as it was; `portolan flow events` shows how far the task had come",
            )),
        }
    }
}
