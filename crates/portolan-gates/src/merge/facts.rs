//! What stands in a file that somebody relies on: public names, tests and what they assert, jobs, dependencies; and what
//! makes a rule looser. Read line by line: it is told what a language's own compiler would know better, in every
//! language alike and whatever state the file is in.

mod config;
mod languages;

use super::removal::What;

/// Something in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fact {
    pub(super) what: What,
    pub(super) name: String,
    /// From 1 on.
    pub(super) line: u64,
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// What must not go without a word.
    pub(super) held: Vec<Fact>,
    /// What must not come without a word: what skips tests and loosens rules.
    pub(super) loose: Vec<Fact>,
}

/// The longest line that is looked at, in bytes: a generated file is no code to read.
const MAX_LINE: usize = 2_000;

/// Whether the files of this name are looked into.
pub(super) fn knows(path: &str) -> bool {
    languages::Language::of(path).is_some() || config::Config::of(path).is_some()
}

/// What stands in a file.
pub(super) fn facts(path: &str, text: &str) -> Facts {
    let mut facts = Facts::default();
    if let Some(language) = languages::Language::of(path) {
        languages::read(language, &lines(text), &mut facts);
    }
    if let Some(config) = config::Config::of(path) {
        config::read(config, &lines(text), &mut facts);
    }
    facts
}

fn lines(text: &str) -> Vec<(u64, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| line.len() <= MAX_LINE).collect()
}

impl Facts {
    fn hold(&mut self, what: What, name: &str, line: u64) {
        self.held.push(Fact { what, name: name.to_owned(), line });
    }

    fn loosen(&mut self, what: What, name: &str, line: u64) {
        self.loose.push(Fact { what, name: name.to_owned(), line });
    }
}

/// The name that a text begins with; nothing when it begins with none.
fn name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(text.len());
    Some(&text[..end]).filter(|name| !name.is_empty())
}
