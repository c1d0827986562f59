//! The server: its listeners, its addresses, and its shutdown.

use std::future::IntoFuture;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use portolan_core::run::{Actor, Channel};
use portolan_runtime::people::{Challenges, Passkey, RP_ID};
use portolan_runtime::service::{Caller, Service, ServiceError};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, broadcast, watch};

use super::{Pasts, Studio, routes};

/// The settings of a studio.
pub(crate) struct Opening {
    pub(crate) service: Arc<Service>,
    /// The name of the person who uses it.
    pub(crate) person: String,
    /// The port to listen on, or `None` for any free one.
    pub(crate) port: Option<u16>,
    pub(crate) read_only: bool,
    /// Whether a person enrols a passkey with it. It then does nothing else.
    pub(crate) enrols: bool,
}

/// A studio that listens.
pub(crate) struct Listening {
    studio: Arc<Studio>,
    listeners: Vec<TcpListener>,
    port: u16,
}

/// Listens on the loopback addresses of this machine.
///
/// # Errors
/// The port is taken, the system provides no random bytes, or the process that started this one cannot be determined.
pub(crate) async fn listen(opening: Opening) -> Result<Listening, ServiceError> {
    let Opening { service, person, port, read_only, enrols } = opening;
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await;
    let first = first.map_err(|error| cannot_listen(port, &error))?;
    let port = first.local_addr().map_err(|error| cannot_listen(port, &error))?.port();
    // Browsers resolve `localhost` to either. A machine without IPv6 has only the first.
    let second = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await.ok();
    let told_by = service.people().told_by()?;
    let hosts = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}"));
    let studio = Studio {
        service,
        person: Caller { by: Actor::Person { name: person, via: Channel::Studio }, can_ask: true },
        token: token()?,
        hosts: hosts.to_vec(),
        origin: format!("http://{RP_ID}:{port}"),
        read_only,
        told_by,
        challenges: Challenges::default(),
        enrolled: enrols.then(|| watch::Sender::new(None)),
        tries: super::tries::Tries::default(),
        pasts: Mutex::new(Pasts::default()),
        // A receiver that lags behind misses messages and reads the complete records afterwards.
        live: broadcast::Sender::new(1_024),
        ending: watch::Sender::new(false),
    };
    Ok(Listening { studio: Arc::new(studio), listeners: std::iter::once(first).chain(second).collect(), port })
}

impl Listening {
    /// Returns the page's address, with the token in its fragment, which browsers do not send to servers.
    pub(crate) fn address(&self) -> String {
        match self.studio.enrolled {
            Some(_) => format!("{}#/passkey&token={}", self.base(), self.studio.token),
            None => format!("{}#token={}", self.base(), self.studio.token),
        }
    }

    /// Resolves to the passkey once one is enrolled.
    pub(crate) fn enrolled(&self) -> impl Future<Output = Option<Passkey>> + use<> {
        let waiting = self.studio.enrolled.as_ref().map(watch::Sender::subscribe);
        async move {
            let mut waiting = waiting?;
            waiting.wait_for(Option::is_some).await.ok()?.clone()
        }
    }

    /// Returns the address without the token.
    pub(crate) fn base(&self) -> String {
        format!("http://localhost:{}/", self.port)
    }

    /// Returns the token.
    pub(crate) fn token(&self) -> &str {
        &self.studio.token
    }

    /// Returns why the studio is read-only, or `None` if it is not.
    pub(crate) fn only_shows(&self) -> Option<&str> {
        self.studio.told_by.as_deref().or(self.studio.read_only.then_some("`--read-only` was given"))
    }

    /// Serves until `end` resolves, and then until the pending requests are answered.
    ///
    /// # Errors
    /// The system accepts no more connections.
    pub(crate) async fn serve(self, end: impl Future<Output = ()>) -> io::Result<()> {
        let Listening { studio, listeners, .. } = self;
        let app = routes::router(&studio);
        let mut servers = tokio::task::JoinSet::new();
        for listener in listeners {
            let mut ending = studio.ending.subscribe();
            let ended = async move {
                // The studio outlives its servers.
                let _closed = ending.wait_for(|is_over| *is_over).await;
            };
            servers.spawn(axum::serve(listener, app.clone()).with_graceful_shutdown(ended).into_future());
        }
        end.await;
        studio.ending.send_replace(true);
        while let Some(served) = servers.join_next().await {
            served.map_err(io::Error::other)??;
        }
        Ok(())
    }
}

fn cannot_listen(port: Option<u16>, error: &io::Error) -> ServiceError {
    let which = port.map_or_else(|| "no port".to_owned(), |port| format!("port {port}"));
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => "another program has it".to_owned(),
        _ => error.to_string(),
    };
    let message = format!("{which} can be listened on: {why}");
    let message = if port.is_some() { message.replace("can be", "cannot be") } else { message };
    ServiceError::failed("no_port", message, "name another one with `--port`, or none")
}

/// Creates a token of 256 random bits, in hexadecimal.
fn token() -> Result<String, ServiceError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the system gives no random bytes: {error}");
        ServiceError::failed("no_chance", message, "try again")
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
