//! The languages by name, for expressions outside a definition that mean the same as inside one.

use serde_json::Value;

use super::{Expr, JsonLogic, Jsonata, ParseFault, Python, When};

/// The names that Python expressions in definitions may read.
pub(crate) const CHECK_NAMES: [&str; 7] = ["output", "input", "shared", "attempt", "calls", "feedback", "history"];

/// An expression language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// JSONata.
    Jsonata,
    /// JSON Logic, written as JSON.
    Logic,
    /// Conditions of workflows that agents navigate.
    When,
    /// Python, as in the checks of states.
    Python,
}

impl Language {
    /// Returns its name for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Language::Jsonata => "jsonata",
            Language::Logic => "jsonlogic",
            Language::When => "when",
            Language::Python => "python",
        }
    }

    /// Parses an expression.
    ///
    /// # Errors
    /// The first fault, with its place.
    ///
    /// ```
    /// use portolan_core::expr::Language;
    /// let fault = Language::Jsonata.read("add.sum >").expect_err("something is missing");
    /// assert!(fault.offset.is_some());
    /// ```
    pub fn read(self, text: &str) -> Result<Expr, ParseFault> {
        match self {
            Language::Jsonata => Jsonata::parse(text).map(Expr::Jsonata),
            Language::Logic => rule(text),
            Language::When => When::parse(text).map(Expr::When),
            Language::Python => Python::parse_with(text, &CHECK_NAMES).map(Expr::Python),
        }
    }

    /// Parses a condition. In graphs of tool calls a condition is JSONata or a JSON Logic rule. An object is parsed as
    /// a rule, since as a value it would always hold.
    ///
    /// # Errors
    /// As for [`Language::read`].
    pub fn read_condition(self, text: &str) -> Result<Expr, ParseFault> {
        match self {
            Language::Jsonata if text.trim_start().starts_with('{') => rule(text),
            language => language.read(text),
        }
    }
}

fn rule(text: &str) -> Result<Expr, ParseFault> {
    let rule: Value = serde_json::from_str(text).map_err(|error| ParseFault {
        message: "a JSON Logic rule must be JSON, but this is not".to_owned(),
        help: Some("write it like `{\">\": [{\"var\": \"add.sum\"}, 10]}`".to_owned()),
        offset: Some(offset(text, error.line(), error.column())),
        code: None,
    })?;
    JsonLogic::parse(&rule).map(Expr::Logic)
}

/// Converts a line and a column, both counted from 1, to a byte offset.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    text.floor_char_boundary((before + column.saturating_sub(1)).min(text.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::expr::Scope;

    #[test]
    fn an_object_is_a_rule_where_a_condition_stands() {
        let data = json!({"add": {"sum": 3}});
        let holds = |text| Language::Jsonata.read_condition(text).expect("it is read").holds(&Scope::of(&data));
        assert_eq!(holds(r#"{">": [{"var": "add.sum"}, 10]}"#), Ok(false));
        assert_eq!(holds("add.sum < 10"), Ok(true));
    }

    #[test]
    fn a_rule_that_is_no_json_says_where() {
        let fault = Language::Logic.read("{\n  \">\": [1,\n}").expect_err("it is none");
        assert_eq!(fault.offset, Some(13));
    }
}
