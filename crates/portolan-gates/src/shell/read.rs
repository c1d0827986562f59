//! Texts that are to be read, one after the other: what a text hands to another shell waits here, so that no nesting of
//! shells nests the calls of this reader. Bounds hold for all of them together.

use std::collections::VecDeque;
use std::sync::Arc;

use shuck_parser::parser::Parser;
use shuck_parser::{ShellDialect, ShellProfile};

use super::walk::Walk;
use super::{Assignment, Command, Doubt, MAX_BYTES, Reading, ShellContext, Why, Word};

/// How often a text may lead to another text.
const MAX_LEVELS: usize = 12;
/// How many texts are read for one, how many bytes they have together, and how many commands may come of it.
const MAX_TEXTS: usize = 512;
const MAX_TOTAL: usize = 4 * MAX_BYTES;
pub(super) const MAX_COMMANDS: usize = 4096;
/// How deep a text may nest. Deeper ones cost the parser more than their length says.
const MAX_DEPTH: usize = 40;
/// How many of the words that the parser descends for without counting may follow each other.
const MAX_PREFIXES: usize = 32;
/// How many braces may be open at once, quoted or not, and how many bytes may follow on all of them.
const MAX_BRACES: usize = 64;
const MAX_LOOKS: usize = 100_000_000;

/// A text that is to be read, and what holds where it runs.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) text: String,
    pub(super) folders: Vec<Word>,
    pub(super) carried: Arc<Vec<Assignment>>,
    pub(super) after: Arc<Vec<Command>>,
    pub(super) level: usize,
    pub(super) around: Arc<ShellContext>,
}

impl Pending {
    pub(super) fn new(text: &str, around: ShellContext) -> Self {
        Self {
            text: text.to_owned(),
            folders: vec![Word::from(".")],
            carried: Arc::default(),
            after: Arc::default(),
            level: 0,
            around: Arc::new(around),
        }
    }
}

/// Text that a shell evaluates later than it reads it: the value of a variable in arithmetic, a subscript, a reference, a
/// prompt. Where a text has such a place, and anywhere data that would be a command there, neither is followed: together
/// they make a doubt.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// The first place that evaluates what variables hold.
    pub(super) place: Option<String>,
    /// Whether data would run something there.
    pub(super) holds: bool,
}

/// Reads `first`, and every text that it leads to.
pub(super) fn read(first: Pending) -> Reading {
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
            None => waiting.extend(read_one(&next, &mut reading, &mut late)),
        }
    }
    reading.doubts.extend(late.place.filter(|_| late.holds).map(|place| doubt(Why::Hidden, &place)));
    reading.doubts.dedup();
    reading
}

fn read_one(next: &Pending, reading: &mut Reading, late: &mut Late) -> Vec<Pending> {
    let profile = ShellProfile::native(ShellDialect::Bash);
    let parsed = Parser::with_limits_and_profile(&next.text, MAX_DEPTH, MAX_BYTES * 2, profile).parse();
    if parsed.is_err() {
        reading.doubts.push(doubt(Why::Unparsed, &next.text));
    }
    // What was understood before the fault is read as well: bash runs it before it comes to the fault.
    let mut walk = Walk::new(next, reading);
    walk.file(&parsed.file.body);
    late.place = late.place.take().or(walk.late.place);
    late.holds |= walk.late.holds;
    walk.pending
}

/// Whether the parser would go too deep, or would look at the same text too often: it looks for the end of a brace from
/// each of them anew.
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

/// The longest row of words for each of which the parser descends: `time time ! coproc …`.
fn prefixes(text: &str) -> usize {
    let joined = text.replace("\\\n", "");
    let (mut longest, mut row) = (0, 0);
    for word in joined.split_whitespace() {
        row = if matches!(word, "time" | "coproc" | "!" | "-p" | "--") { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    longest
}

/// A doubt about `what`, which is cut short.
pub(super) fn doubt(why: Why, what: &str) -> Doubt {
    const LONGEST: usize = 80;
    let mut short: String = what.chars().take(LONGEST).collect();
    if short.len() < what.len() {
        short.push('…');
    }
    Doubt { why, what: short }
}
