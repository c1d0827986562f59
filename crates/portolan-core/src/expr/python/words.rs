//! Python's character classes, and its functions that change the case of text or split it.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Checks whether `str.isspace` holds; `split` and `strip` use the same class.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// Checks whether it is a letter.
pub(super) fn is_letter(c: char) -> bool {
    use GeneralCategory::{LowercaseLetter, ModifierLetter, OtherLetter, TitlecaseLetter, UppercaseLetter};
    matches!(
        get_general_category(c),
        LowercaseLetter | ModifierLetter | OtherLetter | TitlecaseLetter | UppercaseLetter
    )
}

/// Checks whether `str.isdigit` holds: digits of all scripts, with superscript and circled digits, without fractions.
pub(super) fn is_digit(c: char) -> bool {
    match get_general_category(c) {
        GeneralCategory::DecimalNumber => true,
        GeneralCategory::OtherNumber => DIGITS.iter().any(|(first, last)| (*first..=*last).contains(&c)),
        _ => false,
    }
}

/// Characters of the category "other number" for which `str.isdigit` holds.
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

/// Checks whether `str.isalnum` holds.
pub(super) fn is_letter_or_number(c: char) -> bool {
    is_letter(c) || c.is_numeric()
}

fn is_titlecase(c: char) -> bool {
    get_general_category(c) == GeneralCategory::TitlecaseLetter
}

/// Checks whether a text has cased letters, and all of them have this case.
pub(super) fn is_cased(text: &str, upper: bool) -> bool {
    let wrong = |c: char| is_titlecase(c) || if upper { c.is_lowercase() } else { c.is_uppercase() };
    let right = |c: char| if upper { c.is_uppercase() } else { c.is_lowercase() };
    text.chars().any(right) && !text.chars().any(wrong)
}

/// Computes `str.title`: a letter after a non-letter becomes titlecase, all others lowercase.
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

/// Computes `str.capitalize`: the first character becomes titlecase, all others lowercase.
pub(super) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let mut capitalized = String::with_capacity(text.len());
    if let Some(first) = characters.next() {
        enlarge(first, &mut capitalized);
    }
    capitalized.push_str(&characters.as_str().to_lowercase());
    capitalized
}

/// Appends the titlecase form of a letter. If it expands to several letters, only the first is uppercase.
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

/// Returns the byte ranges of the lines of a text, with or without line ends.
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

/// Returns the byte ranges of the words of a text; after `most` splits the rest is one word.
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

/// Returns the byte ranges of the parts between separators; after `most` splits the rest is one part.
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

/// Returns the digits of a number in a text, without the blanks around it and `_` between digits.
pub(super) fn number(text: &str) -> Option<String> {
    let digits = text.trim_matches(is_space);
    let bytes = digits.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let separates = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    let fits = bytes.iter().enumerate().all(|(at, byte)| *byte != b'_' || separates(at));
    fits.then(|| digits.replace('_', ""))
}
