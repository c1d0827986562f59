//! Passes on the output of checks while they run.

use std::fmt;
use std::sync::Arc;

/// The maximum length of a line that is passed on, in bytes. Longer ones are cut.
const MAX_LINE_BYTES: usize = 300;

/// The start of a check, or a line of its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOutput<'h> {
    /// The name of the check, or its command line.
    pub check: &'h str,
    /// The line of output, or `None` at the start.
    pub line: Option<&'h str>,
}

type Ear = Arc<dyn Fn(&CheckOutput<'_>) + Send + Sync>;

/// Listeners for the output of running checks. They are called synchronously, and must return quickly.
#[derive(Clone, Default)]
pub struct Listener(Vec<Ear>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({})", self.0.len())
    }
}

impl Listener {
    /// Creates a listener. [`Listener::default`] has none.
    pub fn new(hears: impl Fn(&CheckOutput<'_>) + Send + Sync + 'static) -> Listener {
        Listener(vec![Arc::new(hears)])
    }

    /// Combines two listeners.
    #[must_use]
    pub fn and(mut self, other: Listener) -> Listener {
        self.0.extend(other.0);
        self
    }

    /// Masks secrets before they reach the listener.
    pub(crate) fn masked(self, mask: impl Fn(&str) -> String + Send + Sync + 'static) -> Listener {
        if self.0.is_empty() {
            return self;
        }
        Listener::new(move |output| {
            let (check, line) = (mask(output.check), output.line.map(&mask));
            self.tell(&CheckOutput { check: &check, line: line.as_deref() });
        })
    }

    /// Reports the start of a check. Returns the receiver of its output.
    pub(crate) fn begins(&self, check: &str) -> LineSplitter {
        if self.0.is_empty() {
            return LineSplitter::default();
        }
        self.tell(&CheckOutput { check, line: None });
        LineSplitter { listener: self.clone(), check: check.into(), open: Vec::new() }
    }

    fn tell(&self, output: &CheckOutput<'_>) {
        self.0.iter().for_each(|hears| hears(output));
    }
}

/// Splits the output of a running check into lines. Does nothing without listeners.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineSplitter {
    listener: Listener,
    check: Arc<str>,
    /// The beginning of an unfinished line.
    open: Vec<u8>,
}

impl LineSplitter {
    /// Adds output, and passes on the last complete line of it, because a reader could not follow more. `redact`
    /// removes secrets.
    pub(crate) fn push(&mut self, chunk: &[u8], redact: &dyn Fn(String) -> String) {
        if self.listener.0.is_empty() {
            return;
        }
        let mut parts = chunk.split(|byte| matches!(byte, b'\n' | b'\r')).peekable();
        let mut last = None;
        while let Some(part) = parts.next() {
            let room = MAX_LINE_BYTES.saturating_sub(self.open.len());
            self.open.extend_from_slice(&part[..part.len().min(room)]);
            if parts.peek().is_some() {
                let line = std::mem::take(&mut self.open);
                if !line.trim_ascii().is_empty() {
                    last = Some(line);
                }
            }
        }
        if let Some(line) = last {
            let line = redact(crate::process::clean(&String::from_utf8_lossy(&line)));
            self.listener.tell(&CheckOutput { check: &self.check, line: Some(line.trim()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn listener_lines(chunks: &[&str]) -> Vec<String> {
        let all: Arc<Mutex<Vec<String>>> = Arc::default();
        let hears = Arc::clone(&all);
        let listener = Listener::new(move |heard| {
            let line = heard.line.map_or_else(|| "begins".to_owned(), str::to_owned);
            hears.lock().expect("nobody panics").push(format!("{}: {line}", heard.check));
        });
        let mut printing = listener.begins("tests");
        chunks.iter().for_each(|chunk| printing.push(chunk.as_bytes(), &|text| text.replace("secret", "[hidden]")));
        let all = all.lock().expect("nobody panics");
        all.clone()
    }

    #[test]
    fn what_may_not_be_shown_is_taken_out() {
        let all: Arc<Mutex<Vec<String>>> = Arc::default();
        let hears = Arc::clone(&all);
        let listener = Listener::new(move |heard| {
            hears.lock().expect("nobody panics").push(format!("{}: {:?}", heard.check, heard.line));
        });
        let mut printing = listener.masked(|text| text.replace("k3y", "***")).begins("login k3y");
        printing.push(b"with k3y\n", &|text| text);
        assert_eq!(*all.lock().expect("nobody panics"), ["login ***: None", "login ***: Some(\"with ***\")"]);
    }

    #[test]
    fn whole_lines_are_passed_on() {
        assert_eq!(listener_lines(&["one\nt", "wo", "\n"]), ["tests: begins", "tests: one", "tests: two"]);
        assert_eq!(listener_lines(&["one\ntwo\nthree\n\n"]), ["tests: begins", "tests: three"], "of many the last");
        assert_eq!(listener_lines(&["50 %\r60 %\r"]), ["tests: begins", "tests: 60 %"]);
        assert_eq!(listener_lines(&["a \u{1b}[31msecret\u{1b}[0m\n"]), ["tests: begins", "tests: a [hidden]"]);
        assert_eq!(listener_lines(&[&"x".repeat(9_000), "\n"])[1].len(), "tests: ".len() + MAX_LINE_BYTES);
    }
}
