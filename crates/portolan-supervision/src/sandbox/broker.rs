//! Runs outside the sandbox the calls of `portolan` from inside it, so that they can write files that are read-only
//! there.
//!
//! A client sends one message: its open files, and after a length of four bytes (little-endian) its folder, the number
//! of its arguments, the arguments, and its variables as `NAME=value`, each followed by a null byte. The response is
//! one byte, the exit code. The client runs as the same user. It is treated as an agent, because the new process
//! descends from the agent's host. The process has the environment of the sandbox and few of the client's variables:
//! see [`is_forwarded`].

#[cfg(unix)]
use std::ffi::OsString;

/// The variable with the path of the socket.
pub(crate) const SOCKET: &str = "PORTOLAN_SANDBOX";
/// The maximum number of concurrent clients.
#[cfg(unix)]
const MAX_CLIENTS: usize = 64;
/// The timeout for receiving a client's message.
#[cfg(unix)]
const MESSAGE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
/// The longest message, in bytes.
#[cfg(unix)]
pub(super) const MAX_BYTES: usize = 4 << 20;

/// A client's call.
#[cfg(unix)]
pub(super) struct Request {
    pub(super) folder: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
}

/// Checks whether a variable of the client is passed on. Others could make the program, outside, load code or find
/// other programs.
#[cfg(unix)]
fn is_forwarded(name: &str) -> bool {
    const NAMES: [&str; 9] = [
        "TERM",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "LANG",
        "PORTOLAN_RUN",
        "PORTOLAN_PROJECT",
    ];
    NAMES.contains(&name)
        || ["GIT_", "LC_", "FLOW_", "PORTOLAN_ALLOW_", "PORTOLAN_SKIP_", "PORTOLAN_BYPASS_"]
            .iter()
            .any(|start| name.starts_with(start))
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use std::path::Path;

    pub(crate) struct Broker;

    impl Broker {
        pub(crate) fn new() -> io::Result<Broker> {
            Err(io::Error::new(io::ErrorKind::Unsupported, "sandboxes are available only on Linux and macOS"))
        }

        pub(crate) fn socket(&self) -> &Path {
            Path::new("")
        }

        pub(crate) fn answer(&self) {}
    }
}

#[cfg(unix)]
mod system {
    use std::ffi::OsStr;
    use std::io::{self, IoSliceMut, Read, Write};
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::process::{Command, ExitStatus, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use portolan_runtime::process::lineage::ASKED_BY;
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::sandbox::exit_code;

    /// Received files are for one child alone. macOS has no such flag, and marks them a moment later.
    #[cfg(target_os = "linux")]
    const RECEIVING: RecvFlags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    const RECEIVING: RecvFlags = RecvFlags::empty();

    /// Listens for the clients of one sandbox.
    pub(crate) struct Broker {
        listener: UnixListener,
        socket: PathBuf,
        // Removed with the broker.
        _folder: tempfile::TempDir,
    }

    impl Broker {
        pub(crate) fn new() -> io::Result<Broker> {
            // Only its owner may enter it.
            let folder = tempfile::Builder::new().prefix("portolan-").tempdir()?;
            let socket = folder.path().join("sandbox");
            Ok(Broker { listener: UnixListener::bind(&socket)?, socket, _folder: folder })
        }

        pub(crate) fn socket(&self) -> &Path {
            &self.socket
        }

        /// Serves each client in its own thread, for as long as this process runs.
        pub(crate) fn answer(&self) {
            let Ok(listener) = self.listener.try_clone() else { return };
            std::thread::spawn(move || {
                let open = Arc::new(());
                while let Ok((stream, _)) = listener.accept() {
                    // The connection closes, and the client reports that there is no answer.
                    if Arc::strong_count(&open) > MAX_CLIENTS {
                        continue;
                    }
                    let open = Arc::clone(&open);
                    std::thread::spawn(move || {
                        // A client that has exited reads no answer.
                        let _unread = serve(stream);
                        drop(open);
                    });
                }
            });
        }
    }

    fn serve(mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(MESSAGE_TIMEOUT))?;
        let (request, files) = receive(&mut stream)?;
        stream.set_read_timeout(None)?;
        let code = perform(&request, files, &stream).map_or(1, exit_code);
        stream.write_all(&[u8::try_from(code).unwrap_or(1)])
    }

