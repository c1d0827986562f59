//! A studio's own server, with its listeners, its addresses and its shutdown; and the studio beside another server.

use std::io;
use std::sync::Arc;

use portolan_core::run::{Actor, Channel};
use portolan_runtime::service::{Caller, Service, ServiceError};
use portolan_supervision::people::{Challenges, Passkey, People, RP_ID};
use tokio::sync::{Mutex, broadcast, watch};

use super::{Pasts, Studio, routes};
use crate::http::{Access, Beside, Holders, Listeners, random_token};

/// The settings of a studio.
pub(crate) struct StudioSettings {
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
pub(crate) struct StudioServer {
    studio: Arc<Studio>,
    listeners: Listeners,
}

/// Listens on the loopback addresses of this machine.
///
/// # Errors
/// The port is taken, the system provides no random bytes, or the process that started this one cannot be determined.
pub(crate) async fn listen(opening: StudioSettings) -> Result<StudioServer, ServiceError> {
    let listeners = Listeners::on_loopback(opening.port).await?;
    let studio = Studio::new(opening, "http", listeners.port())?;
    Ok(StudioServer { studio: Arc::new(studio), listeners })
}

/// Returns the page for another server of this machine to serve at `port`, and the page's address.
///
/// # Errors
/// As those of [`listen`].
pub(crate) fn beside(opening: StudioSettings, scheme: &str, port: u16) -> Result<(Beside, String), ServiceError> {
    let studio = Arc::new(Studio::new(opening, scheme, port)?);
    let address = format!("{}/#token={}", studio.origin, studio.token());
    Ok((Beside { router: routes::router(&studio), ending: studio.ending.clone() }, address))
}

impl Studio {
    fn new(opening: StudioSettings, scheme: &str, port: u16) -> Result<Studio, ServiceError> {
        let StudioSettings { service, person, read_only, enrols, .. } = opening;
        let told_by = People::of(&service).agent_sign()?;
        Ok(Studio {
            service,
            person: Caller { by: Actor::Person { name: person, via: Channel::Studio }, can_ask: true },
            access: Access::new(scheme, port, Holders::Shared(random_token()?)),
            origin: format!("{scheme}://{RP_ID}:{port}"),
            read_only,
            told_by,
            challenges: Challenges::default(),
            enrolled: enrols.then(|| watch::Sender::new(None)),
            tries: super::tries::Tries::default(),
            pasts: Mutex::new(Pasts::default()),
            // A receiver that lags behind misses messages and reads the complete records afterwards.
            live: broadcast::Sender::new(1_024),
            ending: watch::Sender::new(false),
        })
    }

    fn token(&self) -> &str {
        self.access.bearer().expect("a studio has a token")
    }
}

impl StudioServer {
    /// Returns the page's address, with the token in its fragment, which browsers do not send to servers.
    pub(crate) fn address(&self) -> String {
        match self.studio.enrolled {
            Some(_) => format!("{}#/passkey&token={}", self.base(), self.token()),
            None => format!("{}#token={}", self.base(), self.token()),
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
        format!("http://localhost:{}/", self.listeners.port())
    }

    /// Returns the token.
    pub(crate) fn token(&self) -> &str {
        self.studio.token()
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
        let StudioServer { studio, listeners, .. } = self;
        let serving = listeners.serve(routes::router(&studio), studio.ending.subscribe());
        let ended = async {
            end.await;
            studio.ending.send_replace(true);
        };
        tokio::join!(serving, ended).0
    }
}
