//! The issues that a text refers to: a commit message, a specification, the title of a pull request.
//!
//! Code spans contain no references, nor do numbers inside other addresses. A number must match whole: `#421` does not
//! name issue 42.

use std::collections::BTreeSet;

/// The part of a text that is searched, in bytes. The rest contains no references.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// The most digits of a number.
const MAX_DIGITS: usize = 18;
/// The keywords before a reference that make GitHub close the issue.
const CLOSING: [&str; 9] = ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// A reference to an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The target.
    pub target: Target,
    /// Whether a keyword before it closes the issue: `fixes #1`.
    pub closes: bool,
}

/// The target of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An issue by its number: `#1`, `GH-1`, `owner/name#1`, or its address.
    Issue {
        /// The repository: `owner/name`, or `host/owner/name` if the host is not `github.com`. `None` means the one
        /// that the text belongs to.
        repository: Option<String>,
        /// The number.
        number: u64,
    },
    /// A tracker's key, such as `ABC-12`.
    Key(String),
}

/// Returns the references in `text`, in order.
pub fn references(text: &str) -> Vec<Reference> {
    let text = bounded(text);
    let mut found = Vec::new();
    let mut at = 0;
    for (from, to) in code_spans(text).into_iter().chain([(text.len(), text.len())]) {
        plain(&text[at..from], &mut found);
        at = to;
    }
    found
}

/// Returns the text up to the last whole word that fits. A number cut in two would be another number.
fn bounded(text: &str) -> &str {
    if text.len() <= MAX_TEXT_BYTES {
        return text;
    }
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    &text[..text.rfind(char::is_whitespace).unwrap_or(0)]
}

/// Checks whether `text` has the form of a tracker's key: `ABC-12`.
pub fn is_key(text: &str) -> bool {
    let Some((project, digits)) = text.split_once('-') else { return false };
    let mut letters = project.chars();
    project.len() >= 2
        && letters.next().is_some_and(|first| first.is_ascii_uppercase())
        && letters.all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
        && number(digits).is_some()
}

impl Target {
    /// Checks whether this is the issue `number` of `repository` (`owner/name`, or `host/owner/name`). If `repository`
    /// is `None`, only a reference without a repository matches.
    pub fn is_issue(&self, number: u64, repository: Option<&str>) -> bool {
        match self {
            Target::Issue { repository: None, number: found } => *found == number,
            Target::Issue { repository: Some(named), number: found } => {
                *found == number && repository.is_some_and(|own| own.eq_ignore_ascii_case(named))
            }
            Target::Key(_) => false,
        }
    }
}

/// Returns the ranges of code spans and fences: from a run of backticks to the next one of the same length. A span of
/// one or two backticks ends within its paragraph.
fn code_spans(text: &str) -> Vec<(usize, usize)> {
    let rows = rows(text);
    let mut spans = Vec::new();
    // No later run has one of these lengths. Searching for one again would take quadratic time.
    let mut alone = BTreeSet::new();
    let mut next = 0;
    while let Some(&(from, length)) = rows.get(next) {
        next += 1;
        if alone.contains(&length) {
            continue;
        }
        match rows[next..].iter().position(|row| row.1 == length) {
            None => {
                alone.insert(length);
            }
            Some(distance) => {
                let (to, _) = rows[next + distance];
                if length >= 3 || !text[from..to].contains("\n\n") {
                    spans.push((from, to + length));
                    next += distance + 1;
                }
            }
        }
    }
    spans
}

/// Returns the runs of backticks: the start and the length of each.
fn rows(text: &str) -> Vec<(usize, usize)> {
    let mut rows: Vec<(usize, usize)> = Vec::new();
    for (at, _) in text.match_indices('`') {
        match rows.last_mut() {
            Some((from, length)) if *from + *length == at => *length += 1,
            _ => rows.push((at, 1)),
        }
    }
    rows
}

