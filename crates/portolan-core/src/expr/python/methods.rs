//! The methods that an expression can call.

use super::call::place;
use super::compare;
use super::eval::Evaluation;
use super::functions::index;
use super::meter::{Error, Meter, Run};
use super::tree::{Argument, Method};
use super::value::{Dict, Kind, Text, Val};
use super::words;

pub(super) fn call<'a>(
    evaluation: &Evaluation<'a>,
    value: &Val<'a>,
    method: Method,
    arguments: &'a [Argument],
) -> Run<Val<'a>> {
    // If the method is missing, its arguments are not evaluated.
    if !has(value, method) {
        return missing(value, method);
    }
    let mut given: Vec<Option<Val<'a>>> = vec![None; 3];
    for (number, argument) in arguments.iter().enumerate() {
        let at = argument.name.as_deref().map_or(number, |name| place(method, name));
        let place = given.get_mut(at);
        if let Some(place) = place {
            *place = Some(evaluation.value(&argument.value)?);
        }
    }
    let meter = &evaluation.meter;
    match value {
        Val::Text(text) => of_text(text, method, &given, meter),
        Val::Dict(dict) => of_dict(dict, method, &given, meter),
        Val::List(items) => of_items(value, items.len(), method, &given, meter),
        Val::Tuple(items) => of_items(value, items.len(), method, &given, meter),
        Val::Series(series) if matches!(series.kind, Kind::Range { .. }) => {
            of_items(value, series.items.len(), method, &given, meter)
        }
        _ => missing(value, method),
    }
}

/// Checks whether a value has a method.
fn has(value: &Val<'_>, method: Method) -> bool {
    let of_dicts = matches!(method, Method::Get | Method::Keys | Method::Values | Method::Items);
    match value {
        Val::Text(_) => !of_dicts,
        Val::Dict(_) => of_dicts,
        Val::List(_) | Val::Tuple(_) => matches!(method, Method::Count | Method::Index),
        Val::Series(series) => {
            matches!(series.kind, Kind::Range { .. }) && matches!(method, Method::Count | Method::Index)
        }
        Val::None | Val::Bool(_) | Val::Int(_) | Val::Float(_) | Val::Set(_) => false,
    }
}

fn missing<T>(value: &Val<'_>, method: Method) -> Run<T> {
    Error::Attribute.raise(format!("`{}` has no method `.{}`", value.kind(), method.word()))
}

type ArgumentSlots<'g, 'a> = &'g [Option<Val<'a>>];

fn given<'g, 'a>(given: ArgumentSlots<'g, 'a>, at: usize) -> Option<&'g Val<'a>> {
    given.get(at).and_then(Option::as_ref)
}

fn of_text<'a>(text: &Text<'a>, method: Method, arguments: ArgumentSlots<'_, 'a>, meter: &Meter) -> Run<Val<'a>> {
    meter.looks(text.len())?;
    for argument in arguments.iter().flatten() {
        // A search also scans its argument, even in a short text.
        if let Val::Text(argument) = argument {
            meter.looks(argument.len())?;
        }
    }
    let first = given(arguments, 0);
    match method {
        Method::Lower => changed(text, str::to_lowercase, meter),
        Method::Upper => changed(text, str::to_uppercase, meter),
        Method::Title => changed(text, words::title, meter),
        Method::Capitalize => changed(text, words::capitalized, meter),
        Method::Strip => stripped(text, first, [true, true], meter),
        Method::Lstrip => stripped(text, first, [true, false], meter),
        Method::Rstrip => stripped(text, first, [false, true], meter),
        Method::Split => split(text, first, given(arguments, 1), meter),
        Method::Splitlines => {
            let lines = words::lines(text, first.is_some_and(Val::truth));
            parts(text, &lines, meter)
        }
        Method::Join => join(text, first, meter),
        Method::Startswith => affixed(text, arguments, method, meter),
        Method::Endswith => affixed(text, arguments, method, meter),
        Method::Count | Method::Find | Method::Index => searched(text, arguments, method, meter),
        Method::Replace => replaced(text, arguments, meter),
        Method::Isdigit => Ok(all_of(text, words::is_digit)),
        Method::Isalpha => Ok(all_of(text, words::is_letter)),
        Method::Isalnum => Ok(all_of(text, words::is_letter_or_number)),
        Method::Isspace => Ok(all_of(text, words::is_space)),
        Method::Isupper => Ok(Val::Bool(words::is_cased(text, true))),
        Method::Islower => Ok(Val::Bool(words::is_cased(text, false))),
        Method::Get | Method::Keys | Method::Values | Method::Items => missing(&Val::Text(text.clone()), method),
    }
}

