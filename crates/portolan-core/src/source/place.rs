//! Maps an offset in a string value to the offset in the file, to locate faults in expressions.

use super::{Source, Tree};

/// Returns the file offset at which byte `offset` of a string's value was written.
///
/// Returns the beginning of the string if the exact place is unknown, because an escape is not understood.
pub fn offset_in(source: &Source, tree: &Tree, offset: usize) -> usize {
    let start = tree.span.start;
    let (Some(value), Some(written)) = (tree.as_str(), source.text.get(start..tree.span.end)) else { return start };
    let walked = match written.chars().next() {
        Some('"') => quoted(written, value, offset, escape),
        Some('\'') => quoted(written, value, offset, doubled_quote),
        Some('|' | '>') => block(written, &source.text[..start], value, offset),
        _ => folded(written, 0, value, offset),
    };
    walked.map_or(start, |at| start + at)
}

/// One piece of a quoted text: its length in bytes as written, and the character it stands for.
type Piece = (usize, char);

fn quoted(written: &str, value: &str, offset: usize, piece: fn(&str) -> Option<Piece>) -> Option<usize> {
    let mut at = 1;
    let mut done = 0;
    let mut meant = value.chars();
    while done < offset {
        let (length, c) = piece(&written[at..])?;
        if c == '\n' && !written[at..].starts_with('\\') || meant.next() != Some(c) {
            return None;
        }
        at += length;
        done += c.len_utf8();
    }
    Some(at)
}

fn doubled_quote(rest: &str) -> Option<Piece> {
    let c = rest.chars().next()?;
    Some((if rest.starts_with("''") { 2 } else { c.len_utf8() }, c))
}

fn escape(rest: &str) -> Option<Piece> {
    let mut chars = rest.chars();
    let c = chars.next()?;
    if c != '\\' {
        return Some((c.len_utf8(), c));
    }
    let hexadecimal = |digits: usize| -> Option<Piece> {
        let code = u32::from_str_radix(rest.get(2..2 + digits)?, 16).ok()?;
        Some((2 + digits, char::from_u32(code)?))
    };
    let c = match chars.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        c @ ('"' | '\\' | '/' | ' ') => c,
        'x' => return hexadecimal(2),
        'u' => return hexadecimal(4),
        'U' => return hexadecimal(8),
        _ => return None,
    };
    Some((2, c))
}

/// Maps an offset in a block scalar: a header, then lines with the same indentation.
fn block(written: &str, before: &str, value: &str, offset: usize) -> Option<usize> {
    let (header, body) = written.split_once('\n')?;
    let explicit = header.chars().skip(1).take(2).find_map(|c| c.to_digit(10));
    let indent = match explicit {
        // The number is relative to the indentation of the line that the scalar belongs to.
        Some(more) => indentation(before.rsplit('\n').next().unwrap_or_default()) + more as usize,
        None => indentation(body.lines().find(|line| !line.trim().is_empty())?),
    };
    let begin = written.len() - body.len();
    folded(body, indent, value, offset).map(|at| begin + at)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Walks lines whose breaks became blanks, line breaks, or nothing. The first `indent` blanks of each line do not
/// count.
fn folded(written: &str, indent: usize, value: &str, offset: usize) -> Option<usize> {
    let mut at = begin_line(written, 0, indent);
    for (done, wanted) in value.char_indices() {
        loop {
            let rest = &written[at..];
            if rest.is_empty() {
                // The line breaks that end a block scalar come after its last line.
                return Some(at);
            }
            let breaks = rest.starts_with(['\n', '\r']);
            if (breaks && [' ', '\n'].contains(&wanted)) || (!breaks && rest.starts_with(wanted)) {
                if done == offset {
                    return Some(at);
                }
                at = if breaks { next_line(written, at, indent)? } else { at + wanted.len_utf8() };
                break;
            }
            if !rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']) {
                return None;
            }
            at = next_line(written, at, indent)?;
        }
    }
    (offset >= value.len()).then_some(at)
}

fn next_line(written: &str, at: usize, indent: usize) -> Option<usize> {
    let line = at + written[at..].find('\n')? + 1;
    Some(begin_line(written, line, indent))
}

/// Skips the indentation of a line: `indent` blanks in a block scalar, all blanks in a plain scalar.
fn begin_line(written: &str, at: usize, indent: usize) -> usize {
    let rest = &written[at..];
    let blanks = rest.len() - rest.trim_start_matches(if indent == 0 { [' ', '\t'] } else { [' ', ' '] }).len();
    at + if indent == 0 { blanks } else { blanks.min(indent) }
}

#[cfg(test)]
mod tests {
    use super::super::{Source, parse};
    use super::offset_in;

    /// Returns the value of `a` from `offset` on, and the file from the mapped offset on, each up to its line end.
    fn found(text: &str, offset: usize) -> String {
        let source = Source::new("t.yaml", text);
        let (tree, faults) = parse(&source);
        assert!(faults.is_empty(), "{faults:?}");
        let tree = tree.expect("it is read");
        let value = tree.get("a").expect("there is an `a`");
        let meant = &value.as_str().expect("a string")[offset..];
        let at = offset_in(&source, value, offset);
        format!(
            "{} | {}",
            meant.lines().next().unwrap_or_default(),
            source.text[at..].lines().next().unwrap_or_default()
        )
    }

    #[test]
    fn a_place_in_a_text_is_a_place_in_the_file() {
        assert_eq!(found("a: one two # c", 4), "two | two # c");
        assert_eq!(found("a: \"one \\n\\u00e9 two\"", 8), "two | two\"");
        assert_eq!(found("a: 'it''s two'", 5), "two | two'");
        assert_eq!(found("{\"a\": \"x\\\"y\"}", 2), "y | y\"}");
        assert_eq!(found("a: one\n   two  \n  three", 8), "three | three");
        assert_eq!(found("a: |\n  one\n    two\n", 6), "two | two");
        assert_eq!(found("a: |-\r\n  one\r\n  two\r\n", 4), "two | two");
        assert_eq!(found("a: | # c | d\n\n    one\n\n    two\n", 6), "two | two");
        assert_eq!(found("a: >\n  one\n  two\n\n  three\n", 8), "three | three");
        assert_eq!(found("a: &x !!str |2\n    one\n  two\n", 10), " | ");
        assert_eq!(found("a: &x !!str |2\n    one\n  two\n", 6), "two | two");
    }

    #[test]
    fn the_end_of_a_text_has_a_place() {
        assert_eq!(found("a: one", 3), " | ");
        assert_eq!(found("a: \"one\"", 3), " | \"");
        assert_eq!(found("a: |\n  one\n\nb: 1", 4), " | ");
    }

    #[test]
    fn what_cannot_be_placed_is_placed_at_the_beginning() {
        assert_eq!(found("a: \"\\a\\_two\"", 3), "two | \"\\a\\_two\"");
        assert_eq!(found("a: \"one\n   two\"", 4), "two | \"one");
    }
}
