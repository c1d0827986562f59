//! The standard error of a server: its end is kept, and each line is passed on as it arrives.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::process::{Environment, clean};

/// A listener of servers' standard error. It receives the server's name and the line.
pub type OnStderr = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// A longer line is passed on in pieces.
const MAX_LINE_BYTES: usize = 8 * 1024;
/// The maximum size of the end that an error contains.
const SHOWN_BYTES: usize = 8 * 1024;
const READ_BYTES: usize = 8 * 1024;

/// The last lines of one server.
pub(super) struct Stderr {
    server: String,
    bound: usize,
    sink: Option<OnStderr>,
    kept: Mutex<KeptLines>,
    secrets: Environment,
}

#[derive(Default)]
struct KeptLines {
    lines: VecDeque<String>,
    bytes: usize,
    left_out: bool,
}

impl Stderr {
    pub(super) fn new(server: &str, bound: usize, sink: Option<OnStderr>, secrets: Environment) -> Arc<Stderr> {
        let server = server.to_owned();
        Arc::new(Stderr { server, bound, sink, kept: Mutex::default(), secrets })
    }

    /// Takes in a line, or Portolan's own message about the server.
    pub(super) fn line(&self, line: &str) {
        let line = self.secrets.redact(clean(line));
        if let Some(sink) = &self.sink {
            sink(&self.server, &line);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += line.len() + 1;
        kept.lines.push_back(line);
        while kept.bytes > self.bound
            && let Some(oldest) = kept.lines.pop_front()
        {
            kept.bytes -= oldest.len() + 1;
            kept.left_out = true;
        }
    }

    /// Returns the end of it, as errors contain it.
    pub(super) fn tail(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = SHOWN_BYTES;
        let fits = |line: &&String| {
            let fits = line.len() < room;
            room = room.saturating_sub(line.len() + 1);
            fits
        };
        let mut shown: Vec<&str> = kept.lines.iter().rev().take_while(fits).map(String::as_str).collect();
        if kept.left_out || shown.len() < kept.lines.len() {
            shown.push("[earlier output left out]");
        }
        shown.reverse();
        shown.join("\n").trim_end().to_owned()
    }

    /// Returns `text` without the values of secrets.
    pub(super) fn redact(&self, text: String) -> String {
        self.secrets.redact(text)
    }

    /// Takes in all output of `pipe`.
    pub(super) async fn pump(self: Arc<Self>, mut pipe: impl AsyncRead + Unpin) {
        let mut line = Vec::new();
        let mut chunk = [0; READ_BYTES];
        while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
            for piece in chunk[..read].split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(piece);
                if line.ends_with(b"\n") || line.len() >= MAX_LINE_BYTES {
                    self.bytes(&mut line);
                }
            }
        }
        if !line.is_empty() {
            self.bytes(&mut line);
        }
    }

    fn bytes(&self, line: &mut Vec<u8>) {
        self.line(String::from_utf8_lossy(line).trim_end_matches(['\n', '\r']));
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stderr(bound: usize, text: &str) -> Arc<Stderr> {
        let secrets = Environment::of([("API_TOKEN".into(), "s3cr3t-value".into())]);
        let stderr = Stderr::new("s", bound, None, secrets);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(Arc::clone(&stderr).pump(text.as_bytes()));
        stderr
    }

    #[test]
    fn the_end_is_kept_and_the_rest_is_counted_out() {
        assert_eq!(stderr(100, "one\ntwo\n").tail(), "one\ntwo");
        assert_eq!(stderr(8, "one\ntwo\nthree").tail(), "[earlier output left out]\nthree");
        assert_eq!(stderr(100, "").tail(), "");
    }

    #[test]
    fn neither_secrets_nor_escapes_are_kept() {
        assert_eq!(stderr(1000, "\u{1b}[31mkey s3cr3t-value\u{1b}[0m refused\r\n").tail(), "key [redacted] refused");
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let stderr = stderr(64 * 1024, &"x".repeat(10 << 20));
        let kept = stderr.kept.lock().expect("nobody panicked");
        assert!(kept.bytes <= 64 * 1024, "{}", kept.bytes);
        assert!(kept.lines.iter().all(|line| line.len() <= 2 * MAX_LINE_BYTES));
    }
}
