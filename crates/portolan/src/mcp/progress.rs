//! Notifications during a call: the progress of every node, of the checks of a report, and of other servers, whose log
//! messages are among them. They are limited in rate.
//!
//! Up to [`BURST`] notifications are sent without delay, so that a graph of the usual size is reported completely. Of a
//! loop with a hundred thousand passes, about [`A_SECOND`] nodes a second are reported, and always the last one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_core::diagnostic::clip;
use portolan_core::present::function_word;
use portolan_runtime::drive::{ExecutionObserver, NodeEnd};
use portolan_runtime::runner::{CheckOutput, Listener};
use portolan_runtime::servers::{LogMessage, OnLog, OnProgress, Progress as Reported};
use portolan_runtime::service::{Act, Caller, Request, Service, ServiceError, View};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::long_calls::LastNews;

/// The most notifications in a burst.
const BURST: usize = 100;
/// The most notifications per second in the long run.
const A_SECOND: f64 = 50.0;

/// The progress of one call.
#[derive(Clone)]
pub(super) struct Progress {
    /// `None` if the caller wants no progress, but log messages.
    token: Option<ProgressToken>,
    /// The call, if it may become a task: notifications end with that.
    call: Option<Arc<LastNews>>,
    news: Arc<News>,
}

#[derive(Default)]
struct News {
    state: Mutex<State>,
    came: Notify,
    over: Notify,
}

#[derive(Default)]
struct State {
    /// The unsent notifications.
    notices: Vec<Notice>,
    /// How many lines of output there were.
    lines: u64,
    over: bool,
}

enum Notice {
    /// A node that was executed, or a line that a check printed.
    Step {
        count: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    Log(Box<LogMessage>),
}

impl News {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node that has ended.
    fn ended(&self, ended: &NodeEnd<'_>) {
        let (id, kind) = (&ended.node.id, function_word(&ended.node.kind));
        let path = ended.path.text();
        let message = if path.is_empty() { format!("{id} ({kind})") } else { format!("{path}/{id} ({kind})") };
        self.add(|_| Notice::Step { count: (ended.index + 1) as f64, total: None, message: Some(message) });
    }

    fn add_check_output(&self, output: &CheckOutput<'_>) {
        let message = match output.line {
            None => format!("checking: {}", output.check),
            Some(line) => format!("{}: {line}", output.check),
        };
        self.add(|state| {
            state.lines += 1;
            Notice::Step { count: state.lines as f64, total: None, message: Some(message) }
        });
    }

    /// Adds a notification. If too many are waiting, the newest replaces the one before it.
    fn add(&self, notice: impl FnOnce(&mut State) -> Notice) {
        let mut state = self.state();
        state.notices.truncate(BURST - 1);
        let notice = notice(&mut state);
        state.notices.push(notice);
        drop(state);
        self.came.notify_one();
    }

    fn close(&self) {
        self.state().over = true;
        self.came.notify_one();
        self.over.notify_one();
    }

    /// Takes the notifications to send now: all if there is room, or else the newest. Also returns whether it is the
    /// end.
    fn take(&self, room: f64) -> (Vec<Notice>, bool) {
        let mut state = self.state();
        let mut notices = std::mem::take(&mut state.notices);
        if notices.len() as f64 > room {
            notices.drain(..notices.len() - 1);
        }
        (notices, state.over)
    }
}

impl Progress {
    /// Returns `None` if the caller has not asked for progress.
    pub(super) fn wanted(context: &RequestContext<RoleServer>) -> Option<Progress> {
        context.meta.get_progress_token().map(|_| Progress::of_call(context))
    }

    /// Returns the notifications of a call that may have others than progress.
    pub(super) fn of_call(context: &RequestContext<RoleServer>) -> Progress {
        Progress { token: context.meta.get_progress_token(), call: call(context).cloned(), news: Arc::default() }
    }

    /// Returns whether a call may become a task, which tells its progress by its status.
    pub(super) fn may_be_of_task(context: &RequestContext<RoleServer>) -> bool {
        call(context).is_some()
    }

    /// Returns the notifications of a call that another request continues.
    pub(super) fn continued(&self, context: &RequestContext<RoleServer>) -> Progress {
        self.news.state().over = false;
        Progress { news: Arc::clone(&self.news), ..Progress::of_call(context) }
    }

    /// Returns the observer of the run.
    pub(super) fn watch(&self) -> ExecutionObserver {
        let news = Arc::clone(&self.news);
        ExecutionObserver::new(|_began| {}, move |ended| news.ended(ended))
    }

    /// Returns the listener of the checks.
    pub(super) fn listener(&self) -> Listener {
        let news = Arc::clone(&self.news);
        Listener::new(move |output| news.add_check_output(output))
    }

    /// Returns the listener of a server's request, whose progress is passed on as the server reports it.
    pub(super) fn of_server(&self) -> OnProgress {
        let (news, call) = (Arc::clone(&self.news), self.call.clone());
        Arc::new(move |Reported { progress, total, message }| {
            if let (Some(call), Some(message)) = (&call, &message) {
                call.set(clip(message));
            }
            news.add(|_| Notice::Step { count: progress, total, message });
        })
    }