fn changed<'a>(text: &Text<'a>, change: fn(&str) -> String, meter: &Meter) -> Run<Val<'a>> {
    // One letter becomes at most three, each of at most three bytes.
    meter.is_short(text.len())?;
    let changed = change(text);
    meter.text(changed.len())?;
    Ok(Val::text(changed))
}

fn all_of<'a>(text: &str, is: fn(char) -> bool) -> Val<'a> {
    Val::Bool(!text.is_empty() && text.chars().all(is))
}

/// Returns an argument that must be a string.
fn text_of<'g, 'a>(value: Option<&'g Val<'a>>, what: &str) -> Run<&'g Text<'a>> {
    match value {
        Some(Val::Text(text)) => Ok(text),
        other => {
            let kind = other.map_or("nothing", Val::kind);
            Error::Type.raise(format!("{what} must be a text, not `{kind}`"))
        }
    }
}

/// Returns an argument unless it is omitted or `None`.
fn optional<'g, 'a>(value: Option<&'g Val<'a>>) -> Option<&'g Val<'a>> {
    value.filter(|value| !matches!(value, Val::None))
}

fn stripped<'a>(text: &Text<'a>, which: Option<&Val<'a>>, [left, right]: [bool; 2], meter: &Meter) -> Run<Val<'a>> {
    let which: Option<Vec<char>> = match optional(which) {
        Some(which) => {
            let which = text_of(Some(which), "the characters to strip")?;
            // Each character of the text is compared with each of these.
            meter.steps(which.len().min(text.len()))?;
            meter.looks(which.len().saturating_mul(text.len()))?;
            Some(which.chars().collect())
        }
        None => None,
    };
    let goes = |c: char| which.as_ref().map_or_else(|| words::is_space(c), |which| which.contains(&c));
    let from = if left { text.len() - text.trim_start_matches(goes).len() } else { 0 };
    let to = if right { from + text[from..].trim_end_matches(goes).len() } else { text.len() };
    meter.text(to - from)?;
    Ok(Val::Text(text.part(from, to)))
}

fn split<'a>(text: &Text<'a>, separator: Option<&Val<'a>>, most: Option<&Val<'a>>, meter: &Meter) -> Run<Val<'a>> {
    let most = match most {
        Some(most) => usize::try_from(index(most, "`maxsplit`")?).ok(),
        None => None,
    };
    let found = match optional(separator) {
        None => words::words(text, most),
        Some(separator) => {
            let separator = text_of(Some(separator), "the separator")?;
            if separator.is_empty() {
                return Error::Value.raise("a text cannot be split at an empty separator");
            }
            words::pieces(text, separator, most)
        }
    };
    parts(text, &found, meter)
}

/// Makes the list of the parts of a text with these byte ranges.
fn parts<'a>(text: &Text<'a>, parts: &[(usize, usize)], meter: &Meter) -> Run<Val<'a>> {
    meter.items(parts.len())?;
    meter.steps(parts.len())?;
    meter.text(text.len())?;
    Ok(Val::list(parts.iter().map(|(from, to)| Val::Text(text.part(*from, *to))).collect()))
}

fn join<'a>(separator: &Text<'a>, items: Option<&Val<'a>>, meter: &Meter) -> Run<Val<'a>> {
    let items = items.map_or_else(|| Ok(Vec::new()), |items| items.items(meter))?;
    let mut joined = String::new();
    for (number, item) in items.iter().enumerate() {
        let Val::Text(item) = item else {
            return Error::Type.raise(format!("`join` takes texts, but item `{number}` is `{}`", item.kind()));
        };
        let before: &str = if number > 0 { separator } else { "" };
        meter.text(before.len() + item.len())?;
        meter.is_short(joined.len() + before.len() + item.len())?;
        joined.push_str(before);
        joined.push_str(item);
    }
    Ok(Val::text(joined))
}

/// Returns the part of a text between two indexes and the number of characters before it; `None` if there is none.
fn window<'t>(text: &'t str, arguments: ArgumentSlots<'_, '_>) -> Run<Option<(&'t str, usize)>> {
    let bound = |at: usize| match optional(given(arguments, at)) {
        Some(bound) => index(bound, "a position in a text").map(Some),
        None => Ok(None),
    };
    let (start, end) = (bound(1)?, bound(2)?);
    if start.is_none() && end.is_none() {
        return Ok(Some((text, 0)));
    }
    let length = text.chars().count() as i128;
    let from_end = |at: i128| if at < 0 { at.saturating_add(length).max(0) } else { at };
    let (start, end) = (from_end(start.unwrap_or(0)), from_end(end.unwrap_or(length)).min(length));
    if start > end {
        return Ok(None);
    }
    let (start, end) = (start as usize, end as usize);
    let place = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(place, _)| place);
    Ok(Some((&text[place(start)..place(end)], start)))
}

