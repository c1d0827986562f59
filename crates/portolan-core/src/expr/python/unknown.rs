//! The faults for names, functions and methods that a check does not have.

use super::functions::FUNCTIONS;
use super::methods::METHODS;
use super::{IN_JSONATA, fault};
use crate::diagnostic::{clip, closest, list};
use crate::expr::ParseFault;
use crate::expr::jsonata::quoted;

/// Words of Python that a check does not have: a similar word is not what was meant.
const PYTHON_ONLY: &str = "eval exec compile open getattr hasattr input print round range enumerate zip reversed pow \
    divmod title capitalize partition rpartition encode rsplit rfind isnumeric isdecimal istitle swapcase casefold";

fn is_python_only(word: &str) -> bool {
    PYTHON_ONLY.split_whitespace().any(|known| known == word)
}

pub(super) fn name(name: &str, at: usize, known: &[&str]) -> ParseFault {
    let help = match (closest(name, known.iter().copied()), name) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, "true" | "false" | "null" | "none") => "Python writes `True`, `False` and `None`".to_owned(),
        (None, _) if known.is_empty() => format!("it cannot read any names; {IN_JSONATA}"),
        (None, _) => format!("available names: {}; write text in quotes; {IN_JSONATA}", list(known)),
    };
    fault(at, format!("{} is not a name that a check can read", quoted(name)), help)
}

pub(super) fn function(name: &str, at: usize) -> ParseFault {
    let words = || FUNCTIONS.iter().map(|function| function.word);
    let help = match (closest(name, words()), name) {
        (_, "map" | "filter") => "write `[… for x in … if …]`".to_owned(),
        (_, "type") => "use `isinstance(output, dict)`".to_owned(),
        _ if is_python_only(name) => IN_JSONATA.to_owned(),
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, _) => {
            let words: Vec<String> = words().map(|word| format!("`{word}`")).collect();
            format!("there are {}; {IN_JSONATA}", words.join(", "))
        }
    };
    fault(at, format!("{} is not a function that a check can call", quoted(name)), help)
}

pub(super) fn method(name: &str, at: usize, is_called: bool) -> ParseFault {
    let help = match closest(name, METHODS.iter().map(|method| method.word)) {
        _ if name == "format" => "join the parts with `+`, with `str(…)` around what is not text".to_owned(),
        _ if !is_called => format!("a member of a dict is written `['{}']`; {IN_JSONATA}", clip(name)),
        Some(near) if !is_python_only(name) => format!("did you mean `.{near}`?"),
        _ => IN_JSONATA.to_owned(),
    };
    fault(at, format!("{} is not a method that a check can call", quoted(&format!(".{name}"))), help)
}
