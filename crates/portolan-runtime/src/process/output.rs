//! The end of a command's output: bounded while it runs, and converted to plain text when it has ended.

/// The maximum length of the returned output, in bytes.
pub(crate) const TAIL_BYTES: usize = 8 * 1024;

/// How much is buffered, in bytes. It is more than is returned: colours are removed, and a secret that begins before
/// the returned part must still be recognized.
const KEPT_BYTES: usize = 4 * TAIL_BYTES;

/// A line cut in two is dropped if it is not longer than this, in bytes.
const BROKEN_LINE_BYTES: usize = 1024;

const LEFT_OUT: &str = "[earlier output left out]\n";

/// The last bytes of a stream.
#[derive(Default)]
pub struct Tail {
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
        // Cuts rarely and by half, so that each byte is moved at most once.
        if self.bytes.len() > 2 * KEPT_BYTES {
            self.bytes.drain(..self.bytes.len() - KEPT_BYTES);
            self.cut = true;
        }
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the tail as text, after `redact` has processed it.
    pub(crate) fn text(&self, redact: impl FnOnce(String) -> String) -> String {
        let text = redact(clean(&String::from_utf8_lossy(&self.bytes)));
        let text = text.trim_end();
        if !self.cut && text.len() <= TAIL_BYTES {
            return text.to_owned();
        }
        let room = TAIL_BYTES - LEFT_OUT.len();
        let from = text.ceil_char_boundary(text.len().saturating_sub(room));
        let text = &text[from..];
        let whole = match text.find('\n') {
            Some(end) if end < BROKEN_LINE_BYTES => &text[end + 1..],
            _ => text,
        };
        format!("{LEFT_OUT}{whole}")
    }
}

/// Returns `text` without terminal escapes and control characters. A carriage return ends a line.
pub fn clean(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => plain.push('\n'),
            '\n' | '\t' => plain.push(char),
            _ if char.is_control() => {}
            _ => plain.push(char),
        }
    }
    plain
}

/// Skips what follows an escape character: a sequence such as `[…m`, a string up to its terminator, or one character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|char| !('@'..='~').contains(&char)) {},
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // A string without a terminator must not swallow the lines below it.
            while let Some(char) = chars.next_if(|char| *char != '\n') {
                if char == '\u{7}' || (char == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        Some('(' | ')' | '#' | '%' | ' ') => {
            chars.next();
        }
        _ => {}
    }
}
