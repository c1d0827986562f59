//! The sockets of a server, and its end.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::{CONNECTION, RETRY_AFTER};
use axum::http::{HeaderName, StatusCode};
use axum::middleware::from_fn;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use portolan_runtime::service::ServiceError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::{Refusal, unread};

/// How long the head of a request may take to arrive, and how long a connection may be idle before it.
const HEAD_PATIENCE: Duration = Duration::from_secs(75);
/// How long the greeting of an encrypted connection may take.
const GREETING_PATIENCE: Duration = Duration::from_secs(10);
/// The wait after the system accepted no connection because too many are open.
const EXHAUSTED: Duration = Duration::from_secs(1);

/// The most connections that are open at once, unless the user names another number: all streams and requests that a server
/// accepts, with room for idle ones.
pub(crate) const MOST_CONNECTIONS: usize = 5_000;
/// The most connections beyond that which are told so at once, and how long that may take. Others are closed.
const MOST_REFUSALS: usize = 64;
const REFUSAL_PATIENCE: Duration = Duration::from_secs(1);

/// How many free ports are looked at until one is free on each loopback address.
const MAX_PORTS: usize = 100;

/// The sockets that a server listens on, all at one port.
pub(crate) struct Listeners {
    sockets: Vec<TcpListener>,
    port: u16,
    /// Encrypts connections, if they are encrypted here.
    tls: Option<TlsAcceptor>,
    head_patience: Duration,
    /// The most connections that are open at once.
    most_connections: usize,
}

/// What else a server answers, at paths that are none of its own.
pub(crate) struct Beside {
    /// It checks its requests itself.
    pub(crate) router: Router,
    /// Becomes true when the server ends, so that streams end, too.
    pub(crate) ending: watch::Sender<bool>,
}

impl Listeners {
    /// Listens on the loopback addresses of this machine, at `port` or at one that is free on all of them.
    ///
    /// # Errors
    /// The port is taken on one of them.
    pub(crate) async fn on_loopback(port: Option<u16>) -> Result<Listeners, ServiceError> {
        let mut tries = MAX_PORTS;
        loop {
            let mut listeners = Listeners::at((Ipv4Addr::LOCALHOST, port.unwrap_or(0)).into()).await?;
            // Programs resolve `localhost` to either address. Whoever else listened at the other one would be sent what
            // is meant for this server, and could read the token with a page of its own.
            let second = SocketAddr::from((Ipv6Addr::LOCALHOST, listeners.port));
            let error = match TcpListener::bind(second).await {
                Ok(socket) => {
                    listeners.sockets.push(socket);
                    return Ok(listeners);
                }
                Err(error) => error,
            };
            if !has_ipv6().await {
                return Ok(listeners);
            }
            tries -= 1;
            if port.is_some() || error.kind() != io::ErrorKind::AddrInUse || tries == 0 {
                return Err(cannot_listen(second, &error));
            }
        }
    }

    /// Listens on an address. Port 0 is any free one.
    ///
    /// # Errors
    /// The port is taken, or the address is not one of this machine.
    pub(crate) async fn at(address: SocketAddr) -> Result<Listeners, ServiceError> {
        let socket = TcpListener::bind(address).await.map_err(|error| cannot_listen(address, &error))?;
        let port = socket.local_addr().map_err(|error| cannot_listen(address, &error))?.port();
        let (tls, head_patience, most_connections) = (None, HEAD_PATIENCE, MOST_CONNECTIONS);
        Ok(Listeners { sockets: vec![socket], port, tls, head_patience, most_connections })
    }

    /// Encrypts all connections.
    pub(crate) fn encrypted(self, config: Arc<ServerConfig>) -> Listeners {
        Listeners { tls: Some(TlsAcceptor::from(config)), ..self }
    }

