//! The functions that an expression can call.

use super::compare::less;
use super::eval::Evaluation;
use super::meter::{Error, Meter, Run};
use super::number::{Number, Sum, rounded, truncated};
use super::print;
use super::tree::{Call, Function, Operator};
use super::value::{Kind, Val, dict, set};
use super::{compare, words};
use crate::expr::jsonata::{MAX_ITEMS, quoted};

/// The evaluated arguments of a call.
struct ArgumentValues<'c, 'a> {
    evaluation: &'c Evaluation<'a>,
    call: &'a Call,
    /// The positional arguments in order.
    placed: Vec<Val<'a>>,
}

pub(super) fn call<'a>(evaluation: &Evaluation<'a>, call: &'a Call) -> Run<Val<'a>> {
    if let (Function::Any | Function::All, [argument]) = (call.function, call.arguments.as_slice()) {
        // `any` searches for a true item, `all` for a false one.
        let wanted = call.function == Function::Any;
        return Ok(Val::Bool(evaluation.finds(&argument.value, wanted)? == wanted));
    }
    let placed = call.arguments.iter().filter(|argument| argument.name.is_none());
    let placed = placed.map(|argument| evaluation.value(&argument.value)).collect::<Run<Vec<Val<'a>>>>()?;
    let given = ArgumentValues { evaluation, call, placed };
    match call.function {
        Function::Min => given.extreme(false),
        Function::Max => given.extreme(true),
        Function::Sum => given.sum(),
        Function::Sorted => given.sorted(),
        Function::Round => given.round(),
        Function::Range => given.range(),
        Function::Enumerate => given.enumerate(),
        Function::Zip => given.zip(),
        function => of_one(function, given.placed.first(), &evaluation.meter),
    }
}

/// Calls a function of at most one value.
fn of_one<'a>(function: Function, value: Option<&Val<'a>>, meter: &Meter) -> Run<Val<'a>> {
    let Some(value) = value else { return empty(function) };
    match function {
        Function::Len => value.len(meter).map(|length| Val::Int(length as i128)),
        Function::Str => print::text(value, meter).map(Val::text),
        Function::Int => int(value, meter).map(Val::Int),
        Function::Float => float(value, meter).map(Val::Float),
        Function::Bool => Ok(Val::Bool(value.truth())),
        Function::Abs => absolute(value),
        Function::List => value.items(meter).map(Val::list),
        Function::Tuple => value.items(meter).map(Val::tuple),
        Function::Set => set(value.items(meter)?, meter).map(|set| Val::Set(set.into())),
        Function::Dict => to_dict(value, meter),
        Function::Any => Ok(Val::Bool(value.items(meter)?.iter().any(Val::truth))),
        Function::All => Ok(Val::Bool(value.items(meter)?.iter().all(Val::truth))),
        Function::Reversed => reversed(value, meter),
        Function::Round => whole_of(value),
        Function::Range => range(std::slice::from_ref(value), meter),
        Function::Enumerate => enumerated(value, 0, meter),
        Function::Zip => zipped(std::slice::from_ref(value), meter),
        Function::Sum => summed(value, Val::Int(0), meter),
        Function::Sorted => sorted(value.items(meter)?, meter).map(Val::list),
        Function::Min => best(value.items(meter)?, false, meter),
        Function::Max => best(value.items(meter)?, true, meter),
    }
}

/// Calls a function without an argument.
fn empty<'a>(function: Function) -> Run<Val<'a>> {
    match function {
        Function::Str => Ok(Val::lent("")),
        Function::Int => Ok(Val::Int(0)),
        Function::Float => Ok(Val::Float(0.0)),
        Function::Bool => Ok(Val::Bool(false)),
        Function::List => Ok(Val::list(Vec::new())),
        Function::Tuple => Ok(Val::tuple(Vec::new())),
        Function::Set => Ok(Val::Set(Default::default())),
        Function::Dict => Ok(Val::Dict(super::value::Dict::Made(Default::default()))),
        other => Error::Type.raise(format!("`{}` needs an argument", other.word())),
    }
}

