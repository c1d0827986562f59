//! A PostgreSQL server of a test's own, with the programs that are installed.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A server on a port of loopback. Dropping it ends it and removes its data.
pub(crate) struct Server {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    /// Settings of the server's own, as `NAME=VALUE`.
    settings: Vec<String>,
    running: Option<Child>,
}

/// Returns the folder with `initdb` and `postgres`: the first one on the search path, or where Debian puts them.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    // A link leads to where the other programs are.
    let found = folders.into_iter().filter_map(|folder| folder.join("initdb").canonicalize().ok());
    let mut found = found.filter_map(|program| program.parent().map(Path::to_owned));
    found.find(|folder| ["postgres", "pg_isready", "psql"].iter().all(|program| folder.join(program).exists()))
}

impl Server {
    /// Returns a running server, or `None` if there is no PostgreSQL on this machine, and says so.
    pub(crate) fn start() -> Option<Server> {
        let Some(programs) = programs() else {
            let said = "NOT CHECKED: there is no PostgreSQL on this machine; install `postgresql`\n";
            std::io::stderr().write_all(said.as_bytes()).expect("standard error is there");
            return None;
        };
        let mut server = Server::without_data(programs);
        let data = server.data();
        let data = data.to_str().expect("a path");
        server.does("initdb", &["-D", data, "-U", "ann", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]);
        server.go_on();
        Some(server)
    }

    fn without_data(programs: PathBuf) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("ours");
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it has one").port();
        Server { programs, folder, port, settings: Vec::new(), running: None }
    }

    /// Starts a server that follows this one, which from then on acknowledges nothing that the other does not have.
    pub(crate) fn replica(&self) -> Server {
        let mut replica = Server::without_data(self.programs.clone());
        let (data, port) = (replica.data(), self.port.to_string());
        let data = data.to_str().expect("a path");
        self.does(
            "pg_basebackup",
            &["-h", "127.0.0.1", "-p", &port, "-U", "ann", "-D", data, "-R", "-c", "fast", "--no-sync"],
        );
        replica.go_on();
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("SELECT pg_reload_conf()");
        while self.sql("SELECT sync_state FROM pg_stat_replication") != "sync" {}
        replica
    }

    /// Ends the replication of a server that follows another one, and lets it take changes.
    pub(crate) fn promote(&self) {
        self.does("pg_ctl", &["promote", "-D", self.data().to_str().expect("a path"), "-w"]);
    }

    /// Starts the server again, with these settings and rules of access. Returns the folder of its data.
    pub(crate) fn reset(&mut self, settings: &[&str], rules: &str) -> PathBuf {
        self.crash();
        self.settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        fs::write(self.data().join("pg_hba.conf"), rules).expect("it can be written");
        self.go_on();
        self.data()
    }

    /// Puts a file beside the data, which only the server can read.
    pub(crate) fn keeps(&self, name: &str, text: &[u8]) {
        let path = self.data().join(name);
        fs::write(&path, text).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
        let owner = fs::metadata(self.data()).expect("it is there");
        std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid())).expect("it can be given");
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns a command as a user that the programs accept: they refuse to run as root.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let program = self.programs.join(program);
        let is_root = Path::new("/proc/self").metadata().is_ok_and(|own| own.uid() == 0);
        let mut command = match is_root {
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command.args(arguments).current_dir("/").stdin(Stdio::null());
        command
    }

    fn does(&self, program: &str, arguments: &[&str]) {
        let output = self.command(program, arguments).output().expect("it starts");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts the server, and waits until it answers.
    pub(crate) fn go_on(&mut self) {
        let (data, folder, port) = (self.data(), self.folder.path().display().to_string(), self.port.to_string());
        let log = fs::File::create(self.folder.path().join("log")).expect("a log");
        let data = data.to_str().expect("a path");
        let settings = ["-D", data, "-p", &port, "-k", &folder, "-h", "127.0.0.1"];
        let own = self.settings.iter().flat_map(|setting| ["-c", setting]);
        let server = self
            .command("postgres", &settings.into_iter().chain(own).collect::<Vec<_>>())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.running = Some(server.expect("it starts"));
        let ready = ["-h", &folder, "-p", &port, "-d", "postgres", "-t", "30", "-q"];
        // `pg_isready` does not wait by itself.
        let is_ready = || self.command("pg_isready", &ready).status().is_ok_and(|status| status.success());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !is_ready() {
            assert!(std::time::Instant::now() < deadline, "{}", self.log());
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Ends the server and all its processes at once, as a crash does.
    pub(crate) fn crash(&mut self) {
        let data = self.data();
        self.does("pg_ctl", &["stop", "-D", data.to_str().expect("a path"), "-m", "immediate", "-w"]);
        if let Some(mut running) = self.running.take() {
            running.wait().expect("it has ended");
        }
    }

    /// Returns the port of the server.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address of a database of the server, with these parameters.
    pub(crate) fn address(&self, rest: &str) -> String {
        format!("postgres://ann@127.0.0.1:{}/{rest}", self.port)
    }

    /// Makes a database with what `pg_dump` and `psql` take over of a schema of another one.
    pub(crate) fn restores(&self, schema: &str, database: &str) {
        let port = self.port.to_string();
        let dump = self.folder.path().join("dump.sql");
        let dump = dump.to_str().expect("a path");
        let at = ["-h", "127.0.0.1", "-p", &port, "-U", "ann"];
        self.does("pg_dump", &[&at[..], &["--schema", schema, "-f", dump, "postgres"]].concat());
        self.does("createdb", &[&at[..], &[database]].concat());
        self.does("psql", &[&at[..], &["-qX", "-v", "ON_ERROR_STOP=1", "-f", dump, database]].concat());
    }

    /// Runs SQL, and returns what it gives, without headings.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let (folder, port) = (self.folder.path().display().to_string(), self.port.to_string());
        let arguments = ["-h", &folder, "-p", &port, "-U", "ann", "-d", "postgres", "-qAtX", "-c", sql];
        let output = self.command("psql", &arguments).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.running.is_some() {
            self.crash();
        }
    }
}
