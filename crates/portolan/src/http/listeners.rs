//! The sockets of a server, and its end.

use std::future::IntoFuture;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::Router;
use portolan_runtime::service::ServiceError;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The sockets that a server listens on: one port of the loopback addresses.
pub(crate) struct Listeners {
    sockets: Vec<TcpListener>,
    port: u16,
}

impl Listeners {
    /// Listens on the loopback addresses of this machine, at `port` or any free one.
    ///
    /// # Errors
    /// The port is taken.
    pub(crate) async fn on_loopback(port: Option<u16>) -> Result<Listeners, ServiceError> {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await;
        let first = first.map_err(|error| cannot_listen(port, &error))?;
        let port = first.local_addr().map_err(|error| cannot_listen(port, &error))?.port();
        // Programs resolve `localhost` to either. A machine without IPv6 has only the first.
        let second = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await.ok();
        Ok(Listeners { sockets: std::iter::once(first).chain(second).collect(), port })
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Serves until `ending` becomes true, and then until the pending requests are answered.
    ///
    /// # Errors
    /// The system accepts no more connections.
    pub(crate) async fn serve(self, app: Router, ending: watch::Receiver<bool>) -> io::Result<()> {
        let mut servers = JoinSet::new();
        for socket in self.sockets {
            let mut ending = ending.clone();
            let ended = async move {
                // Without a sender no end is announced: serve until the task is dropped.
                if ending.wait_for(|is_over| *is_over).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            servers.spawn(axum::serve(socket, app.clone()).with_graceful_shutdown(ended).into_future());
        }
        while let Some(served) = servers.join_next().await {
            served.map_err(io::Error::other)??;
        }
        Ok(())
    }
}

fn cannot_listen(port: Option<u16>, error: &io::Error) -> ServiceError {
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => "another program uses it".to_owned(),
        _ => error.to_string(),
    };
    let message = match port {
        Some(port) => format!("cannot listen on port {port}: {why}"),
        None => format!("cannot listen on any port: {why}"),
    };
    ServiceError::failed("no_port", message, "name another port, or none")
}
