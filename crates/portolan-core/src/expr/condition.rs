//! Conditions as data: one comparison of a variable, or several joined.
//!
//! They are evaluated like a [`When`](super::When), except that `<` and its like compare only numbers and never text
//! that looks like a number.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::jsonata::quoted;
use super::truth::{Comparison, Numbers, Side, Truth};
use super::{ParseFault, Scope};

/// A condition built from parts. Cloning it is cheap.
///
/// ```
/// use portolan_core::expr::{Comparison, Condition, Scope};
/// use serde_json::json;
///
/// let approved = Condition::compare("review.state", Comparison::Equal, json!("approved"))?;
/// let tired = Condition::compare("retries", Comparison::GreaterEqual, json!(3))?;
/// let condition = Condition::all(vec![approved, Condition::not(tired)?])?;
/// assert_eq!(condition.text(), r#"review.state == "approved" && !(retries >= 3)"#);
/// assert_eq!(condition.names(), ["retries", "review"]);
/// assert!(condition.eval(&Scope::of(&json!({"review": {"state": "approved"}, "retries": 2}))));
/// # Ok::<(), portolan_core::expr::ParseFault>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Condition(Arc<ConditionTree>);

#[derive(Clone, PartialEq, Eq)]
struct ConditionTree {
    truth: Truth,
    nesting: usize,
}

impl Condition {
    /// The maximum nesting depth of conditions.
    pub const MAX_NESTING: usize = 100;

    /// Builds a comparison of the value at a dotted path. A missing value equals nothing, not even `null`.
    ///
    /// # Errors
    /// If the path is invalid, or the comparison can never hold: with an array or object, or an ordering with a value
    /// that is not a number.
    pub fn compare(path: &str, comparison: Comparison, value: Value) -> Result<Condition, ParseFault> {
        let path = read_path(path)?;
        if value.is_array() || value.is_object() {
            let kind = if value.is_array() { "an array" } else { "an object" };
            return Err(fault(
                format!("`{comparison}` compares single values, but {kind} is not one"),
                "compare with a text, a number, `true`, `false` or `null`",
            ));
        }
        if comparison.is_relation() && !value.is_number() {
            let message =
                format!("`{comparison}` compares numbers, but {} is not a number", quoted(&value.to_string()));
            let help = match &value {
                Value::String(text) if text.trim().parse::<f64>().is_ok() => "write the number without quotes",
                _ => "write a number, or compare with `==` or `!=`",
            };
            return Err(fault(message, help));
        }
        Condition::of(Truth::Compare(Side::Path(path), comparison, Side::Literal(value)), 0)
    }

    /// Builds a condition that holds if the dotted path has a value other than `null`.
    ///
    /// # Errors
    /// If the path is invalid.
    pub fn exists(path: &str) -> Result<Condition, ParseFault> {
        Condition::of(Truth::Exists(read_path(path)?), 0)
    }

    /// Joins conditions with "and". An empty list holds.
    ///
    /// # Errors
    /// If they nest too deep.
    pub fn all(parts: Vec<Condition>) -> Result<Condition, ParseFault> {
        Condition::joined(parts, Truth::All)
    }

    /// Joins conditions with "or". An empty list does not hold.
    ///
    /// # Errors
    /// If they nest too deep.
    pub fn any(parts: Vec<Condition>) -> Result<Condition, ParseFault> {
        Condition::joined(parts, Truth::Any)
    }

    /// Negates a condition.
    ///
    /// # Errors
    /// If it nests too deep.
    #[expect(clippy::should_implement_trait, reason = "it can fail, which `!` cannot")]
    pub fn not(inner: Condition) -> Result<Condition, ParseFault> {
        let built = Arc::unwrap_or_clone(inner.0);
        Condition::of(Truth::Not(Box::new(built.truth)), built.nesting + 1)
    }

    /// Checks whether the condition holds over the names of a scope.
    pub fn eval(&self, scope: &Scope<'_>) -> bool {
        self.0.truth.holds(scope, Numbers::Only)
    }

    /// Returns the condition as a [`When`](super::When) writes it, with `exists` and `notExists` in addition.
    pub fn text(&self) -> String {
        self.0.truth.to_string()
    }

    /// Returns the names that it reads from the scope, in alphabetical order; for a dotted path, the first segment.
    pub fn names(&self) -> Vec<&str> {
        self.0.truth.names()
    }