impl<'a> ArgumentValues<'_, 'a> {
    fn meter(&self) -> &Meter {
        &self.evaluation.meter
    }

    /// Returns an argument by its name or, if it has a position, by that.
    fn named(&self, name: &str, place: Option<usize>) -> Run<Option<Val<'a>>> {
        let by_name = self.call.arguments.iter().find(|argument| argument.name.as_deref() == Some(name));
        match (by_name, place) {
            (Some(argument), _) => self.evaluation.value(&argument.value).map(Some),
            (None, Some(place)) => Ok(self.placed.get(place).cloned()),
            (None, None) => Ok(None),
        }
    }

    fn first(&self) -> Run<&Val<'a>> {
        match self.placed.first() {
            Some(value) => Ok(value),
            None => Error::Type.raise(format!("`{}` needs an argument", self.call.function.word())),
        }
    }

    /// Pairs each item with its sort key.
    fn keyed(&self, items: Vec<Val<'a>>) -> Run<Vec<(Val<'a>, Val<'a>)>> {
        let key = |item: &Val<'a>| match self.call.key {
            Some(function) => of_one(function, Some(item), self.meter()),
            None => Ok(item.clone()),
        };
        self.meter().steps(items.len())?;
        self.meter().items(items.len())?;
        items.into_iter().map(|item| Ok((key(&item)?, item))).collect()
    }

    fn extreme(&self, largest: bool) -> Run<Val<'a>> {
        let default = self.named("default", None)?;
        let items = match self.placed.as_slice() {
            [whole] => whole.items(self.meter())?,
            several if default.is_none() => several.to_vec(),
            _ => return Error::Type.raise("a `default` is not allowed with several values"),
        };
        if items.is_empty() {
            return match default {
                Some(default) => Ok(default),
                None => nothing_to_choose(largest),
            };
        }
        let better =
            |a: &Val<'a>, b: &Val<'a>| if largest { less(b, a, self.meter()) } else { less(a, b, self.meter()) };
        let mut keyed = self.keyed(items)?.into_iter();
        let Some(mut found) = keyed.next() else { return nothing_to_choose(largest) };
        for candidate in keyed {
            if better(&candidate.0, &found.0)? {
                found = candidate;
            }
        }
        Ok(found.1)
    }

    fn sum(&self) -> Run<Val<'a>> {
        let start = self.named("start", Some(1))?.unwrap_or(Val::Int(0));
        summed(self.first()?, start, self.meter())
    }

    fn sorted(&self) -> Run<Val<'a>> {
        let reverse = self.named("reverse", None)?.is_some_and(|reverse| reverse.truth());
        let mut keyed = self.keyed(self.first()?.items(self.meter())?)?;
        // Equal items keep their order with `reverse`, too.
        if reverse {
            keyed.reverse();
        }
        let mut sorted = compare::sort(keyed, &|a, b| less(&a.0, &b.0, self.meter()))?;
        if reverse {
            sorted.reverse();
        }
        Ok(Val::list(sorted.into_iter().map(|(_, item)| item).collect()))
    }

    fn round(&self) -> Run<Val<'a>> {
        let value = self.first()?;
        let digits = match self.named("ndigits", Some(1))? {
            None | Some(Val::None) => return whole_of(value),
            Some(digits) => index(&digits, "the digits of `round`")?,
        };
        match Number::of(value) {
            Some(number) => rounded(number, digits).map(Number::value),
            None => Error::Type.raise(format!("`round` takes a number, not `{}`", value.kind())),
        }
    }

    fn range(&self) -> Run<Val<'a>> {
        range(&self.placed, self.meter())
    }

    fn enumerate(&self) -> Run<Val<'a>> {
        let start = match self.named("start", Some(1))? {
            Some(start) => index(&start, "the start of `enumerate`")?,
            None => 0,
        };
        enumerated(self.first()?, start, self.meter())
    }

    fn zip(&self) -> Run<Val<'a>> {
        zipped(&self.placed, self.meter())
    }
}

fn nothing_to_choose<T>(largest: bool) -> Run<T> {
    let name = if largest { "max" } else { "min" };
    Error::Value.raise(format!("`{name}` has nothing to choose from: give the value for this case with `default=…`"))
}

