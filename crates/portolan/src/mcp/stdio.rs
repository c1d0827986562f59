//! Standard input and output as the runtime waits for them best.
//!
//! Clients connect by pipes or socket pairs, which can be waited for directly. Tokio's own handles hand every read and
//! every write to another thread and back, which costs more than most calls take; they remain for terminals and files.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The reader and the writer of this process.
///
/// # Errors
/// What the operating system says of the handles.
#[cfg(unix)]
pub(crate) fn open() -> io::Result<(Reader, Writer)> {
    use std::os::fd::AsFd;

    let reader = match reader(io::stdin().as_fd())? {
        Some(reader) => reader,
        None => Box::new(tokio::io::stdin()),
    };
    let writer = match writer(io::stdout().as_fd())? {
        Some(writer) => writer,
        None => Box::new(tokio::io::stdout()),
    };
    Ok((reader, writer))
}

#[cfg(not(unix))]
pub(crate) fn open() -> io::Result<(Reader, Writer)> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}

#[cfg(unix)]
fn reader(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<Option<Reader>> {
    let owned = fd.try_clone_to_owned()?;
    Ok(match kind(fd)? {
        Kind::Pipe => Some(Box::new(tokio::net::unix::pipe::Receiver::from_owned_fd(owned)?)),
        Kind::Socket => Some(Box::new(socket(owned)?)),
        Kind::Other => None,
    })
}

#[cfg(unix)]
fn writer(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<Option<Writer>> {
    let owned = fd.try_clone_to_owned()?;
    Ok(match kind(fd)? {
        Kind::Pipe => Some(Box::new(tokio::net::unix::pipe::Sender::from_owned_fd(owned)?)),
        Kind::Socket => Some(Box::new(socket(owned)?)),
        Kind::Other => None,
    })
}

#[cfg(unix)]
fn socket(fd: std::os::fd::OwnedFd) -> io::Result<tokio::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(fd);
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

#[cfg(unix)]
enum Kind {
    Pipe,
    Socket,
    Other,
}

#[cfg(unix)]
fn kind(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<Kind> {
    use std::os::unix::fs::FileTypeExt;

    let file_type = std::fs::File::from(fd.try_clone_to_owned()?).metadata()?.file_type();
    Ok(if file_type.is_fifo() {
        Kind::Pipe
    } else if file_type.is_socket() {
        Kind::Socket
    } else {
        Kind::Other
    })
}
