//! A network between the callers and the server, whose connections can be cut.

use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The open connections, of both sides.
#[derive(Clone, Default)]
pub(crate) struct Network(Arc<Mutex<Vec<TcpStream>>>);

impl Network {
    /// Returns the address of the same database through this network.
    pub(crate) fn address(&self, address: &str) -> String {
        let (user, place) = address.split_once('@').expect("an address names its user");
        let (server, rest) = place.split_once('/').expect("an address names its database");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it listens").port();
        let (network, server) = (self.clone(), server.to_owned());
        thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                // While the server is down, callers are cut off.
                if let Ok(server) = TcpStream::connect(&server) {
                    network.carry(&caller, &server);
                }
            }
        });
        format!("{user}@127.0.0.1:{port}/{rest}")
    }

    fn carry(&self, caller: &TcpStream, server: &TcpStream) {
        let again = |stream: &TcpStream| stream.try_clone().expect("it is open");
        self.0.lock().expect("nobody panics").extend([again(caller), again(server)]);
        for (from, to) in [(caller, server), (server, caller)] {
            let (mut from, mut to) = (again(from), again(to));
            thread::spawn(move || {
                let _cut = copy(&mut from, &mut to);
                let _gone = to.shutdown(Shutdown::Both);
            });
        }
    }

    /// Cuts every connection, whatever is under way in it.
    pub(crate) fn cut(&self) {
        for stream in self.0.lock().expect("nobody panics").drain(..) {
            let _gone = stream.shutdown(Shutdown::Both);
        }
    }
}
