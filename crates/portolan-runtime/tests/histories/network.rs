//! A network between the callers and the server: its connections can be cut, it can be slow, and it can lead to another
//! server.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

#[derive(Clone, Default)]
pub(crate) struct Network(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The host and the port where new connections lead.
    server: String,
    /// The time that each direction takes.
    delay: Duration,
    /// The open connections, of both sides.
    open: Vec<TcpStream>,
}

/// Splits the address of a database into its user, its server, and the rest.
fn parts(address: &str) -> (&str, &str, &str) {
    let (user, place) = address.split_once('@').expect("an address names its user");
    let (server, rest) = place.split_once('/').expect("an address names its database");
    (user, server, rest)
}

impl Network {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics")
    }

    /// Returns the address of the same database through this network.
    pub(crate) fn address(&self, address: &str) -> String {
        let (user, server, rest) = parts(address);
        format!("{user}@{}/{rest}", self.before(server))
    }

    /// Returns the address at which this network leads to a server.
    pub(crate) fn before(&self, server: &str) -> SocketAddr {
        server.clone_into(&mut self.state().server);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it listens");
        let network = self.clone();
        thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                let server = network.state().server.clone();
                // While the server is down, callers are cut off.
                if let Ok(server) = TcpStream::connect(server) {
                    network.carry(&caller, &server);
                }
            }
        });
        address
    }

    /// From now on, new connections lead to the server of this database.
    pub(crate) fn leads_to(&self, address: &str) {
        parts(address).1.clone_into(&mut self.state().server);
    }

    /// From now on, each direction takes this time.
    pub(crate) fn delays(&self, delay: Duration) {
        self.state().delay = delay;
    }

    fn carry(&self, caller: &TcpStream, server: &TcpStream) {
        let again = |stream: &TcpStream| stream.try_clone().expect("it is open");
        self.state().open.extend([again(caller), again(server)]);
        for (from, to) in [(caller, server), (server, caller)] {
            let (network, from, to) = (self.clone(), again(from), again(to));
            thread::spawn(move || {
                let _cut = network.copy(&from, &to);
                let _gone = to.shutdown(Shutdown::Both);
            });
        }
    }

    /// Carries what is sent in one direction until the connection ends.
    fn copy(&self, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
        let mut bytes = vec![0; 1 << 16];
        loop {
            let read = from.read(&mut bytes)?;
            if read == 0 {
                return Ok(());
            }
            let delay = self.state().delay;
            if !delay.is_zero() {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the delay is the fault itself; nothing waits for its end"
                )]
                thread::sleep(delay);
            }
            to.write_all(&bytes[..read])?;
        }
    }

    /// Cuts every connection, whatever is under way in it.
    pub(crate) fn cut(&self) {
        for stream in self.state().open.drain(..) {
            let _gone = stream.shutdown(Shutdown::Both);
        }
    }
}
