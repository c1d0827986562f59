//! Expressions of Python, as the checks of agents' states are written: `len(output) >= 40 and 'x' in output`.
//!
//! Nothing is run: a text is read into a tree of our own, and that is evaluated over JSON with Python's meaning. There is
//! nothing in the tree that leads anywhere else: functions and methods are those of a fixed list, and whatever is not
//! understood is refused when the text is read. Sets keep the order in which they were made.

mod atom;
mod call;
mod compare;
mod decided;
mod eval;
mod functions;
mod literal;
mod meter;
mod methods;
mod names;
mod number;
mod parse;
mod print;
mod sequence;
mod token;
mod tree;
mod value;
mod words;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::jsonata::MAX_EXPRESSION_BYTES;
use super::truth::Truth;
use super::{EvalFault, ParseFault, Scope};
use eval::Evaluation;
use tree::Node;

/// The names that [`Python::parse`] knows: the output that is checked, and what led to it.
pub const PYTHON_NAMES: &[&str] = &["output", "input", "shared", "history"];

/// What to do about what is not understood at all.
const IN_JSONATA: &str = "what a check cannot say in Python it can in JSONata: `{expr: …}`";

/// An expression of Python. Cloning it is cheap.
///
/// ```
/// use portolan_core::expr::{Python, Scope};
/// use serde_json::json;
///
/// let check = Python::parse("len(output) >= 2 and all(w in output[0] for w in ['a', 'b'])").expect("it can be read");
/// let root = json!({"output": ["a or b", "c"]});
/// assert_eq!(check.holds(&Scope::of(&root)), Ok(true));
/// assert!(Python::parse("__import__('os').system('true')").is_err());
/// ```
#[derive(Clone)]
pub struct Python(Arc<Parsed>);

struct Parsed {
    text: String,
    tree: Node,
    names: Vec<String>,
    loops: bool,
}

impl Python {
    /// Reads an expression that may read [`PYTHON_NAMES`].
    ///
    /// # Errors
    /// As [`Python::parse_with`].
    pub fn parse(text: &str) -> Result<Python, ParseFault> {
        Python::parse_with(text, PYTHON_NAMES)
    }

    /// Reads an expression that may read these names.
    ///
    /// # Errors
    /// The first fault, with its place: what is no Python, and what of Python is not understood.
    pub fn parse_with(text: &str, names: &[&str]) -> Result<Python, ParseFault> {
        if text.len() > MAX_EXPRESSION_BYTES {
            let message = format!("the expression has {} bytes, more than {MAX_EXPRESSION_BYTES}", text.len());
            return Err(fault(0, message, "write it as several checks"));
        }
        let tree = parse::parse(text)?;
        let names::Asked { names, loops } = names::asked(&tree, names)?;
        Ok(Python(Arc::new(Parsed { text: text.to_owned(), tree, names, loops })))
    }

    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The names that it reads of its scope, in alphabetical order.
    pub fn names(&self) -> Vec<&str> {
        self.0.names.iter().map(String::as_str).collect()
    }

    /// The value over a scope; tuples, sets and what is gone through are arrays.
    ///
    /// # Errors
    /// Python's exception, or what would take too much time or memory.
    pub fn eval(&self, scope: &Scope<'_>) -> Result<Option<Value>, EvalFault> {
        let evaluation = Evaluation::over(scope);
        let value = evaluation.value(&self.0.tree).and_then(|value| print::json(&value, &evaluation.meter, 0));
        value.map(Some).map_err(|raise| raise.fault(&self.0.text))
    }

    /// Whether its value counts as true in Python.
    ///
    /// # Errors
    /// As [`Python::eval`].
    pub fn holds(&self, scope: &Scope<'_>) -> Result<bool, EvalFault> {
        let value = Evaluation::over(scope).value(&self.0.tree).map(|value| value.truth());
        value.map_err(|raise| raise.fault(&self.0.text))
    }

    /// The comparisons that it comes to; nothing where it goes by more than comparisons with single values.
    ///
    /// What is compared is a path of one name, the part of the text in Python's own spelling. Whatever makes the expression
    /// true makes the comparisons true; not the other way round, where Python raises an exception.
    pub(super) fn truth(&self) -> Option<Truth> {
        decided::truth(&self.0.tree)
    }

    /// Whether it may compute for long whatever it is given: it has a `for`, or a range.
    pub fn is_heavy(&self) -> bool {
        self.0.loops
    }
}

impl PartialEq for Python {
    fn eq(&self, other: &Python) -> bool {
        self.0.text == other.0.text && self.0.names == other.0.names
    }
}

impl Eq for Python {}

impl fmt::Debug for Python {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Python({:?})", self.0.text)
    }
}

fn fault(at: usize, message: impl Into<String>, help: impl Into<String>) -> ParseFault {
    ParseFault { message: message.into(), help: Some(help.into()), offset: Some(at), code: None }
}
