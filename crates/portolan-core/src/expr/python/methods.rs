//! The methods that an expression can call.

use std::sync::Arc;

use unicode_general_category::{GeneralCategory, get_general_category};

use super::compare;
use super::functions::{Callable, Given, method};
use super::meter::{Run, exceeds, type_error, value_error};
use super::value::{Val, View};
use crate::expr::jsonata::quoted;

const TEXT: &[&str] = &["str"];
const DICT: &[&str] = &["dict"];
const SEQUENCE: &[&str] = &["str", "list", "tuple"];

/// The methods; each says which types have it, how many arguments it takes, and which of them have names.
pub(super) static METHODS: &[Callable] = &[
    method(TEXT, "lower", [0, 0], &[], |given| changed(given, str::to_lowercase)),
    method(TEXT, "upper", [0, 0], &[], |given| changed(given, str::to_uppercase)),
    method(TEXT, "strip", [0, 1], &[], |given| stripped(given, [true, true])),
    method(TEXT, "lstrip", [0, 1], &[], |given| stripped(given, [true, false])),
    method(TEXT, "rstrip", [0, 1], &[], |given| stripped(given, [false, true])),
    method(TEXT, "split", [0, 2], &[("sep", 0), ("maxsplit", 1)], split),
    method(TEXT, "splitlines", [0, 0], &[], lines),
    method(TEXT, "join", [1, 1], &[], join).iterating(),
    method(TEXT, "startswith", [1, 1], &[], |given| affixed(given, |text, affix| text.starts_with(affix))),
    method(TEXT, "endswith", [1, 1], &[], |given| affixed(given, |text, affix| text.ends_with(affix))),
    method(TEXT, "find", [1, 1], &[], |given| Ok(Val::Int(find(given)?.map_or(-1, |at| at as i128)))),
    method(TEXT, "replace", [2, 2], &[], replaced),
    method(TEXT, "isdigit", [0, 0], &[], is_digits),
    method(TEXT, "isalpha", [0, 0], &[], |given| all_of(given, is_letter)),
    method(TEXT, "isalnum", [0, 0], &[], |given| all_of(given, |c| is_letter(c) || c.is_numeric())),
    method(TEXT, "isspace", [0, 0], &[], |given| all_of(given, is_space)),
    method(TEXT, "isupper", [0, 0], &[], |given| is_cased(given, char::is_uppercase, char::is_lowercase)),
    method(TEXT, "islower", [0, 0], &[], |given| is_cased(given, char::is_lowercase, char::is_uppercase)),
    method(SEQUENCE, "count", [1, 1], &[], count),
    method(SEQUENCE, "index", [1, 1], &[], index),
    method(DICT, "get", [1, 2], &[], get),
    method(DICT, "keys", [0, 0], &[], |given| view(given, View::Keys)),
    method(DICT, "values", [0, 0], &[], |given| view(given, View::Values)),
    method(DICT, "items", [0, 0], &[], |given| view(given, View::Items)),
];

fn count(given: &Given<'_>) -> Run<Val> {
    let count = match given.value(0)? {
        Val::Text(text) => text.matches(given.text(1)?).count(),
        _ => places(given)?.len(),
    };
    Ok(Val::Int(count as i128))
}

fn index(given: &Given<'_>) -> Run<Val> {
    let found = match given.value(0)? {
        Val::Text(_) => find(given)?,
        _ => places(given)?.first().copied(),
    };
    found.map_or_else(|| value_error("the value was not found"), |at| Ok(Val::Int(at as i128)))
}

/// Returns the number of characters before the second text in the first.
fn find(given: &Given<'_>) -> Run<Option<usize>> {
    let (text, part) = (given.text(0)?, given.text(1)?);
    Ok(text.find(part).map(|at| text[..at].chars().count()))
}

/// Returns the places of a value in a list or tuple.
fn places(given: &Given<'_>) -> Run<Vec<usize>> {
    let wanted = given.value(1)?;
    let mut places = Vec::new();
    for (at, item) in given.items()?.iter().enumerate() {
        if compare::equal(item, wanted, given.meter)? {
            places.push(at);
        }
    }
    Ok(places)
}

fn get(given: &Given<'_>) -> Run<Val> {
    let Val::Dict(members) = given.value(0)? else { return Ok(Val::None) };
    let found = members.get(&given.value(1)?.key(given.meter)?).map(|(_, value)| value);
    Ok(found.or_else(|| given.get(2)).cloned().unwrap_or(Val::None))
}

fn view(given: &Given<'_>, view: View) -> Run<Val> {
    let Val::Dict(members) = given.value(0)? else { return Ok(Val::None) };
    given.meter.items(3 * members.len())?;
    given.meter.steps(members.len())?;
    let members = members.values().map(|(key, value)| match view {
        View::Keys => key.clone(),
        View::Values => value.clone(),
        View::Items => Val::tuple(vec![key.clone(), value.clone()]),
    });
    Ok(Val::View(view, Arc::new(members.collect())))
}

/// Checks whether `str.isspace` holds; `split` and `strip` use the same class.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

fn is_letter(c: char) -> bool {
    use GeneralCategory::{LowercaseLetter, ModifierLetter, OtherLetter, TitlecaseLetter, UppercaseLetter};
    matches!(
        get_general_category(c),
        LowercaseLetter | ModifierLetter | OtherLetter | TitlecaseLetter | UppercaseLetter
    )
}

