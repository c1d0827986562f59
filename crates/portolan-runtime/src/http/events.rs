//! Server-sent events, parsed piece by piece. An event that is too large is not kept.

use std::collections::VecDeque;

/// The maximum length of a line that is no data, such as the name of an event, in bytes.
const MAX_FIELD_BYTES: usize = 1024;

/// One event.
pub(crate) struct Event<P> {
    /// Its name, `message` by default.
    pub(crate) name: String,
    /// Its data.
    pub(crate) data: Data<P>,
}

/// The data of an event.
pub(crate) enum Data<P> {
    /// All of it.
    Whole(Vec<u8>),
    /// It was too large to be kept. Contains the result of the observer.
    TooLarge(P),
}

/// Observes data that is too large to be kept.
pub(crate) trait ByteObserver: Default {
    /// Observes the next piece.
    fn feed(&mut self, bytes: &[u8]);
}

/// Observes nothing.
impl ByteObserver for () {
    fn feed(&mut self, _bytes: &[u8]) {}
}

/// The parser of a stream of events.
pub(crate) struct Events<P = ()> {
    max: usize,
    /// The current line: up to its colon, or all of it if it is not data.
    field: Vec<u8>,
    place: Place,
    after_return: bool,
    name: String,
    data: Option<Data<P>>,
    ready: VecDeque<Event<P>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Within a line that is not known to be data.
    Field,
    /// At the first character of a line of data. A space there is skipped.
    DataStart,
    Data,
}

impl<P: ByteObserver> Events<P> {
    /// Parses events whose data has at most `max` bytes.
    pub(crate) fn new(max: usize) -> Events<P> {
        Events {
            max,
            field: Vec::new(),
            place: Place::Field,
            after_return: false,
            name: String::new(),
            data: None,
            ready: VecDeque::new(),
        }
    }

    /// Returns the next complete event.
    pub(crate) fn next(&mut self) -> Option<Event<P>> {
        self.ready.pop_front()
    }

    /// Parses a piece of the stream.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(byte) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *byte == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            self.piece(piece);
            let Some(end) = end else { return };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_of_line();
        }
    }

    /// Parses a part of a line.
    fn piece(&mut self, mut piece: &[u8]) {
        if self.place == Place::Field {
            let room = MAX_FIELD_BYTES.saturating_sub(self.field.len());
            let colon = piece.iter().position(|byte| *byte == b':');
            let is_data = |field: &[u8]| field == b"data" || field == b"\xEF\xBB\xBFdata";
            match colon {
                Some(at) if is_data(&[&self.field, &piece[..at]].concat()) => {
                    self.field.clear();
                    self.place = Place::DataStart;
                    piece = &piece[at + 1..];
                    self.begin_data();
                }
                _ => return self.field.extend_from_slice(&piece[..piece.len().min(room)]),
            }
        }
        if self.place == Place::DataStart && !piece.is_empty() {
            self.place = Place::Data;
            piece = piece.strip_prefix(b" ").unwrap_or(piece);
        }
        self.push(piece);
    }

    /// Several lines of data are joined with line breaks.
    fn begin_data(&mut self) {
        match self.data {
            Some(_) => self.push(b"\n"),
            None => self.data = Some(Data::Whole(Vec::new())),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        match &mut self.data {
            Some(Data::Whole(data)) if data.len() + bytes.len() <= self.max => data.extend_from_slice(bytes),
            Some(Data::Whole(data)) => {
                let mut passing = P::default();
                passing.feed(data);
                passing.feed(bytes);
                self.data = Some(Data::TooLarge(passing));
            }
            Some(Data::TooLarge(passing)) => passing.feed(bytes),
            None => {}
        }
    }

    fn end_of_line(&mut self) {
        let in_field = self.place == Place::Field;
        self.place = Place::Field;
        if !in_field {
            return;
        }
        let field = std::mem::take(&mut self.field);
        if field.is_empty() {
            return self.end_of_event();
        }
        if field == b"data" {
            return self.begin_data();
        }
        if let Some(name) = field.strip_prefix(b"event:") {
            self.name = String::from_utf8_lossy(name.strip_prefix(b" ").unwrap_or(name)).into_owned();
        }
    }

    fn end_of_event(&mut self) {
        let name = std::mem::take(&mut self.name);
        let name = if name.is_empty() { "message".to_owned() } else { name };
        if let Some(data) = self.data.take() {
            self.ready.push_back(Event { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Vec<u8>);

    impl ByteObserver for Seen {
        fn feed(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
    }

    fn events_text(stream: &str, max: usize, step: usize) -> String {
        let mut events: Events<Seen> = Events::new(max);
        let mut told = Vec::new();
        for piece in stream.as_bytes().chunks(step) {
            events.feed(piece);
            while let Some(event) = events.next() {
                let (data, size) = match event.data {
                    Data::Whole(data) => (data, ""),
                    Data::TooLarge(Seen(data)) => (data, "too large "),
                };
                told.push(format!("{} {size}{:?}", event.name, String::from_utf8(data).expect("text")));
            }
        }
        told.join("; ")
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let stream = "\u{feff}data: a\n\n: a comment\nevent: endpoint\ndata: /x?y\n\ndata:one\r\ndata:  two\r\ndata\r\n\r\n\
                      id: 7\nretry: 9\n\nevent: lost\n\ndata: last\rdata: half\r\rdata: never finished\n";
        let expected = r#"message "a"; endpoint "/x?y"; message "one\n two\n"; message "last\nhalf""#;
        for step in 1..stream.len() {
            assert_eq!(events_text(stream, 100, step), expected, "{step}");
        }
    }

    #[test]
    fn too_much_is_not_kept_but_seen_as_it_goes_by() {
        let long = "x".repeat(5_000);
        let stream = format!("data: a{long}\ndata: z\n\n{long}: ignored\n\ndata: b\n\n");
        for step in [1, 7, 100_000] {
            assert_eq!(events_text(&stream, 100, step), format!(r#"message too large "a{long}\nz"; message "b""#));
        }
    }
}
