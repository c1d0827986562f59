//! `portolan` inside a sandbox: forwards its call to the process that made the sandbox.

/// Forwards this call of the program if it runs inside a sandbox, and returns the exit code. Returns `None` outside of
/// one.
///
/// # Errors
/// It runs inside a sandbox whose broker has exited.
#[cfg(unix)]
pub fn forward() -> Result<Option<u8>, String> {
    let Some(socket) = std::env::var_os(super::broker::SOCKET) else { return Ok(None) };
    let code = unix::request(std::path::Path::new(&socket)).map_err(|error| {
        format!("the shell that this sandbox was made for has ended and does not answer ({error}): run it again")
    })?;
    Ok(Some(code))
}

/// Returns `None`: there are no sandboxes on this system.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn forward() -> Result<Option<u8>, String> {
    Ok(None)
}

#[cfg(unix)]
mod unix {
    use std::io::{self, IoSlice, Read, Write};
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    use crate::sandbox::broker::{MAX_BYTES, Request, encode};

    pub(super) fn request(socket: &Path) -> io::Result<u8> {
        let mut stream = UnixStream::connect(socket)?;
        let request = Request {
            folder: std::env::current_dir()?.into_os_string(),
            arguments: std::env::args_os().skip(1).collect(),
            variables: std::env::vars_os().collect(),
        };
        let bytes = encode(&request);
        let length = u32::try_from(bytes.len()).ok().filter(|length| *length as usize <= MAX_BYTES);
        let length = length.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the arguments and environment variables are too long")
        })?;
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let files = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&files));
        let begin = length.to_le_bytes();
        let sent = sendmsg(&stream, &[IoSlice::new(&begin)], &mut control, SendFlags::empty())?;
        stream.write_all(&begin[sent..])?;
        stream.write_all(&bytes)?;
        let mut code = [0];
        stream.read_exact(&mut code)?;
        Ok(code[0])
    }
}
