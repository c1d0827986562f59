//! Assignments to variables, and the places where a shell evaluates their values. A variable is resolved only if the
//! text assigns it one value and nothing else can.

use std::sync::Arc;

use shuck_ast::{
    ArrayElem, Assignment as AssignmentSyntax, AssignmentValue, Command as CommandSyntax, DeclOperand as Declared, Stmt,
};

use super::walk::Walk;
use super::{Assignment, Command, Why, Word, programs};

impl Walk<'_> {
    pub(super) fn carry(&mut self, given: impl IntoIterator<Item = Assignment>) {
        // Each later command carries all of them.
        const MAX: usize = 64;
        let carried = Arc::make_mut(&mut self.carried);
        for assignment in given {
            carried.retain(|other| other.name != assignment.name);
            carried.push(assignment);
        }
        if carried.len() > MAX {
            carried.drain(..carried.len() - MAX);
            self.doubt(Why::TooLong, "variables");
        }
    }

    /// Records variables that a statement of the text itself assigns, and that the text otherwise only reads:
    /// `branch=feat/1; git push origin $branch`.
    pub(super) fn settle(&mut self, statement: &Stmt) {
        const MAX: usize = 16;
        let CommandSyntax::Simple(simple) = &statement.command else { return };
        if !self.certain
            || !simple.args.is_empty()
            || !simple.name.span.slice(self.source).is_empty()
            || statement.negated
        {
            return;
        }
        for given in simple.assignments.iter().take(MAX) {
            let name = given.target.name.as_str();
            let value = self.carried.iter().find(|carried| carried.name == name).and_then(|given| given.value.known());
            let plain = |text: &str| !text.is_empty() && !text.contains(|char: char| " \t\n*?[\\".contains(char));
            if let Some(value) = value.filter(|value| plain(value) && names_once(self.source, name)) {
                self.settled.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    /// Records data that a variable or an argument may hold.
    pub(super) fn holds(&mut self, data: &Word) {
        self.late.holds |= data.known().is_some_and(|text| ["$(", "`", "<("].iter().any(|sign| text.contains(sign)));
    }

    /// Records a command that evaluates the names of variables in its arguments.
    pub(super) fn data(&mut self, words: &[Word]) {
        let Some((program, arguments)) = words.split_first() else { return };
        let program = program.known().unwrap_or_default();
        let unknown = || arguments.iter().any(|word| word.known().is_none_or(|text| text.contains('[')));
        let evaluates = match program {
            "let" => true,
            "test" | "[" | "printf" => arguments.iter().any(|word| word.known() == Some("-v")),
            "read" | "mapfile" | "readarray" | "unset" | "wait" | "getopts" => unknown(),
            _ => programs::declares(program) && unknown(),
        };
        if evaluates {
            self.late.place.get_or_insert_with(|| program.to_owned());
        }
    }

    pub(super) fn assignments(&mut self, given: &[AssignmentSyntax]) -> Vec<Assignment> {
        given.iter().map(|given| self.assignment(given)).collect()
    }

    pub(super) fn assignment(&mut self, given: &AssignmentSyntax) -> Assignment {
        let subscript = given.target.subscript.is_some();
        if subscript {
            self.evaluated(given.target.span.slice(self.source));
        }
        let value = match &given.value {
            AssignmentValue::Scalar(word) => {
                let value = self.value(word);
                // The rest of a substitution may be in another variable.
                self.late.holds |= value.known().is_some_and(|text| text.ends_with('$'));
                self.holds(&value);
                if given.append { Word::Dynamic } else { value }
            }
            AssignmentValue::Compound(array) => {
                for element in &array.elements {
                    let value = match element {
                        ArrayElem::Sequential(word) => self.word(word),
                        ArrayElem::Keyed { key, value } | ArrayElem::KeyedAppend { key, value } => {
                            self.maybe_hidden(key.syntax_text(self.source));
                            self.word(value)
                        }
                    };
                    self.holds(&value);
                }
                Word::Dynamic
            }
        };
        let value = if matches!(value, Word::Known(_)) && !subscript { value } else { Word::Dynamic };
        Assignment { name: given.target.name.as_str().to_owned(), value }
    }

    pub(super) fn declared(&mut self, operand: &Declared) -> Word {
        match operand {
            Declared::Flag(word) | Declared::Dynamic(word) => {
                let word = self.word(word);
                // With such an attribute (integer, reference, case, …) a variable's value may differ from the assigned
                // one.
                if word.known().is_none_or(|flag| flag.contains(['i', 'n', 'A', 'u', 'l', 'c'])) {
                    self.late.place.get_or_insert_with(|| "declare".to_owned());
                }
                word
            }
            Declared::Name(reference) => {
                self.maybe_hidden(reference.span.slice(self.source));
                Word::from(reference.name.as_str())
            }
            Declared::Assignment(assignment) => {
                let made = self.assignment(assignment);
                let text = made.value.known().map(|value| format!("{}={value}", made.name));
                self.carry([made]);
                text.map_or(Word::Dynamic, Word::Known)
            }
        }
    }
}

/// Checks whether a text names a variable exactly once, apart from reads as `$name`.
fn names_once(text: &str, name: &str) -> bool {
    let named = |(at, _): &(usize, &str)| !text[..*at].ends_with('$') && !text[..*at].ends_with("${");
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let words = text
        .match_indices(name)
        .filter(named)
        .filter(|(at, _)| !text[..*at].ends_with(is_name) && !text[at + name.len()..].starts_with(is_name));
    words.take(2).count() == 1
}

/// Returns the assignments that the grammar does not show: `builtin export A=b`, and builtins that set a variable of
/// git or of the program search to a value known only at run time: `read GIT_DIR`, `printf -v PATH`.
pub(super) fn set(command: &Command) -> Vec<Assignment> {
    let program = command.words.first().and_then(Word::known).unwrap_or_default();
    let leads = |word: &str| word.starts_with("GIT_") || matches!(word, "PATH" | "HOME" | "BASH_ENV" | "LD_PRELOAD");
    let reads = matches!(program, "read" | "mapfile" | "readarray" | "getopts" | "printf");
    let words = command.words.iter().skip(1).filter_map(Word::known);
    let given = words.filter_map(|word| match word.split_once('=') {
        Some((name, value)) if programs::declares(program) => Some((name, Word::from(value))),
        None if reads && leads(word) => Some((word, Word::Dynamic)),
        _ => None,
    });
    given.map(|(name, value)| Assignment { name: name.to_owned(), value }).collect()
}
