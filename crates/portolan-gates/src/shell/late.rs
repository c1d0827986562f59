//! Text that a shell evaluates later than it reads it: the value of a variable in arithmetic, a subscript, a reference, a
//! prompt. Where a text holds such a place, and anywhere something that would be a command there, neither is followed:
//! together they make a doubt.

use super::queue::doubt;
use super::{Assignment, Doubt, Why, Word};

/// What was found of both in a text, and in all that it leads to.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// The first place that evaluates what variables hold.
    place: Option<String>,
    /// Whether a value would run something there.
    holds: bool,
}

impl Late {
    pub(super) fn join(&mut self, other: Late) {
        self.place = self.place.take().or(other.place);
        self.holds |= other.holds;
    }

    pub(super) fn doubt(&self) -> Option<Doubt> {
        self.place.as_deref().filter(|_| self.holds).map(|place| doubt(Why::Hidden, place))
    }

    /// A value that a variable, or an argument of a function, may have.
    pub(super) fn holds(&mut self, value: &Word) {
        self.holds |= value.known().is_some_and(runs);
    }

    /// Arithmetic, where it names a variable.
    pub(super) fn calculates(&mut self, text: &str) {
        let text = text.strip_prefix('$').unwrap_or(text);
        if text.contains(|char: char| char.is_ascii_alphabetic() || matches!(char, '_' | '$')) {
            self.evaluates(text);
        }
    }

    pub(super) fn evaluates(&mut self, text: &str) {
        self.place.get_or_insert_with(|| text.to_owned());
    }

    /// `${…}`: a part by numbers, a subscript, another variable by its name, or a prompt.
    pub(super) fn expands(&mut self, text: &str) {
        let inner = text.trim_start_matches("${").trim_end_matches('}');
        let name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let rest = inner.trim_start_matches('#').trim_start_matches(name);
        let part = rest.strip_prefix(':').is_some_and(|rest| !rest.starts_with(['-', '=', '+', '?']));
        let subscript = rest.strip_prefix('[').is_some_and(|rest| !rest.starts_with(['@', '*']));
        if inner.starts_with(['!', '(']) || part || subscript || rest.starts_with('@') {
            self.evaluates(text);
        }
    }

    /// The arguments of a program of the shell that takes names of variables, or has values from its arguments.
    pub(super) fn arguments(&mut self, words: &[Word]) {
        const SETTING: [&str; 9] =
            ["echo", "printf", "set", "read", "export", "declare", "typeset", "local", "readonly"];
        let Some((Word::Known(program), arguments)) = words.split_first() else { return };
        let has = |option: &str| arguments.iter().any(|word| word.known() == Some(option));
        let unknown = arguments.iter().any(|word| word.known().is_none());
        if SETTING.contains(&program.as_str()) {
            arguments.iter().for_each(|word| self.holds(word));
        }
        match program.as_str() {
            "let" => self.evaluates("let"),
            "test" | "[" | "printf" if has("-v") => self.evaluates(program),
            "read" | "mapfile" | "readarray" | "unset" | "wait" | "getopts" if unknown => self.evaluates(program),
            _ => {}
        }
    }
}

/// Whether a value would run a command where it is evaluated. It may be put together from pieces that end in a sign.
fn runs(text: &str) -> bool {
    text.contains("$(") || text.contains('`') || text.ends_with('$') || text.contains("<(")
}

/// A variable whose value the shell, or another that is started, runs by itself.
pub(super) fn is_run(given: &Assignment) -> bool {
    let prompt = matches!(given.name.as_str(), "PS0" | "PS1" | "PS2" | "PS3" | "PS4" | "RPS1" | "PROMPT" | "RPROMPT");
    let hides = given.value.known().is_none_or(runs);
    (prompt && hides) || given.name == "PROMPT_COMMAND" || given.name.starts_with("BASH_FUNC_")
}
