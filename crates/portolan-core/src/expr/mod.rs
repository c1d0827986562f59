//! The expression languages, for values that a workflow computes.
//!
//! Four languages share one interface: [`Jsonata`] for values, [`JsonLogic`] for decisions, [`When`] for conditions,
//! which as data are a [`Condition`], and [`Python`] for checks. An expression is parsed once and evaluated over a
//! [`Scope`]. Evaluation is bounded in time, depth and memory, so that a runaway expression is a fault and does not end
//! the process. The module knows no workflow format and no engine.

mod cells;
mod condition;
mod jsonata;
mod language;
mod logic;
mod outputs;
mod partition;
mod python;
mod satisfy;
mod scope;
mod truth;
mod when;

use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use cells::{Cells, ConditionTruth, Sorted};
pub use condition::Condition;
pub use jsonata::{
    EvaluationLimits, Jsonata, MAX_DEPTH, MAX_EXPRESSION_BYTES, MAX_ITEMS, MAX_JOINED_ITEMS, MAX_MEMORY_BYTES,
    MAX_PICTURE_CHARS, MAX_STRING_BYTES, TIME_LIMIT_MS,
};
pub(crate) use language::CHECK_NAMES;
pub use language::Language;
pub use logic::JsonLogic;
pub use outputs::Outputs;
pub(crate) use partition::{KNOWN, Partition, condition_names};
pub use python::{PYTHON_NAMES, Python};
pub(crate) use satisfy::{Misfit, misfits, never};
pub use scope::Scope;
pub use truth::Comparison;
pub use when::When;

/// The code of a failed evaluation.
pub const EXPRESSION_ERROR: &str = "expression-error";
/// The code of an evaluation that exceeds its time or memory limit.
pub const EXPRESSION_BOUNDS: &str = "expression-bounds";

/// The reason that a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFault {
    /// One lower-case sentence with the user's words in backticks.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// The byte offset in the text, if known.
    pub offset: Option<usize>,
    /// The language's own code, such as JSONata's `S0201`.
    pub code: Option<String>,
}

/// The reason that an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalFault {
    /// [`EXPRESSION_ERROR`] or [`EXPRESSION_BOUNDS`].
    pub code: &'static str,
    /// The message, in one sentence.
    pub message: String,
    /// The expression as a trace shows it.
    pub expression: String,
}

impl EvalFault {
    fn error(message: impl Into<String>, expression: impl Into<String>) -> EvalFault {
        EvalFault { code: EXPRESSION_ERROR, message: message.into(), expression: expression.into() }
    }

    fn bounds(message: impl Into<String>, expression: impl Into<String>) -> EvalFault {
        EvalFault { code: EXPRESSION_BOUNDS, message: message.into(), expression: expression.into() }
    }
}

impl fmt::Display for ParseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for EvalFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in `{}`", self.message, self.expression)
    }
}

impl std::error::Error for ParseFault {}
impl std::error::Error for EvalFault {}

/// An expression of any language. Cloning is cheap except for templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A constant value.
    Literal(Arc<Value>),
    /// A JSONata expression.
    Jsonata(Jsonata),
    /// A JSON Logic rule.
    Logic(JsonLogic),
    /// A condition as text.
    When(When),
    /// A condition as data.
    Condition(Condition),
    /// A Python expression.
    Python(Python),
    /// An object whose members are evaluated, such as the arguments of a tool call.
    Object(Vec<(String, Expr)>),
    /// An array whose items are evaluated.
    Array(Vec<Expr>),
}

/// Serializes as `{"jsonata": "…"}`, keyed by language. Templates have the keys `value`, `object` and `array`.
impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Expr::Literal(value) => map.serialize_entry("value", &**value)?,
            Expr::Jsonata(jsonata) => map.serialize_entry("jsonata", jsonata.text())?,
            Expr::Logic(logic) => map.serialize_entry("logic", logic.rule())?,
            Expr::When(when) => map.serialize_entry("when", when.text())?,
            Expr::Condition(condition) => map.serialize_entry("condition", &condition.text())?,
            Expr::Python(python) => map.serialize_entry("python", python.text())?,
            Expr::Object(members) => map.serialize_entry("object", members)?,
            Expr::Array(items) => map.serialize_entry("array", items)?,
        }
        map.end()
    }
}

