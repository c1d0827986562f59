//! Notes on standard error, while standard output belongs to the protocol.
//!
//! The parent process may not read them. A full pipe must not delay a call, so a separate thread writes. What exceeds
//! its queue is dropped and counted.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use portolan_runtime::servers::OnStderr;

use super::veil::Veil;

/// The most notes in the queue.
const WAITING: usize = 1_000;
/// How long to wait for the last notes.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The sender of notes. Clones share their queue.
#[derive(Clone)]
pub(crate) struct Notes {
    queue: SyncSender<Note>,
    left_out: Arc<AtomicU64>,
    veil: Veil,
    /// Whether notes are events of a log, whose lines are written here.
    is_logged: bool,
}

enum Note {
    Said(String),
    /// Answered once everything before it is written.
    Flush(SyncSender<()>),
}

impl Notes {
    /// Writes notes to `out`.
    pub(crate) fn to(out: impl Write + Send + 'static) -> Notes {
        let (queue, notes) = sync_channel(WAITING);
        let left_out = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&left_out);
        std::thread::spawn(move || write(out, &notes, &counted));
        Notes { queue, left_out, veil: Veil::default(), is_logged: false }
    }

    /// Does the same for the lines of a log. Notes become events of it.
    pub(crate) fn logged(out: impl Write + Send + 'static) -> Notes {
        Notes { is_logged: true, ..Notes::to(out) }
    }

    pub(crate) fn note(&self, note: String) {
        match self.is_logged {
            true => tracing::info!(target: "portolan::note", "{note}"),
            false => self.line(note),
        }
    }

    /// Writes a line as it is.
    pub(crate) fn line(&self, note: String) {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Note::Said(note)) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the receiver of servers' standard error. It notes each line with the server's name.
    pub(crate) fn of_servers(&self) -> OnStderr {
        let notes = self.clone();
        Arc::new(move |server, line| notes.note(format!("{server}: {}", notes.veil.text(line))))
    }

    /// Returns the redaction of the servers' lines.
    pub(super) fn veil(&self) -> Veil {
        self.veil.clone()
    }

    /// Waits until all notes are written, or a time limit is reached.
    pub(crate) fn flush(&self) {
        let (written, all) = sync_channel(1);
        if self.queue.try_send(Note::Flush(written)).is_ok() {
            let _late = all.recv_timeout(LAST_WORDS);
        }
    }
}

fn write(mut out: impl Write, notes: &Receiver<Note>, left_out: &AtomicU64) {
    for note in notes {
        let lost = left_out.swap(0, Ordering::Relaxed);
        // A closed standard error cannot be reported anywhere.
        if lost > 0 {
            let _closed = writeln!(out, "[{lost} lines left out: standard error was not read]");
        }
        match note {
            Note::Said(note) => drop(writeln!(out, "{note}")),
            Note::Flush(written) => drop(written.send(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn page_text(page: &Page) -> String {
        String::from_utf8(page.0.lock().expect("nobody panics").clone()).expect("text")
    }

    /// Waits for all notes without a time limit.
    fn written(notes: &Notes) {
        let (written, all) = sync_channel(1);
        notes.queue.send(Note::Flush(written)).expect("it is there");
        all.recv().expect("it is answered");
    }

    #[test]
    fn notes_are_written_in_order() {
        let page = Page::default();
        let notes = Notes::to(page.clone());
        notes.note("one".to_owned());
        notes.of_servers()("files", "two");
        written(&notes);
        assert_eq!(page_text(&page), "one\nfiles: two\n");
    }

    #[test]
    fn who_does_not_read_holds_nobody_up() {
        let page = Page::default();
        let unread = page.0.lock().expect("nobody panics");
        let notes = Notes::to(page.clone());
        let noted = WAITING + 11;
        for nth in 0..noted {
            notes.note(nth.to_string());
        }
        drop(unread);
        written(&notes);
        let said = page_text(&page);
        let left_out = |line: &str| line.strip_prefix('[')?.split(' ').next()?.parse::<usize>().ok();
        let lost: usize = said.lines().filter_map(left_out).sum();
        let written = said.lines().filter(|line| left_out(line).is_none()).count();
        assert!((10..=11).contains(&lost), "{lost}: one may be with the writer already");
        assert_eq!(written + lost, noted);
    }
}
