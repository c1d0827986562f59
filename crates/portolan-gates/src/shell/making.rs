//! A word that is being put together: its characters, which of them mean something to the shell, and where it has parts
//! that only the run will know. Braces come apart before patterns count, as in a shell.

use super::Word;

/// How long a word with braces may be, and how many words may come of it.
const MAX_BRACED: usize = 512;
const MAX_WORDS: usize = 64;
/// How much may be put in for variables in one word.
const MAX_EXPANDED: usize = 4096;

/// One part of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A character as it is.
    Char(char),
    /// A character that means something where it stands.
    Live(char),
    /// What only the run will know; several words where it is not quoted.
    Unknown { several: bool },
}

/// A word that is being put together.
#[derive(Default)]
pub(super) struct Making {
    pub(super) pieces: Vec<Piece>,
    /// It has quotes, so that it is a word even where nothing is in them.
    pub(super) quoted: bool,
    /// It has variables that were put in.
    pub(super) variable: bool,
    expanded: usize,
}

impl Making {
    pub(super) fn push(&mut self, character: char) {
        self.pieces.push(Piece::Char(character));
    }

    pub(super) fn push_live(&mut self, character: char) {
        self.pieces.push(Piece::Live(character));
    }

    pub(super) fn push_text(&mut self, text: &str) {
        self.pieces.extend(text.chars().map(Piece::Char));
    }

    pub(super) fn unknown(&mut self, quoted: bool) {
        self.pieces.push(Piece::Unknown { several: !quoted });
    }

    /// Puts in what a variable is. Shells do not agree on what becomes of spaces in one that is not quoted.
    pub(super) fn expand(&mut self, value: &Word, quoted: bool) {
        self.variable = true;
        match value {
            Word::Known(text) | Word::Pattern(text) if self.expanded + text.len() > MAX_EXPANDED => {
                self.unknown(quoted);
            }
            Word::Known(text) if quoted || !text.contains([' ', '\t', '\n', '*', '?', '[', '\\']) => {
                self.expanded += text.len();
                self.push_text(text);
            }
            Word::Pattern(text) => {
                self.expanded += text.len();
                self.pieces.extend(pieces_of(text));
            }
            Word::Known(_) | Word::Dynamic | Word::Spread => self.unknown(quoted),
        }
    }

    /// The one text that it is, where nothing means anything: the value of a variable, or what is quoted.
    pub(super) fn text(self) -> Word {
        plain(&self.pieces).map_or(
            if self.pieces.contains(&Piece::Unknown { several: true }) { Word::Spread } else { Word::Dynamic },
            Word::Known,
        )
    }

    /// The words that it comes to, once its braces are taken apart; `tilde` says what stands for `~`, `~+` and `~-`.
    pub(super) fn words(self, tilde: impl Fn(&str) -> Option<String>) -> Vec<Word> {
        if self.pieces.is_empty() && !self.quoted {
            return Vec::new();
        }
        if !self.pieces.contains(&Piece::Live('{')) {
            return vec![finished(self.pieces, &tilde)];
        }
        match braced(self.pieces) {
            Some(all) => all.into_iter().map(|pieces| finished(pieces, &tilde)).collect(),
            None => vec![Word::Spread],
        }
    }

    /// Whether braces may make several words of it.
    pub(super) fn has_braces(&self) -> bool {
        (0..self.pieces.len()).any(|at| alternatives(&self.pieces, at).is_some())
    }
}

fn plain(pieces: &[Piece]) -> Option<String> {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Char(character) | Piece::Live(character) => Some(*character),
            Piece::Unknown { .. } => None,
        })
        .collect()
}

/// A pattern as it is written in [`Word::Pattern`], in pieces.
fn pieces_of(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => pieces.extend(characters.next().map(Piece::Char)),
            '*' | '?' | '[' | ']' => pieces.push(Piece::Live(character)),
            _ => pieces.push(Piece::Char(character)),
        }
    }
    pieces
}

fn finished(mut pieces: Vec<Piece>, tilde: &impl Fn(&str) -> Option<String>) -> Word {
    if pieces.first() == Some(&Piece::Live('~')) {
        let end = pieces.iter().position(|piece| *piece == Piece::Char('/')).unwrap_or(pieces.len());
        let home = plain(&pieces[1..end]).and_then(|name| tilde(&name));
        match home {
            Some(home) => drop(pieces.splice(..end, home.chars().map(Piece::Char))),
            None => return Word::Dynamic,
        }
    }
    if pieces.contains(&Piece::Unknown { several: true }) {
        return Word::Spread;
    }
    if pieces.contains(&Piece::Unknown { several: false }) {
        return if is_pattern(&pieces) { Word::Spread } else { Word::Dynamic };
    }
    if is_pattern(&pieces) {
        return Word::Pattern(pieces.iter().map(pattern_text).collect());
    }
    plain(&pieces).map_or(Word::Dynamic, Word::Known)
}