impl Expr {
    /// Evaluates the expression over a scope; `None` is JSONata's undefined.
    ///
    /// An undefined member is left out of an object; an undefined item of an array is `null`.
    ///
    /// # Errors
    /// The first fault. For a template, the fault of the member evaluated first.
    pub fn eval(&self, scope: &Scope<'_>) -> Result<Option<Value>, EvalFault> {
        match self {
            Expr::Literal(value) => Ok(Some((**value).clone())),
            Expr::Jsonata(jsonata) => jsonata.eval(scope),
            Expr::Logic(logic) => logic.eval(scope).map(Some),
            Expr::When(when) => Ok(Some(Value::Bool(when.eval(scope)))),
            Expr::Condition(condition) => Ok(Some(Value::Bool(condition.eval(scope)))),
            Expr::Python(python) => python.eval(scope),
            Expr::Object(members) => {
                let mut object = Map::new();
                for (name, member) in members {
                    if let Some(value) = member.eval(scope)? {
                        object.insert(name.clone(), value);
                    }
                }
                Ok(Some(Value::Object(object)))
            }
            Expr::Array(items) => {
                let items: Result<Vec<Value>, EvalFault> =
                    items.iter().map(|item| Ok(item.eval(scope)?.unwrap_or(Value::Null))).collect();
                Ok(Some(Value::Array(items?)))
            }
        }
    }

    /// Checks whether the expression holds over a scope. A rule uses JSON Logic's truth, Python its own, and everything
    /// else JSONata's `$boolean`.
    ///
    /// # Errors
    /// As for [`Expr::eval`].
    pub fn holds(&self, scope: &Scope<'_>) -> Result<bool, EvalFault> {
        match self {
            Expr::Logic(logic) => logic.eval(scope).map(|value| logic::truthy(&value)),
            Expr::When(when) => Ok(when.eval(scope)),
            Expr::Condition(condition) => Ok(condition.eval(scope)),
            Expr::Python(python) => python.holds(scope),
            other => Ok(other.eval(scope)?.is_some_and(|value| jsonata::boolean(&value))),
        }
    }

    /// Returns the text for a trace: the expression as written, or a template as JSON with its expressions in place.
    pub fn text(&self) -> String {
        match self {
            Expr::Literal(value) => value.to_string(),
            Expr::Jsonata(jsonata) => jsonata.text().to_owned(),
            Expr::Logic(logic) => logic.rule().to_string(),
            Expr::When(when) => when.text().to_owned(),
            Expr::Condition(condition) => condition.text(),
            Expr::Python(python) => python.text().to_owned(),
            Expr::Object(members) => {
                let members =
                    members.iter().map(|(name, member)| format!("{}: {}", Value::from(name.as_str()), member.text()));
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            Expr::Array(items) => format!("[{}]", items.iter().map(Expr::text).collect::<Vec<_>>().join(", ")),
        }
    }

    /// Checks whether it reads outputs before the latest of each node, so that [`Outputs`] must keep their history.
    pub fn looks_back(&self) -> bool {
        self.any(&Jsonata::looks_back)
    }

    /// Checks whether it reads nothing, so that its value is always the same.
    pub(crate) fn is_constant(&self) -> bool {
        match self {
            Expr::Literal(_) => true,
            Expr::When(when) => when.names().is_empty(),
            Expr::Condition(condition) => condition.names().is_empty(),
            Expr::Jsonata(jsonata) => reads_nothing(jsonata.text()),
            Expr::Logic(logic) => is_constant_rule(logic.rule()),
            Expr::Python(python) => python.names().is_empty() && !python.text().contains('('),
            Expr::Object(members) => members.iter().all(|(_, member)| member.is_constant()),
            Expr::Array(items) => items.iter().all(Expr::is_constant),
        }
    }

    /// Checks whether it may compute for long with any input: it has its own functions, ranges or text to evaluate, or
    /// loops over arrays in JSON Logic or Python.
    pub fn is_heavy(&self) -> bool {
        self.any(&Jsonata::is_heavy)
            || match self {
                Expr::Logic(logic) => logic.loops(),
                Expr::Python(python) => python.is_heavy(),
                Expr::Object(members) => members.iter().any(|(_, member)| member.is_heavy()),
                Expr::Array(items) => items.iter().any(Expr::is_heavy),
                Expr::Literal(_) | Expr::Jsonata(_) | Expr::When(_) | Expr::Condition(_) => false,
            }
    }

    fn any(&self, is: &dyn Fn(&Jsonata) -> bool) -> bool {
        match self {
            Expr::Literal(_) | Expr::When(_) | Expr::Condition(_) | Expr::Python(_) => false,
            Expr::Jsonata(jsonata) => is(jsonata),
            Expr::Logic(logic) => logic.any(is),
            Expr::Object(members) => members.iter().any(|(_, member)| member.any(is)),
            Expr::Array(items) => items.iter().any(|item| item.any(is)),
        }
    }
}

/// Checks whether a JSONata text has only numbers, strings without escapes, comparisons and the words that join them.
fn reads_nothing(text: &str) -> bool {
    let mut words = String::new();
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) if c == '\\' => return false,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => {
                quote = Some(c);
                words.push(' ');
            }
            None => words.push(c),
        }
    }
    let is_known = |word: &str| {
        matches!(word, "" | "true" | "false" | "null" | "and" | "or" | "in") || word.parse::<f64>().is_ok()
    };
    words.split(|c: char| c.is_whitespace() || "=!<>()+-".contains(c)).all(is_known)
}

