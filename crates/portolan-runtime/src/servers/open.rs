//! Starts a server, or connects to one, up to the end of the handshake.
//!
//! A process is greeted with `initialize`, which all but the newest servers know, so that none gets a request that it would
//! not answer. If it refuses because it only speaks the revision without a handshake, `server/discover` follows. Over HTTP the
//! order is reversed, as that revision demands: each attempt is a request of its own there, and its servers want its
//! headers in all of them.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::graph::{Builtin, Transport};
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt};
use tokio::time::timeout;

use super::client::ClientFeatures;
use super::connection::{Connection, Parts};
use super::error::clip_line;
use super::expand::Expander;
use super::face::Face;
use super::http::reason;
use super::intake::Intake;
use super::lines::Lines;
use super::message::UNREADABLE;
use super::notices::{Notices, WatchedTransport};
use super::stderr::Stderr;
use super::{CallError, CallErrorKind, Grace, PoolOptions, ServerSetup, seconds};
use crate::builtin;
use crate::process::Environment;
use crate::trust::stays_below;

/// The maximum wait for the end of a process, to report why the handshake failed.
#[cfg(unix)]
const POST_MORTEM: Duration = Duration::from_secs(1);

/// The number of bytes that a built-in server may write ahead.
const BUILTIN_PIPE_BYTES: usize = 64 << 10;

/// Opens a connection to the server of `setup`, which may ask what `features` has.
pub(super) async fn open(
    setup: &ServerSetup,
    options: &PoolOptions,
    grace: &Grace,
    features: &ClientFeatures,
) -> Result<Connection, CallError> {
    let name = &setup.server.name;
    let (transport, secrets) = filled(setup)?;
    let stderr = Stderr::new(name, options.stderr_bytes, options.on_stderr.clone(), secrets);
    let (folder, confined) = (setup.folder.as_path(), is_confined(setup));
    let opening =
        ConnectionAttempt { folder, transport: &transport, confined, options, grace, stderr: &stderr, features };
    opening.open().await.map(|parts| Connection::new(name, parts)).map_err(|fault| {
        let message = format!("server `{name}` {}", clip_line(&stderr.redact(fault.what)));
        CallError::new(CallErrorKind::Start, name, message, fault.help).with_stderr(stderr.tail())
    })
}

/// Checks whether a server was started without trust, because its folder is written as one below the definition's.
fn is_confined(setup: &ServerSetup) -> bool {
    match &setup.server.transport {
        Transport::Builtin(Builtin::Filesystem { root }) => stays_below(root),
        Transport::Builtin(Builtin::Echo)
        | Transport::Stdio { .. }
        | Transport::Http { .. }
        | Transport::Sse { .. } => false,
    }
}

/// The greeting of the revision without a handshake.
pub(super) fn discovery() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Returns the transport with its variables expanded, and its secrets.
fn filled(setup: &ServerSetup) -> Result<(Transport, Environment), CallError> {
    let variable = |name: &str| std::env::var(name).ok();
    let mut expander = Expander::new(&variable);
    let transport = filled_transport(&setup.server.transport, &mut expander).map_err(|missing| {
        let name = &setup.server.name;
        let message = format!("the entry of server `{name}` uses `${{{missing}}}`, which is not set");
        let help = format!("set `{missing}` in the environment of Portolan, or write `${{{missing}:-default}}`");
        CallError::new(CallErrorKind::Start, name, message, help)
    })?;
    let secrets = secrets(&transport, expander.used);
    Ok((transport, secrets))
}

fn filled_transport(transport: &Transport, expander: &mut Expander<'_>) -> Result<Transport, String> {
    Ok(match transport {
        Transport::Stdio { command, args, cwd, env } => Transport::Stdio {
            command: expander.fill(command)?,
            args: args.iter().map(|arg| expander.fill(arg)).collect::<Result<_, _>>()?,
            cwd: cwd.as_deref().map(|cwd| expander.fill(cwd)).transpose()?,
            env: filled_map(env, expander)?,
        },
        Transport::Http { url, headers, either } => {
            Transport::Http { url: expander.fill(url)?, headers: filled_map(headers, expander)?, either: *either }
        }
        Transport::Sse { url, headers } => {
            Transport::Sse { url: expander.fill(url)?, headers: filled_map(headers, expander)? }
        }
        Transport::Builtin(Builtin::Filesystem { root }) => {
            Transport::Builtin(Builtin::Filesystem { root: expander.fill(root)? })
        }
        Transport::Builtin(Builtin::Echo) => Transport::Builtin(Builtin::Echo),
    })
}

pub(super) type Texts = indexmap::IndexMap<String, String>;

fn filled_map(texts: &Texts, expander: &mut Expander<'_>) -> Result<Texts, String> {
    texts.iter().map(|(name, text)| Ok((name.clone(), expander.fill(text)?))).collect()
}

