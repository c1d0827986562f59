//! The slot of one server in the pool: it starts the server once for all callers, with backoff after failures.
//!
//! After the first failure in a row, the next call starts the server at once. After the second, there is a wait of one
//! second, then of two, four, eight …, up to [`PoolOptions::backoff_max`]. Calls during the wait fail with the last
//! error. A failure is a failed start, or an end before the first answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::client::ClientFeatures;
use super::connection::Connection;
use super::open::open;
use super::subscriptions::Subscriptions;
use super::{CallError, CallErrorKind, Grace, PoolOptions, ServerSetup, seconds};
use crate::logging;

pub(super) struct Slot {
    pub(super) setup: ServerSetup,
    pub(super) options: Arc<PoolOptions>,
    /// The resources to which it is subscribed.
    pub(super) subscriptions: Subscriptions,
    grace: Grace,
    inner: Mutex<Inner>,
}

struct Inner {
    state: State,
    /// The number of failures in a row.
    failures: u32,
    last: Option<CallError>,
    resting_until: Option<Instant>,
    /// What the server is told that it may ask.
    features: ClientFeatures,
}

enum State {
    Idle,
    Starting { start: AbortHandle, outcome: Outcome },
    Up(Arc<Connection>),
    Closed,
}

type Outcome = watch::Receiver<Option<Result<Arc<Connection>, CallError>>>;

impl Slot {
    pub(super) fn new(setup: ServerSetup, options: Arc<PoolOptions>, grace: Grace) -> Arc<Slot> {
        let (features, resting_until) = (ClientFeatures::default(), None);
        let inner = Inner { state: State::Idle, failures: 0, last: None, resting_until, features };
        Arc::new(Slot { setup, options, subscriptions: Subscriptions::default(), grace, inner: Mutex::new(inner) })
    }

    /// Returns another slot for the same server, which is told that it may ask what `features` has.
    pub(super) fn asking(&self, features: ClientFeatures) -> Arc<Slot> {
        let slot = Slot::new(self.setup.clone(), Arc::clone(&self.options), self.grace.clone());
        slot.lock().features = features;
        slot
    }

    /// Returns a connection whose server is told that it may ask what `features` has as well. A server that was told less is
    /// started again, unless calls are under way. Two of it never run at the same time.
    pub(super) async fn connection_with(
        self: &Arc<Self>,
        features: &ClientFeatures,
    ) -> Result<Arc<Connection>, CallError> {
        {
            let mut inner = self.lock();
            let lacks = !inner.features.covers(features);
            if let State::Up(connection) = &inner.state
                && lacks
                && !connection.is_called()
            {
                let former = Arc::clone(connection);
                let all = inner.features.with(features);
                let earlier_features = std::mem::replace(&mut inner.features, all);
                if self.start(&mut inner, Some(former)).is_err() {
                    // It cannot be started again for now, and continues as it is.
                    inner.features = earlier_features;
                }
            }
        }
        self.connection().await
    }

