//! What a text gives to variables: assignments, and declarations of them.

use std::sync::Arc;

use shuck_ast::{ArrayElem, Assignment as AssignmentSyntax, AssignmentValue, DeclOperand as Declared, Word as Syntax};

use super::memory::Declares;
use super::walk::Walk;
use super::{Assignment, Command, Word};

impl Walk<'_> {
    pub(super) fn declared(&mut self, operand: &Declared, how: Declares) -> Word {
        match operand {
            Declared::Flag(word) | Declared::Dynamic(word) => {
                let word = self.word(word);
                if word.known().is_none() {
                    Arc::make_mut(&mut self.memory).lose();
                }
                word
            }
            Declared::Name(reference) => {
                self.maybe_hidden(reference.span.slice(self.source));
                self.declare(reference.name.as_str(), None, how);
                Word::from(reference.name.as_str())
            }
            Declared::Assignment(assignment) => {
                let (made, value) = self.assignment(assignment);
                self.late.holds(&value);
                let text = made.value.known().map(|value| format!("{}={value}", made.name));
                self.declare(&made.name, Some(&value), how);
                self.carry([made]);
                text.map_or(Word::Dynamic, Word::Known)
            }
        }
    }

    fn declare(&mut self, name: &str, value: Option<&Word>, how: Declares) {
        let memory = Arc::make_mut(&mut self.memory);
        match (how, value) {
            (Declares::Plain | Declares::Exported, Some(value)) => memory.set(name, value, how == Declares::Exported),
            (Declares::Exported, None) => memory.export(name),
            (Declares::Plain, None) => memory.forget(name),
            (Declares::Strange, _) => memory.estrange(name),
            (Declares::Other, _) => memory.lose(),
        }
        // Arithmetic, a reference, another case: what such a variable is given is not what it has.
        if matches!(how, Declares::Strange | Declares::Other) {
            self.late.evaluates(name);
        }
    }

    /// `remembered` where they hold for what follows, not for one command alone.
    pub(super) fn assignments(&mut self, given: &[AssignmentSyntax], remembered: bool) -> Vec<Assignment> {
        let before = self.memory.clone();
        let mut all = Vec::new();
        for assignment in given {
            let (made, value) = self.assignment(assignment);
            self.late.holds(&value);
            let memory = Arc::make_mut(&mut self.memory);
            // Shells do not agree on whether the next one sees it already, where it is for one command.
            if remembered {
                memory.set(&made.name, &value, false)
            } else {
                memory.forget(&made.name)
            }
            all.push(made);
        }
        if !remembered && !given.is_empty() {
            self.memory = before;
        }
        all
    }

    /// What is set, and what the variable is then known to be.
    fn assignment(&mut self, given: &AssignmentSyntax) -> (Assignment, Word) {
        if given.target.subscript.is_some() {
            self.maybe_hidden(given.target.span.slice(self.source));
            self.late.calculates(subscript(given.target.span.slice(self.source)));
        }
        let value = match &given.value {
            AssignmentValue::Scalar(word) => self.appended(given, word),
            AssignmentValue::Compound(array) => {
                for element in &array.elements {
                    match element {
                        ArrayElem::Sequential(word) => {
                            let word = self.word(word);
                            self.late.holds(&word);
                        }
                        ArrayElem::Keyed { key, value } | ArrayElem::KeyedAppend { key, value } => {
                            self.maybe_hidden(key.syntax_text(self.source));
                            let value = self.word(value);
                            self.late.holds(&value);
                        }
                    }
                }
                Word::Dynamic
            }
        };
        let known = if given.target.subscript.is_some() { Word::Dynamic } else { value.clone() };
        let value = if matches!(value, Word::Known(_)) { value } else { Word::Dynamic };
        (Assignment { name: given.target.name.as_str().to_owned(), value }, known)
    }

    fn appended(&mut self, given: &AssignmentSyntax, word: &Syntax) -> Word {
        let value = self.value(word);
        if !given.append {
            return value;
        }
        match (self.memory.value(given.target.name.as_str()), value) {
            (Some(Word::Known(before)), Word::Known(more)) => Word::Known(format!("{before}{more}")),
            _ => Word::Dynamic,
        }
    }

    /// `builtin export A=b`, which the grammar does not see as a declaration.
    pub(super) fn export(&mut self, command: &Command) {
        let named = command.words.iter().skip(1).filter_map(Word::known).filter_map(|word| word.split_once('='));
        let named: Vec<Assignment> =
            named.map(|(name, value)| Assignment { name: name.to_owned(), value: Word::from(value) }).collect();
        if !named.is_empty() {
            for given in &named {
                self.declare(&given.name, Some(&given.value), Declares::Exported);
            }
            self.carry(named);
        }
    }
}

/// What stands between the brackets of `a[x]=…`.
fn subscript(target: &str) -> &str {
    target.split_once('[').map_or("", |(_, rest)| rest)
}
