//! Random files, with random layout and many comments, under random changes. The rest of a file must not change by a
//! byte, and the result must parse to exactly the wanted value.

use portolan_core::source::{Source, parse};
use serde_json::{Map, Value, json};

use portolan_core::source::spliced;

/// A deterministic random stream.
struct Chance(u64);

impl Chance {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % count
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

const TEXTS: [&str; 18] = [
    "plain",
    "two words",
    "it's",
    "a \"quote\"",
    "# no comment",
    "a: b",
    "- dash",
    "",
    "ü→☃",
    "yes",
    "12",
    "null",
    "$.a.b",
    "{ \"a\": [1, 2] }",
    "line\nline\n",
    "one\n\n  two\nthree",
    " blank ",
    "tab\tand \\ back",
];

fn scalar(chance: &mut Chance) -> Value {
    match chance.below(8) {
        0 => json!(chance.below(1000)),
        1 => json!(chance.one_in(2)),
        2 => Value::Null,
        3 => json!(-0.5),
        _ => json!(TEXTS[chance.below(TEXTS.len())]),
    }
}

fn any(chance: &mut Chance, depth: usize) -> Value {
    match chance.below(if depth == 0 { 3 } else { 6 }) {
        3 => (0..chance.below(4)).map(|_| any(chance, depth - 1)).collect(),
        4 => (0..chance.below(4)).map(|nth| node(chance, nth, depth - 1)).collect(),
        5 => object(chance, depth),
        _ => scalar(chance),
    }
}

fn node(chance: &mut Chance, nth: usize, depth: usize) -> Value {
    let mut members = Map::new();
    members.insert("id".to_owned(), json!(format!("n{nth}")));
    members.extend(object(chance, depth.max(1)).as_object().cloned().unwrap_or_default());
    Value::Object(members)
}

fn object(chance: &mut Chance, depth: usize) -> Value {
    const NAMES: [&str; 6] = ["next", "type", "with blank", "n", "a:b", "ünï"];
    let names = NAMES.iter().take(1 + chance.below(NAMES.len()));
    Value::Object(names.map(|name| ((*name).to_owned(), any(chance, depth - 1))).collect())
}

/// Writes a value with many comments.
struct Author<'c> {
    chance: &'c mut Chance,
    comments: usize,
    newline: &'static str,
    step: usize,
    dash: usize,
    width: usize,
    /// Whether a block of text is above: a deeper comment would be part of it.
    literal: bool,
}

impl Author<'_> {
    fn comment(&mut self) -> String {
        self.comments += 1;
        format!("# c{} \"'{{[", self.comments)
    }

    /// Returns lines that may precede a member in `column`.
    fn before(&mut self, column: usize) -> String {
        let mut lines = String::new();
        while self.chance.one_in(3) {
            let comment = self.comment();
            lines += &match self.chance.below(4) {
                0 => self.newline.to_owned(),
                1 if !self.literal => format!("{}{comment}{}", " ".repeat(self.chance.below(9)), self.newline),
                _ => format!("{}{comment}{}", " ".repeat(column), self.newline),
            };
        }
        lines
    }

    fn behind(&mut self) -> String {
        self.literal = false;
        let comment = if self.chance.one_in(3) { format!("  {}", self.comment()) } else { String::new() };
        format!("{comment}{}", self.newline)
    }

    fn flow(&mut self, value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), self.flow(value)))
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }
            Value::Array(items) => {
                format!("[{}]", items.iter().map(|item| self.flow(item)).collect::<Vec<_>>().join(", "))
            }
            Value::String(text) if !text.contains(['\n', '\t', '\\']) && self.chance.one_in(2) => {
                format!("'{}'", text.replace('\'', "''"))
            }
            other => other.to_string(),
        }
    }

    /// Returns the text after a colon or a dash, with the lines of the value.
    fn value(&mut self, value: &Value, column: usize, item: bool) -> String {
        let is_empty = matches!(value, Value::Array(items) if items.is_empty())
            || matches!(value, Value::Object(members) if members.is_empty());
        match value {
            Value::Null if self.chance.one_in(3) => self.behind(),
            Value::String(text) if text.ends_with('\n') && self.chance.one_in(2) => {
                self.literal = true;
                let margin = " ".repeat(column + 2);
                let lines: Vec<String> = text.lines().map(|line| format!("{margin}{line}{}", self.newline)).collect();
                format!(" |{}{}", self.newline, lines.concat())
            }
            Value::Object(_) | Value::Array(_) if !is_empty && !self.chance.one_in(4) => {
                let inner = match value {
                    _ if item => column + self.width,
                    Value::Array(_) => column + self.dash,
                    _ => column + self.step,
                };
                let lines = self.block(value, inner);
                if item
                    && self.chance.one_in(2)
                    && lines.starts_with(&" ".repeat(inner))
                    && !lines.trim_start().starts_with('#')
                {
                    return lines[column + 1..].to_owned();
                }
                self.behind() + &lines
            }
            other => format!(" {}{}", self.flow(other), self.behind()),
        }
    }

    fn block(&mut self, value: &Value, column: usize) -> String {
        let margin = " ".repeat(column);
        let mut text = String::new();
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    text += &self.before(column);
                    let name = Value::from(name.as_str());
                    text += &format!("{margin}{name}:{}", self.value(value, column, false));
                }
            }
            Value::Array(items) => {
                for item in items {
                    text += &self.before(column);
                    text += &format!("{margin}-{}", self.value(item, column, true));
                }
            }
            _ => {}
        }
        text + &self.before(column)
    }
}

