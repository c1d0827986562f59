//! What an expression can call, and its functions.

use std::num::IntErrorKind;

use super::compare::{less, sort};
use super::meter::{Meter, Run, type_error, value_error};
use super::methods::is_space;
use super::number::{Number, in_range, truncated, without_underscores};
use super::operate::operate;
use super::print;
use super::tree::{Operator, Shape};
use super::value::Val;
use crate::expr::jsonata::quoted;

/// A function or method.
pub(super) struct Callable {
    pub(super) word: &'static str,
    /// The types that have the method; none for a function.
    pub(super) of: &'static [&'static str],
    /// The minimum and maximum number of arguments without a name.
    pub(super) least: usize,
    pub(super) most: usize,
    /// The arguments that can be given by name, with their places.
    pub(super) named: &'static [(&'static str, usize)],
    /// Whether it iterates over its first argument, so that it accepts a generator.
    pub(super) iterates: bool,
    body: Body,
}

type Body = fn(&Given<'_>) -> Run<Val>;

/// The maximum number of arguments of a function that takes its items one by one, too.
pub(super) const MANY: usize = usize::MAX;

/// Defines a function.
pub(super) const fn function(
    word: &'static str,
    [least, most]: [usize; 2],
    named: &'static [(&'static str, usize)],
    body: Body,
) -> Callable {
    Callable { word, of: &[], least, most, named, iterates: false, body }
}

/// Defines a method of the values of some types.
pub(super) const fn method(
    of: &'static [&'static str],
    word: &'static str,
    takes: [usize; 2],
    named: &'static [(&'static str, usize)],
    body: Body,
) -> Callable {
    Callable { of, ..function(word, takes, named, body) }
}

impl Callable {
    pub(super) const fn iterating(self) -> Callable {
        Callable { iterates: true, ..self }
    }

    /// Checks whether it can be called with one argument, as the key of a sort.
    pub(super) fn takes_one(&self) -> bool {
        self.least <= 1 && self.most >= 1
    }

    /// Calls it. Each text that it is given is scanned at least once.
    pub(super) fn call(&self, values: Vec<Option<Val>>, meter: &Meter) -> Run<Val> {
        for value in values.iter().flatten() {
            if let Val::Text(text) = value {
                meter.looks(text.len())?;
            }
        }
        (self.body)(&Given { callable: self, values, meter })
    }
}

/// The values of the arguments in their places. The first of a method is the value that has it.
pub(super) struct Given<'c> {
    callable: &'c Callable,
    values: Vec<Option<Val>>,
    pub(super) meter: &'c Meter,
}

impl Given<'_> {
    pub(super) fn get(&self, place: usize) -> Option<&Val> {
        self.values.get(place).and_then(Option::as_ref)
    }

    pub(super) fn value(&self, place: usize) -> Run<&Val> {
        match self.get(place) {
            Some(value) => Ok(value),
            None => type_error(format!("`{}` needs an argument", self.callable.word)),
        }
    }

    /// Returns an argument that must be a text.
    pub(super) fn text(&self, place: usize) -> Run<&str> {
        match self.value(place)? {
            Val::Text(text) => Ok(text),
            other => type_error(format!("`{}` takes a text, not `{}`", self.callable.word, other.kind())),
        }
    }

    /// Returns the items of the first argument.
    pub(super) fn items(&self) -> Run<Vec<Val>> {
        self.value(0)?.items(self.meter)
    }
}

/// The functions; each says how many arguments it takes, and which of them have names.
pub(super) static FUNCTIONS: &[Callable] = &[
    function("len", [1, 1], &[], |given| Ok(Val::Int(given.value(0)?.len(given.meter)? as i128))),
    function("str", [0, 1], &[], string),
    function("int", [0, 1], &[], int),
    function("float", [0, 1], &[], float),
    function("bool", [0, 1], &[], |given| Ok(Val::Bool(given.get(0).is_some_and(Val::truth)))),
    function("isinstance", [2, 2], &[], |given| Ok(Val::Bool(is_instance(given.value(0)?, given.value(1)?)))),
    function("abs", [1, 1], &[], absolute),
    function("min", [1, MANY], &[("key", 1), ("default", 2)], |given| extreme(given, false)).iterating(),
    function("max", [1, MANY], &[("key", 1), ("default", 2)], |given| extreme(given, true)).iterating(),
    function("sum", [1, 2], &[("start", 1)], sum).iterating(),
    function("any", [1, 1], &[], |given| Ok(Val::Bool(given.items()?.iter().any(Val::truth)))).iterating(),
    function("all", [1, 1], &[], |given| Ok(Val::Bool(given.items()?.iter().all(Val::truth)))).iterating(),
    function("sorted", [1, 1], &[("key", 1), ("reverse", 2)], sorted).iterating(),
    function("list", [0, 1], &[], |given| collection(given, Shape::List)).iterating(),
    function("dict", [0, 1], &[], |given| collection(given, Shape::Dict)).iterating(),
    function("set", [0, 1], &[], |given| collection(given, Shape::Set)).iterating(),
    function("tuple", [0, 1], &[], |given| collection(given, Shape::Tuple)).iterating(),
];

fn string(given: &Given<'_>) -> Run<Val> {
    match given.get(0) {
        Some(value) => print::text(value, given.meter).map(Val::text),
        None => Ok(Val::text("")),
    }
}