fn is_pattern(pieces: &[Piece]) -> bool {
    let open = pieces.iter().position(|piece| *piece == Piece::Live('['));
    pieces.iter().any(|piece| matches!(piece, Piece::Live('*' | '?')))
        || open.is_some_and(|open| pieces[open..].contains(&Piece::Live(']')))
}

fn pattern_text(piece: &Piece) -> String {
    match piece {
        Piece::Char(character @ ('*' | '?' | '[' | ']' | '\\')) => format!("\\{character}"),
        Piece::Char(character) | Piece::Live(character) => character.to_string(),
        Piece::Unknown { .. } => "*".to_owned(),
    }
}

/// What comes of a word with braces; nothing where that is too much.
fn braced(pieces: Vec<Piece>) -> Option<Vec<Vec<Piece>>> {
    let mut done = Vec::new();
    let mut waiting = vec![pieces];
    while let Some(next) = waiting.pop() {
        if next.len() > MAX_BRACED || waiting.len() + done.len() > MAX_WORDS {
            return None;
        }
        let found = (0..next.len()).find_map(|at| alternatives(&next, at).map(|found| (at, found)));
        let Some((open, (close, choices))) = found else {
            done.push(next);
            continue;
        };
        if choices.is_empty() || choices.len() > MAX_WORDS {
            return None;
        }
        let whole = |choice: &Vec<Piece>| [&next[..open], choice.as_slice(), &next[close + 1..]].concat();
        waiting.extend(choices.iter().rev().map(whole));
    }
    Some(done)
}

/// Where the brace at `open` ends, and what it stands for; no choices where there are too many.
fn alternatives(pieces: &[Piece], open: usize) -> Option<(usize, Vec<Vec<Piece>>)> {
    if pieces[open] != Piece::Live('{') {
        return None;
    }
    let (mut depth, mut commas) = (0_usize, Vec::new());
    for (at, piece) in pieces.iter().enumerate().skip(open) {
        match piece {
            Piece::Live('{') => depth += 1,
            Piece::Live(',') if depth == 1 => commas.push(at),
            Piece::Live('}') if depth == 1 => {
                if commas.is_empty() {
                    return sequence(&pieces[open + 1..at]).map(|choices| (at, choices));
                }
                let mut ends = commas.clone();
                ends.push(at);
                let starts = std::iter::once(open).chain(commas);
                let choices = starts.zip(ends).map(|(start, end)| pieces[start + 1..end].to_vec());
                return Some((at, choices.collect()));
            }
            Piece::Live('}') => depth -= 1,
            Piece::Char(_) | Piece::Live(_) | Piece::Unknown { .. } => {}
        }
    }
    None
}

/// `1..5` and `a..e`.
fn sequence(inner: &[Piece]) -> Option<Vec<Vec<Piece>>> {
    let text = plain(inner)?;
    let (from, to) = text.split_once("..")?;
    let letter = |text: &str| {
        let mut characters = text.chars();
        characters.next().filter(|_| characters.as_str().is_empty()).filter(char::is_ascii_alphabetic)
    };
    if let (Some(from), Some(to)) = (letter(from), letter(to)) {
        let (low, high) = (from.min(to), from.max(to));
        let mut all: Vec<Vec<Piece>> = (low..=high).map(|letter| vec![Piece::Char(letter)]).collect();
        if from > to {
            all.reverse();
        }
        return Some(all);
    }
    let number = |text: &str| text.parse::<i32>().ok().filter(|_| !text.starts_with(['0', '+']) || text == "0");
    match (number(from), number(to)) {
        (Some(from), Some(to)) if from.abs_diff(to) < MAX_WORDS as u32 => {
            let mut all: Vec<i32> = (from.min(to)..=from.max(to)).collect();
            if from > to {
                all.reverse();
            }
            Some(all.iter().map(|number| number.to_string().chars().map(Piece::Char).collect()).collect())
        }
        // Steps, leading zeros, and more than are told.
        _ if from.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '-') => Some(Vec::new()),
        _ => None,
    }
}
