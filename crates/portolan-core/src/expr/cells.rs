//! Evaluates conditions over variables of which only the possible cells are known.

use serde_json::Value;

use super::Expr;
use super::partition::{Partition, truth};
use super::truth::{Numbers, Truth};
use crate::value::ById;

/// A set of cells of a variable, one bit each; the first bit is that it has no value.
pub(crate) type Cells = u64;

/// A condition over cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sorted {
    /// The same truth for any values of the variables.
    Always(bool),
    /// Holds in these cells of the variable with this index.
    In(usize, Cells),
    /// Holds if all parts hold.
    All(Vec<Sorted>),
    /// Holds if one of the parts holds.
    Any(Vec<Sorted>),
    /// Holds if the inner condition does not.
    Not(Box<Sorted>),
}

/// The known truth of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionTruth {
    /// The truth is known.
    Holds(bool),
    /// The truth depends on whether the variable with this index is in these cells.
    Depends(usize, Cells),
}

impl Sorted {
    /// Builds a condition over the cells of `names`; `None` if the expression is not a condition whose values can be
    /// partitioned.
    pub(crate) fn of(expr: &Expr, names: &ById<String, Partition>) -> Option<Sorted> {
        let (truth, numbers) = truth(expr)?;
        Some(Sorted::part(truth, numbers, names))
    }

    fn part(truth: &Truth, numbers: Numbers, names: &ById<String, Partition>) -> Sorted {
        let parts = |parts: &[Truth]| parts.iter().map(|part| Sorted::part(part, numbers, names)).collect();
        match truth {
            Truth::All(all) => Sorted::All(parts(all)),
            Truth::Any(any) => Sorted::Any(parts(any)),
            Truth::Not(inner) => Sorted::Not(Box::new(Sorted::part(inner, numbers, names))),
            Truth::Is(_) | Truth::Exists(_) | Truth::Compare(..) => {
                let nothing = truth.holds_where(&|_: &[String]| None, numbers);
                let first = truth.path().and_then(|path| path.first());
                let Some((at, _, partition)) = first.and_then(|name| names.get_full(name)) else {
                    return Sorted::Always(nothing);
                };
                let holds = |value: &Value| {
                    let inside =
                        |path: &[String]| path[1..].iter().try_fold(value, |value, name| value.as_object()?.get(name));
                    truth.holds_where(&inside, numbers)
                };
                let values = partition.values().iter().enumerate();
                let cells = values
                    .filter(|(_, value)| holds(value))
                    .fold(Cells::from(nothing), |cells, (cell, _)| cells | 1 << (cell + 1));
                Sorted::In(at, cells)
            }
        }
    }

    /// Returns what is known of its truth if each variable is in one of the cells that `cells` returns.
    pub(crate) fn truth(&self, cells: &dyn Fn(usize) -> Cells) -> ConditionTruth {
        match self {
            Sorted::Always(holds) => ConditionTruth::Holds(*holds),
            Sorted::In(name, holding) => match cells(*name) {
                known if known & holding == 0 => ConditionTruth::Holds(false),
                known if known & !holding == 0 => ConditionTruth::Holds(true),
                _ => ConditionTruth::Depends(*name, *holding),
            },
            Sorted::Not(inner) => match inner.truth(cells) {
                ConditionTruth::Holds(holds) => ConditionTruth::Holds(!holds),
                depends @ ConditionTruth::Depends(..) => depends,
            },
            Sorted::All(parts) => joined(parts, cells, false),
            Sorted::Any(parts) => joined(parts, cells, true),
        }
    }
}

/// Returns what is known of joined parts: the first part with the truth `decided` decides.
fn joined(parts: &[Sorted], cells: &dyn Fn(usize) -> Cells, decided: bool) -> ConditionTruth {
    let mut depends = None;
    for part in parts {
        match part.truth(cells) {
            ConditionTruth::Holds(holds) if holds == decided => return ConditionTruth::Holds(decided),
            ConditionTruth::Holds(_) => {}
            unknown @ ConditionTruth::Depends(..) => depends = depends.or(Some(unknown)),
        }
    }
    depends.unwrap_or(ConditionTruth::Holds(!decided))
}

#[cfg(test)]
mod tests {
    use super::super::When;
    use super::*;

    /// Builds the condition `text` over the booleans and strings of `names`.
    fn sorted(text: &str, names: &[&str]) -> (Sorted, ById<String, Partition>) {
        let expr = Expr::When(When::parse(text).expect("it can be read"));
        let partition = |name: &&str| {
            let takes = |value: &Value| value.is_boolean() || value.is_string();
            let partition = Partition::of(name, std::iter::once(&expr), Vec::new(), Vec::new(), &takes);
            ((*name).to_owned(), partition.expect("there are not too many cells"))
        };
        let names: ById<String, Partition> = names.iter().map(partition).collect();
        (Sorted::of(&expr, &names).expect("it is a condition"), names)
    }

    #[test]
    fn it_asks_for_no_more_than_makes_a_difference() {
        let (condition, names) = sorted("x == true && y == a", &["x", "y"]);
        let any = Cells::MAX;
        let ConditionTruth::Depends(0, holding) = condition.truth(&|_| any) else { panic!("it depends on `x`") };
        assert_eq!(holding.count_ones(), 1);
        assert_eq!(condition.truth(&|name| if name == 0 { !holding } else { any }), ConditionTruth::Holds(false));
        let told = condition.truth(&|name| if name == 0 { holding } else { any });
        assert!(matches!(told, ConditionTruth::Depends(1, _)), "{told:?}");
        let a = names["y"].cell_of(&Value::from("a")).expect("it has a cell");
        assert_eq!(told, ConditionTruth::Depends(1, 1 << (a + 1)));
    }

    #[test]
    fn what_is_missing_is_a_cell_too() {
        let (condition, _) = sorted("x != a", &["x"]);
        assert_eq!(condition.truth(&|_| 1), ConditionTruth::Holds(true));
        let (condition, _) = sorted("!(x != a)", &["x"]);
        assert_eq!(condition.truth(&|_| 1), ConditionTruth::Holds(false));
    }

    #[test]
    fn a_variable_that_nobody_follows_has_no_value() {
        let (condition, _) = sorted("x == a || other == b", &["x"]);
        assert_eq!(condition.truth(&|_| 1), ConditionTruth::Holds(false));
    }
}
