//! Source code: public names, tests and their assertions.

use super::super::removal::What;
use super::{Facts, name};

/// The languages that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Script,
    Python,
    Go,
}

impl Language {
    pub(super) fn of(path: &str) -> Option<Language> {
        match path.rsplit_once('.')?.1 {
            "rs" => Some(Language::Rust),
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Some(Language::Script),
            "py" | "pyi" => Some(Language::Python),
            "go" => Some(Language::Go),
            _ => None,
        }
    }

    /// Returns the texts that mark an assertion.
    fn asserts(self) -> &'static [&'static str] {
        match self {
            Language::Rust => &["assert!(", "assert_eq!(", "assert_ne!(", "assert_matches!(", ".assert_eq(", "panic!("],
            Language::Script => &["expect(", "assert(", "assert."],
            Language::Python => &["assert ", "assert(", "self.assert", "pytest.raises("],
            Language::Go => &["t.Error", "t.Fatal", "assert.", "require.", "t.Fail"],
        }
    }

    /// Returns the texts that silence a checker of the code.
    fn silences(self) -> &'static [&'static str] {
        match self {
            Language::Rust => &["#[allow(", "#![allow("],
            Language::Script => &["eslint-disable", "@ts-ignore", "@ts-nocheck", "biome-ignore"],
            Language::Python => &["# type: ignore", "# noqa", "# pragma: no cover"],
            Language::Go => &["//nolint"],
        }
    }

    fn comment(self) -> &'static str {
        if self == Language::Python { "#" } else { "//" }
    }
}

/// The state of the reader between lines.
#[derive(Default)]
struct Reader<'t> {
    /// The current test.
    test: Option<&'t str>,
    /// Whether the next function is a test, as marked above it. `marked_skip` is the line that marks it as skipped.
    marked_test: bool,
    marked_skip: Option<u64>,
}

pub(super) fn read(language: Language, lines: &[(u64, &str)], facts: &mut Facts) {
    let mut reader = Reader::default();
    for (number, line) in lines {
        let (number, line) = (*number, *line);
        for silence in language.silences() {
            if line.contains(silence) {
                facts.loosen(What::Strictness, silence.trim_matches(['#', '[', '(', '!', '/', ' ', '@']), number);
            }
        }
        let bare = line.trim_start();
        if bare.is_empty() || bare.starts_with(language.comment()) {
            continue;
        }
        match language {
            Language::Rust => reader.rust(bare, number, facts),
            Language::Script => reader.script(bare, number, facts),
            Language::Python => reader.python(bare, number, facts),
            Language::Go => reader.go(line, bare, number, facts),
        }
        for _ in 0..language.asserts().iter().map(|word| occurrences(bare, word)).sum::<usize>() {
            if let Some(test) = reader.test {
                facts.hold(What::Assertion, test, number);
            }
        }
    }
}

/// Counts a word in a line, without the places where it continues a longer name.
fn occurrences(line: &str, word: &str) -> usize {
    let joined = |at: usize| line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(word).filter(|(at, _)| word.starts_with('.') || !joined(*at)).count()
}

/// Returns the text after the first of these words that it begins with.
fn after<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    words.iter().find_map(|word| text.strip_prefix(word)?.strip_prefix([' ', '\t']).map(str::trim_start))
}

/// Returns the text without these words at its beginning, in any order.
fn without<'t>(mut text: &'t str, words: &[&str]) -> &'t str {
    while let Some(rest) = after(text, words) {
        text = rest;
    }
    text
}

impl<'t> Reader<'t> {
    /// Records that a test begins here.
    fn begin(&mut self, test: &'t str, number: u64, facts: &mut Facts) {
        facts.hold(What::Test, test, number);
        if let Some(line) = self.marked_skip.take() {
            facts.loosen(What::Test, test, line);
        }
        self.test = Some(test);
    }

