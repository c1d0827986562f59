//! Finds conditions that can never hold, and comparisons that can never match.
//!
//! Conditions compare single values with literals, so there are finitely many cases. Each name gets one value for every
//! outcome of its comparisons, and the conditions are evaluated as in a run. Other expressions (JSONata, JSON Logic,
//! most of Python) are unknown.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::Expr;
use super::truth::{Comparison, Numbers, Side, Truth};

/// Checks whether a path can have this value or, for `None`, can be missing.
pub(crate) type CanBe<'a> = &'a dyn Fn(&[String], Option<&Value>) -> bool;

/// The maximum number of cases; with more it is unknown whether one of them fits.
const MAX_CASES: usize = 4_000;

/// Checks whether a condition is certain to hold for no values.
pub(crate) fn never(expr: &Expr, can_be: CanBe<'_>) -> bool {
    let Some(part) = Part::of(expr) else { return false };
    let names = values(&part, can_be);
    let cases = names.values().try_fold(1_usize, |cases, values| cases.checked_mul(values.len()));
    cases.is_some_and(|cases| cases <= MAX_CASES && fitting(&part, &names, cases).is_none())
}

/// A value for each path; `None` if it is missing.
type Case<'v> = BTreeMap<&'v [String], Option<&'v Value>>;

/// Returns the first case in which the condition holds.
fn fitting<'v>(part: &Part<'_>, names: &'v Names<'_>, cases: usize) -> Option<Case<'v>> {
    (0..cases).map(|case| chosen(names, case)).find(|case| {
        let value = |path: &[String]| case.get(path).copied().flatten();
        part.truth.holds_where(&value, part.numbers)
    })
}

/// A comparison with a value of another type than its variable.
pub(crate) struct Misfit {
    /// The dotted path.
    pub(crate) path: String,
    pub(crate) comparison: Comparison,
    pub(crate) value: Value,
}

/// Returns the comparisons with a value or an ordering that the path can never have.
pub(crate) fn misfits(expr: &Expr, can_be: CanBe<'_>) -> Vec<Misfit> {
    let Some(part) = Part::of(expr) else { return Vec::new() };
    let misfit = |leaf: &Truth| {
        let Truth::Compare(Side::Path(path), comparison, Side::Literal(value)) = leaf else { return None };
        let ordered = || can_be(path, Some(&Value::from(0))) || can_be(path, Some(&Value::from(1)));
        let fits = if comparison.is_relation() { ordered() } else { can_be(path, Some(value)) };
        (!fits).then(|| Misfit { path: path.join("."), comparison: *comparison, value: value.clone() })
    };
    part.truth.leaves().into_iter().filter_map(misfit).collect()
}

/// A condition that consists of comparisons.
struct Part<'e> {
    truth: Cow<'e, Truth>,
    numbers: Numbers,
}

impl<'e> Part<'e> {
    fn of(expr: &'e Expr) -> Option<Part<'e>> {
        let (truth, numbers) = match expr {
            Expr::When(when) => (Cow::Borrowed(when.truth()), Numbers::OrText),
            Expr::Condition(condition) => (Cow::Borrowed(condition.truth()), Numbers::Only),
            Expr::Python(python) => (Cow::Owned(python.truth()?), Numbers::Only),
            _ => return None,
        };
        Some(Part { truth, numbers })
    }
}

/// The values to try for each path, one for each distinct outcome of all comparisons.
type Names<'p> = BTreeMap<&'p [String], Vec<Option<Value>>>;

fn values<'p>(part: &'p Part<'_>, can_be: CanBe<'_>) -> Names<'p> {
    let mut leaves: BTreeMap<&[String], Vec<(&Truth, Numbers)>> = BTreeMap::new();
    for leaf in part.truth.leaves() {
        if let Some(path) = leaf.path() {
            leaves.entry(path).or_default().push((leaf, part.numbers));
        }
    }
    let values = leaves.into_iter().map(|(path, leaves)| {
        let mut values: BTreeMap<Vec<bool>, Option<Value>> = BTreeMap::new();
        let possible = |value: &Option<Value>| counts(path, value.as_ref()) && can_be(path, value.as_ref());
        for value in samples(&leaves).into_iter().filter(possible) {
            let comes_to =
                leaves.iter().map(|(leaf, numbers)| leaf.holds_where(&|_| value.as_ref(), *numbers)).collect();
            values.entry(comes_to).or_insert(value);
        }
        (path, values.into_values().collect())
    });
    values.collect()
}

