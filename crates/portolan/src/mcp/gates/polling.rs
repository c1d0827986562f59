//! The open questions, polled while there are receivers, since other processes ask and answer most of them.

use std::sync::Arc;
use std::time::Duration;

use portolan_gates::supervisor::Question;
use portolan_runtime::service::{Service, ServiceError};
use portolan_supervision::supervisor::{Mark, Supervisor};
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::{MissedTickBehavior, interval};

/// How often to check for new records.
pub(super) const LOOK: Duration = Duration::from_secs(1);

pub(super) struct QuestionWatch {
    service: Arc<Service>,
    last: Mutex<LastSeen>,
    news: watch::Sender<u64>,
    soon: Notify,
}

/// The state at the last check.
struct LastSeen {
    mark: Mark,
    /// The questions that were open. `None` before the first check.
    open: Option<Vec<Question>>,
}

impl QuestionWatch {
    pub(super) fn new(service: Arc<Service>) -> QuestionWatch {
        let mark = Supervisor::of(&service).mark();
        let last = Mutex::new(LastSeen { mark, open: None });
        QuestionWatch { service, last, news: watch::Sender::new(0), soon: Notify::new() }
    }

    /// Returns a receiver that changes when the open questions differ from those of the last check. They are polled
    /// while a receiver exists.
    pub(super) fn updates(&self) -> watch::Receiver<u64> {
        let updates = self.news.subscribe();
        self.look_soon();
        updates
    }

    /// Requests a check without waiting for the next tick.
    pub(super) fn look_soon(&self) {
        self.soon.notify_one();
    }

    /// Returns the questions that are open now.
    pub(super) async fn open(&self) -> Result<Vec<Question>, ServiceError> {
        self.read(&mut *self.last.lock().await).await
    }

    /// Returns whether a question was open at the last check.
    pub(super) async fn was_open(&self, token: &str) -> bool {
        let last = self.last.lock().await;
        last.open.as_ref().is_none_or(|open| open.iter().any(|question| question.token == token))
    }

    /// Polls until the process ends.
    pub(super) async fn look(self: Arc<Self>) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.soon.notified() => {}
            }
            if self.news.receiver_count() > 0 {
                // An unreadable log is read again at the next tick. A reader of the questions receives the error.
                let _unread = self.look_once().await;
            }
        }
    }

    async fn look_once(&self) -> Result<(), ServiceError> {
        let mut last = self.last.lock().await;
        if last.open.is_none() || last.mark != Supervisor::of(&self.service).mark() {
            self.read(&mut last).await?;
        }
        Ok(())
    }

    async fn read(&self, last: &mut LastSeen) -> Result<Vec<Question>, ServiceError> {
        // Taken before the board is read: a record written meanwhile changes the mark, and is detected by the next
        // check.
        let mark = Supervisor::of(&self.service).mark();
        let open: Vec<Question> = self.service.supervisor_log().board().await?.open().cloned().collect();
        let is_news = match &last.open {
            Some(known) => *known != open,
            // The questions before the first check are unknown, and may have been others if the log has grown.
            None => last.mark != mark,
        };
        *last = LastSeen { mark, open: Some(open.clone()) };
        if is_news {
            self.news.send_modify(|count| *count += 1);
        }
        Ok(open)
    }
}