    fn rust(&mut self, bare: &'t str, number: u64, facts: &mut Facts) {
        if let Some(attribute) = bare.strip_prefix("#[") {
            let path = attribute.split([']', '(', ' ']).next().unwrap_or_default();
            self.marked_test |= path == "test" || path.ends_with("::test") || path == "rstest";
            if path == "ignore" || path == "should_panic" && attribute.contains("ignore") {
                self.marked_skip = Some(number);
            }
            if bare.ends_with(']') {
                return;
            }
        }
        for word in ["#![deny(", "#![forbid("] {
            if bare.starts_with(word) {
                facts.hold(What::Strictness, bare.trim_start_matches("#!["), number);
            }
        }
        let bare = bare.rsplit_once("] ").filter(|_| bare.starts_with("#[")).map_or(bare, |(_, rest)| rest);
        let visible = bare.strip_prefix("pub ");
        let body = without(visible.unwrap_or(bare), &["async", "const", "unsafe", "extern \"C\"", "default"]);
        if let Some(function) = after(body, &["fn"]).and_then(name) {
            match std::mem::take(&mut self.marked_test) {
                true => self.begin(function, number, facts),
                false => self.marked_skip = None,
            }
        }
        if let Some(visible) = visible {
            let body = without(visible, &["async", "unsafe", "extern \"C\"", "default"]);
            let kinds = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "union", "use"];
            let body = after(body, &["const"]).filter(|rest| after(rest, &["fn", "unsafe"]).is_some()).unwrap_or(body);
            match after(without(body, &["async", "unsafe"]), &kinds) {
                Some(rest) if after(body, &["use"]).is_some() => uses(rest, number, facts),
                Some(rest) => facts.held.extend(name(rest.trim_start_matches("mut ")).map(|name| symbol(name, number))),
                None => {}
            }
        }
        if let Some(rest) = bare.strip_prefix("macro_rules!") {
            facts.held.extend(name(rest).map(|name| symbol(name, number)));
        }
    }

    fn script(&mut self, bare: &'t str, number: u64, facts: &mut Facts) {
        if let Some(exported) = after(bare, &["export"]) {
            let body = without(exported, &["default", "declare", "abstract", "async"]);
            let kinds =
                ["function*", "function", "class", "const", "let", "var", "interface", "type", "enum", "namespace"];
            if let Some(list) = body.strip_prefix('{').or_else(|| body.strip_prefix("type {")) {
                listed(list, number, facts);
            } else if let Some(found) = after(body, &kinds).and_then(name) {
                facts.held.push(symbol(found, number));
            } else if exported.starts_with("default") {
                facts.held.push(symbol("default", number));
            }
        }
        for (word, skips) in [("it", false), ("test", false), ("xit", true), ("xtest", true)] {
            let Some(rest) = bare.strip_prefix(word) else { continue };
            let skip = skips || rest.starts_with(".skip") || rest.starts_with(".todo");
            let Some(open) =
                rest.find('(').filter(|open| rest[..*open].chars().all(|c| c.is_alphanumeric() || c == '.'))
            else {
                continue;
            };
            let Some(title) = quoted(&rest[open + 1..]) else { continue };
            self.marked_skip = skip.then_some(number);
            self.begin(title, number, facts);
        }
        if bare.starts_with("describe.skip") || bare.starts_with("xdescribe") {
            facts.loosen(
                What::Test,
                quoted(bare.split_once('(').map_or("", |cut| cut.1)).unwrap_or("describe"),
                number,
            );
        }
    }

    fn python(&mut self, bare: &'t str, number: u64, facts: &mut Facts) {
        if bare.starts_with('@') {
            if bare.contains("skip") || bare.contains("xfail") {
                self.marked_skip = Some(number);
            }
            return;
        }
        let defined = after(bare, &["def", "async def", "class"]).and_then(name);
        let Some(defined) = defined else { return };
        if defined.starts_with("test") {
            self.begin(defined, number, facts);
        } else if !defined.starts_with('_') {
            facts.held.push(symbol(defined, number));
        }
        self.marked_skip = None;
    }

    fn go(&mut self, line: &'t str, bare: &'t str, number: u64, facts: &mut Facts) {
        if let Some(test) =
            self.test.filter(|_| bare.contains("t.Skip(") || bare.contains("t.SkipNow(") || bare.contains("t.Skipf("))
        {
            facts.loosen(What::Test, test, number);
        }
        let Some(declared) = after(line, &["func", "type", "const", "var"]) else { return };
        let declared = match declared.strip_prefix('(') {
            Some(receiver) => receiver.split_once(')').map_or("", |cut| cut.1),
            None => declared,
        };
        let Some(found) = name(declared) else { return };
        if line.starts_with("func Test") || line.starts_with("func Fuzz") {
            self.begin(found, number, facts);
        } else if found.starts_with(char::is_uppercase) {
            facts.held.push(symbol(found, number));
        }
    }
}

fn symbol(name: &str, line: u64) -> super::Fact {
    super::Fact { what: What::Symbol, name: name.to_owned(), line }
}

/// Records the names that `pub use a::{B, c as D};` exports. Only the first line of a longer list is read.
fn uses(text: &str, number: u64, facts: &mut Facts) {
    let text = text.trim_end_matches([';', ' ']);
    match text.split_once('{') {
        Some((_, list)) => listed(list, number, facts),
        None => listed(text.rsplit("::").next().unwrap_or(text), number, facts),
    }
}

/// Records the names of a list `a, b as c}`.
fn listed(list: &str, number: u64, facts: &mut Facts) {
    for item in list.split('}').next().unwrap_or_default().split(',') {
        let given = item.rsplit(" as ").next().unwrap_or(item).rsplit("::").next().unwrap_or(item);
        facts.held.extend(name(given.trim().trim_start_matches("type ")).map(|name| symbol(name, number)));
    }
}

/// Returns the quoted text at the beginning.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    text[1..].split(quote).next().filter(|title| !title.is_empty())
}
