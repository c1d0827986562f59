//! The questions that are open, looked at again and again while somebody wants to be told of them: most are asked and
//! answered by other processes.

use std::sync::Arc;
use std::time::Duration;

use portolan_gates::supervisor::Question;
use portolan_runtime::service::{Service, ServiceError};
use portolan_runtime::supervisor::Mark;
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::{MissedTickBehavior, interval};

/// How often it is looked whether anything was put on record.
pub(super) const LOOK: Duration = Duration::from_secs(1);

pub(super) struct Watched {
    service: Arc<Service>,
    seen: Mutex<LastSeen>,
    news: watch::Sender<u64>,
    soon: Notify,
}

/// What somebody saw last.
struct LastSeen {
    mark: Mark,
    /// The questions that were open; nothing before the first look.
    open: Option<Vec<Question>>,
}

impl Watched {
    pub(super) fn new(service: Arc<Service>) -> Watched {
        let mark = service.supervisor().mark();
        let seen = Mutex::new(LastSeen { mark, open: None });
        Watched { service, seen, news: watch::Sender::new(0), soon: Notify::new() }
    }

    /// Changes whenever the open questions are others than they were when somebody looked last. They are looked at for as
    /// long as anybody holds this.
    pub(super) fn updates(&self) -> watch::Receiver<u64> {
        let updates = self.news.subscribe();
        self.look_soon();
        updates
    }

    /// Has them looked at without waiting for the next turn.
    pub(super) fn look_soon(&self) {
        self.soon.notify_one();
    }

    /// The questions that are open now.
    pub(super) async fn open(&self) -> Result<Vec<Question>, ServiceError> {
        self.read(&mut *self.seen.lock().await).await
    }

    /// Whether a question was open when somebody looked last.
    pub(super) async fn was_open(&self, token: &str) -> bool {
        let seen = self.seen.lock().await;
        seen.open.as_ref().is_none_or(|open| open.iter().any(|question| question.token == token))
    }

    /// Looks for as long as the process lives.
    pub(super) async fn look(self: Arc<Self>) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.soon.notified() => {}
            }
            if self.news.receiver_count() > 0 {
                // A log that cannot be read is looked at again; who reads the questions is told why it cannot.
                let _unread = self.look_once().await;
            }
        }
    }

    async fn look_once(&self) -> Result<(), ServiceError> {
        let mut seen = self.seen.lock().await;
        if seen.open.is_none() || seen.mark != self.service.supervisor().mark() {
            self.read(&mut seen).await?;
        }
        Ok(())
    }

    async fn read(&self, seen: &mut LastSeen) -> Result<Vec<Question>, ServiceError> {
        // Taken first: what is put on record while the board is read has another one, and is seen at the next look.
        let mark = self.service.supervisor().mark();
        let open: Vec<Question> = self.service.supervisor().board().await?.open().cloned().collect();
        let is_news = match &seen.open {
            Some(known) => *known != open,
            // What was open before the first look nobody knows: where the log has grown, it may have been others.
            None => seen.mark != mark,
        };
        *seen = LastSeen { mark, open: Some(open.clone()) };
        if is_news {
            self.news.send_modify(|count| *count += 1);
        }
        Ok(open)
    }
}