    fn perform(request: &Request, files: Vec<OwnedFd>, stream: &UnixStream) -> io::Result<ExitStatus> {
        let Ok([stdin, stdout, stderr]) = <[OwnedFd; 3]>::try_from(files) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "expected three files"));
        };
        let mut command = Command::new(std::env::current_exe()?);
        command.args(&request.arguments).current_dir(&request.folder);
        command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
        command.envs(request.variables.iter().filter(|(name, _)| name.to_str().is_some_and(is_forwarded)).cloned());
        command.env_remove(SOCKET).env_remove(ASKED_BY);
        if let Some(client) = client(stream) {
            command.env(ASKED_BY, client.to_string());
        }
        let mut child = command.spawn()?;
        // Closes this process's copies of the files, so that readers see the end when the child exits.
        drop(command);
        let ended = Arc::new(AtomicBool::new(false));
        let (has_ended, pid, mut waiting) = (Arc::clone(&ended), Pid::from_child(&child), stream.try_clone()?);
        std::thread::spawn(move || {
            // A client sends nothing more: this returns when it has exited.
            let _ = waiting.read(&mut [0]);
            if !has_ended.load(Ordering::SeqCst) {
                let _ended_meanwhile = kill_process(pid, Signal::TERM);
            }
        });
        let status = child.wait();
        ended.store(true, Ordering::SeqCst);
        status
    }

    #[cfg(target_os = "linux")]
    fn client(stream: &UnixStream) -> Option<i32> {
        rustix::net::sockopt::socket_peercred(stream).ok().map(|who| who.pid.as_raw_nonzero().get())
    }

    #[cfg(not(target_os = "linux"))]
    fn client(_: &UnixStream) -> Option<i32> {
        None
    }

    fn receive(stream: &mut UnixStream) -> io::Result<(Request, Vec<OwnedFd>)> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut length = [0; 4];
        let read = recvmsg(&*stream, &mut [IoSliceMut::new(&mut length)], &mut control, RECEIVING)?;
        let mut files = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                files.extend(sent);
            }
        }
        for file in &files {
            rustix::io::fcntl_setfd(file, rustix::io::FdFlags::CLOEXEC)?;
        }
        stream.read_exact(&mut length[read.bytes..])?;
        let length = u32::from_le_bytes(length) as usize;
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "it is not a message from a client");
        if length > MAX_BYTES {
            return Err(invalid());
        }
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes)?;
        Ok((decode(&bytes).ok_or_else(invalid)?, files))
    }

    fn decode(bytes: &[u8]) -> Option<Request> {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let mut fields = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let folder = text(fields.next()?);
        let count: usize = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let arguments: Vec<OsString> = fields.by_ref().take(count).map(text).collect();
        let variables = fields.filter_map(|field| {
            let at = field.iter().position(|byte| *byte == b'=')?;
            Some((text(&field[..at]), text(&field[at + 1..])))
        });
        (arguments.len() == count).then(|| Request { folder, arguments, variables: variables.collect() })
    }

    /// Encodes the message that [`decode`] reads.
    pub(in crate::sandbox) fn encode(request: &Request) -> Vec<u8> {
        let count = OsString::from(request.arguments.len().to_string());
        let mut bytes = Vec::new();
        for field in [&request.folder, &count].into_iter().chain(&request.arguments) {
            bytes.extend(field.as_bytes().iter().chain(&[0]));
        }
        for (name, value) in &request.variables {
            for part in [name.as_os_str(), OsStr::new("="), value, OsStr::new("\0")] {
                bytes.extend(part.as_bytes());
            }
        }
        bytes
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_a_client_sends_is_what_is_read() {
            let of = |text: &[u8]| OsString::from_vec(text.to_vec());
            let sent = Request {
                folder: of(b"/p\xff"),
                arguments: vec![of(b"guard"), of(b""), of(b"a=b\nc")],
                variables: vec![(of(b"A"), of(b"x=y")), (of(b"B"), of(b""))],
            };
            let read = decode(&encode(&sent)).expect("a message");
            assert_eq!((read.folder, read.arguments, read.variables), (sent.folder, sent.arguments, sent.variables));
            for torn in [&b""[..], b"/p", b"/p\0", b"/p\x003\0a\0", b"/p\0-1\0", b"/p\0x\0"] {
                assert!(decode(torn).is_none(), "{torn:?}");
            }
        }

        #[test]
        fn variables_that_lead_programs_elsewhere_stay_within() {
            for name in ["GIT_INDEX_FILE", "LANG", "PORTOLAN_RUN", "PORTOLAN_SKIP_QA_GATE"] {
                assert!(is_forwarded(name), "{name}");
            }
            for name in ["PATH", "HOME", "LD_PRELOAD", "PORTOLAN_DATA_DIR", "PORTOLAN_SANDBOX", "PORTOLAN_ASKED_BY"] {
                assert!(!is_forwarded(name), "{name}");
            }
        }
    }
}

pub(crate) use system::Broker;
#[cfg(unix)]
pub(super) use system::encode;
