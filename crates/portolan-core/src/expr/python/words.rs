//! What Python says of characters, and how it cuts texts.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether `str.isspace` counts it, which is also what `split` and `strip` go by.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// Whether it is a letter.
pub(super) fn is_letter(c: char) -> bool {
    use GeneralCategory::{LowercaseLetter, ModifierLetter, OtherLetter, TitlecaseLetter, UppercaseLetter};
    matches!(
        get_general_category(c),
        LowercaseLetter | ModifierLetter | OtherLetter | TitlecaseLetter | UppercaseLetter
    )
}

/// Whether `str.isdigit` counts it: digits of all scripts, raised and circled ones too, and no fractions.
pub(super) fn is_digit(c: char) -> bool {
    match get_general_category(c) {
        GeneralCategory::DecimalNumber => true,
        GeneralCategory::OtherNumber => DIGITS.iter().any(|(first, last)| (*first..=*last).contains(&c)),
        _ => false,
    }
}

/// Digits that no number is written with.
const DIGITS: &[(char, char)] = &[
    ('\u{b2}', '\u{b3}'),
    ('\u{b9}', '\u{b9}'),
    ('\u{1369}', '\u{1371}'),
    ('\u{19da}', '\u{19da}'),
    ('\u{2070}', '\u{2070}'),
    ('\u{2074}', '\u{2079}'),
    ('\u{2080}', '\u{2089}'),
    ('\u{2460}', '\u{2468}'),
    ('\u{2474}', '\u{247c}'),
    ('\u{2488}', '\u{2490}'),
    ('\u{24ea}', '\u{24ea}'),
    ('\u{24f5}', '\u{24fd}'),
    ('\u{24ff}', '\u{24ff}'),
    ('\u{2776}', '\u{277e}'),
    ('\u{2780}', '\u{2788}'),
    ('\u{278a}', '\u{2792}'),
    ('\u{10a40}', '\u{10a43}'),
    ('\u{10e60}', '\u{10e68}'),
    ('\u{11052}', '\u{1105a}'),
    ('\u{1f100}', '\u{1f10a}'),
];

/// Whether `str.isalnum` counts it.
pub(super) fn is_letter_or_number(c: char) -> bool {
    is_letter(c) || c.is_numeric()
}

fn is_titlecase(c: char) -> bool {
    get_general_category(c) == GeneralCategory::TitlecaseLetter
}

/// Whether a text has letters with a case, and all of them this one.
pub(super) fn is_cased(text: &str, upper: bool) -> bool {
    let wrong = |c: char| is_titlecase(c) || if upper { c.is_lowercase() } else { c.is_uppercase() };
    let right = |c: char| if upper { c.is_uppercase() } else { c.is_lowercase() };
    text.chars().any(right) && !text.chars().any(wrong)
}

/// `str.title`: each letter after none is large, all others are small.
pub(super) fn title(text: &str) -> String {
    let mut titled = String::with_capacity(text.len());
    let mut follows = false;
    for c in text.chars() {
        if follows {
            titled.extend(c.to_lowercase());
        } else {
            enlarge(c, &mut titled);
        }
        follows = c.is_lowercase() || c.is_uppercase() || is_titlecase(c);
    }
    titled
}

/// `str.capitalize`: the first is large, all others are small.
pub(super) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let mut capitalized = String::with_capacity(text.len());
    if let Some(first) = characters.next() {
        enlarge(first, &mut capitalized);
    }
    capitalized.push_str(&characters.as_str().to_lowercase());
    capitalized
}

/// The large form of a letter at the beginning of a word: of what becomes several letters, only the first is large.
fn enlarge(c: char, into: &mut String) {
    let first = match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        _ => {
            let mut upper = c.to_uppercase();
            into.extend(upper.next());
            into.extend(upper.flat_map(char::to_lowercase));
            return;
        }
    };
    into.push(first);
}

/// The lines of a text, from byte to byte, with or without what ends them.
pub(super) fn lines(text: &str, keep_ends: bool) -> Vec<(usize, usize)> {
    let mut lines = Vec::new();
    let mut from = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if !matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && characters.next_if(|(_, next)| *next == '\n').is_some() {
            end += 1;
        }
        lines.push((from, if keep_ends { end } else { at }));
        from = end;
    }
    if from < text.len() {
        lines.push((from, text.len()));
    }
    lines
}

/// The words of a text, from byte to byte; after so many cuts the rest is one.
pub(super) fn words(text: &str, most: Option<usize>) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut from = 0;
    loop {
        let rest = &text[from..];
        let Some(begin) = rest.find(|c| !is_space(c)) else { return words };
        let begin = from + begin;
        if most.is_some_and(|most| words.len() == most) {
            words.push((begin, text.len()));
            return words;
        }
        let end = text[begin..].find(is_space).map_or(text.len(), |length| begin + length);
        words.push((begin, end));
        from = end;
    }
}

/// The pieces of a text between a separator, from byte to byte; after so many cuts the rest is one.
pub(super) fn pieces(text: &str, separator: &str, most: Option<usize>) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, found) in text.match_indices(separator) {
        if most.is_some_and(|most| pieces.len() == most) {
            break;
        }
        pieces.push((from, at));
        from = at + found.len();
    }
    pieces.push((from, text.len()));
    pieces
}

/// The digits of a number that is written in a text, without blanks around and `_` between them.
pub(super) fn number(text: &str) -> Option<String> {
    let digits = text.trim_matches(is_space);
    let bytes = digits.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let separates = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    let fits = bytes.iter().enumerate().all(|(at, byte)| *byte != b'_' || separates(at));
    fits.then(|| digits.replace('_', ""))
}