/// Adds the references of a text without code to `found`.
fn plain(text: &str, found: &mut Vec<Reference>) {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let free = at == 0 || !text[..at].ends_with(|c: char| is_word(c) || matches!(c, '/' | '#' | '&' | '@'));
        if free && (rest.starts_with("https://") || rest.starts_with("http://")) {
            let length = rest.find(|c: char| c.is_whitespace() || "<>\"'()[]{}|".contains(c)).unwrap_or(rest.len());
            push(found, address(&rest[..length]), text, at);
            at += length;
        } else if free && rest.starts_with('#') {
            let digits = leading_digits(&rest[1..]);
            if ends(&rest[1 + digits..]) {
                push(found, local(&rest[1..=digits]), text, at);
            }
            at += 1 + digits;
        } else if free && rest.starts_with(is_word) {
            let (target, length) = word(rest);
            push(found, target, text, at);
            at += length;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
}

fn push(found: &mut Vec<Reference>, target: Option<Target>, text: &str, at: usize) {
    if let Some(target) = target {
        found.push(Reference { target, closes: closes(&text[..at]) });
    }
}

/// Returns the target that begins with a word, if any (`owner/name#1`, `GH-1` or a key), and the length that was read.
fn word(rest: &str) -> (Option<Target>, usize) {
    let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
    if let Some(target) = elsewhere(rest, length) {
        return target;
    }
    // A full stop or a dash at the end belongs to the sentence.
    let text = rest[..length].trim_end_matches(['.', '-']);
    let followed = rest[length..].starts_with(['/', '@']);
    let target = match text.split_at_checked(3) {
        _ if followed => None,
        Some((gh, digits)) if gh.eq_ignore_ascii_case("GH-") => local(digits),
        _ => is_key(text).then(|| Target::Key(text.to_owned())),
    };
    (target, length)
}

/// Reads `owner/name#1`, whose owner is `length` bytes long. Returns the target and the length of the whole reference.
fn elsewhere(rest: &str, length: usize) -> Option<(Option<Target>, usize)> {
    let behind = rest[length..].strip_prefix('/')?;
    let name = behind.find(|c: char| !is_name(c)).unwrap_or(behind.len());
    let digits = leading_digits(behind[name..].strip_prefix('#')?);
    let end = length + 1 + name + 1 + digits;
    let number = number(&rest[end - digits..end]).filter(|_| name > 0 && ends(&rest[end..]));
    let repository = Some(rest[..length + 1 + name].to_owned());
    Some((number.map(|number| Target::Issue { repository, number }), end))
}

/// Returns the issue at an address: `https://github.com/owner/name/issues/1`.
fn address(url: &str) -> Option<Target> {
    let (_, behind) = url.split_once("://")?;
    let path = behind.split(['?', '#']).next().unwrap_or(behind).trim_end_matches(['.', ',', ';', ':', '!']);
    match *path.trim_end_matches('/').split('/').collect::<Vec<_>>() {
        [host, owner, name, "issues", digits] if !owner.is_empty() && !name.is_empty() => {
            let repository = match host.eq_ignore_ascii_case("github.com") {
                true => format!("{owner}/{name}"),
                false => format!("{host}/{owner}/{name}"),
            };
            number(digits).map(|number| Target::Issue { repository: Some(repository), number })
        }
        _ => None,
    }
}

fn local(digits: &str) -> Option<Target> {
    number(digits).map(|number| Target::Issue { repository: None, number })
}

/// Parses an issue number: not zero, and without leading zeros.
fn number(digits: &str) -> Option<u64> {
    let fits = (1..=MAX_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    (fits && !digits.starts_with('0')).then(|| digits.parse().ok()).flatten()
}

fn leading_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Checks whether a number ends where `rest` begins: `#1.5` and `#1st` are not references.
fn ends(rest: &str) -> bool {
    let mut rest = rest.chars();
    match rest.next() {
        Some('.' | ',') => !rest.next().is_some_and(|next| next.is_ascii_digit()),
        Some(next) => !is_word(next),
        None => true,
    }
}

/// Checks whether the last word of `before` closes the reference after it.
fn closes(before: &str) -> bool {
    let trimmed = before.trim_end();
    let trimmed = trimmed.strip_suffix(':').unwrap_or(trimmed).trim_end();
    let from = trimmed
        .rfind(|c: char| !is_word(c))
        .map_or(0, |at| at + trimmed[at..].chars().next().map_or(1, char::len_utf8));
    let word = &trimmed[from..];
    trimmed.len() < before.len() && CLOSING.iter().any(|closing| word.eq_ignore_ascii_case(closing))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Checks whether `c` may occur in the name of an owner, a repository or a key.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references_text(text: &str) -> String {
        let told = references(text).into_iter().map(|reference| {
            let target = match reference.target {
                Target::Issue { repository, number } => format!("{}#{number}", repository.unwrap_or_default()),
                Target::Key(key) => key,
            };
            if reference.closes { format!("closes {target}") } else { target }
        });
        told.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn every_form_is_read() {
        assert_eq!(references_text("add it (#42)"), "#42");
        assert_eq!(references_text("GH-42 and gh-43."), "#42, #43");
        assert_eq!(references_text("see owner/my.repo#7, please"), "owner/my.repo#7");
        assert_eq!(references_text("https://github.com/o/r/issues/9#issuecomment-1"), "o/r#9");
        assert_eq!(references_text("(https://ghe.example.com/o/r/issues/9)."), "ghe.example.com/o/r#9");
        assert_eq!(references_text("ABC-12: done"), "ABC-12");
    }

    #[test]
    fn keywords_close() {
        assert_eq!(
            references_text("Fixes #1, closes: o/r#2, refs #3 and prefixes #4"),
            "closes #1, closes o/r#2, #3, #4"
        );
        assert_eq!(references_text("resolved\nGH-5"), "closes #5");
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for text in [
            "#0",
            "#042",
            "#1st",
            "#1.5",
            "a#1",
            "##1",
            "&#42;",
            "#",
            "# 1",
            "#1234567890123456789",
            "/#1",
            "GH-",
            "A-1",
            "abc-1",
            "https://github.com/o/r/pull/9",
            "https://example.com/#42",
            "https://x.org/o/r/issues/9/10",
            "ABC-12/x",
        ] {
            assert_eq!(references_text(text), "", "{text}");
        }
    }

    #[test]
    fn code_refers_to_nothing() {
        assert_eq!(references_text("`#1` ``a ` #2`` #3\n```\n#4\n\n#5\n```\n#6"), "#3, #6");
        assert_eq!(references_text("a ` stray one\n\n#7 and ` another"), "#7");
    }

    #[test]
    fn the_number_and_the_repository_count() {
        let names = |text: &str, repository| references(text).iter().any(|found| found.target.is_issue(42, repository));
        assert!(names("see #42", None));
        assert!(!names("see #421", None));
        assert!(names("see Own/Repo#42", Some("own/repo")));
        assert!(!names("see other/repo#42", Some("own/repo")));
        assert!(!names("see own/repo#42", None));
        assert!(!names("https://evil.example/own/repo/issues/42", Some("own/repo")));
        assert_eq!(
            (references_text("ABC-12 x"), references_text("ABC-123 x")),
            ("ABC-12".to_owned(), "ABC-123".to_owned())
        );
    }

    #[test]
    fn hostile_texts_end_soon() {
        let rows: String = (1..700).map(|length| format!("{} #1 ", "`".repeat(length))).collect();
        assert!(!references(&rows).is_empty());
        assert_eq!(references(&"#1 ".repeat(1_000_000)).len(), MAX_TEXT_BYTES / 3);
        assert!(references(&"é".repeat(1000)).is_empty());
    }
}