/// Checks whether a JSON Logic rule has only values and the operators that compare and join them.
fn is_constant_rule(rule: &Value) -> bool {
    const OPERATORS: &[&str] = &["==", "===", "!=", "!==", "<", "<=", ">", ">=", "!", "!!", "and", "or"];
    match rule {
        Value::Object(members) => {
            members.iter().all(|(operator, given)| OPERATORS.contains(&operator.as_str()) && is_constant_rule(given))
        }
        Value::Array(items) => items.iter().all(is_constant_rule),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_reads_nothing_is_known() {
        let jsonata = |text: &str| Expr::Jsonata(Jsonata::parse(text).expect("it can be read")).is_constant();
        assert!(["1 = 2", "\"a\" = 'b' and true", "(1 < 2) or false"].into_iter().all(jsonata));
        assert!(!["a = 1", "$now()", "$.a", "$$ = 1", "1 = *"].into_iter().any(jsonata));
        let rule = |rule: Value| Expr::Logic(JsonLogic::parse(&rule).expect("it can be read")).is_constant();
        assert!(rule(json!({ "==": [1, 2] })) && rule(json!({ "and": [true, { "<": [1, 2] }] })));
        assert!(!rule(json!({ "==": [{ "var": "a" }, 2] })));
    }

    #[test]
    fn what_may_go_on_for_long_is_known_before_it_does() {
        let heavy = |text: &str| Expr::Jsonata(Jsonata::parse(text).expect("it can be read")).is_heavy();
        for text in ["$map(a, function($v) { $v })", "[1..n]", "$eval(a)", "a.{\"b\": λ($x) { $x }(1)}"] {
            assert!(heavy(text), "{text}");
        }
        for text in ["a.b[c > 1]", "$sum(a.(b * c))", "$now()", "a ~> $count", "{\"n\": $split(a, \",\")}"] {
            assert!(!heavy(text), "{text}");
        }
        let rule = |rule: Value| Expr::Logic(JsonLogic::parse(&rule).expect("it can be read")).is_heavy();
        assert!(rule(json!({ ">": [{ "reduce": [{ "var": "a" }, { "var": "current" }, 0] }, 1] })));
        assert!(rule(json!({ "var": ["a", { "some": [[1], true] }] })));
        assert!(rule(json!({ "!": { "var": "$count([1..n])" } })));
        assert!(!rule(json!({ "and": [{ ">": [{ "var": "a.b" }, 1] }, { "var": ["c", 2] }] })));
        let template = Expr::Object(vec![(
            "a".to_owned(),
            Expr::Array(vec![Expr::Jsonata(Jsonata::parse("[1..2]").expect("read"))]),
        )]);
        assert!(template.is_heavy());
    }
}