    fn name(&self) -> &str {
        &self.setup.server.name
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection, which is opened if there is none.
    pub(super) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, CallError> {
        let mut outcome = {
            let mut inner = self.lock();
            if let State::Up(connection) = &inner.state {
                match connection.is_gone() {
                    false => return Ok(Arc::clone(connection)),
                    true => self.bury(&mut inner),
                }
            }
            match &inner.state {
                State::Closed => return Err(self.closed()),
                State::Starting { outcome, .. } => outcome.clone(),
                State::Idle | State::Up(_) => self.start(&mut inner, None)?,
            }
        };
        match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(self.closed())),
            Err(_aborted) => Err(self.closed()),
        }
    }

    /// Removes a connection that is gone.
    fn bury(&self, inner: &mut Inner) {
        if let State::Up(connection) = std::mem::replace(&mut inner.state, State::Idle) {
            if connection.has_answered() {
                inner.failures = 0;
                inner.resting_until = None;
            } else {
                let message = format!("server `{}` disconnected before it answered anything", self.name());
                let error =
                    connection.error(CallErrorKind::Start, message, "check its standard error, then fix the server");
                self.failed(inner, error);
            }
        }
    }

    fn failed(&self, inner: &mut Inner, error: CallError) {
        inner.failures = inner.failures.saturating_add(1);
        inner.resting_until = self.rest(inner.failures).map(|rest| Instant::now() + rest);
        inner.last = Some(error);
    }

    fn rest(&self, failures: u32) -> Option<Duration> {
        let doublings = failures.checked_sub(2)?;
        let rest = self.options.backoff_first.saturating_mul(2_u32.saturating_pow(doublings));
        Some(rest.min(self.options.backoff_max))
    }

    /// Starts the server, after the end of a former one.
    fn start(self: &Arc<Self>, inner: &mut Inner, former: Option<Arc<Connection>>) -> Result<Outcome, CallError> {
        if let Some(until) = inner.resting_until
            && let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        {
            return Err(self.resting(inner, left));
        }
        let (tell, outcome) = watch::channel(None);
        let (slot, features) = (Arc::clone(self), inner.features.clone());
        // In its own task: the first caller may give up while others wait.
        let start = tokio::spawn(async move {
            if let Some(former) = former {
                former.close(slot.grace.in_all()).await;
            }
            let began = std::time::Instant::now();
            let opened = open(&slot.setup, &slot.options, &slot.grace, &features).await.map(Arc::new);
            logging::server_started(slot.name(), began, opened.as_ref().err().map(|error| error.code));
            slot.started(&opened);
            let _nobody_waits = tell.send(Some(opened));
        });
        inner.state = State::Starting { start: start.abort_handle(), outcome: outcome.clone() };
        Ok(outcome)
    }

    fn started(&self, opened: &Result<Arc<Connection>, CallError>) {
        let mut inner = self.lock();
        if matches!(inner.state, State::Closed) {
            return;
        }
        match opened {
            Ok(connection) => inner.state = State::Up(Arc::clone(connection)),
            Err(error) => {
                inner.state = State::Idle;
                self.failed(&mut inner, error.clone());
            }
        }
    }

    fn resting(&self, inner: &Inner, left: Duration) -> CallError {
        let last = inner.last.clone();
        let why = last.as_ref().map_or_else(String::new, |last| format!("; last error: {}", last.message));
        let name = self.name();
        let message =
            format!("server `{name}` failed {} times in a row and is not started for now{why}", inner.failures);
        let help = format!("fix it; it will be tried again in {}", seconds(left));
        let stderr = last.map(|last| last.stderr).unwrap_or_default();
        CallError::new(CallErrorKind::Start, name, message, help).with_stderr(stderr)
    }

    pub(super) fn closed(&self) -> CallError {
        let message = format!("server `{}` was not called: the servers are closed", self.name());
        CallError::new(CallErrorKind::Closed, self.name(), message, "start again")
    }

    /// Closes the slot permanently, and returns what remains to be awaited.
    pub(super) fn close(&self) -> FormerContent {
        match std::mem::replace(&mut self.lock().state, State::Closed) {
            State::Idle | State::Closed => FormerContent::Gone,
            State::Starting { start, outcome } => {
                start.abort();
                FormerContent::Start(outcome)
            }
            State::Up(connection) => FormerContent::Connection(connection),
        }
    }
}

/// The former content of a closed slot.
pub(super) enum FormerContent {
    Gone,
    /// A start that was aborted.
    Start(Outcome),
    Connection(Arc<Connection>),
}

impl FormerContent {
    /// Waits until it is gone.
    pub(super) async fn left(self, patience: Duration) {
        match self {
            FormerContent::Gone => {}
            FormerContent::Start(mut outcome) => while outcome.changed().await.is_ok() {},
            FormerContent::Connection(connection) => connection.close(patience).await,
        }
    }
}
