//! Restate's server and Portolan's objects, as processes of a test's own.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A cluster of servers on ports of loopback, with the objects registered. Dropping it ends all and removes their data.
pub(crate) struct Restate {
    programs: Programs,
    folder: TempDir,
    nodes: Vec<Node>,
    objects: Objects,
}

struct Node {
    ingress: SocketAddr,
    admin: SocketAddr,
    fabric: SocketAddr,
    running: Option<Child>,
}

#[derive(Clone)]
struct Programs {
    server: PathBuf,
    objects: PathBuf,
}

/// The process that serves the objects.
struct Objects {
    address: SocketAddr,
    running: Option<Child>,
}

/// The process that serves the objects of another program.
pub(crate) struct Peer {
    running: Option<Child>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        kill(&mut self.running);
    }
}

/// The time for which a server may start.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the program that a variable of the environment names, or the one on the search path.
fn program(variable: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_file()).or_else(on_path)
}

impl Programs {
    fn find() -> Option<Programs> {
        let server = program("RESTATE_SERVER", "restate-server")?;
        Some(Programs { server, objects: program("RESTATE_OBJECTS", "portolan-restate")? })
    }
}

fn port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it has one")
}

impl Restate {
    /// Returns a running server, or `None` if there is none on this machine, and says so.
    pub(crate) fn start() -> Option<Restate> {
        Restate::cluster(1)
    }

    /// Returns a cluster that keeps everything twice if it has several servers. `None` as for one.
    pub(crate) fn cluster(size: usize) -> Option<Restate> {
        let Some(programs) = Programs::find() else {
            let said = "NOT CHECKED: `restate-server` or `portolan-restate` is not on this machine\n";
            std::io::stderr().write_all(said.as_bytes()).expect("standard error is there");
            return None;
        };
        let objects = Objects::start(&programs.objects, "127.0.0.1:0");
        let folder = tempfile::tempdir().expect("a folder");
        let node = |_| Node { ingress: port(), admin: port(), fabric: port(), running: None };
        let mut cluster = Restate { programs, folder, nodes: (0..size).map(node).collect(), objects };
        (0..size).for_each(|place| cluster.spawn(place));
        (0..size).for_each(|place| cluster.until_ready(place));
        cluster.register(cluster.objects.address);
        Some(cluster)
    }

    /// Returns the address of a space.
    pub(crate) fn address(&self, space: &str) -> String {
        self.address_behind(space, |server| server)
    }

    /// Returns the address of a space whose servers are reached at other addresses than their own.
    pub(crate) fn address_behind(&self, space: &str, mut reached: impl FnMut(SocketAddr) -> SocketAddr) -> String {
        let hosts: Vec<String> = self.nodes.iter().map(|node| reached(node.ingress).to_string()).collect();
        format!("restate://{}/{space}", hosts.join(","))
    }

