//! Subscripts and slices.

use super::meter::{Error, Meter, Run};
use super::print;
use super::value::{Kind, List, Series, Text, Val};
use crate::expr::jsonata::quoted;

/// Computes `whole[index]`.
pub(super) fn item<'a>(whole: &Val<'a>, index: &Val<'a>, meter: &Meter) -> Run<Val<'a>> {
    if let Val::Dict(dict) = whole {
        return match dict.get(&index.key(meter)?) {
            Some(value) => Ok(value),
            None => Error::Key.raise(format!("there is no key {}", quoted(&print::text(index, meter)?))),
        };
    }
    if !is_sequence(whole) {
        return Error::Type.raise(format!("`{}` cannot be indexed with `[…]`", whole.kind()));
    }
    let length = whole.len(meter)?;
    let at = match index {
        Val::Int(at) => *at,
        Val::Bool(at) => (*at).into(),
        other => {
            let message = format!("the index of a `{}` must be a whole number, not `{}`", whole.kind(), other.kind());
            return Error::Type.raise(message);
        }
    };
    let found = usize::try_from(if at < 0 { at.saturating_add(length as i128) } else { at }).ok();
    let value = found.filter(|at| *at < length).and_then(|at| nth(whole, at));
    match value {
        Some(value) => Ok(value),
        None => Error::Index.raise(format!("there is no item `{at}`: the length is {length}")),
    }
}

fn is_sequence(value: &Val<'_>) -> bool {
    match value {
        Val::Text(_) | Val::List(_) | Val::Tuple(_) => true,
        Val::Series(series) => matches!(series.kind, Kind::Range { .. }),
        _ => false,
    }
}

fn nth<'a>(whole: &Val<'a>, at: usize) -> Option<Val<'a>> {
    match whole {
        Val::Text(text) => {
            let (from, c) = text.char_indices().nth(at)?;
            Some(Val::Text(text.part(from, from + c.len_utf8())))
        }
        Val::List(items) => items.get(at),
        Val::Tuple(items) => items.get(at).cloned(),
        Val::Series(series) => series.items.get(at).cloned(),
        _ => None,
    }
}

/// Computes `whole[start:stop:step]`.
pub(super) fn slice<'a>(whole: &Val<'a>, bounds: [Val<'a>; 3], meter: &Meter) -> Run<Val<'a>> {
    if !is_sequence(whole) {
        return Error::Type.raise(format!("`{}` cannot be sliced", whole.kind()));
    }
    let cut = SliceRange::of(bounds, whole.len(meter)?)?;
    match whole {
        Val::Text(text) => {
            meter.text(text.len())?;
            Ok(Val::Text(cut.text(text)))
        }
        Val::Tuple(items) => {
            let items = cut.places().filter_map(|at| items.get(at).cloned());
            collected(items, cut.length(), meter).map(Val::tuple)
        }
        Val::List(items) => collected(cut.places().filter_map(|at| items.get(at)), cut.length(), meter).map(Val::list),
        Val::Series(series) => cut.range(series, meter),
        _ => unreachable!("only a sequence is cut"),
    }
}

fn collected<'a>(items: impl Iterator<Item = Val<'a>>, length: usize, meter: &Meter) -> Run<Vec<Val<'a>>> {
    meter.items(length)?;
    meter.steps(length)?;
    Ok(items.collect())
}

/// A slice of a sequence of known length.
struct SliceRange {
    start: i128,
    stop: i128,
    step: i128,
}

impl SliceRange {
    fn of([start, stop, step]: [Val<'_>; 3], length: usize) -> Run<SliceRange> {
        let length = length as i128;
        let step = whole(&step)?.unwrap_or(1);
        if step == 0 {
            return Error::Value.raise("the step of a slice must not be zero");
        }
        let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let bound = |bound: Option<i128>, missing: i128| match bound {
            None => missing,
            Some(at) if at < 0 => at.saturating_add(length).max(low),
            Some(at) => at.min(high),
        };
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        Ok(SliceRange { start: bound(whole(&start)?, first), stop: bound(whole(&stop)?, last), step })
    }

    fn length(&self) -> usize {
        let distance = if self.step > 0 { self.stop - self.start } else { self.start - self.stop };
        let step = self.step.unsigned_abs();
        usize::try_from(distance).map_or(0, |distance| (distance as u128).div_ceil(step) as usize)
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        let (start, step) = (self.start, self.step);
        (0..self.length()).filter_map(move |number| usize::try_from(start + step.saturating_mul(number as i128)).ok())
    }

    fn text<'a>(&self, text: &Text<'a>) -> Text<'a> {
        if self.step == 1 {
            let place = |at: i128| {
                let at = usize::try_from(at).unwrap_or_default();
                text.char_indices().nth(at).map_or(text.len(), |(place, _)| place)
            };
            let from = place(self.start);
            return text.part(from, place(self.stop).max(from));
        }
        let characters: Vec<char> = text.chars().collect();
        Text::Made(self.places().filter_map(|at| characters.get(at)).collect::<String>().into())
    }

    fn range<'a>(&self, series: &Series<'a>, meter: &Meter) -> Run<Val<'a>> {
        let Kind::Range { start, step, .. } = series.kind else { unreachable!("only a range is cut") };
        let nth = |at: i128| start.saturating_add(step.saturating_mul(at));
        let kind = Kind::Range { start: nth(self.start), stop: nth(self.stop), step: step.saturating_mul(self.step) };
        let items = self.places().filter_map(|at| series.items.get(at).cloned());
        Ok(Val::series(kind, collected(items, self.length(), meter)?))
    }
}

fn whole(bound: &Val<'_>) -> Run<Option<i128>> {
    match bound {
        Val::None => Ok(None),
        Val::Bool(at) => Ok(Some((*at).into())),
        Val::Int(at) => Ok(Some(*at)),
        other => Error::Type.raise(format!("a slice takes whole numbers, not `{}`", other.kind())),
    }
}

/// Computes `items * times` for a string, a list or a tuple.
pub(super) fn repeated<'a>(whole: &Val<'a>, times: i128, meter: &Meter) -> Run<Val<'a>> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    if let Val::Text(text) = whole {
        meter.text(text.len().saturating_mul(times))?;
        return Ok(Val::text(if text.is_empty() { String::new() } else { text.repeat(times) }));
    }
    let items = match whole {
        Val::List(List::Made(items)) | Val::Tuple(items) => items.to_vec(),
        other => other.items(meter)?,
    };
    meter.items(items.len().saturating_mul(times))?;
    let repeated = if items.is_empty() { items } else { std::iter::repeat_n(items, times).flatten().collect() };
    Ok(if matches!(whole, Val::Tuple(_)) { Val::tuple(repeated) } else { Val::list(repeated) })
}
