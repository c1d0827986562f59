//! A `tracing` subscriber, as an embedder has one.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// Writes every event of Portolan down, with the fields of the span that it is in.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    lines: Arc<Mutex<Vec<String>>>,
    spans: Arc<Mutex<Vec<String>>>,
    about: Arc<Mutex<Vec<&'static Metadata<'static>>>>,
    inside: Arc<Mutex<Vec<u64>>>,
    next: Arc<AtomicU64>,
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _fits = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _fits = write!(self.0, " {}={value}", field.name());
    }
}

impl Subscriber for Seen {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target().starts_with("portolan")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(String::new());
        span.record(&mut fields);
        self.spans.lock().expect("no panic").push(fields.0);
        self.about.lock().expect("no panic").push(span.metadata());
        Id::from_u64(self.next.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        let inside = self.inside.lock().expect("no panic").last().copied();
        let spans = self.spans.lock().expect("no panic");
        let around = inside.and_then(|span| spans.get(usize::try_from(span).ok()? - 1));
        let around = around.map(|fields| format!(" in{fields}")).unwrap_or_default();
        self.lines.lock().expect("no panic").push(format!("{}{}{around}", event.metadata().level(), fields.0));
    }

    /// Tasks go on in the span that they were begun in only where this says which that is.
    fn current_span(&self) -> Current {
        let inside = self.inside.lock().expect("no panic").last().copied();
        let about = self.about.lock().expect("no panic");
        let of = |span: u64| Some((Id::from_u64(span), *about.get(usize::try_from(span).ok()? - 1)?));
        inside.and_then(of).map_or_else(Current::none, |(id, about)| Current::new(id, about))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, span: &Id) {
        self.inside.lock().expect("no panic").push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.inside.lock().expect("no panic").pop();
    }
}

impl Seen {
    /// What was seen during `work`, the names of runs and times made alike.
    pub(crate) fn during(work: impl FnOnce()) -> String {
        // Where there is only one subscriber, events that a thread without one comes to first are off for all threads.
        static ANOTHER: OnceLock<Dispatch> = OnceLock::new();
        ANOTHER.get_or_init(|| Dispatch::new(Seen::default()));
        let seen = Seen::default();
        tracing::subscriber::with_default(seen.clone(), work);
        let lines = seen.lines.lock().expect("no panic");
        let mut text = String::new();
        for line in lines.iter() {
            let words = line.split(' ').map(|word| match word.split_once('=') {
                Some(("took_ms", _)) => "took_ms=…".to_owned(),
                Some(("run", _)) => "run=…".to_owned(),
                _ => word.to_owned(),
            });
            text.push_str(&words.collect::<Vec<_>>().join(" "));
            text.push('\n');
        }
        text
    }
}