fn best<'a>(items: Vec<Val<'a>>, largest: bool, meter: &Meter) -> Run<Val<'a>> {
    let mut items = items.into_iter();
    let Some(mut found) = items.next() else { return nothing_to_choose(largest) };
    for candidate in items {
        let better = if largest { less(&found, &candidate, meter)? } else { less(&candidate, &found, meter)? };
        if better {
            found = candidate;
        }
    }
    Ok(found)
}

fn sorted<'a>(items: Vec<Val<'a>>, meter: &Meter) -> Run<Vec<Val<'a>>> {
    compare::sort(items, &|a, b| less(a, b, meter))
}

fn summed<'a>(whole: &Val<'a>, start: Val<'a>, meter: &Meter) -> Run<Val<'a>> {
    if let Val::Text(_) = start {
        return Error::Type.raise("`sum` does not take text: use `''.join(…)`");
    }
    let evaluation = |left: &Val<'a>, right: &Val<'a>| match (left, right) {
        (Val::List(_), Val::List(_)) | (Val::Tuple(_), Val::Tuple(_)) => {
            let mut items = left.items(meter)?;
            items.extend(right.items(meter)?);
            Ok(if matches!(left, Val::Tuple(_)) { Val::tuple(items) } else { Val::list(items) })
        }
        _ => match (Number::of(left), Number::of(right)) {
            (Some(left), Some(right)) => super::number::arithmetic(Operator::Add, left, right).map(Number::value),
            _ => Error::Type.raise(format!("`+` is not supported for {}", compare::kinds(left, right))),
        },
    };
    let mut items = whole.items(meter)?.into_iter().peekable();
    let mut total = start;
    while let Some(item) = items.next() {
        total = evaluation(&total, &item)?;
        if let Val::Float(first) = total {
            // From the first float on, the rounding error is carried along while the items are numbers.
            let mut sum = Sum::of(first);
            while let Some(number) = items.peek().and_then(Number::of) {
                match number {
                    Number::Float(float) => sum.add(float),
                    Number::Int(int) => sum.add_plainly(int as f64),
                }
                items.next();
            }
            total = Val::Float(sum.total());
        }
    }
    Ok(total)
}

fn whole_of<'a>(value: &Val<'a>) -> Run<Val<'a>> {
    match Number::of(value) {
        Some(Number::Float(float)) => truncated(float.round_ties_even()).map(Val::Int),
        Some(number) => Ok(number.value()),
        None => Error::Type.raise(format!("`round` takes a number, not `{}`", value.kind())),
    }
}

fn absolute<'a>(value: &Val<'a>) -> Run<Val<'a>> {
    match Number::of(value) {
        Some(Number::Int(int)) => match int.checked_abs() {
            Some(int) => Ok(Val::Int(int)),
            None => Error::Bounds.raise("a whole number is too large"),
        },
        Some(Number::Float(float)) => Ok(Val::Float(float.abs())),
        None => Error::Type.raise(format!("`abs` takes a number, not `{}`", value.kind())),
    }
}

/// Converts a value to an integer index or count.
pub(super) fn index(value: &Val<'_>, what: &str) -> Run<i128> {
    match value {
        Val::Int(int) => Ok(*int),
        Val::Bool(is) => Ok((*is).into()),
        other => Error::Type.raise(format!("expected a whole number for {what}, found `{}`", other.kind())),
    }
}

fn int(value: &Val<'_>, meter: &Meter) -> Run<i128> {
    match (value, Number::of(value)) {
        (_, Some(Number::Int(int))) => Ok(int),
        (_, Some(Number::Float(float))) => truncated(float),
        (Val::Text(text), None) => {
            meter.looks(text.len())?;
            let digits =
                words::number(text).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit() || b"+-".contains(&b)));
            match digits.map(|digits| (digits.len(), digits.parse())) {
                Some((_, Ok(int))) => Ok(int),
                Some((38.., Err(_))) => Error::Bounds.raise("a whole number is too large"),
                _ => Error::Value.raise(format!("{} is not a whole number", quoted(text))),
            }
        }
        (other, None) => Error::Type.raise(format!("`int` takes a number or text, not `{}`", other.kind())),
    }
}

