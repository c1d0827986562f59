//! Evaluates a rule. Evaluation is lazy, and every step is counted.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::Value;

use super::coerce::{Data, equal, joined, order, same};
use super::{Name, Op, Rule, Var};
use crate::expr::jsonata::{MAX_ITEMS, MAX_MEMORY_BYTES, MAX_STRING_BYTES};
use crate::expr::{EvalFault, Scope};

/// The maximum number of steps of one evaluation: operators, and items that an array operator visits.
const MAX_STEPS: u64 = 2_000_000;
/// The maximum number of JSONata evaluations beyond plain paths in one evaluation: each has a time limit of its own.
const MAX_QUERIES: u64 = 100_000;
/// The cost of a value besides its text.
const VALUE_BYTES: usize = 32;

type Answer<'v> = Result<Data<'v>, EvalFault>;

/// The resources that the evaluation has used so far.
#[derive(Default)]
struct Meter {
    steps: Cell<u64>,
    queries: Cell<u64>,
    bytes: Cell<usize>,
}

/// The data and meter of an evaluation.
#[derive(Clone, Copy)]
struct Here<'v, 's> {
    scope: &'v Scope<'s>,
    meter: &'v Meter,
}

pub(super) fn eval(rule: &Rule, scope: &Scope<'_>) -> Result<Value, EvalFault> {
    let meter = Meter::default();
    Ok(Here { scope, meter: &meter }.rule(rule)?.into_value())
}

impl Meter {
    fn step(&self) -> Result<(), EvalFault> {
        count(&self.steps, MAX_STEPS, "steps")
    }

    fn query(&self) -> Result<(), EvalFault> {
        count(&self.queries, MAX_QUERIES, "JSONata expressions")
    }

    fn bytes(&self, more: usize) -> Result<(), EvalFault> {
        let bytes = self.bytes.get().saturating_add(more);
        self.bytes.set(bytes);
        if bytes > MAX_MEMORY_BYTES {
            return bounds(format!("the rule makes more than {} MiB of values", MAX_MEMORY_BYTES >> 20));
        }
        Ok(())
    }

    /// Converts a value to an array item, and charges for its copy.
    fn keep(&self, data: Data<'_>) -> Result<Value, EvalFault> {
        if let Data::Json(value) = &data {
            self.bytes(weight(value))?;
        }
        Ok(data.into_value())
    }
}

fn count(counter: &Cell<u64>, limit: u64, what: &str) -> Result<(), EvalFault> {
    counter.set(counter.get() + 1);
    if counter.get() > limit {
        return bounds(format!("the rule takes more than {limit} {what}"));
    }
    Ok(())
}

fn bounds<T>(message: impl Into<String>) -> Result<T, EvalFault> {
    Err(EvalFault::bounds(message, ""))
}