/// Checks whether a text is not empty and has only characters of a class.
fn all_of(given: &Given<'_>, is: fn(char) -> bool) -> Run<Val> {
    let text = given.text(0)?;
    Ok(Val::Bool(!text.is_empty() && text.chars().all(is)))
}

/// Computes `str.isdigit`. Some numbers that are not decimal are digits for Python, such as `²`, and others are not.
fn is_digits(given: &Given<'_>) -> Run<Val> {
    let is_unclear = |c: &char| get_general_category(*c) == GeneralCategory::OtherNumber;
    if let Some(unclear) = given.text(0)?.chars().find(is_unclear) {
        return exceeds(format!("`isdigit` is not supported for {}", quoted(&unclear.to_string())));
    }
    all_of(given, |c| get_general_category(c) == GeneralCategory::DecimalNumber)
}

/// Checks whether a text has letters with a case, and all of them have this one.
fn is_cased(given: &Given<'_>, right: fn(char) -> bool, wrong: fn(char) -> bool) -> Run<Val> {
    let text = given.text(0)?;
    let is_wrong = |c: char| wrong(c) || get_general_category(c) == GeneralCategory::TitlecaseLetter;
    Ok(Val::Bool(text.contains(right) && !text.contains(is_wrong)))
}

fn changed(given: &Given<'_>, change: fn(&str) -> String) -> Run<Val> {
    // One letter becomes at most three, each of at most three bytes.
    given.meter.is_short(given.text(0)?.len())?;
    let changed = change(given.text(0)?);
    given.meter.text(changed.len())?;
    Ok(Val::text(changed))
}

fn stripped(given: &Given<'_>, [left, right]: [bool; 2]) -> Run<Val> {
    let text = given.text(0)?;
    let characters: Option<Vec<char>> = match given.get(1) {
        None | Some(Val::None) => None,
        Some(_) => {
            let characters = given.text(1)?;
            // Each character of the text is compared with each of these.
            given.meter.steps(characters.len().min(text.len()))?;
            given.meter.looks(characters.len().saturating_mul(text.len()))?;
            Some(characters.chars().collect())
        }
    };
    let goes = |c: char| characters.as_ref().map_or_else(|| is_space(c), |characters| characters.contains(&c));
    let kept = if left { text.trim_start_matches(goes) } else { text };
    let kept = if right { kept.trim_end_matches(goes) } else { kept };
    given.meter.text(kept.len())?;
    Ok(Val::text(kept))
}

fn split(given: &Given<'_>) -> Run<Val> {
    let text = given.text(0)?;
    let Some(most) = given.get(2).map_or(Some(-1), Val::whole) else {
        return type_error("`split` takes a whole number of splits");
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if let None | Some(Val::None) = given.get(1) {
        return parts(given, words(text, most));
    }
    let separator = given.text(1)?;
    if separator.is_empty() {
        return value_error("a text cannot be split at an empty separator");
    }
    parts(given, text.splitn(most.saturating_add(1), separator).collect())
}

/// Returns the words of a text; after `most` splits the rest is one word.
fn words(text: &str, most: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let end = if words.len() < most { rest.find(is_space).unwrap_or(rest.len()) } else { rest.len() };
        words.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    words
}

fn lines(given: &Given<'_>) -> Run<Val> {
    given.meter.is_short(given.text(0)?.len())?;
    let text = given.text(0)?.replace("\r\n", "\n");
    let ends = ['\n', '\r', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut lines: Vec<&str> = text.split(ends).collect();
    // Nothing follows the end of the last line.
    lines.pop_if(|last| last.is_empty());
    parts(given, lines)
}

/// Makes the list of these parts of the text.
fn parts(given: &Given<'_>, parts: Vec<&str>) -> Run<Val> {
    given.meter.items(parts.len())?;
    given.meter.steps(parts.len())?;
    given.meter.text(given.text(0)?.len())?;
    Ok(Val::list(parts.into_iter().map(Val::text).collect()))
}

fn join(given: &Given<'_>) -> Run<Val> {
    let (separator, items) = (given.text(0)?, given.value(1)?.items(given.meter)?);
    let mut joined = String::new();
    for (number, item) in items.iter().enumerate() {
        let Val::Text(item) = item else {
            return type_error(format!("`join` takes texts, but item `{number}` is `{}`", item.kind()));
        };
        let before = if number > 0 { separator } else { "" };
        given.meter.text(before.len() + item.len())?;
        given.meter.is_short(joined.len() + before.len() + item.len())?;
        joined.push_str(before);
        joined.push_str(item);
    }
    Ok(Val::text(joined))
}

/// Computes `startswith` and `endswith`, which take a text or a tuple of them.
fn affixed(given: &Given<'_>, fits: fn(&str, &str) -> bool) -> Run<Val> {
    let text = given.text(0)?;
    let Val::Tuple(several) = given.value(1)? else { return Ok(Val::Bool(fits(text, given.text(1)?))) };
    for affix in several.iter() {
        let Val::Text(affix) = affix else {
            return type_error(format!("a prefix or suffix must be a text, not `{}`", affix.kind()));
        };
        given.meter.step()?;
        given.meter.looks(affix.len())?;
        if fits(text, affix) {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}

fn replaced(given: &Given<'_>) -> Run<Val> {
    let (text, old, new) = (given.text(0)?, given.text(1)?, given.text(2)?);
    let times = text.matches(old).count();
    given.meter.text(text.len().saturating_add(new.len().saturating_mul(times)))?;
    Ok(Val::text(text.replace(old, new)))
}