/// Returns the secrets that are removed from all reports about the server: the values of variables whose names look
/// like secrets, of all headers, and the query of an address.
fn secrets(transport: &Transport, used: Vec<(String, String)>) -> Environment {
    const SECRET: &str = "SECRET";
    let secret = |value: &str| (SECRET.to_owned(), value.to_owned());
    let given: Vec<(String, String)> = match transport {
        Transport::Stdio { env, .. } => env.clone().into_iter().collect(),
        Transport::Http { url, headers, .. } | Transport::Sse { url, headers } => {
            let query = url.split_once('?').map(|(_, query)| query);
            headers.values().map(String::as_str).chain(query).map(secret).collect()
        }
        Transport::Builtin(_) => Vec::new(),
    };
    let all = used.into_iter().chain(given);
    Environment::of(all.map(|(name, value)| (OsString::from(name), OsString::from(value))))
}

/// The reason why a server could not be opened.
pub(super) struct Fault {
    /// What the server did, as a continuation of its name.
    pub(super) what: String,
    pub(super) help: String,
    /// Whether it needs the greeting of the newest revision.
    pub(super) speaks_newer: bool,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { what: what.into(), help: help.into(), speaks_newer: false }
    }
}

/// One attempt to open a connection.
pub(super) struct ConnectionAttempt<'a> {
    folder: &'a Path,
    transport: &'a Transport,
    /// Whether nothing outside of the folder may be served.
    confined: bool,
    pub(super) options: &'a PoolOptions,
    grace: &'a Grace,
    pub(super) stderr: &'a Arc<Stderr>,
    features: &'a ClientFeatures,
}

impl ConnectionAttempt<'_> {
    async fn open(&self) -> Result<Parts, Fault> {
        match self.transport {
            Transport::Stdio { command, args, cwd, env } => {
                let greet = |mode| self.process(command, args, cwd.as_deref(), env, mode);
                match greet(ClientLifecycleMode::Initialize).await {
                    Err(fault) if fault.speaks_newer => greet(discovery()).await,
                    opened => opened,
                }
            }
            Transport::Builtin(builtin) => self.builtin(builtin).await,
            Transport::Http { url, headers, either } => self.http(url, headers, *either).await,
            Transport::Sse { url, headers } => self.sse(url, headers).await,
        }
    }

    pub(super) fn intake(&self) -> Intake {
        Intake::new(self.options.max_message, Arc::clone(self.stderr))
    }

    /// Performs the handshake over an open transport.
    pub(super) async fn shake<T>(
        &self,
        transport: T,
        mode: ClientLifecycleMode,
        limit: Duration,
    ) -> Result<Parts, Refusal>
    where
        T: rmcp::transport::Transport<RoleClient> + 'static,
    {
        let notices = Arc::new(Notices::new(Arc::clone(self.stderr)));
        let watched = WatchedTransport { transport, notices: Arc::clone(&notices) };
        let face = Face { features: self.features.clone(), notices: Arc::clone(&notices) };
        let greeting = face.serve_with_lifecycle(watched, mode);
        match timeout(limit, greeting).await {
            Ok(Ok(running)) => Ok(Parts {
                running,
                #[cfg(unix)]
                process: None,
                stderr: Arc::clone(self.stderr),
                notices,
                features: self.features.clone(),
            }),
            Ok(Err(error)) => Err(Refusal::Error(Box::new(error))),
            Err(_elapsed) => Err(Refusal::Silence(self.options.handshake_timeout)),
        }
    }

    async fn builtin(&self, builtin: &Builtin) -> Result<Parts, Fault> {
        let server = builtin::Server::new(builtin, self.folder).map_err(|error| match builtin {
            Builtin::Filesystem { root } => Fault::new(
                format!("cannot be started: `{root}` cannot be served ({error})"),
                "name a folder that exists",
            ),
            Builtin::Echo => Fault::new(format!("cannot be started ({error})"), "try again"),
        })?;
        // The server stays in the folder that it resolved when it was created: later changes of a symlink have no
        // effect.
        if self.confined && !server.is_within(self.folder).unwrap_or(false) {
            return Err(self.leads_outside(builtin));
        }
        let (ours, theirs) = tokio::io::duplex(BUILTIN_PIPE_BYTES);
        let (reader, writer) = tokio::io::split(theirs);
        // It ends when this end of the pipe is dropped.
        tokio::spawn(server.serve(reader, writer));
        let (hung_up, _nobody_listens) = tokio::sync::oneshot::channel();
        let lines = Lines::new(tokio::io::split(ours), self.intake(), hung_up);
        let limit = self.options.handshake_timeout;
        self.shake(lines, ClientLifecycleMode::Initialize, limit).await.map_err(Refusal::fault)
    }

    fn leads_outside(&self, builtin: &Builtin) -> Fault {
        let root = match builtin {
            Builtin::Filesystem { root } => root.as_str(),
            Builtin::Echo => ".",
        };
        let what = format!("cannot be started: `{root}` leaves `{}` through a symlink", self.folder.display());
        Fault::new(what, "set `root` to the target of the symlink; a person must then trust it")
    }

    #[cfg(unix)]
    async fn process(
        &self,
        command: &str,
        args: &[String],
        cwd: Option<&str>,
        env: &Texts,
        mode: ClientLifecycleMode,
    ) -> Result<Parts, Fault> {
        use super::{environment, process};

        let folder = self.folder.join(cwd.unwrap_or_default());
        if !folder.is_dir() {
            let what = format!("cannot be started: `{}` is not a folder", folder.display());
            return Err(Fault::new(what, "correct `cwd` in its entry"));
        }
        let mut variables = environment::essential(std::env::vars_os());
        variables.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
        let argv = process::Argv {
            program: process::program(command, self.folder),
            args: args.to_vec(),
            folder,
            environment: variables,
        };
        let started = process::start(&argv, self.stderr, self.grace.clone());
        let started = started.map_err(|error| not_started(command, &error))?;
        let streams = (started.output, started.input);
        let lines = Lines::new(streams, self.intake(), started.hung_up);
        match self.shake(lines, mode, self.options.handshake_timeout).await {
            Ok(parts) => Ok(Parts { process: Some(started.process), ..parts }),
            Err(refusal) if refusal.is_hang_up() => match started.process.ended(POST_MORTEM).await {
                Some(how) => {
                    let help = format!("run `{command}` by hand to see what is missing; its standard error may say");
                    Err(Fault::new(format!("{how} before the handshake was complete"), help))
                }
                None => Err(refusal.fault()),
            },
            Err(refusal) => Err(refusal.fault()),
        }
    }

    /// Refuses to start a process: without process groups, the end of its children cannot be guaranteed.
    #[cfg(not(unix))]
    async fn process(
        &self,
        _command: &str,
        _args: &[String],
        _cwd: Option<&str>,
        _env: &Texts,
        _mode: ClientLifecycleMode,
    ) -> Result<Parts, Fault> {
        Err(Fault::new("cannot be started: processes are only started on Unix", "connect to it over HTTP"))
    }
}