fn float(value: &Val<'_>, meter: &Meter) -> Run<f64> {
    match (value, Number::of(value)) {
        (_, Some(number)) => Ok(number.float()),
        (Val::Text(text), None) => {
            meter.looks(text.len())?;
            match words::number(text).and_then(|digits| digits.parse().ok()) {
                Some(float) => Ok(float),
                None => Error::Value.raise(format!("{} is not a number", quoted(text))),
            }
        }
        (other, None) => Error::Type.raise(format!("`float` takes a number or text, not `{}`", other.kind())),
    }
}

fn to_dict<'a>(value: &Val<'a>, meter: &Meter) -> Run<Val<'a>> {
    if let Val::Dict(_) = value {
        return Ok(value.clone());
    }
    let mut members = Vec::new();
    for item in value.items(meter)? {
        if let Val::None | Val::Bool(_) | Val::Int(_) | Val::Float(_) = item {
            return Error::Type.raise(format!("`dict` takes pairs, but one item is `{}`", item.kind()));
        }
        match <[Val<'a>; 2]>::try_from(item.items(meter)?) {
            Ok([key, value]) => members.push((key, value)),
            Err(items) => {
                return Error::Value.raise(format!("`dict` takes pairs, but one item has {} items", items.len()));
            }
        }
    }
    dict(members, meter)
}

fn reversed<'a>(value: &Val<'a>, meter: &Meter) -> Run<Val<'a>> {
    let has_order = match value {
        Val::Series(series) => !matches!(series.kind, Kind::Iterator(_)),
        other => matches!(other, Val::Text(_) | Val::List(_) | Val::Tuple(_) | Val::Dict(_)),
    };
    if !has_order {
        return Error::Type.raise(format!("`{}` cannot be reversed", value.kind()));
    }
    let mut items = value.items(meter)?;
    items.reverse();
    Ok(Val::series(Kind::Iterator("reversed"), items))
}

fn range<'a>(bounds: &[Val<'a>], meter: &Meter) -> Run<Val<'a>> {
    let bounds: Vec<i128> = bounds.iter().map(|bound| index(bound, "`range`")).collect::<Run<_>>()?;
    let (start, stop, step) = match bounds[..] {
        [stop] => (0, stop, 1),
        [start, stop] => (start, stop, 1),
        [start, stop, step] => (start, stop, step),
        _ => return Error::Type.raise("`range` needs an argument"),
    };
    if step == 0 {
        return Error::Value.raise("the step of a range must not be zero");
    }
    let is_empty = if step > 0 { stop <= start } else { start <= stop };
    let length = if is_empty { 0 } else { start.abs_diff(stop).div_ceil(step.unsigned_abs()) };
    if length > MAX_ITEMS as u128 {
        return Error::Bounds.raise(format!("it makes a range of more than {MAX_ITEMS} items"));
    }
    let length = length as usize;
    meter.items(length)?;
    meter.steps(length)?;
    let items = (0..length).map(|number| Val::Int(start + step.saturating_mul(number as i128))).collect();
    Ok(Val::series(Kind::Range { start, stop, step }, items))
}

fn enumerated<'a>(value: &Val<'a>, start: i128, meter: &Meter) -> Run<Val<'a>> {
    let items = value.items(meter)?;
    meter.items(3 * items.len())?;
    if start.checked_add(items.len() as i128).is_none() {
        return Error::Bounds.raise("a whole number is too large");
    }
    let pairs = (start..).zip(items).map(|(number, item)| Val::tuple(vec![Val::Int(number), item])).collect();
    Ok(Val::series(Kind::Iterator("enumerate"), pairs))
}

fn zipped<'a>(values: &[Val<'a>], meter: &Meter) -> Run<Val<'a>> {
    let mut columns = Vec::new();
    for value in values {
        columns.push(value.items(meter)?.into_iter());
    }
    let rows = columns.iter().map(ExactSizeIterator::len).min().unwrap_or(0);
    meter.items(rows.saturating_mul(columns.len() + 1))?;
    let row = |_| Val::tuple(columns.iter_mut().filter_map(Iterator::next).collect());
    let rows = (0..rows).map(row).collect();
    Ok(Val::series(Kind::Iterator("zip"), rows))
}
