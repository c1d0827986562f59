//! Python expressions, as in the checks of agents' states: `len(output) >= 40 and 'x' in output`.
//!
//! No Python code runs. A text is parsed into a tree of our own, which is evaluated over JSON with Python's semantics.
//! The tree gives access to nothing else: functions and methods come from a fixed list, and unsupported syntax is
//! rejected at parse time. Sets keep their insertion order.

mod compare;
mod comparisons;
mod eval;
mod functions;
mod meter;
mod methods;
mod number;
mod operand;
mod operate;
mod parse;
mod print;
mod token;
mod tree;
mod unknown;
mod value;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::jsonata::MAX_EXPRESSION_BYTES;
use super::truth::Truth;
use super::{EvalFault, ParseFault, Scope};
use eval::Evaluation;
use parse::Parsed;

/// The names that [`Python::parse`] accepts: the checked output and its history.
pub const PYTHON_NAMES: &[&str] = &["output", "input", "shared", "history"];

/// The help for unsupported syntax.
const IN_JSONATA: &str = "use JSONata for what a check cannot say in Python: `{expr: …}`";

/// A Python expression. Cloning it is cheap.
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

impl Python {
    /// Parses an expression that may read [`PYTHON_NAMES`].
    ///
    /// # Errors
    /// As for [`Python::parse_with`].
    pub fn parse(text: &str) -> Result<Python, ParseFault> {
        Python::parse_with(text, PYTHON_NAMES)
    }

    /// Parses an expression that may read these names.
    ///
    /// # Errors
    /// The first fault, with its place: text that is not Python, or Python that is not supported.
    pub fn parse_with(text: &str, names: &[&str]) -> Result<Python, ParseFault> {
        if text.len() > MAX_EXPRESSION_BYTES {
            let message = format!("the expression has {} bytes, more than {MAX_EXPRESSION_BYTES}", text.len());
            return Err(fault(0, message, "write it as several checks"));
        }
        Ok(Python(Arc::new(parse::parse(text, names)?)))
    }

    /// Returns the expression as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the names that it reads from its scope, in alphabetical order.
    pub fn names(&self) -> Vec<&str> {
        self.0.names.iter().map(String::as_str).collect()
    }

    /// Evaluates the expression over a scope. Tuples, sets and views of dicts become arrays.
    ///
    /// # Errors
    /// Python's exception, or an exceeded time or memory limit.
    pub fn eval(&self, scope: &Scope<'_>) -> Result<Option<Value>, EvalFault> {
        let value = Evaluation::over(scope, &self.0.names).and_then(|evaluation| {
            let value = evaluation.value(&self.0.tree)?;
            print::json(&value, &evaluation.meter)
        });
        value.map(Some).map_err(|raise| raise.fault(&self.0.text))
    }

    /// Checks whether its value is true in Python.
    ///
    /// # Errors
    /// As for [`Python::eval`].
    pub fn holds(&self, scope: &Scope<'_>) -> Result<bool, EvalFault> {
        let value = Evaluation::over(scope, &self.0.names).and_then(|evaluation| evaluation.value(&self.0.tree));
        value.map(|value| value.truth()).map_err(|raise| raise.fault(&self.0.text))
    }

    /// Returns the comparisons that decide its truth; `None` if it needs more than comparisons with single values.
    ///
    /// Each compared path is one name: the part of the expression in Python's spelling. If the expression is true, the
    /// comparisons are true. The reverse fails if Python raises an exception.
    pub(super) fn truth(&self) -> Option<Truth> {
        comparisons::truth(&self.0.tree)
    }

    /// Checks whether it may compute for long with any input: it has a `for`.
    pub fn is_heavy(&self) -> bool {
        self.0.has_loop
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
