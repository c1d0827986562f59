//! The parts of a file that others rely on (public names, tests and their assertions, jobs, dependencies), and the
//! parts that loosen a rule. Files are read line by line: less precise than a compiler, but the same for every language
//! and for files in any state.

mod config;
mod languages;

use super::removal::What;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fact {
    pub(super) what: What,
    pub(super) name: String,
    /// The line, starting at 1.
    pub(super) line: u64,
}

/// The parts found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Parts that must not be removed unannounced.
    pub(super) held: Vec<Fact>,
    /// Parts that must not be added unannounced: they skip tests or loosen rules.
    pub(super) loose: Vec<Fact>,
}

/// The longest line that is read, in bytes. A longer one is generated code.
const MAX_LINE: usize = 2_000;

/// Checks whether files of this name are read.
pub(super) fn knows(path: &str) -> bool {
    languages::Language::of(path).is_some() || config::Config::of(path).is_some()
}

/// Returns the parts of a file.
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

/// Returns the name that a text begins with, or `None` if there is none.
fn name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(text.len());
    Some(&text[..end]).filter(|name| !name.is_empty())
}