    /// Returns the listener of the log messages of a server, whose name is put before their loggers.
    pub(super) fn log_of_server(&self, server: &str) -> OnLog {
        let (news, server) = (Arc::clone(&self.news), server.to_owned());
        Arc::new(move |mut message: LogMessage| {
            let logger = message.logger.take();
            message.logger = Some(logger.map_or_else(|| server.clone(), |logger| format!("{server}/{logger}")));
            news.add(|_| Notice::Log(Box::new(message)));
        })
    }

    /// Notifies the client during the run. All notifications are written before this returns.
    pub(super) async fn notify_during<T>(&self, running: impl Future<Output = T>, peer: &Peer<RoleServer>) -> T {
        let run = async {
            let finished = running.await;
            self.news.close();
            finished
        };
        tokio::join!(run, self.tell(peer)).0
    }

    async fn tell(&self, peer: &Peer<RoleServer>) {
        let mut room = BURST as f64;
        let mut counted = Instant::now();
        loop {
            let now = Instant::now();
            room = (room + now.duration_since(counted).as_secs_f64() * A_SECOND).min(BURST as f64);
            counted = now;
            let (notices, over) = self.news.take(room);
            if self.call.as_ref().is_some_and(|call| call.is_of_task()) {
                return;
            }
            for notice in notices {
                room -= 1.0;
                if !self.notify(notice, peer).await {
                    // The client has gone.
                    return;
                }
            }
            match over {
                true => return,
                false if room < 1.0 => self.rest().await,
                false => self.news.came.notified().await,
            }
        }
    }

    /// Sends a notification. Returns `false` if it cannot be sent.
    async fn notify(&self, notice: Notice, peer: &Peer<RoleServer>) -> bool {
        match (notice, &self.token) {
            (Notice::Step { .. }, None) => true,
            (Notice::Step { count, total, message }, Some(token)) => {
                let mut notification = ProgressNotificationParam::new(token.clone(), count);
                (notification.total, notification.message) = (total, message);
                peer.notify_progress(notification).await.is_ok()
            }
            (Notice::Log(message), _) => notify_log(*message, peer).await,
        }
    }

    /// Waits until there is room for another notification, or the run is over.
    async fn rest(&self) {
        tokio::select! {
            () = sleep(Duration::from_secs_f64(1.0 / A_SECOND)) => {}
            () = self.news.over.notified() => {}
        }
    }
}

#[expect(deprecated, reason = "clients of earlier revisions ask for it")]
async fn notify_log(message: LogMessage, peer: &Peer<RoleServer>) -> bool {
    let level = serde_json::to_value(message.level).and_then(serde_json::from_value);
    let mut notification =
        rmcp::model::LoggingMessageNotificationParam::new(level.expect("both have the same names"), message.data);
    notification.logger = message.logger;
    peer.notify_logging_message(notification).await.is_ok()
}

/// Performs an action on a run. Notifies the client of the resulting checks if it has asked for progress.
pub(super) async fn act(
    service: &Service,
    wanted: &Request,
    act: &Act,
    caller: &Caller,
    context: &RequestContext<RoleServer>,
) -> Result<View, ServiceError> {
    run_with_progress(
        context,
        |listener| async move { service.act_with_listener(wanted, act, caller, &listener).await },
    )
    .await
}

/// Runs something that performs checks, and notifies the client if it has asked for progress.
pub(super) async fn run_with_progress<T, F: Future<Output = T>>(
    context: &RequestContext<RoleServer>,
    running: impl FnOnce(Listener) -> F,
) -> T {
    let of_task = call(context).map(LastNews::listener).unwrap_or_default();
    // Boxed: it is in the state of every call, which is moved several times before it is first polled.
    let Some(progress) = Progress::wanted(context) else { return Box::pin(running(of_task)).await };
    progress.notify_during(Box::pin(running(progress.listener().and(of_task))), &context.peer).await
}

/// Returns the news of a call that may become a task.
fn call(context: &RequestContext<RoleServer>) -> Option<&Arc<LastNews>> {
    context.extensions.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(count: u64) -> News {
        let news = News::default();
        let step = |count| Notice::Step { count: count as f64, total: None, message: None };
        news.state().notices = (1..=count).map(step).collect();
        news
    }

    fn counts(notices: &[Notice]) -> Vec<u64> {
        let count = |notice: &Notice| match notice {
            Notice::Step { count, .. } => *count as u64,
            Notice::Log(_) => 0,
        };
        notices.iter().map(count).collect()
    }

    #[test]
    fn what_there_is_room_for_is_told_and_of_more_the_newest() {
        let news = news(3);
        assert_eq!(counts(&news.take(3.0).0), [1, 2, 3]);
        assert_eq!(counts(&news.take(3.0).0), [0; 0]);
        assert_eq!(counts(&self::news(3).take(2.9).0), [3]);
        assert_eq!(counts(&self::news(3).take(0.0).0), [3], "the last one is told whether there is room or not");
    }
}