/// The effect of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Replaced,
    Added,
    Removed,
}

/// Changes something inside a value.
fn change(chance: &mut Chance, value: &mut Value) -> Did {
    let size = match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if size == 0 {
        let is_scalar = !value.is_object() && !value.is_array();
        let new = if is_scalar { scalar(chance) } else { json!({ "x": [1] }) };
        *value = if new == *value { json!("another one") } else { new };
        return Did::Replaced;
    }
    let at = chance.below(size);
    let deeper = !chance.one_in(3);
    match value {
        Value::Object(members) => {
            let name = members.keys().nth(at).cloned().unwrap_or_default();
            if deeper || size == 1 || name == "id" {
                return change(chance, &mut members[&name]);
            }
            if chance.one_in(2) {
                members.shift_remove(&name);
                return Did::Removed;
            }
            members.insert("added".to_owned(), any(chance, 2));
            Did::Added
        }
        Value::Array(items) if deeper => change(chance, &mut items[at]),
        Value::Array(items) if size > 1 && chance.one_in(2) => {
            items.remove(at);
            Did::Removed
        }
        Value::Array(items) => {
            items.insert(at, node(chance, 77, 2));
            Did::Added
        }
        _ => Did::Replaced,
    }
}

fn comments(text: &str) -> Vec<&str> {
    text.split("# c").skip(1).filter_map(|rest| rest.split(" \"'{[").next()).collect()
}