    /// Returns the URL of the first server's ingress.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.nodes[0].ingress)
    }

    /// Serves the objects of another program, which stands beside the one of Portolan's objects: `examples/peer`.
    pub(crate) fn serve_peer(&self) -> Peer {
        let program = self.programs.objects.with_file_name("examples").join("peer");
        let address = port();
        let running = Command::new(program).arg(address.to_string()).stdin(Stdio::null()).spawn();
        let peer = Peer { running: Some(running.expect("the peer is built: see the benchmark")) };
        self.register(address);
        peer
    }

    /// Kills a server.
    pub(crate) fn crash(&mut self, place: usize) {
        kill(&mut self.nodes[place].running);
    }

    /// Starts a server with the data that it has.
    pub(crate) fn go_on(&mut self, place: usize) {
        self.spawn(place);
        self.until_ready(place);
    }

    fn spawn(&mut self, place: usize) {
        let folder = self.folder.path();
        let peers: Vec<String> = self.nodes.iter().map(|node| format!("\"http://{}\"", node.fabric)).collect();
        let Node { ingress, admin, fabric, .. } = &self.nodes[place];
        let configuration = format!(
            "disable-telemetry = true\ncluster-name = \"portolan\"\nauto-provision = {}\ndefault-replication = {}\n\
             default-num-partitions = 4\nbind-ip = \"127.0.0.1\"\nbind-address = \"{fabric}\"\n\
             advertised-address = \"http://{fabric}\"\n[metadata-client]\naddresses = [{}]\n\
             [ingress]\nbind-address = \"{ingress}\"\n[admin]\nbind-address = \"{admin}\"\n",
            place == 0,
            self.nodes.len().min(2),
            peers.join(", ")
        );
        let path = folder.join(format!("{place}.toml"));
        fs::write(&path, configuration).expect("it can be written");
        let log = fs::File::create(folder.join(format!("{place}.log"))).expect("it can be written");
        let mut command = Command::new(&self.programs.server);
        command.arg("--node-name").arg(format!("node-{place}")).arg("--base-dir").arg(folder.join("data"));
        command.arg("--config-file").arg(&path).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a file")).stderr(log).current_dir(folder);
        self.nodes[place].running = Some(command.spawn().expect("the server starts"));
    }

    fn until_ready(&self, place: usize) {
        let node = &self.nodes[place];
        self.until("GET /health", node.admin, "");
        self.until("GET /restate/health", node.ingress, "");
    }

    fn register(&self, objects: SocketAddr) {
        let body = format!("{{\"uri\": \"http://{objects}\", \"force\": true}}");
        self.until("POST /deployments", self.nodes[0].admin, &body);
    }

    /// Replaces the state of an object by one value.
    pub(crate) fn replace_state(&self, object: &str, key: &str, name: &str, value: &str) {
        let bytes = value.as_bytes();
        let body = format!("{{\"object_key\": \"{key}\", \"new_state\": {{\"{name}\": {bytes:?}}}}}");
        self.until(&format!("POST /services/{object}/state"), self.nodes[0].admin, &body);
    }

    /// Takes the registration of the objects away.
    pub(crate) fn forget_objects(&self) {
        let answer = answer("GET /deployments", self.nodes[0].admin, "").expect("it answers");
        let id = answer.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("it is registered");
        self.until(&format!("DELETE /deployments/{id}?force=true"), self.nodes[0].admin, "");
    }

    /// Kills the process that serves the objects.
    pub(crate) fn crash_objects(&mut self) {
        kill(&mut self.objects.running);
    }

    /// Serves the objects again, at the same address.
    pub(crate) fn serve_objects(&mut self) {
        self.objects = Objects::start(&self.programs.objects, &self.objects.address.to_string());
    }

    /// Repeats a request until it succeeds.
    fn until(&self, request: &str, address: SocketAddr, body: &str) {
        let begun = Instant::now();
        loop {
            match ask(request, address, body) {
                Ok(status) if (200..300).contains(&status) => return,
                answer => assert!(begun.elapsed() < PATIENCE, "{request}: {answer:?}\n{}", self.log()),
            }
            // The server gives no sign when it is ready; a connection that is refused takes no time.
            std::thread::yield_now();
        }
    }

    fn log(&self) -> String {
        let logs = (0..self.nodes.len()).map(|place| self.folder.path().join(format!("{place}.log")));
        logs.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }
}

impl Objects {
    fn start(program: &PathBuf, listen: &str) -> Objects {
        let mut command = Command::new(program);
        command.args(["--listen", listen]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = command.spawn().expect("the objects are served");
        let mut line = String::new();
        let mut lines = BufReader::new(running.stderr.take().expect("it is piped"));
        lines.read_line(&mut line).expect("it says where it listens");
        let address = line.trim().rsplit_once("http://").unwrap_or_else(|| panic!("it says where it listens: {line}"));
        Objects { address: address.1.parse().expect("an address"), running: Some(running) }
    }
}

/// Makes a request and returns its status.
fn ask(request: &str, address: SocketAddr, body: &str) -> std::io::Result<u16> {
    let answer = answer(request, address, body)?;
    Ok(answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0))
}

fn answer(request: &str, address: SocketAddr, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn kill(running: &mut Option<Child>) {
    if let Some(mut child) = running.take() {
        let _ = child.kill();
        child.wait().expect("it ends");
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(|node| kill(&mut node.running));
        kill(&mut self.objects.running);
    }
}