fn weight(value: &Value) -> usize {
    VALUE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(members) => members.iter().map(|(name, value)| name.len() + weight(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

impl<'v> Here<'v, '_> {
    fn rule(self, rule: &'v Rule) -> Answer<'v> {
        self.meter.step()?;
        match rule {
            Rule::Literal(value) => Ok(Data::Json(Cow::Borrowed(value))),
            Rule::List(rules) => {
                let items = rules.iter().map(|rule| self.meter.keep(self.rule(rule)?));
                Ok(Data::owned(Value::Array(items.collect::<Result<_, _>>()?)))
            }
            Rule::Var(var) => self.var(var),
            Rule::Apply(op, arguments) => self.apply(*op, arguments),
        }
    }

    fn apply(self, op: Op, arguments: &'v [Rule]) -> Answer<'v> {
        match op {
            Op::If => return self.choose(arguments),
            Op::And => return self.first(arguments, |data| !data.truthy()),
            Op::Or => return self.first(arguments, |data| data.truthy()),
            Op::Map | Op::Filter | Op::All | Op::Some | Op::None => return self.each(op, arguments),
            Op::Reduce => return self.reduce(arguments),
            _ => {}
        }
        let data: Vec<Data<'v>> = arguments.iter().map(|rule| self.rule(rule)).collect::<Result<_, _>>()?;
        let null = Data::null();
        let nth = |n: usize| data.get(n).unwrap_or(&null);
        let is = |truth: bool| Ok(Data::owned(Value::Bool(truth)));
        match op {
            Op::Equal => is(equal(nth(0), nth(1))),
            Op::Unequal => is(!equal(nth(0), nth(1))),
            Op::Same => is(same(nth(0), nth(1))),
            Op::Different => is(!same(nth(0), nth(1))),
            Op::Greater => is(ascending(&data, Ordering::is_gt)),
            Op::GreaterEqual => is(ascending(&data, Ordering::is_ge)),
            Op::Less => is(ascending(&data, Ordering::is_lt)),
            Op::LessEqual => is(ascending(&data, Ordering::is_le)),
            Op::Not => is(!nth(0).truthy()),
            Op::Truth => is(nth(0).truthy()),
            Op::In => is(contains(nth(1), nth(0))),
            Op::Log => Ok(data.into_iter().next().unwrap_or(null)),
            Op::Cat => self.cat(&data),
            Op::Substr => self.substr(nth(0), nth(1), data.get(2)),
            Op::Merge => self.merge(data),
            Op::Missing => Ok(self.missing(&listed(data))),
            Op::MissingSome => Ok(self.missing_some(nth(0), nth(1))),
            _ => Ok(arithmetic(op, data)),
        }
    }

    fn choose(self, arguments: &'v [Rule]) -> Answer<'v> {
        for pair in arguments.chunks(2) {
            match pair {
                [condition, consequence] if self.rule(condition)?.truthy() => return self.rule(consequence),
                [_, _] => {}
                [otherwise] => return self.rule(otherwise),
                _ => {}
            }
        }
        Ok(Data::null())
    }

    /// Returns the first argument for which `ends` holds, else the last.
    fn first(self, arguments: &'v [Rule], ends: fn(&Data<'_>) -> bool) -> Answer<'v> {
        let mut last = Data::null();
        for rule in arguments {
            last = self.rule(rule)?;
            if ends(&last) {
                break;
            }
        }
        Ok(last)
    }

    fn each(self, op: Op, arguments: &'v [Rule]) -> Answer<'v> {
        let items = match arguments.first() {
            Some(rule) => items(self.rule(rule)?),
            None => Cow::Owned(Vec::new()),
        };
        let mut kept = Vec::new();
        for item in items.iter() {
            let scope = self.scope.inside(item);
            let inner = Here { scope: &scope, meter: self.meter };
            let answer = match arguments.get(1) {
                Some(rule) => inner.rule(rule)?,
                None => Data::null(),
            };
            match op {
                Op::Map => kept.push(self.meter.keep(answer)?),
                Op::Filter if answer.truthy() => kept.push(self.meter.keep(Data::Json(Cow::Borrowed(item)))?),
                Op::All if !answer.truthy() => return Ok(Data::owned(Value::Bool(false))),
                Op::Some if answer.truthy() => return Ok(Data::owned(Value::Bool(true))),
                Op::None if answer.truthy() => return Ok(Data::owned(Value::Bool(false))),
                _ => {}
            }
        }
        Ok(Data::owned(match op {
            Op::Map | Op::Filter => Value::Array(kept),
            Op::All => Value::Bool(!items.is_empty()),
            Op::Some => Value::Bool(false),
            _ => Value::Bool(true),
        }))
    }

    fn reduce(self, arguments: &'v [Rule]) -> Answer<'v> {
        let [list, body, rest @ ..] = arguments else { return Ok(Data::null()) };
        let items = items(self.rule(list)?);
        let mut accumulator = match rest.first() {
            Some(rule) => self.rule(rule)?.into_value(),
            None => Value::Null,
        };
        for item in items.iter() {
            self.meter.bytes(weight(item))?;
            let mut data = serde_json::Map::new();
            data.insert("current".to_owned(), item.clone());
            data.insert("accumulator".to_owned(), accumulator);
            let data = Value::Object(data);
            let scope = self.scope.inside(&data);
            accumulator = self.meter.keep(Here { scope: &scope, meter: self.meter }.rule(body)?)?;
        }
        Ok(Data::owned(accumulator))
    }

    fn var(self, var: &'v Var) -> Answer<'v> {
        let found = match &var.name {
            Name::Whole => Some(self.whole()),
            Name::Path(path) => self.path(path),
            Name::Computed(rule) => {
                let name = self.rule(rule)?.to_text().into_owned();
                if name.is_empty() { Some(self.whole()) } else { self.path(&name) }
            }
            Name::Jsonata(jsonata) => match jsonata.walk(self.scope) {
                Some(found) => found.map(|value| Data::Json(Cow::Borrowed(value))),
                None => {
                    self.meter.query()?;
                    jsonata.eval(self.scope)?.map(Data::owned)
                }
            },
        };
        match (found, &var.default) {
            (Some(Data::Json(value)), Some(default)) if value.is_null() => self.rule(default),
            (None, Some(default)) => self.rule(default),
            (found, _) => Ok(found.unwrap_or_else(Data::null)),
        }
    }

    fn whole(self) -> Data<'v> {
        match self.scope.root {
            Some(root) => Data::Json(Cow::Borrowed(root)),
            None => Data::owned(self.scope.whole()),
        }
    }

    /// Resolves a dotted path; `None` if it ends early.
    fn path(self, path: &str) -> Option<Data<'v>> {
        let mut segments = path.split('.');
        let first = segments.next()?;
        let mut value: &'v Value = match self.scope.root {
            Some(root) => step(root, first)?,
            None => self.scope.name(first)?,
        };
        for segment in segments {
            value = step(value, segment)?;
        }
        Some(Data::Json(Cow::Borrowed(value)))
    }

    fn missing(self, keys: &[Value]) -> Data<'v> {
        let is_missing = |key: &&Value| {
            self.path(&joined(key))
                .is_none_or(|data| matches!(data, Data::Json(value) if value.is_null() || value.as_str() == Some("")))
        };
        Data::owned(Value::Array(keys.iter().filter(is_missing).cloned().collect()))
    }

    fn missing_some(self, need: &Data<'_>, keys: &Data<'_>) -> Data<'v> {
        let Data::Json(keys) = keys else { return Data::null() };
        let keys = keys.as_array().map(Vec::as_slice).unwrap_or_default();
        let Data::Json(missing) = self.missing(keys) else { return Data::null() };
        let absent = missing.as_array().map_or(0, Vec::len);
        if (keys.len() - absent) as f64 >= need.to_number() {
            Data::owned(Value::Array(Vec::new()))
        } else {
            Data::Json(missing)
        }
    }

    fn cat(self, data: &[Data<'_>]) -> Answer<'v> {
        let mut text = String::new();
        for part in data {
            match part {
                Data::Json(value) => text.push_str(&joined(value)),
                number @ Data::Number(_) => text.push_str(&number.to_text()),
            }
            if text.len() > MAX_STRING_BYTES {
                return bounds(format!("`cat` makes a text of more than {} MiB", MAX_STRING_BYTES >> 20));
            }
        }
        self.meter.bytes(text.len())?;
        Ok(Data::owned(Value::String(text)))
    }

    /// Counts in UTF-16 like the reference; half of a surrogate pair becomes a replacement character.
    fn substr(self, source: &Data<'_>, start: &Data<'_>, length: Option<&Data<'_>>) -> Answer<'v> {
        let units: Vec<u16> = source.to_text().encode_utf16().collect();
        let total = units.len() as f64;
        let whole = |number: f64| if number.is_nan() { 0.0 } else { number.trunc() };
        let from_end = |at: f64| if at < 0.0 { (total + at).max(0.0) } else { at.min(total) };
        let start = from_end(whole(start.to_number()));
        let end = match length.map(|length| whole(length.to_number())) {
            None => total,
            Some(length) if length < 0.0 => total + length,
            Some(length) => (start + length).min(total),
        };
        let picked = if end > start { &units[start as usize..end as usize] } else { &[] };
        self.meter.bytes(picked.len())?;
        Ok(Data::owned(Value::String(String::from_utf16_lossy(picked))))
    }

    fn merge(self, data: Vec<Data<'v>>) -> Answer<'v> {
        let mut merged = Vec::new();
        for part in data {
            match self.meter.keep(part)? {
                Value::Array(items) => merged.extend(items),
                single => merged.push(single),
            }
            if merged.len() > MAX_ITEMS {
                return bounds(format!("`merge` makes an array of more than {MAX_ITEMS} items"));
            }
        }
        Ok(Data::owned(Value::Array(merged)))
    }
}

fn step<'v>(value: &'v Value, segment: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(segment),
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Returns the items of an array; none for other values, as in the reference.
fn items(data: Data<'_>) -> Cow<'_, [Value]> {
    match data {
        Data::Json(Cow::Borrowed(Value::Array(items))) => Cow::Borrowed(items),
        Data::Json(Cow::Owned(Value::Array(items))) => Cow::Owned(items),
        _ => Cow::Owned(Vec::new()),
    }
}

/// Returns the keys of `missing`: its arguments, or the array that is its first argument.
fn listed(data: Vec<Data<'_>>) -> Vec<Value> {
    let mut keys: Vec<Value> = data.into_iter().map(Data::into_value).collect();
    match keys.first_mut() {
        Some(Value::Array(inner)) => std::mem::take(inner),
        _ => keys,
    }
}

/// Checks whether each of the first two pairs of neighbours has the wanted order.
fn ascending(data: &[Data<'_>], wanted: impl Fn(Ordering) -> bool) -> bool {
    data.len() > 1 && data.windows(2).take(2).all(|pair| order(&pair[0], &pair[1]).is_some_and(&wanted))
}

fn contains(list: &Data<'_>, item: &Data<'_>) -> bool {
    let Data::Json(list) = list else { return false };
    match &**list {
        Value::String(text) => text.contains(&*item.to_text()),
        Value::Array(items) => items.iter().any(|candidate| same(&Data::Json(Cow::Borrowed(candidate)), item)),
        _ => false,
    }
}

fn arithmetic(op: Op, data: Vec<Data<'_>>) -> Data<'_> {
    let number = |n: usize| data.get(n).map_or(f64::NAN, Data::to_number);
    let all = || data.iter().map(Data::to_number);
    Data::Number(match op {
        Op::Add => data.iter().map(Data::parse_float).fold(0.0, |sum, next| sum + next),
        Op::Multiply if data.len() == 1 => return data.into_iter().next().unwrap_or_else(Data::null),
        Op::Multiply => data.iter().map(Data::parse_float).fold(1.0, |product, next| product * next),
        Op::Subtract if data.len() == 1 => -number(0),
        Op::Subtract => number(0) - number(1),
        Op::Divide => number(0) / number(1),
        Op::Remainder => number(0) % number(1),
        // `f64::min` ignores NaN.
        Op::Min => all().fold(f64::INFINITY, |least, next| if next < least || next.is_nan() { next } else { least }),
        _ => all().fold(f64::NEG_INFINITY, |most, next| if next > most || next.is_nan() { next } else { most }),
    })
}