/// Returns the digits of a number in a text.
fn digits(text: &str) -> Option<String> {
    without_underscores(text.trim_matches(is_space))
}

fn int(given: &Given<'_>) -> Run<Val> {
    let int = match given.get(0) {
        None => 0,
        Some(Val::Float(float)) => truncated(*float)?,
        Some(Val::Text(text)) => match digits(text).map(|digits| digits.parse::<i128>()) {
            Some(Ok(int)) => int,
            Some(Err(fault)) if matches!(fault.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
                in_range(None)?
            }
            _ => return value_error(format!("{} is not a whole number", quoted(text))),
        },
        Some(other) => match other.whole() {
            Some(int) => int,
            None => return type_error(format!("`int` takes a number or text, not `{}`", other.kind())),
        },
    };
    Ok(Val::Int(int))
}

fn float(given: &Given<'_>) -> Run<Val> {
    let Some(value) = given.get(0) else { return Ok(Val::Float(0.0)) };
    match (value, Number::of(value)) {
        (_, Some(number)) => Ok(Val::Float(number.float())),
        (Val::Text(text), _) => match digits(text).and_then(|digits| digits.parse().ok()) {
            Some(float) => Ok(Val::Float(float)),
            None => value_error(format!("{} is not a number", quoted(text))),
        },
        (other, _) => type_error(format!("`float` takes a number or text, not `{}`", other.kind())),
    }
}

/// Checks whether a value has a type, or one of a tuple of types. A boolean is a whole number, too.
fn is_instance(value: &Val, wanted: &Val) -> bool {
    match wanted {
        Val::Function(wanted) => wanted.word == value.kind() || (wanted.word, value.kind()) == ("int", "bool"),
        Val::Tuple(several) => several.iter().any(|wanted| is_instance(value, wanted)),
        _ => false,
    }
}

fn absolute(given: &Given<'_>) -> Run<Val> {
    let value = given.value(0)?;
    match Number::of(value) {
        Some(Number::Int(int)) => in_range(int.checked_abs()).map(Val::Int),
        Some(Number::Float(float)) => Ok(Val::Float(float.abs())),
        None => type_error(format!("`abs` takes a number, not `{}`", value.kind())),
    }
}

/// Returns the items of the first argument, each after its sort key.
fn keyed(given: &Given<'_>) -> Run<Vec<(Val, Val)>> {
    let items = given.items()?;
    given.meter.steps(items.len())?;
    given.meter.items(items.len())?;
    let key = |item: &Val| match given.get(1) {
        Some(Val::Function(function)) => function.call(vec![Some(item.clone())], given.meter),
        _ => Ok(item.clone()),
    };
    items.into_iter().map(|item| Ok((key(&item)?, item))).collect()
}

/// Returns the least or the largest item, the first of several.
fn extreme(given: &Given<'_>, largest: bool) -> Run<Val> {
    let mut items = keyed(given)?.into_iter();
    let Some(mut found) = items.next() else {
        let name = if largest { "max" } else { "min" };
        let nothing = format!("`{name}` has nothing to choose from: give the value for this case with `default=…`");
        return given.get(2).map_or_else(|| value_error(nothing), |default| Ok(default.clone()));
    };
    for item in items {
        let (left, right) = if largest { (&found, &item) } else { (&item, &found) };
        if less(&left.0, &right.0, given.meter)? {
            found = item;
        }
    }
    Ok(found.1)
}

/// Adds up the items. From Python 3.12 on, the rounding error of floats is carried along.
fn sum(given: &Given<'_>) -> Run<Val> {
    let mut total = given.get(1).cloned().unwrap_or(Val::Int(0));
    if let Val::Text(_) = total {
        return type_error("`sum` does not take text: use `''.join(…)`");
    }
    let mut lost = 0.0;
    for item in given.items()? {
        let sum = operate(Operator::Add, &total, &item, given.meter)?;
        if let (Val::Float(left), Val::Float(right), Val::Float(sum)) = (&total, &item, &sum) {
            let (large, small) = if left.abs() >= right.abs() { (left, right) } else { (right, left) };
            lost += (large - sum) + small;
        }
        total = sum;
    }
    match total {
        Val::Float(total) if lost != 0.0 && lost.is_finite() => Ok(Val::Float(total + lost)),
        total => Ok(total),
    }
}

fn sorted(given: &Given<'_>) -> Run<Val> {
    let is_reversed = given.get(2).is_some_and(Val::truth);
    let mut keyed = keyed(given)?;
    // Equal items keep their order when it is reversed, too.
    if is_reversed {
        keyed.reverse();
    }
    let mut sorted = sort(keyed, &|a, b| less(&a.0, &b.0, given.meter))?;
    if is_reversed {
        sorted.reverse();
    }
    Ok(Val::list(sorted.into_iter().map(|(_, item)| item).collect()))
}

fn collection(given: &Given<'_>, shape: Shape) -> Run<Val> {
    match given.get(0) {
        Some(Val::Dict(dict)) if shape == Shape::Dict => Ok(Val::Dict(dict.clone())),
        Some(_) => Val::made(shape, given.items()?, given.meter),
        None => Val::made(shape, Vec::new(), given.meter),
    }
}
