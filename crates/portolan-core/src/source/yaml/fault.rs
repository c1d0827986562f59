//! The faults of a YAML text, in the words of its author.

use saphyr_parser::ScanError;

use super::MAX_DEPTH;
use super::places::Places;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::{MAX_SOURCE_BYTES, Span};

fn syntax_at(message: impl Into<String>, at: usize, text: &str) -> Diagnostic {
    let end = text[at..].chars().next().filter(|c| *c != '\n' && *c != '\r').map_or(at, |c| at + c.len_utf8());
    Diagnostic::error("syntax", message).at(Span { start: at, end })
}

/// Reports the first character that YAML does not allow: it is invisible, and controls terminals.
pub(super) fn unprintable(text: &str) -> Option<Diagnostic> {
    let allowed = |c: char| match c {
        '\t' | '\n' | '\r' | '\u{85}' => true,
        '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        c => !c.is_control(),
    };
    let (at, found) = text.char_indices().find(|(_, c)| !allowed(*c))?;
    let message = format!("not valid YAML: the character `{}` is not allowed here", found.escape_debug());
    Some(syntax_at(message, at, text).help("remove it, or write it as an escape in a double-quoted text"))
}

pub(super) fn second_document(span: Span) -> Diagnostic {
    Diagnostic::error("syntax", "the file contains more than one YAML document")
        .at(span)
        .help("a definition is one document: remove the `---`, or move what follows it into a file of its own")
}

pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error("syntax", format!("the values nest deeper than {MAX_DEPTH} levels"))
        .at(span)
        .help("move parts of it into files of their own")
}

pub(super) fn recursive(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error("syntax", format!("the alias `{}` is inside the value that it repeats", clip(name)))
        .at(span)
        .help("a value cannot contain itself: write out the intended value")
}

pub(super) fn alias_bomb(span: Span) -> Diagnostic {
    let message = format!("the aliases of the file repeat more than {MAX_SOURCE_BYTES} bytes");
    Diagnostic::error("too-large", message).at(span).help("anchor smaller values, or repeat them less often")
}

pub(super) fn unknown_tag(tag: &str, span: Span) -> Diagnostic {
    Diagnostic::error("syntax", format!("the tag `{tag}` has no meaning here"))
        .at(span)
        .help("remove it: values are objects, lists, texts, numbers, booleans and null")
}

pub(super) fn mistagged(tag: &str, value: &str, span: Span) -> Diagnostic {
    Diagnostic::error("syntax", format!("`{}` does not match its tag `{tag}`", clip(value)))
        .at(span)
        .help("remove the tag, or write a value that matches it")
}

pub(super) fn no_number(word: &str, span: Span) -> Diagnostic {
    Diagnostic::error("syntax", format!("`{word}` is a number that JSON cannot represent"))
        .at(span)
        .help("write another number, or put it in quotes if it is meant as text")
}

pub(super) fn no_key(span: Span) -> Diagnostic {
    Diagnostic::error("syntax", "only a text can be a key")
        .at(span)
        .help("write the key as a text before the `:`; a text that begins with `[`, `{` or `?` must be in quotes")
}

pub(super) fn no_merge(span: Span) -> Diagnostic {
    Diagnostic::error("syntax", "`<<` merges an object or a list of objects, but this is neither")
        .at(span)
        .help("write `<<: *name`, with `&name` before the object to merge; put `<<` in quotes if it is a key")
}

/// Returns the diagnostic for a syntax error: the parser's message, and its most likely cause.
pub(super) fn syntax(text: &str, places: &Places<'_>, error: &ScanError, unclosed: Option<usize>) -> Diagnostic {
    let at = places.byte(error.marker());
    let info = error.info();
    let says = |message: &str, at: usize| syntax_at(format!("not valid YAML: {message}"), at, text);
    if let Some(fault) = tab(text, at, info) {
        return fault;
    }
    if info.contains("unknown anchor") {
        let name: String = text[at..].chars().take_while(|c| !c.is_whitespace() && !",]}".contains(*c)).collect();
        return says(&format!("the alias `{}` repeats a value that has no anchor", clip(&name)), at).help(
            "write `&name` before the value to repeat, further up; a text that begins with `*` must be in quotes",
        );
    }
    if info.contains("quoted scalar") && !info.contains("trailing") {
        return quoted(text, at, info);
    }
    if info.contains("recursion limit") {
        return says("too many brackets are open", at).help("move parts of it into files of their own");
    }
    if info.contains("trailing content") {
        return says("there is something after the closing quote", at)
            .help("put the whole text in one pair of quotes, or start a new line");
    }
    if info.contains("block scalar") {
        return says("the text of a block must begin on the line below its `|` or `>`", at)
            .help("move the text there and indent it; put a text that begins with `|` or `>` in quotes");
    }
    if info.contains("comment") {
        return says("a comment is not allowed inside a text", at)
            .help("move the comment to a line of its own above, or indent the line below like the other keys");
    }
    if info.contains("misplaced bracket") {
        return says("this bracket does not close anything", at).help("remove it, or put the text in quotes");
    }
    if info.contains("handle") || info.contains("tag") {
        return says("a text cannot begin with `!`, which begins a tag", at)
            .help("put the text in quotes, or remove the tag");
    }
    if info.contains("unexpected character") {
        let c = text[at..].chars().next().unwrap_or(' ');
        return says(&format!("a text cannot begin with `{c}`"), at).help("put the text in quotes");
    }
    if let Some(start) = unclosed {
        return in_brackets(text, at, start);
    }
    structure(text, at, info)
}

