//! JSON-RPC with a server, one message a line, over any two byte streams.
//!
//! Nothing that a server does takes up memory without bound: a line that is too long goes by unread and is answered for
//! by an error, notifications that nobody waits for are dropped here, and a server that does not read what it is sent,
//! or writes what is no message over and over, is given up.

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
use crate::http::Passing;

/// How much is read at once.
const READ_BYTES: usize = 64 << 10;
/// What a line's buffer may keep when the line is done with. Grown anew for each line, it costs as much as parsing it.
const KEPT_BYTES: usize = 1 << 20;
/// How many messages may wait for the server to read them.
const MAX_UNSENT: usize = 8192;

pub(super) struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    intake: Intake,
    /// Set while a line that is too long goes by.
    skipping: Option<IdScan>,
    writer: Arc<Writer<W>>,
    /// Dropped with the transport: whoever holds the other end learns that nothing more is read or written.
    _hung_up: oneshot::Sender<()>,
}

struct Writer<W> {
    stream: Mutex<Option<W>>,
    unsent: AtomicUsize,
}

/// What was read.
enum LineRead {
    Line,
    /// A line went by, with what is known of it.
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

    /// Reads on until a line is whole. Dropped on the way, it loses nothing: what was read is kept in `self`.
    async fn read(&mut self) -> LineRead {
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return LineRead::End };
            if available.is_empty() {
                // A last line without its line break was cut off.
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

    /// The message of the present line, if it holds one that somebody waits for.
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
        // One that is being written to is not waited for: its server may never read on.
        if let Ok(mut stream) = self.writer.stream.try_lock() {
            *stream = None;
        }
        Ok(())
    }
}

/// A message's place among those that wait to be written.
struct Ticket<W>(Arc<Writer<W>>);

impl<W> Ticket<W> {
    fn take(writer: &Arc<Writer<W>>) -> io::Result<Ticket<W>> {
        let ticket = Ticket(Arc::clone(writer));
        match writer.unsent.fetch_add(1, Ordering::Relaxed) {
            MAX_UNSENT.. => Err(io::Error::other("it does not read what it is sent")),
            _ => Ok(ticket),
        }
    }
}

impl<W> Drop for Ticket<W> {
    fn drop(&mut self) {
        self.0.unsent.fetch_sub(1, Ordering::Relaxed);
    }
}
