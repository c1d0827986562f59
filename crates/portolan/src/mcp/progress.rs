//! Progress of a call: its client is told of every node, and of the checks that a report asks for, but never flooded.
//!
//! Up to [`BURST`] notifications go out as fast as they come, so that nothing of a graph of the usual size is left out.
//! Of a loop of a hundred thousand passes, some [`A_SECOND`] nodes a second are told; the last node always.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_core::present::function_word;
use portolan_runtime::drive::{ExecutionObserver, NodeEnd};
use portolan_runtime::runner::{CheckOutput, Listener};
use portolan_runtime::service::{Act, Caller, Request, Service, ServiceError, View};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// How many notifications may follow each other at once.
const BURST: usize = 100;
/// How many there may be a second in the long run.
const A_SECOND: f64 = 50.0;

/// What is to be told of one call.
pub(super) struct Progress {
    token: ProgressToken,
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
    /// What was not told of yet: nodes that were executed, lines that checks printed.
    nodes: Vec<Node>,
    /// How many of these there were.
    heard: u64,
    over: bool,
}

struct Node {
    count: u64,
    said: String,
}

impl News {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where too many wait already, the newest takes the place of the one before it.
    fn ended(&self, ended: &NodeEnd<'_>) {
        let (id, kind) = (&ended.node.id, function_word(&ended.node.kind));
        let path = ended.path.text();
        let said = if path.is_empty() { format!("{id} ({kind})") } else { format!("{path}/{id} ({kind})") };
        self.add(|_| Node { count: ended.index + 1, said });
    }

    fn heard(&self, heard: &CheckOutput<'_>) {
        let said = match heard.line {
            None => format!("checking: {}", heard.check),
            Some(line) => format!("{}: {line}", heard.check),
        };
        self.add(|state| {
            state.heard += 1;
            Node { count: state.heard, said }
        });
    }

    fn add(&self, node: impl FnOnce(&mut State) -> Node) {
        let mut state = self.state();
        state.nodes.truncate(BURST - 1);
        let node = node(&mut state);
        state.nodes.push(node);
        drop(state);
        self.came.notify_one();
    }

    fn close(&self) {
        self.state().over = true;
        self.came.notify_one();
        self.over.notify_one();
    }

    /// What is to be told now: as many as there is room for, or the newest alone. And whether nothing more will come.
    fn take(&self, room: f64) -> (Vec<Node>, bool) {
        let mut state = self.state();
        let mut nodes = std::mem::take(&mut state.nodes);
        if nodes.len() as f64 > room {
            nodes.drain(..nodes.len() - 1);
        }
        (nodes, state.over)
    }
}

impl Progress {
    /// Nothing when the caller does not want to be told.
    pub(super) fn wanted(context: &RequestContext<RoleServer>) -> Option<Progress> {
        let token = context.meta.get_progress_token()?;
        Some(Progress { token, news: Arc::default() })
    }

    /// The watcher that the run tells.
    pub(super) fn watch(&self) -> ExecutionObserver {
        let news = Arc::clone(&self.news);
        ExecutionObserver::new(|_began| {}, move |ended| news.ended(ended))
    }

    /// Who hears the checks.
    pub(super) fn listener(&self) -> Listener {
        let news = Arc::clone(&self.news);
        Listener::new(move |heard| news.heard(heard))
    }

    /// Tells the client while the run goes on. All that is told has been written before this returns.
    pub(super) async fn told_during<T>(&self, running: impl Future<Output = T>, peer: &Peer<RoleServer>) -> T {
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
            let (nodes, over) = self.news.take(room);
            for Node { count, said } in nodes {
                room -= 1.0;
                let told = ProgressNotificationParam::new(self.token.clone(), count as f64).with_message(said);
                if peer.notify_progress(told).await.is_err() {
                    // The client has gone, and nobody is left to be told.
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

    /// Waits until there is room for one more, or nothing more will come.
    async fn rest(&self) {
        tokio::select! {
            () = sleep(Duration::from_secs_f64(1.0 / A_SECOND)) => {}
            () = self.news.over.notified() => {}
        }
    }
}

/// Does something with a run. The client is told of the checks that follow, where it wants to be.
pub(super) async fn act(
    service: &Service,
    wanted: &Request,
    act: &Act,
    caller: &Caller,
    context: &RequestContext<RoleServer>,
) -> Result<View, ServiceError> {
    heard(context, |listener| async move { service.act_heard(wanted, act, caller, &listener).await }).await
}

/// Does something in which checks run, and tells the client of them where it wants to be told.
pub(super) async fn heard<T, F: Future<Output = T>>(
    context: &RequestContext<RoleServer>,
    running: impl FnOnce(Listener) -> F,
) -> T {
    let Some(progress) = Progress::wanted(context) else { return running(Listener::default()).await };
    progress.told_during(running(progress.listener()), &context.peer).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(count: u64) -> News {
        let news = News::default();
        news.state().nodes = (1..=count).map(|count| Node { count, said: String::new() }).collect();
        news
    }

    fn counts(nodes: &[Node]) -> Vec<u64> {
        nodes.iter().map(|node| node.count).collect()
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