fn one(seed: u64) {
    let mut chance = Chance(seed);
    let value = json!({ "head": any(&mut chance, 2), "tools": [node(&mut chance, 0, 3), node(&mut chance, 1, 3)], "tail": any(&mut chance, 2) });
    let newline = if chance.one_in(3) { "\r\n" } else { "\n" };
    let (step, dash, width) = (2 + chance.below(3), chance.below(3), 2 + chance.below(3));
    let mut author = Author { chance: &mut chance, comments: 0, newline, step, dash, width, literal: false };
    let mut text = author.block(&value, 0);
    if chance.one_in(4) {
        text.truncate(text.trim_end().len());
    }
    let source = Source::new("random.yaml", &text);
    let (tree, faults) = parse(&source);
    let tree = tree.unwrap_or_else(|| panic!("seed {seed}: {faults:?}\n{text}"));
    let before = tree.value();
    let mut wanted = before.clone();
    let key = *["head", "tools", "tail"].get(chance.below(3)).expect("one of them");
    let did = change(&mut chance, &mut wanted[key]);
    if wanted == before {
        return;
    }
    let after = match spliced(&source, &tree, &wanted) {
        Ok(after) => after,
        Err(unfit) => panic!("seed {seed}, {did:?} in {key}: {}\n{text}", unfit.0),
    };
    let shown = || format!("seed {seed}, {did:?} in {key}\n{text}\n=====\n{after}");
    let read = parse(&Source::new("random.yaml", &after)).0.map(|tree| tree.value());
    assert_eq!(read.as_ref(), Some(&wanted), "{}", shown());
    // Nothing changes outside the member with the change.
    let line = |text: &str, name: &str| {
        text.find(&format!("\"{name}\":")).map(|at| text[..at].rfind('\n').map_or(0, |end| end + 1))
    };
    let begin = line(&text, key).expect("it is there");
    assert_eq!(&text[..begin], &after[..begin], "{}", shown());
    let next = ["head", "tools", "tail"].iter().skip_while(|name| **name != key).nth(1);
    if let Some(next) = next {
        let (old, new) = (line(&text, next).expect("it is there"), line(&after, next).expect("it is there"));
        assert_eq!(&text[old..], &after[new..], "{}", shown());
    }
    // A comment is removed only together with its element, and none moves.
    let (old, new) = (comments(&text), comments(&after));
    match did {
        Did::Removed => {
            let lost = old.len().checked_sub(new.len()).unwrap_or_else(|| panic!("{}", shown()));
            let from = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
            assert_eq!([&old[..from], &old[from + lost..]].concat(), new, "{}", shown());
        }
        Did::Added => assert_eq!(old, new, "{}", shown()),
        Did::Replaced => assert_eq!(old, new, "{}", shown()),
    }
}

#[test]
fn random_changes_of_random_files_touch_nothing_else() {
    const FILES: u64 = 1_000;
    for seed in 0..FILES {
        one(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
}

/// Returns an invalid file: pieces of the cases, cut and recombined.
fn mangled(chance: &mut Chance, texts: &[String]) -> String {
    const PIECES: [&str; 22] = [
        "- ", "? ", ": ", "&a ", "*a", "<<: *a", "!!str ", "|\n", ">-\n", "{", "}", "[", "]", ",", "# c\n", "\n",
        "\r\n", "  ", "\"", "'", "é", "\t",
    ];
    let mut text = texts[chance.below(texts.len())].clone();
    let boundary = |chance: &mut Chance, text: &str| {
        let at = chance.below(text.len() + 1);
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    };
    for _ in 0..1 + chance.below(4) {
        let at = boundary(chance, &text);
        match chance.below(3) {
            0 => text.insert_str(at, PIECES[chance.below(PIECES.len())]),
            1 => {
                let to = boundary(chance, &text[at..]).min(12) + at;
                let to = (at..=to).rev().find(|to| text.is_char_boundary(*to)).unwrap_or(at);
                text.replace_range(at..to, "");
            }
            _ => {
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                let moved: Vec<&str> = lines
                    .iter()
                    .map(|line| lines.get(chance.below(40)).filter(|_| chance.one_in(12)).unwrap_or(line))
                    .copied()
                    .collect();
                text = moved.concat();
            }
        }
    }
    text
}

#[test]
fn mangled_files_are_changed_rightly_or_not_at_all() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/author");
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .expect("the cases")
        .filter_map(|case| std::fs::read_to_string(case.expect("a case").path().join("in.yaml")).ok())
        .collect();
    texts.sort();
    let (mut changed, mut refused) = (0, 0);
    for seed in 0..4_000_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let source = Source::new("mangled.yaml", mangled(&mut chance, &texts));
        let (Some(tree), faults) = parse(&source) else { continue };
        if faults.iter().any(portolan_core::diagnostic::Diagnostic::is_error) {
            continue;
        }
        let mut wanted = tree.value();
        change(&mut chance, &mut wanted);
        match spliced(&source, &tree, &wanted) {
            Ok(text) => {
                changed += 1;
                let read = parse(&Source::new("mangled.yaml", &text)).0.map(|tree| tree.value());
                assert_eq!(read, Some(wanted), "seed {seed}\n{}\n=====\n{text}", source.text);
            }
            Err(_) => refused += 1,
        }
    }
    assert!(changed > 5 * refused && changed > 500, "{changed} changed, {refused} refused");
}