/// The reason why a handshake failed.
pub(super) enum Refusal {
    Silence(Duration),
    Error(Box<ClientInitializeError>),
}

impl Refusal {
    fn is_hang_up(&self) -> bool {
        match self {
            Refusal::Silence(_) => false,
            Refusal::Error(error) => matches!(
                **error,
                ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
            ),
        }
    }

    pub(super) fn fault(self) -> Fault {
        const HELP: &str = "make sure that it is an MCP server, and that its entry has everything it needs";
        let error = match self {
            Refusal::Silence(limit) => {
                return Fault::new(format!("did not complete the handshake within {}", seconds(limit)), HELP);
            }
            Refusal::Error(error) => *error,
        };
        match error {
            ClientInitializeError::JsonRpcError(error) if error.code == UNREADABLE => Fault::new(
                format!("answered the handshake with something that cannot be read: {}", error.message),
                HELP,
            ),
            ClientInitializeError::JsonRpcError(error) => Fault {
                speaks_newer: matches!(
                    error.code,
                    ErrorCode::UNSUPPORTED_PROTOCOL_VERSION | ErrorCode::METHOD_NOT_FOUND
                ),
                ..Fault::new(format!("refused the handshake: {} ({})", error.message, error.code.0), HELP)
            },
            ClientInitializeError::ConnectionClosed(_) => {
                Fault::new("closed the connection before the handshake was complete", HELP)
            }
            ClientInitializeError::TransportError { error, .. } => {
                Fault::new(format!("cannot be reached ({})", reason(error.error.as_ref())), HELP)
            }
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                Fault::new("supports no protocol version that Portolan supports", "update the server, or Portolan")
            }
            _ => Fault::new("answered the handshake with an unexpected message", HELP),
        }
    }
}

#[cfg(unix)]
fn not_started(command: &str, error: &std::io::Error) -> Fault {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied if !command.contains('/') => {
            let what = format!("cannot be started: no executable `{command}` was found on the `PATH`");
            Fault::new(what, format!("install `{command}`, or correct `command` in its entry"))
        }
        ErrorKind::NotFound => {
            let what = format!("cannot be started: `{command}` or the interpreter in its first line does not exist");
            Fault::new(what, "install it, or correct `command` in its entry")
        }
        ErrorKind::PermissionDenied => {
            let what = format!("cannot be started: `{command}` is not executable");
            Fault::new(what, "make it executable (`chmod +x`), or correct `command` in its entry")
        }
        _ => Fault::new(format!("cannot be started: {error}"), "correct its entry"),
    }
}