    /// Refuses connections beyond a number of open ones.
    pub(crate) fn bounded(self, most_connections: usize) -> Listeners {
        Listeners { most_connections, ..self }
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Serves until `ending` becomes true, and then until the pending requests are answered.
    ///
    /// # Errors
    /// A task of the server failed.
    pub(crate) async fn serve(self, app: Router, ending: watch::Receiver<bool>) -> io::Result<()> {
        let app = app.layer(from_fn(unread::answered));
        let connections = Arc::new(GracefulShutdown::new());
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.head_patience);
        let (places, refusals) =
            (Arc::new(Semaphore::new(self.most_connections)), Arc::new(Semaphore::new(MOST_REFUSALS)));
        let full = full(self.most_connections);
        let mut accepting = JoinSet::new();
        for socket in self.sockets {
            let mut ending = ending.clone();
            let connections = Arc::clone(&connections);
            let serving =
                ConnectionContext { app: app.clone(), http: http.clone(), connections, tls: self.tls.clone() };
            let (places, refusals, full) = (Arc::clone(&places), Arc::clone(&refusals), full.clone());
            let bounds = ConnectionBounds { places, refusals, full };
            accepting.spawn(async move {
                // Without a sender no end is announced: serve until the task is dropped.
                let ended = async {
                    if ending.wait_for(|is_over| *is_over).await.is_err() {
                        std::future::pending::<()>().await;
                    }
                };
                tokio::select! {
                    () = ended => {}
                    () = accept(&socket, serving, bounds) => {}
                }
            });
        }
        while let Some(accepted) = accepting.join_next().await {
            accepted.map_err(io::Error::other)?;
        }
        // The tasks that shared it have ended.
        if let Some(connections) = Arc::into_inner(connections) {
            connections.shutdown().await;
        }
        Ok(())
    }
}

/// What the connections of a socket need.
#[derive(Clone)]
struct ConnectionContext {
    app: Router,
    http: http1::Builder,
    connections: Arc<GracefulShutdown>,
    tls: Option<TlsAcceptor>,
}

/// How many connections are served, and how many are refused at once.
struct ConnectionBounds {
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    /// What answers on a connection that is refused.
    full: Router,
}

/// Serves each connection in a task of its own, for ever.
async fn accept(socket: &TcpListener, serving: ConnectionContext, bounds: ConnectionBounds) {
    loop {
        match socket.accept().await {
            Ok((stream, _address)) => match Arc::clone(&bounds.places).try_acquire_owned() {
                Ok(place) => greet(stream, &serving, place),
                Err(_none_is_free) => refuse(stream, &serving, &bounds),
            },
            // A client that left before it was accepted is nothing to wait for.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) => {
            }
            Err(_exhausted) => sleep(EXHAUSTED).await,
        }
    }
}

fn greet(stream: TcpStream, serving: &ConnectionContext, place: OwnedSemaphorePermit) {
    // Answers are small, and are not held back for more of them. Without this option they are only slower.
    let _slower = stream.set_nodelay(true);
    let Some(tls) = serving.tls.clone() else { return serve_connection(stream, serving, place) };
    // A greeting that is pending does not delay the end of the server, which waits for requests alone.
    let connections = Arc::downgrade(&serving.connections);
    let (app, http) = (serving.app.clone(), serving.http.clone());
    tokio::spawn(async move {
        let Ok(Ok(stream)) = timeout(GREETING_PATIENCE, tls.accept(stream)).await else { return };
        let Some(connections) = connections.upgrade() else { return };
        serve_connection(stream, &ConnectionContext { app, http, connections, tls: None }, place);
    });
}

fn serve_connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    serving: &ConnectionContext,
    place: OwnedSemaphorePermit,
) {
    let app = TowerToHyperService::new(serving.app.clone());
    let connection = serving.http.serve_connection(TokioIo::new(stream), app);
    let watched = serving.connections.watch(connection);
    tokio::spawn(async move {
        // A connection that ends with an error has no one to report it to.
        let _ended = watched.await;
        drop(place);
    });
}

/// Answers the first request of a connection that there are too many of, and closes it.
fn refuse(stream: TcpStream, serving: &ConnectionContext, bounds: &ConnectionBounds) {
    // Without a place for its refusal, it is closed without an answer.
    let Ok(place) = Arc::clone(&bounds.refusals).try_acquire_owned() else { return };
    let (tls, full) = (serving.tls.clone(), bounds.full.clone());
    tokio::spawn(async move {
        let refused = async {
            match tls {
                None => refuse_on(stream, full).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        refuse_on(stream, full).await;
                    }
                }
            }
        };
        let _late = timeout(REFUSAL_PATIENCE, refused).await;
        drop(place);
    });
}

async fn refuse_on<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S, full: Router) {
    let mut http = http1::Builder::new();
    http.keep_alive(false);
    let _ended = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(full)).await;
}

/// Returns what answers on connections beyond the number that is served.
fn full(most_connections: usize) -> Router {
    let headers: [(HeaderName, &str); 2] = [(RETRY_AFTER, "1"), (CONNECTION, "close")];
    Router::new().fallback(move || async move {
        let message = format!("{most_connections} connections are open");
        (headers, Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message, "try again in a second"))
    })
}