fn affixed<'a>(text: &Text<'a>, arguments: ArgumentSlots<'_, 'a>, method: Method, meter: &Meter) -> Run<Val<'a>> {
    let window = window(text, arguments)?;
    let fits = |affix: &Val<'a>| {
        let what = "the prefix or suffix";
        let affix = text_of(Some(affix), what)?;
        meter.step()?;
        meter.looks(affix.len())?;
        Ok(window.is_some_and(|(text, _)| match method {
            Method::Startswith => text.starts_with(&**affix),
            _ => text.ends_with(&**affix),
        }))
    };
    match given(arguments, 0) {
        Some(Val::Tuple(several)) => {
            for affix in several.iter() {
                if fits(affix)? {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        }
        Some(affix) => fits(affix).map(Val::Bool),
        None => Ok(Val::Bool(false)),
    }
}

fn searched<'a>(text: &Text<'a>, arguments: ArgumentSlots<'_, 'a>, method: Method, meter: &Meter) -> Run<Val<'a>> {
    let part = text_of(given(arguments, 0), "the text to find")?;
    meter.looks(text.len())?;
    let window = window(text, arguments)?;
    if method == Method::Count {
        return Ok(Val::Int(window.map_or(0, |(text, _)| text.matches(&**part).count()) as i128));
    }
    let found = window.and_then(|(text, before)| {
        let at = text.find(&**part)?;
        Some((before + text[..at].chars().count()) as i128)
    });
    match found {
        Some(at) => Ok(Val::Int(at)),
        None if method == Method::Find => Ok(Val::Int(-1)),
        None => Error::Value.raise("the value was not found"),
    }
}

fn replaced<'a>(text: &Text<'a>, arguments: ArgumentSlots<'_, 'a>, meter: &Meter) -> Run<Val<'a>> {
    let old = text_of(given(arguments, 0), "the text to replace")?;
    let new = text_of(given(arguments, 1), "the replacement")?;
    let most = match given(arguments, 2) {
        Some(most) => usize::try_from(index(most, "the number of replacements")?).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let times = text.matches(&**old).count().min(most);
    meter.text(text.len().saturating_add(new.len().saturating_mul(times)))?;
    Ok(Val::text(text.replacen(&**old, new, most)))
}

fn of_dict<'a>(dict: &Dict<'a>, method: Method, arguments: ArgumentSlots<'_, 'a>, meter: &Meter) -> Run<Val<'a>> {
    match method {
        Method::Get => {
            let default = given(arguments, 1).cloned().unwrap_or(Val::None);
            let key = given(arguments, 0).map(|key| key.key(meter)).transpose()?;
            Ok(key.and_then(|key| dict.get(&key)).unwrap_or(default))
        }
        Method::Keys => members(dict, Kind::Keys, |(key, _)| key, meter),
        Method::Values => members(dict, Kind::Values, |(_, value)| value, meter),
        Method::Items => members(dict, Kind::Items, |(key, value)| Val::tuple(vec![key, value]), meter),
        _ => missing(&Val::Dict(dict.clone()), method),
    }
}

fn members<'a>(dict: &Dict<'a>, kind: Kind, item: fn((Val<'a>, Val<'a>)) -> Val<'a>, meter: &Meter) -> Run<Val<'a>> {
    meter.items(3 * dict.len())?;
    meter.steps(dict.len())?;
    Ok(Val::series(kind, dict.members().into_iter().map(item).collect()))
}

fn of_items<'a>(
    value: &Val<'a>,
    length: usize,
    method: Method,
    arguments: ArgumentSlots<'_, 'a>,
    meter: &Meter,
) -> Run<Val<'a>> {
    let wanted = match (method, given(arguments, 0)) {
        (Method::Count | Method::Index, Some(wanted)) => wanted,
        _ => return missing(value, method),
    };
    let is_range = matches!(value, Val::Series(_));
    if (method == Method::Count || is_range) && given(arguments, 1).is_some() {
        return Error::Type.raise(format!("`{}` takes one argument on `{}`", method.word(), value.kind()));
    }
    let place = |at: usize, missing: usize| match given(arguments, at) {
        Some(bound) => {
            let bound = index(bound, "a position in a list")?;
            let bound = if bound < 0 { bound.saturating_add(length as i128).max(0) } else { bound };
            Ok(usize::try_from(bound).unwrap_or(length).min(length))
        }
        None => Ok(missing),
    };
    let (from, to) = (place(1, 0)?, place(2, length)?);
    let mut count = 0;
    for (at, item) in value.items(meter)?.iter().enumerate().take(to).skip(from) {
        let is = compare::equal(item, wanted, meter, 0)?;
        if is && method == Method::Index {
            return Ok(Val::Int(at as i128));
        }
        count += i128::from(is);
    }
    match method {
        Method::Count => Ok(Val::Int(count)),
        _ => Error::Value.raise("the value was not found"),
    }
}