/// Checks whether a path can have this value. Python's `len(…)` is a whole number from 0.
fn counts(path: &[String], value: Option<&Value>) -> bool {
    let is_count = path.len() == 1 && path[0].starts_with("len(");
    !is_count || value.and_then(Value::as_f64).is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

fn chosen<'v>(names: &'v Names<'_>, mut case: usize) -> Case<'v> {
    let choose = |(path, values): (&&'v [String], &'v Vec<Option<Value>>)| {
        let at = case % values.len();
        case /= values.len();
        (*path, values[at].as_ref())
    };
    names.iter().map(choose).collect()
}

/// Returns values of every type, the values in the comparisons, and some between, below and above them.
pub(super) fn samples(leaves: &[(&Truth, Numbers)]) -> Vec<Option<Value>> {
    let mut named = Vec::new();
    for (leaf, _) in leaves {
        if let Truth::Compare(left, _, right) = leaf {
            named.extend([left, right].into_iter().filter_map(|side| match side {
                Side::Literal(value) => Some(value),
                Side::Path(_) => None,
            }));
        }
    }
    let mut samples: Vec<Option<Value>> = vec![None, Some(Value::Null), Some(false.into()), Some(true.into())];
    samples.extend([Value::Array(Vec::new()), Value::Object(serde_json::Map::new())].map(Some));
    samples.extend(named.iter().map(|value| Some((*value).clone())));
    let numbers = numbers(&named);
    // A text may represent a number, but must not repeat the spelling of a value in the comparisons.
    let free = |text: String| {
        let mut text = text;
        while named.iter().any(|value| value.as_str() == Some(&text)) {
            text.push(' ');
        }
        Some(Value::String(text))
    };
    samples.extend(numbers.iter().map(|number| free(format!("{number} "))));
    samples.extend([free("other".to_owned()), Some(Value::from(""))]);
    samples.extend(numbers.into_iter().map(|number| Some(Value::Number(number))));
    samples
}

/// Returns the numbers in the comparisons, including those in texts, and others in each gap between them, with a whole
/// number if the gap has one.
fn numbers(named: &[&Value]) -> Vec<Number> {
    let number = |value: &&Value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let mut bounds: Vec<f64> = named.iter().filter_map(number).filter(|number| number.is_finite()).collect();
    bounds.extend([0.0, 1.0]);
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    let around = |bound: &f64| [*bound, bound - 1.0, bound + 1.0, bound.floor(), bound.ceil()];
    let between = bounds.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0);
    let mut numbers: Vec<f64> = bounds.iter().flat_map(around).chain(between).chain([f64::MIN, f64::MAX]).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers.into_iter().filter_map(Number::from_f64).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::super::{Python, Scope, When};
    use super::*;

    fn when(text: &str) -> Expr {
        Expr::When(When::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}")))
    }

    fn python(text: &str) -> Expr {
        Expr::Python(Python::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}")))
    }

    /// Checks whether a condition is never true if `n` is a number, `b` a boolean and `t` a text.
    fn is_never(text: &str) -> bool {
        never(&when(text), &known)
    }

    fn known(path: &[String], value: Option<&Value>) -> bool {
        match path[0].as_str() {
            "n" => value.is_some_and(Value::is_number),
            "b" => value.is_some_and(Value::is_boolean),
            "t" => value.is_some_and(Value::is_string),
            _ => true,
        }
    }

    #[test]
    fn what_contradicts_itself_never_holds() {
        for text in [
            "x == 1 && x == 2",
            "x == true && x == false",
            "x > 5 && x < 3",
            "x > 5 && !(x > 4)",
            "x && !x",
            "b == yes",
            "n == high || n == low",
            "!(n < 3) && !(n >= 3)",
            "1 == 2",
        ] {
            assert!(is_never(text), "{text}");
        }
        for text in [
            "x == 1 && y == 2",
            "x != 1 && x != 2",
            "x > 3 && x < 4",
            "!(x < 3) && !(x >= 3)",
            "x && x != true",
            "!x && x != \"\" && x != 0",
            "t > 3 && t != 7 && t != \"7\"",
            "x > 1 && y > 1 && z > 1 && u > 1 && v > 1",
        ] {
            assert!(!is_never(text), "{text}");
        }
    }

    #[test]
    fn checks_in_python_that_nothing_meets() {
        for text in [
            "len(output) > 5 and len(output) < 3",
            "len(output) > 3 and len(output) < 4",
            "5 < len(output['a'].split()) < 3",
            "output['n'] == 1 and output['n'] == 'x'",
            "len(output) < 0",
            "output == True and output == 0",
        ] {
            assert!(never(&python(text), &|_, _| true), "{text}");
        }
        for text in [
            "len(output) > 5 and len(input) < 3",
            "output > 3 and output < 4",
            "output == True and output == 1",
            "output != '' and output != 0 and output != None and not output",
            "output < 'b' and output > 'c'",
            "output in ['a'] and output == 'b'",
            "output[0] > 5 and output[1] < 3",
        ] {
            assert!(!never(&python(text), &|_, _| true), "{text}");
        }
    }

    #[test]
    fn of_too_many_cases_nothing_is_said() {
        let each = (0..20).map(|n| format!("x{n} > 1")).collect::<Vec<_>>().join(" && ");
        assert!(!is_never(&format!("{each} && x0 < 1")));
    }

    fn conditions() -> impl Strategy<Value = Expr> {
        let value = prop::sample::select(vec!["1", "-2", "2", "x", "true", "null", "\"7\"", "\"\"", "3"]);
        let comparison = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
        let leaf = (prop::sample::select(vec!["a", "b.c", "n"]), prop::option::of((comparison, value)));
        let leaf = leaf.prop_map(|(path, compared)| match compared {
            Some((comparison, value)) => format!("{path} {comparison} {value}"),
            None => path.to_owned(),
        });
        let tree = leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" && "))),
                prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" || "))),
                inner.prop_map(|inner| format!("!({inner})")),
            ]
        });
        tree.prop_map(|text| when(&text))
    }

    fn value() -> impl Strategy<Value = Value> {
        let odd = prop::sample::select(vec![
            json!(null),
            json!(true),
            json!(false),
            json!("x"),
            json!("7"),
            json!(" 7"),
            json!(""),
            json!("2.5"),
            json!([]),
            json!({"c": 1}),
            json!("-2.0"),
            json!("3e0"),
        ]);
        prop_oneof![
            odd,
            (-8_i32..16).prop_map(|number| json!(f64::from(number) / 2.0)),
            (-3_i64..5).prop_map(Value::from)
        ]
    }

    /// Builds data with the value at each path.
    fn data(case: &Case<'_>) -> Value {
        let mut data = Map::new();
        for (path, value) in case {
            let Some(value) = value else { continue };
            match path {
                [name] => data.insert(name.clone(), (*value).clone()),
                [name, inner] => data.insert(name.clone(), json!({ inner: value })),
                _ => panic!("no path is longer: {path:?}"),
            };
        }
        Value::Object(data)
    }

    proptest! {
        #[test]
        fn it_agrees_with_what_is_evaluated(
            expr in conditions(),
            (a, c, n) in (prop::option::of(value()), prop::option::of(value()), -6_i32..14),
        ) {
            let fits = |data: &Value| expr.holds(&Scope::of(data)).expect("a condition has no faults");
            let mut some = json!({"b": {}, "n": f64::from(n) / 2.0});
            if let Some(a) = a { some["a"] = a; }
            if let Some(c) = c { some["b"]["c"] = c; }
            let is_never = never(&expr, &known_of_n);
            prop_assert!(!(is_never && fits(&some)), "{}", some);

            let part = Part::of(&expr).expect("it compares");
            let names = values(&part, &known_of_n);
            let cases: usize = names.values().map(Vec::len).product();
            if cases <= MAX_CASES {
                let found = fitting(&part, &names, cases);
                prop_assert_eq!(is_never, found.is_none());
                prop_assert!(found.is_none_or(|case| fits(&data(&case))));
            }
        }
    }

    fn known_of_n(path: &[String], value: Option<&Value>) -> bool {
        path[0] != "n" || value.is_some_and(Value::is_number)
    }
}