    /// Returns the names whose existence it checks.
    pub fn existing(&self) -> Vec<&str> {
        self.0.truth.existing()
    }

    pub(super) fn truth(&self) -> &Truth {
        &self.0.truth
    }

    fn joined(parts: Vec<Condition>, join: fn(Vec<Truth>) -> Truth) -> Result<Condition, ParseFault> {
        let nesting = parts.iter().map(|part| part.0.nesting + 1).max().unwrap_or(0);
        Condition::of(join(parts.into_iter().map(|part| Arc::unwrap_or_clone(part.0).truth).collect()), nesting)
    }

    fn of(truth: Truth, nesting: usize) -> Result<Condition, ParseFault> {
        if nesting >= Condition::MAX_NESTING {
            let message = format!("the condition nests deeper than {} levels", Condition::MAX_NESTING);
            return Err(fault(message, "reduce the nesting"));
        }
        Ok(Condition(Arc::new(ConditionTree { truth, nesting })))
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition({})", self.text())
    }
}

fn read_path(text: &str) -> Result<Vec<String>, ParseFault> {
    let path: Vec<String> = text.split('.').map(str::to_owned).collect();
    let is_name = |name: &String| {
        let starts = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        starts && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
    };
    if path.iter().all(is_name) {
        return Ok(path);
    }
    let help = "name a variable, with dots for nested values, as in `review.state`";
    Err(fault(format!("{} is not a path to a value", quoted(text)), help))
}

