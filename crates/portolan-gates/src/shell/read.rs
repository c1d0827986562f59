//! Reads the queue of pending texts. A text for another shell is queued instead of read recursively, so that nested
//! shells do not nest the calls of this reader. The limits apply to all texts together.

use std::collections::VecDeque;
use std::sync::Arc;

use shuck_parser::parser::Parser;
use shuck_parser::{ShellDialect, ShellProfile};

use super::walk::Walk;
use super::{Assignment, Command, Doubt, MAX_BYTES, Reading, ShellContext, Why, Word};

/// The deepest nesting of texts.
const MAX_LEVELS: usize = 12;
/// The most texts, bytes and commands that one text may lead to.
const MAX_TEXTS: usize = 512;
const MAX_TOTAL: usize = 4 * MAX_BYTES;
pub(super) const MAX_COMMANDS: usize = 4096;
/// The deepest nesting within a text. The parser is disproportionately slow on deeper ones.
const MAX_DEPTH: usize = 40;
/// The most consecutive words for which the parser recurses without counting.
const MAX_PREFIXES: usize = 32;
/// The most braces that may be open at once, quoted or not, and the limit of the text's length times its braces.
const MAX_BRACES: usize = 64;
const MAX_LOOKS: usize = 100_000_000;

/// A text to be read, and the state in which it runs.
#[derive(Clone, Debug)]
pub(super) struct PendingText {
    pub(super) text: String,
    pub(super) folders: Vec<Word>,
    pub(super) carried: Arc<Vec<Assignment>>,
    pub(super) after: Option<Arc<Command>>,
    pub(super) level: usize,
    pub(super) around: Arc<ShellContext>,
}

impl PendingText {
    pub(super) fn new(text: &str, around: ShellContext) -> Self {
        Self {
            text: text.to_owned(),
            folders: vec![Word::from(".")],
            carried: Arc::default(),
            after: None,
            level: 0,
            around: Arc::new(around),
        }
    }
}

/// Data that a shell may evaluate as code: the value of a variable in arithmetic, a subscript, a reference, a prompt.
/// If the texts have such a place, and anywhere data that would be a command there, the two are not traced to each
/// other; together they are a doubt.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// The first place that evaluates the values of variables.
    pub(super) place: Option<String>,
    /// Whether data exists that would run something there.
    pub(super) holds: bool,
}

/// Reads `first`, and every text that it leads to.
pub(super) fn read(first: PendingText) -> Reading {
    let mut reading = Reading::default();
    let mut waiting = VecDeque::from([first]);
    let (mut texts, mut total) = (0, 0);
    let mut late = Late::default();
    while let Some(next) = waiting.pop_front() {
        texts += 1;
        total += next.text.len();
        let bound = if next.text.len() > MAX_BYTES || total > MAX_TOTAL || reading.commands.len() >= MAX_COMMANDS {
            Some(Why::TooLong)
        } else if next.level > MAX_LEVELS || texts > MAX_TEXTS || too_deep(&next.text) {
            Some(Why::TooDeep)
        } else {
            None
        };
        match bound {
            Some(why) => reading.doubts.push(doubt(why, &next.text)),
            None => waiting.extend(read_one(&next, texts - 1, &mut reading, &mut late)),
        }
    }
    reading.doubts.extend(late.place.filter(|_| late.holds).map(|place| doubt(Why::Hidden, &place)));
    reading.doubts.dedup();
    reading
}

fn read_one(next: &PendingText, number: usize, reading: &mut Reading, late: &mut Late) -> Vec<PendingText> {
    let profile = ShellProfile::native(ShellDialect::Bash);
    let parsed = Parser::with_limits_and_profile(&next.text, MAX_DEPTH, MAX_BYTES * 2, profile).parse();
    if parsed.is_err() {
        reading.doubts.push(doubt(Why::Unparsed, &next.text));
    }
    // The part before a syntax error is read as well, because bash runs it before it reports the error.
    let mut walk = Walk::new(next, number, reading);
    walk.file(&parsed.file.body);
    late.place = late.place.take().or(walk.late.place);
    late.holds |= walk.late.holds;
    walk.pending
}

/// Checks whether the parser would recurse too deep, or scan the same text too often: it searches for the end of a
/// brace from each of them.
fn too_deep(text: &str) -> bool {
    let (mut open, mut deepest, mut braces) = (0_usize, 0, 0);
    for byte in text.bytes() {
        match byte {
            b'{' => {
                open += 1;
                braces += 1;
                deepest = deepest.max(open);
            }
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest > MAX_BRACES || braces * text.len() > MAX_LOOKS || prefixes(text) > MAX_PREFIXES
}

/// Returns the longest run of words for each of which the parser recurses: `time time ! coproc …`.
fn prefixes(text: &str) -> usize {
    let joined = text.replace("\\\n", "");
    let (mut longest, mut row) = (0, 0);
    for word in joined.split_whitespace() {
        row = if matches!(word, "time" | "coproc" | "!" | "-p" | "--") { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    longest
}

/// Creates a doubt about `what`, truncated.
pub(super) fn doubt(why: Why, what: &str) -> Doubt {
    const LONGEST: usize = 80;
    let mut short: String = what.chars().take(LONGEST).collect();
    if short.len() < what.len() {
        short.push('…');
    }
    Doubt { why, what: short }
}