/// Reports a tab in an indentation. The parser reports it in several ways, and not always at the tab.
fn tab(text: &str, at: usize, info: &str) -> Option<Diagnostic> {
    let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let indents = |line: usize| {
        let blank = text[line..].len() - text[line..].trim_start_matches([' ', '\t']).len();
        text[line..line + blank].find('\t').map(|tab| line + tab)
    };
    let next = text[at..].find('\n').map(|end| at + end + 1);
    let found = indents(line).or_else(|| next.filter(|_| info.contains("tab")).and_then(indents))?;
    Some(syntax_at("not valid YAML: a tab cannot indent a line", found, text).help("indent with spaces"))
}

fn quoted(text: &str, at: usize, info: &str) -> Diagnostic {
    let quote = text[at..].chars().next().filter(|c| ['"', '\''].contains(c)).unwrap_or('"');
    let escape = (info.contains("escape") || info.contains("hexadecimal")).then(|| bad_escape(text, at)).flatten();
    if let Some((at, found)) = escape {
        let help = match found.len() {
            // Six: `\u` and four digits, one half of a surrogate pair, with which JSON writes characters beyond 16
            // bits.
            6 => "write the character itself",
            _ => {
                "write `\\\\` for a backslash, or put the text in single quotes, where a backslash has no special meaning"
            }
        };
        return syntax_at(format!("not valid YAML: the escape `{}` has no meaning", clip(&found)), at, text).help(help);
    }
    syntax_at(format!("not valid YAML: the quote `{quote}` that opens here is not closed"), at, text).help(
        "close it; a text of several lines is easier to write as a block: `|` at the end of the line, and \
            the text indented below",
    )
}

/// Returns the first invalid escape after `from` in a double-quoted text; `None` if the text ends within an escape.
fn bad_escape(text: &str, from: usize) -> Option<(usize, String)> {
    let mut at = from;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let c = text[at + 1..].chars().next()?;
        let digits = match c {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let code: String = text[at + 1 + c.len_utf8()..].chars().take(digits).collect();
        let sound = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).is_some() && code.len() == digits;
        if (digits > 0 && !sound) || !"0abt\tnvfre \"/\\N_LPxuU\r\n".contains(c) {
            return Some((at, format!("\\{c}{code}")));
        }
        at += 1 + c.len_utf8();
    }
    Some((from, "\\".to_owned()))
}

/// Returns the diagnostic for a fault inside brackets. If they are unclosed at the end of the text, it points to the
/// opening one.
fn in_brackets(text: &str, at: usize, start: usize) -> Diagnostic {
    let bracket = &text[start..=start];
    let line = text[..start].matches('\n').count() + 1;
    let close = if bracket == "{" { "}" } else { "]" };
    if text[at..].trim().is_empty() {
        return syntax_at(format!("not valid YAML: the `{bracket}` that opens here is not closed"), start, text)
            .help(format!("close it with `{close}`"));
    }
    syntax_at(format!("not valid YAML: this is not allowed inside the `{bracket}` of line {line}"), at, text).help(
        format!(
            "separate its items with `,`, close it with `{close}`, and indent its lines; a text that contains `,`, \
        `:`, brackets or braces must be in quotes"
        ),
    )
}

/// Returns the diagnostic for a misplaced key, value or list item.
fn structure(text: &str, at: usize, info: &str) -> Diagnostic {
    let says = |message: &str, at: usize| syntax_at(format!("not valid YAML: {message}"), at, text);
    let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let first = line + (text[line..].len() - text[line..].trim_start_matches(' ').len());
    if info.contains("mapping values are not allowed") || info.contains("illegal placement") {
        return if text[line..at].contains(": ") {
            says("this line contains a second `: `", at)
                .help("put the text in quotes if the `: ` belongs to it, or start a new line for the key")
        } else {
            says("a key is not allowed here, where a text continues", first)
                .help("indent it like the other keys of its object, and end the line above with `:` if it is a key too")
        };
    }
    if info.contains("simple key expect") {
        let (at, word) = line_above(text, at);
        return says(&format!("`{}` has no value", clip(word)), at)
            .help("write `key: value`; a text of several lines is indented below its key, after a `|`");
    }
    if info.contains("expected key") || info.contains("'-' indicator") || info.contains("indentation") {
        return if text[first..].starts_with("- ") && info.contains("expected key") {
            says("a list item is not allowed here", first)
                .help("indent every `- ` of a list equally, below the key that the list belongs to")
        } else {
            says("the indentation of this line does not match any line above", first)
                .help("indent lines that belong together with the same number of spaces")
        };
    }
    if info.contains("sequence entries are not allowed") {
        return says("a list cannot begin on the line of its key", at)
            .help("write each `- ` on a line of its own below the key, or the list as `[…]`");
    }
    if info.contains("document start") {
        return says("something follows the end of the value", at)
            .help("a definition is one object: indent or remove it");
    }
    says(&clip(&info.to_lowercase()), at).help("put texts that contain special characters in quotes")
}

/// Returns the last line before `at` that is neither blank nor a comment.
fn line_above(text: &str, at: usize) -> (usize, &str) {
    let mut end = at;
    loop {
        let start = text[..end].rfind('\n').map_or(0, |line| line + 1);
        let line = text[start..end].trim();
        if !line.is_empty() && !line.starts_with('#') || start == 0 {
            let indent = text[start..end].len() - text[start..end].trim_start().len();
            return (start + indent, line);
        }
        end = start - 1;
    }
}