/// Returns whether this machine has a loopback address of IPv6.
async fn has_ipv6() -> bool {
    TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, 0))).await.is_ok()
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> ServiceError {
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => "another program uses it".to_owned(),
        io::ErrorKind::AddrNotAvailable => "it is not an address of this machine".to_owned(),
        _ => error.to_string(),
    };
    let (message, help) = match (address.port(), address.ip().is_loopback()) {
        (0, true) => (format!("cannot listen on any port: {why}"), "name another port, or none"),
        (port, true) => (format!("cannot listen on port {port}: {why}"), "name another port, or none"),
        (_, false) => (format!("cannot listen on `{address}`: {why}"), "name another address or port"),
    };
    ServiceError::failed("no_port", message, help)
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_port_that_another_program_has_on_one_loopback_address_is_not_used() {
        if !has_ipv6().await {
            assert_eq!(Listeners::on_loopback(None).await.expect("a port").sockets.len(), 1);
            return;
        }
        let other = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.expect("a port");
        let port = other.local_addr().expect("an address").port();
        let error = Listeners::on_loopback(Some(port)).await.map(|_| ()).expect_err("the port is taken");
        assert_eq!(error.message, format!("cannot listen on port {port}: another program uses it"));
        // Each port that the system gives is free on both.
        let listeners = Listeners::on_loopback(None).await.expect("a port");
        assert_eq!(listeners.sockets.len(), 2);
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_ends_its_connection_and_no_other() {
        let listeners = Listeners::on_loopback(None).await.expect("a port");
        let listeners = Listeners { head_patience: Duration::from_millis(50), ..listeners };
        let address = (Ipv4Addr::LOCALHOST, listeners.port());
        let (end, ending) = watch::channel(false);
        let serving = tokio::spawn(listeners.serve(Router::new().route("/", get(|| async { "here" })), ending));
        let mut slow = TcpStream::connect(address).await.expect("connected");
        slow.write_all(b"GET / HTTP/1.1\r\nHost: ").await.expect("sent");
        let mut quick = TcpStream::connect(address).await.expect("connected");
        quick.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.expect("sent");
        let mut answer = String::new();
        quick.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("here"), "{answer}");
        let mut rest = Vec::new();
        slow.read_to_end(&mut rest).await.expect("closed");
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "it asked for nothing");
        end.send_replace(true);
        serving.await.expect("it ends").expect("without an error");
    }

    #[tokio::test]
    async fn connections_beyond_the_bound_are_refused_and_the_others_continue() {
        let listeners = Listeners::on_loopback(None).await.expect("a port").bounded(2);
        let address = (Ipv4Addr::LOCALHOST, listeners.port());
        let (end, ending) = watch::channel(false);
        let serving = tokio::spawn(listeners.serve(Router::new().route("/", get(|| async { "here" })), ending));
        let answer = async |stream: &mut TcpStream| {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("sent");
            let mut bytes = vec![0; 1024];
            let length = stream.read(&mut bytes).await.expect("an answer");
            String::from_utf8_lossy(&bytes[..length]).into_owned()
        };
        let mut open = Vec::new();
        for _connection in 0..2 {
            let mut stream = TcpStream::connect(address).await.expect("connected");
            assert!(answer(&mut stream).await.starts_with("HTTP/1.1 200 OK\r\n"));
            open.push(stream);
        }
        for _connection in 0..10 {
            let mut beyond = TcpStream::connect(address).await.expect("connected");
            let refused = answer(&mut beyond).await;
            assert!(refused.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{refused}");
            assert!(refused.contains("retry-after: 1\r\n") && refused.contains("2 connections are open"), "{refused}");
            let mut rest = Vec::new();
            assert_eq!(beyond.read_to_end(&mut rest).await.expect("closed"), 0);
        }
        for stream in &mut open {
            assert!(answer(stream).await.starts_with("HTTP/1.1 200 OK\r\n"), "it is served as before");
        }
        open.pop();
        // The place is free as soon as the server has noticed the end of that connection.
        loop {
            let mut stream = TcpStream::connect(address).await.expect("connected");
            if answer(&mut stream).await.starts_with("HTTP/1.1 200 OK\r\n") {
                break;
            }
        }
        drop(open);
        end.send_replace(true);
        serving.await.expect("it ends").expect("without an error");
    }
}