fn fault(message: impl Into<String>, help: impl Into<String>) -> ParseFault {
    ParseFault { message: message.into(), help: Some(help.into()), offset: None, code: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::When;
    use super::*;

    fn compare(path: &str, comparison: Comparison, value: Value) -> Condition {
        Condition::compare(path, comparison, value).expect("it can be compared")
    }

    /// Lists the comparisons of `path` with `value` that hold over the data.
    fn holding(data: &Value, path: &str, value: &Value) -> String {
        use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, Unequal};
        let words = [Equal, Unequal, Greater, GreaterEqual, Less, LessEqual].into_iter().filter(|comparison| {
            let condition = Condition::compare(path, *comparison, value.clone());
            condition.is_ok_and(|condition| condition.eval(&Scope::of(data)))
        });
        words.map(|comparison| comparison.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nothing_is_coerced_and_what_is_missing_equals_nothing() {
        let data = json!({"n": 3, "one": 1.0, "text": "7", "nil": null, "yes": true, "a": {"b": {"c": -1}}, "xs": [1]});
        assert_eq!(holding(&data, "n", &json!(3)), "== >= <=");
        assert_eq!(holding(&data, "n", &json!(2.5)), "!= > >=");
        assert_eq!(holding(&data, "one", &json!(1)), "== >= <=");
        assert_eq!(holding(&data, "n", &json!("3")), "!=");
        assert_eq!(holding(&data, "text", &json!(6)), "!=");
        assert_eq!(holding(&data, "text", &json!("7")), "==");
        assert_eq!(holding(&data, "yes", &json!(true)), "==");
        assert_eq!(holding(&data, "yes", &json!("true")), "!=");
        assert_eq!(holding(&data, "nil", &json!(null)), "==");
        assert_eq!(holding(&data, "nil", &json!(0)), "!=");
        assert_eq!(holding(&data, "missing", &json!(null)), "!=");
        assert_eq!(holding(&data, "missing", &json!(0)), "!=");
        assert_eq!(holding(&data, "a.b.c", &json!(0)), "!= < <=");
        assert_eq!(holding(&data, "a.b.c.d", &json!(0)), "!=");
        assert_eq!(holding(&data, "xs.length", &json!(1)), "!=");
    }

    #[test]
    fn null_does_not_exist() {
        let data = json!({"there": false, "nil": null, "a": {"b": 0}});
        for (path, exists) in
            [("there", true), ("nil", false), ("missing", false), ("a.b", true), ("a.c", false), ("there.x", false)]
        {
            let condition = Condition::exists(path).expect("it is a path");
            assert_eq!(condition.eval(&Scope::of(&data)), exists, "{path}");
            let not = Condition::not(condition).expect("it is flat");
            assert_eq!(not.eval(&Scope::of(&data)), !exists, "{path}");
            assert_eq!(not.text(), format!("{path} notExists"));
        }
    }

    #[test]
    fn its_text_says_what_belongs_together() {
        let (a, b) = (compare("a", Comparison::Equal, json!("x \"y\" \\")), compare("b.c", Comparison::Less, json!(2)));
        let c = Condition::exists("c").expect("it is a path");
        let any = Condition::any(vec![a, Condition::not(b.clone()).unwrap()]).unwrap();
        let whole = Condition::all(vec![any.clone(), c, b]).unwrap();
        assert_eq!(whole.text(), r#"(a == "x \"y\" \\" || !(b.c < 2)) && c exists && b.c < 2"#);
        assert_eq!(Condition::not(any.clone()).unwrap().text(), r#"!(a == "x \"y\" \\" || !(b.c < 2))"#);
        assert_eq!(whole.names(), ["a", "b", "c"]);
        assert_eq!(whole, whole.clone());
        assert_ne!(whole, any);
        assert!(Condition::all(Vec::new()).unwrap().eval(&Scope::default()));
        assert!(!Condition::any(Vec::new()).unwrap().eval(&Scope::default()));
    }

    #[test]
    fn what_can_never_hold_is_no_condition() {
        let said = |path: &str, comparison, value| {
            let fault = Condition::compare(path, comparison, value).expect_err("it is none");
            format!("{} ({})", fault.message, fault.help.unwrap_or_default())
        };
        assert_eq!(
            said("a", Comparison::Greater, json!("3")),
            "`>` compares numbers, but `\"3\"` is not a number (write the number without quotes)"
        );
        assert_eq!(
            said("a", Comparison::Less, json!(null)),
            "`<` compares numbers, but `null` is not a number (write a number, or compare with `==` or `!=`)"
        );
        assert_eq!(
            said("a", Comparison::Equal, json!([])),
            "`==` compares single values, but an array is not one (compare with a text, a number, `true`, `false` or `null`)"
        );
        for path in ["", "a..b", ".a", "a b", "a == b", "-a", "$a", "xs.0"] {
            assert!(said(path, Comparison::Equal, json!(1)).contains("is not a path to a value"), "{path}");
        }
    }

    #[test]
    fn its_nesting_has_an_end() {
        let mut condition = compare("a", Comparison::Equal, json!(1));
        for _ in 1..Condition::MAX_NESTING {
            condition = Condition::not(condition).expect("not yet");
        }
        assert!(condition.eval(&Scope::of(&json!({}))));
        assert!(Condition::not(condition.clone()).is_err());
        assert!(Condition::all(vec![condition.clone()]).is_err());
        assert!(Condition::any(vec![condition]).is_err());
    }

    fn conditions() -> impl Strategy<Value = Condition> {
        use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, Unequal};
        let path = prop::sample::select(vec!["a", "b.c", "state", "missing", "b.c.d"]);
        let value = prop::sample::select(vec![json!(1), json!(-2), json!("x"), json!("it's \"1\""), json!(null)]);
        let number = prop::sample::select(vec![json!(-1), json!(0), json!(7)]);
        let equality = (path.clone(), prop::sample::select(vec![Equal, Unequal]), value);
        let relation = (path, prop::sample::select(vec![Greater, GreaterEqual, Less, LessEqual]), number);
        let leaf =
            prop_oneof![equality, relation].prop_map(|(path, comparison, value)| compare(path, comparison, value));
        leaf.prop_recursive(4, 20, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| Condition::all(parts).expect("flat")),
                prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| Condition::any(parts).expect("flat")),
                inner.prop_map(|inner| Condition::not(inner).expect("flat")),
            ]
        })
    }

    proptest! {
        #[test]
        fn its_text_means_the_same_to_who_reads_it(
            condition in conditions(),
            a in prop::sample::select(vec![json!(1), json!("x"), json!(null), json!([1])]),
            c in prop::sample::select(vec![json!(-2), json!(7), json!({"d": 0}), json!("it's \"1\"")]),
        ) {
            let data = json!({"a": a, "b": {"c": c}, "state": "x"});
            let when = When::parse(&condition.text()).expect("it is a condition");
            prop_assert_eq!(when.eval(&Scope::of(&data)), condition.eval(&Scope::of(&data)), "{}", condition.text());
            prop_assert_eq!(when.names(), condition.names());
        }
    }
}
