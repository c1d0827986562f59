//! Finds a name in a JSONata expression, and spells another name in its place.

use crate::expr::Jsonata;

/// Words that need backticks as names.
const RESERVED: [&str; 7] = ["and", "or", "in", "true", "false", "null", "function"];

/// The spelling of a name in an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Plain,
    Backticks,
    /// A string that equals the name.
    Text,
    /// A word in a longer string.
    Prose,
}

impl Spelling {
    /// Returns another name in this spelling; `None` if it cannot be spelled so.
    pub(super) fn of(self, name: &str) -> Option<String> {
        let is_plain = is_plain(name) && !RESERVED.contains(&name);
        match self {
            Spelling::Plain if is_plain => Some(name.to_owned()),
            Spelling::Plain if !name.contains('`') => Some(format!("`{name}`")),
            Spelling::Backticks if !name.contains('`') => Some(name.to_owned()),
            Spelling::Text if !name.contains(['"', '\'', '\\']) => Some(name.to_owned()),
            _ => None,
        }
    }
}

/// An occurrence of a name.
pub(super) struct Occurrence {
    pub(super) start: usize,
    pub(super) spelling: Spelling,
}

/// Returns the occurrences of a name as a whole word.
pub(super) fn found<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Occurrence> + 't {
    let starts = text.match_indices(name).map(|(start, _)| start).filter(|_| !name.is_empty());
    starts.filter_map(move |start| {
        let before = text[..start].chars().next_back();
        let after = text[start + name.len()..].chars().next();
        let spelling = match (before, after) {
            (Some('`'), Some('`')) => Spelling::Backticks,
            (Some('"'), Some('"')) | (Some('\''), Some('\'')) => Spelling::Text,
            // A variable, or a part of a longer word.
            (Some(c), _) if is_part(c) || c == '$' => return None,
            (_, Some(c)) if is_part(c) => return None,
            _ if !is_plain(name) => return None,
            _ if in_quotes(&text[..start]) => Spelling::Prose,
            _ => Spelling::Plain,
        };
        Some(Occurrence { start, spelling })
    })
}

/// Returns whether text after `before` is inside quotes. Returns `false` after a `/`, which may begin a pattern or a
/// comment.
fn in_quotes(before: &str) -> bool {
    let (mut open, mut escaped) = (None, false);
    for c in before.chars() {
        match (open, c) {
            (None, '/') => return false,
            (None, '"' | '\'' | '`') => open = Some(c),
            (Some(_), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(quote), c) if c == quote && !escaped => open = None,
            _ => {}
        }
        escaped = false;
    }
    open.is_some()
}

/// Returns whether the name at `start` is a root of the expression: another name in its place is one.
pub(super) fn is_asked(text: &str, start: usize, name: &str) -> bool {
    let mut other = "other".to_owned();
    while text.contains(&other) {
        other.push('_');
    }
    let text = [&text[..start], &other, &text[start + name.len()..]].concat();
    Jsonata::parse(&text).is_ok_and(|parsed| parsed.roots().contains(&other))
}

/// Returns the names of the plain path that ends directly before `end`. `None` if the text there is no path from the
/// top of the context.
pub(super) fn path_before(text: &str, end: usize) -> Option<Vec<&str>> {
    let (mut names, mut first, mut rest) = (Vec::new(), end, text[..end].strip_suffix('.')?);
    loop {
        let (start, name) = match rest.strip_suffix('`') {
            Some(inside) => inside.rsplit_once('`').map(|(before, name)| (before.len(), name))?,
            None => {
                let name = rest.rsplit(|c| !is_part(c)).next().unwrap_or_default();
                (rest.len() - name.len(), name)
            }
        };
        if name.is_empty() && !rest.ends_with('$') || !name.is_empty() && rest[..start].ends_with('$') {
            return None;
        }
        if !name.is_empty() {
            names.insert(0, name);
            first = if rest.ends_with('`') { start + 1 } else { start };
            if let Some(further) = rest[..start].strip_suffix('.') {
                rest = further;
                continue;
            }
        }
        return names.first().is_some_and(|name| is_asked(text, first, name)).then_some(names);
    }
}

/// Returns whether the quoted text from `start` is a key of an object constructor.
pub(super) fn is_key(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].trim_end();
    before.ends_with(['{', ',']) && text[end..].trim_start().starts_with(':')
}

/// Returns whether a function signature may let its arguments default to the context.
pub(super) fn has_signature(text: &str) -> bool {
    text.split(')').skip(1).any(|rest| rest.trim_start().starts_with('<'))
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_plain(name: &str) -> bool {
    name.chars().all(is_part) && !name.starts_with(|c: char| c.is_numeric())
}
