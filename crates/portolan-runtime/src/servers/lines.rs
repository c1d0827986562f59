//! JSON-RPC with a server, one message per line, over any two byte streams.
//!
//! No server can use unbounded memory: a line that is too long is skipped and answered with an error, and unneeded
//! notifications are dropped here. A server that does not read its input, or keeps writing invalid messages, is given
//! up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, oneshot};

use super::intake::Intake;
use super::message::{IdScan, Message};
use crate::http::ByteObserver;

/// The number of bytes read at once.
const READ_BYTES: usize = 64 << 10;
/// The capacity that a line's buffer keeps after the line. Growing it again for each line costs as much as parsing the
/// line.
const KEPT_BYTES: usize = 1 << 20;
/// The maximum number of messages that wait for the server to read them.
const MAX_UNSENT: usize = 8192;

pub(super) struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    intake: Intake,
    /// Set while a line that is too long is skipped.
    skipping: Option<IdScan>,
    writer: Arc<Writer<W>>,
    /// Dropped with the transport, which notifies the other end that nothing more is read or written.
    _hung_up: oneshot::Sender<()>,
}

struct Writer<W> {
    stream: Mutex<Option<W>>,
    unsent: AtomicUsize,
}

/// The result of a read.
enum LineRead {
    Line,
    /// A skipped line, and what is known of it.
    TooLong(IdScan),
    End,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new((reader, writer): (R, W), intake: Intake, hung_up: oneshot::Sender<()>) -> Lines<R, W> {
        Lines {
            reader: BufReader::with_capacity(READ_BYTES, reader),
            line: Vec::new(),
            intake,
            skipping: None,
            writer: Arc::new(Writer { stream: Mutex::new(Some(writer)), unsent: AtomicUsize::new(0) }),
            _hung_up: hung_up,
        }
    }

    /// Reads until a line is complete. It is cancel-safe: the bytes read are kept in `self`.
    async fn read(&mut self) -> LineRead {
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return LineRead::End };
            if available.is_empty() {
                // A last line without a line break was cut off.
                return LineRead::End;
            }
            let end = memchr::memchr(b'\n', available);
            let taken = end.map_or(available.len(), |end| end + 1);
            if self.skipping.is_none() && self.line.len() + taken > self.intake.max_message {
                let mut scan = IdScan::default();
                scan.feed(&self.line);
                self.line = Vec::new();
                self.skipping = Some(scan);
            }
            match &mut self.skipping {
                Some(scan) => scan.feed(&available[..taken]),
                None => self.line.extend_from_slice(&available[..taken]),
            }
            self.reader.consume(taken);
            if end.is_some() {
                return self.skipping.take().map_or(LineRead::Line, LineRead::TooLong);
            }
        }
    }

    /// Returns the message of the present line, if it is one that a caller waits for.
    fn take(&mut self) -> Option<Message> {
        let message = self.intake.take(&self.line);
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        message
    }
}

impl<R, W> Transport<RoleClient> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let ticket = Ticket::take(&self.writer);
        async move {
            let ticket = ticket?;
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut stream = ticket.0.stream.lock().await;
            let stream = stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            stream.write_all(&line).await?;
            stream.flush().await
        }
    }

    async fn receive(&mut self) -> Option<Message> {
        while !self.intake.is_given_up() {
            let message = match self.read().await {
                LineRead::Line => self.take(),
                LineRead::TooLong(scan) => self.intake.too_large(&scan),
                LineRead::End => return None,
            };
            if message.is_some() {
                return message;
            }
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        // A write in progress is not awaited: the server may never read it.
        if let Ok(mut stream) = self.writer.stream.try_lock() {
            *stream = None;
        }
        Ok(())
    }
}

/// The place of a message in the queue of writes.
struct Ticket<W>(Arc<Writer<W>>);

impl<W> Ticket<W> {
    fn take(writer: &Arc<Writer<W>>) -> io::Result<Ticket<W>> {
        let ticket = Ticket(Arc::clone(writer));
        match writer.unsent.fetch_add(1, Ordering::Relaxed) {
            MAX_UNSENT.. => Err(io::Error::other("it does not read the messages sent to it")),
            _ => Ok(ticket),
        }
    }
}

impl<W> Drop for Ticket<W> {
    fn drop(&mut self) {
        self.0.unsent.fetch_sub(1, Ordering::Relaxed);
    }
}
