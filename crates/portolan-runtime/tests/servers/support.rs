//! A pool of scripted servers, and what is seen of them.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portolan_core::graph::{Server, Transport};
use portolan_core::source::Span;
use portolan_runtime::servers::{CallError, PoolOptions, ServerSetup, Servers, ToolCall};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::{Mutex, mpsc};

/// Long enough for any machine, and never reached unless something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const MISBEHAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/misbehaving.py");

/// A scratch folder, a pool, and what its servers write to their standard error.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) servers: Arc<Servers>,
    lines: Mutex<mpsc::UnboundedReceiver<String>>,
}

/// Runs `test` to its end on a runtime of its own.
pub(crate) fn block_on<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("nothing hangs") })
}

/// One misbehaving server, named `s`.
pub(crate) fn world(mode: &str) -> World {
    world_with(mode, PoolOptions::default())
}

pub(crate) fn world_with(mode: &str, options: PoolOptions) -> World {
    World::new(|folder| vec![misbehaving("s", mode, folder)], options)
}

impl World {
    pub(crate) fn new(servers: impl FnOnce(&Path) -> Vec<Server>, options: PoolOptions) -> World {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let (tell, lines) = mpsc::unbounded_channel();
        let on_stderr = move |server: &str, line: &str| {
            // The test may be over before the server is.
            let _nobody = tell.send(format!("{server}: {line}"));
        };
        let options = PoolOptions { on_stderr: Some(Arc::new(on_stderr)), ..options };
        let setups = servers(folder.path()).into_iter();
        let setups = setups.map(|server| ServerSetup { server, folder: folder.path().to_owned() }).collect();
        World { servers: Arc::new(Servers::new(setups, options)), lines: Mutex::new(lines), folder }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, CallError> {
        self.call_for(tool, arguments, PATIENCE).await
    }

    pub(crate) async fn call_for(&self, tool: &str, arguments: Value, timeout: Duration) -> Result<Value, CallError> {
        self.servers.call(call("s", tool, arguments, timeout)).await
    }

    /// The text of a reply that has one.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let reply = self.call(tool, arguments).await.expect("a reply");
        reply["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// Waits for a line of standard error that begins with `start`.
    pub(crate) async fn hears(&self, start: &str) -> String {
        let mut lines = self.lines.lock().await;
        loop {
            let line = lines.recv().await.expect("the pool lives as long as this world");
            if line.starts_with(start) {
                return line;
            }
        }
    }

    /// How often servers were started.
    pub(crate) fn starts(&self) -> usize {
        fs::read_to_string(self.folder.path().join("starts")).map_or(0, |starts| starts.lines().count())
    }
}

pub(crate) fn call<'a>(server: &'a str, tool: &'a str, arguments: Value, timeout: Duration) -> ToolCall<'a> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall { server, tool, arguments, timeout, in_all: None, meta: Map::new(), progress: None }
}

pub(crate) fn server(name: &str, transport: Transport) -> Server {
    Server { name: name.to_owned(), span: Span::default(), transport, timeout_ms: None, disabled: false }
}

pub(crate) fn stdio(name: &str, argv: &[&str]) -> Server {
    let [command, args @ ..] = argv else { panic!("a command") };
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    server(name, Transport::Stdio { command: (*command).to_owned(), args, cwd: None, env: Default::default() })
}

pub(crate) fn misbehaving(name: &str, mode: &str, folder: &Path) -> Server {
    let starts = folder.join("starts");
    stdio(name, &["python3", MISBEHAVING, mode, "--starts", starts.to_str().expect("a plain path")])
}

/// The reading end of a named pipe that every process of a server holds open for writing.
pub(crate) struct Held {
    path: PathBuf,
    pipe: File,
}

impl Held {
    pub(crate) fn new(folder: &Path) -> Held {
        let path = folder.join("held");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let pipe = OpenOptions::new().read(true).custom_flags(nonblocking).open(&path);
        let pipe = pipe.expect("a pipe can be opened for reading before there is a writer");
        rustix::fs::fcntl_setfl(&pipe, rustix::fs::OFlags::empty()).expect("our own pipe");
        Held { path, pipe }
    }

    pub(crate) fn args(&self) -> [String; 2] {
        ["--hold".to_owned(), self.path.to_str().expect("a plain path").to_owned()]
    }

    /// Returns when no process holds the pipe any more.
    pub(crate) async fn released(mut self) {
        let read = tokio::task::spawn_blocking(move || self.pipe.read(&mut [0; 1]).expect("a pipe"));
        let read = tokio::time::timeout(PATIENCE, read).await.expect("every process has ended");
        assert_eq!(read.expect("nobody panics"), 0);
    }
}

/// An error as a text: its code, its sentence, its help, and the standard error that came with it.
pub(crate) fn error_text(error: &CallError) -> String {
    let stderr = if error.stderr.is_empty() { String::new() } else { format!("\n---\n{}", error.stderr) };
    format!("{}: {}\nhelp: {}{stderr}", error.code, error.message, error.help)
}

/// Says that something could not be checked here. Not with `eprintln!`: that is shown of failing tests only.
pub(crate) fn not_checked(what: &str) {
    std::io::stderr().write_all(format!("NOT CHECKED: {what}\n").as_bytes()).expect("standard error is there");
}

pub(crate) fn nothing() -> Value {
    json!({})
}
