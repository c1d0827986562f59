//! The guard functions that [`super::guard`] puts around parts of an expression. Each returns its argument or fails.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{Evaluator, EvaluatorError};
use jsonata_core::functions::string::{build_regex, extract_regex};
use jsonata_core::parser;
use jsonata_core::value::JValue;

use super::dates::dated;
use super::fault::BOUND;
use super::guard::{AS_VALUE, COMPILED, EVALUATED, HELD, JOINED, MADE, TARGETS, TUPLED, guard};
use super::host::{mismatch, put};
use super::reach::Reach;
use super::values::{MAX_VALUES, weigh};
use super::{MAX_EXPRESSION_BYTES, MAX_ITEMS, MAX_MEMORY_BYTES, MAX_PICTURE_CHARS, MAX_STRING_BYTES};

/// Around an argument of a text function.
pub(super) const TEXT: &str = "text taken";
/// Around an argument of `$pad`.
pub(super) const PADDED: &str = "width taken";
/// Around an argument of a function with a picture.
pub(super) const PICTURE: &str = "picture taken";
/// Around an argument of a function with a date picture.
pub(super) const DATE_PICTURE: &str = "date picture taken";
/// Around the argument of `$string`.
pub(super) const PRINTED: &str = "value printed";
/// `$split` with a literal text as the separator.
pub(super) const SPLIT: &str = "text split";
/// `$distinct`: the library compares every pair of items.
pub(super) const DISTINCT: &str = "items once";
pub(super) const CHECK_INTEGER: &str = "integer checked";
pub(super) const CHECK_JOIN: &str = "join checked";
pub(super) const CHECK_MATCH: &str = "match checked";
pub(super) const CHECK_REPLACE: &str = "replace checked";
pub(super) const CHECK_ZIP: &str = "zip checked";
/// A text or its picture, completed with the missing part of the date.
pub(super) const DATED: &str = "date given";
/// Around the replacement of `$replace`, which is bounded if it is a function.
pub(super) const AS_REPLACEMENT: &str = "replacement taken";

/// The maximum number of matches of one `$match`: each is an object.
const MAX_MATCHES: usize = 100_000;
/// The maximum estimated size of a `$replace` before it is rejected as too long.
const MAX_REPLACED_BYTES: usize = 16 * MAX_STRING_BYTES;
/// The maximum length of the texts of `$replace` if a function finds the matches, since it may not terminate.
const MAX_MATCHED_BY_FUNCTION_BYTES: usize = 1_000;
/// The largest number in Roman numerals: each thousand is one letter.
const MAX_ROMAN: f64 = 1_000_000.0;
/// The maximum number of digits in a width of a date picture.
const MAX_WIDTH_DIGITS: usize = 3;
/// The maximum number of comparisons of a transform: each target with each value.
const MAX_COMPARISONS: usize = 20_000_000;
/// The cost of an array item.
const ITEM_BYTES: usize = 24;
/// The cost of a join item.
const TUPLE_BYTES: usize = 600;
/// The cost of an object member besides its name.
const MEMBER_BYTES: usize = 64;

type GuardResult = Result<JValue, EvaluatorError>;

/// The memory that the evaluation has used so far, and its nesting of `$eval`s.
pub(super) struct Meter {
    bytes: Cell<usize>,
    evals: Cell<usize>,
    items: usize,
}

impl Meter {
    /// Makes a meter that limits arrays to `items` items.
    pub(super) fn new(items: usize) -> Meter {
        Meter { bytes: Cell::new(0), evals: Cell::new(0), items }
    }

    /// Checks whether the evaluation ended inside an `$eval`.
    pub(super) fn in_eval(&self) -> bool {
        self.evals.get() > 0
    }

    fn charge(&self, bytes: usize) -> Result<(), EvaluatorError> {
        let bytes = self.bytes.get().saturating_add(bytes);
        self.bytes.set(bytes);
        if bytes > MAX_MEMORY_BYTES {
            return refuse(format!("it makes more than {} MiB of text and items in all", MAX_MEMORY_BYTES >> 20));
        }
        Ok(())
    }

    /// Charges for an array whose items contain none themselves or are weighed separately.
    fn items_made(&self, items: usize) -> Result<(), EvaluatorError> {
        if items > self.items {
            return refuse(format!("it makes an array of more than {} items", self.items));
        }
        self.charge(items * ITEM_BYTES)
    }

    fn made(&self, value: &JValue) -> Result<(), EvaluatorError> {
        match value {
            JValue::String(text) => {
                long(text.len())?;
                self.charge(text.len())
            }
            JValue::Array(items) => {
                self.items_made(items.len())?;
                light(value, MAX_VALUES.max(2 * self.items))
            }
            JValue::Object(members) => {
                held(value)?;
                self.charge(members.len() * MEMBER_BYTES)
            }
            _ => Ok(()),
        }
    }
}

fn refuse<T>(message: impl AsRef<str>) -> Result<T, EvaluatorError> {
    Err(EvaluatorError::EvaluationError(format!("{BOUND}{}", message.as_ref())))
}

fn long(bytes: usize) -> Result<(), EvaluatorError> {
    if bytes > MAX_STRING_BYTES {
        return refuse(format!("a text is larger than {} MiB", MAX_STRING_BYTES >> 20));
    }
    Ok(())
}

fn held(value: &JValue) -> Result<(), EvaluatorError> {
    light(value, MAX_VALUES)
}

/// Checks that a value contains at most `most` values.
fn light(value: &JValue, most: usize) -> Result<(), EvaluatorError> {
    match value {
        JValue::Array(_) | JValue::Object(_) => weigh(value, most).or_else(refuse),
        _ => Ok(()),
    }
}

/// A guard function.
enum Ours {
    /// Returns its argument unless the check fails.
    Pass(fn(&JValue) -> Result<(), EvaluatorError>),
    /// A function of only its arguments.
    Plain(fn(&[JValue]) -> GuardResult),
    /// A function that also charges the meter.
    Metered(fn(&Meter, &[JValue]) -> GuardResult),
    /// A function that also needs the time.
    Timed(fn(f64, &[JValue]) -> GuardResult),
}

const OURS: &[(&str, Ours)] = &[
    (HELD, Ours::Pass(held)),
    (TEXT, Ours::Pass(text)),
    (PADDED, Ours::Pass(width)),
    (PICTURE, Ours::Pass(picture)),
    (DATE_PICTURE, Ours::Pass(date_picture)),
    (PRINTED, Ours::Pass(printed)),
    (DISTINCT, Ours::Plain(|arguments| distinct(first(arguments)))),
    (TARGETS, Ours::Plain(targets)),
    (CHECK_INTEGER, Ours::Plain(check_integer)),
    (CHECK_JOIN, Ours::Plain(check_join)),
    (CHECK_MATCH, Ours::Plain(check_match)),
    (CHECK_REPLACE, Ours::Plain(check_replace)),
    (CHECK_ZIP, Ours::Plain(check_zip)),
    (AS_VALUE, Ours::Plain(|arguments| choose(arguments, |value| matches!(value, JValue::Builtin { .. })))),
    (AS_REPLACEMENT, Ours::Plain(|arguments| choose(arguments, JValue::is_function))),
    (MADE, Ours::Metered(made)),
    (JOINED, Ours::Metered(joined)),
    (SPLIT, Ours::Metered(split)),
    (TUPLED, Ours::Metered(tupled)),
    (COMPILED, Ours::Metered(compiled)),
    (EVALUATED, Ours::Metered(evaluated)),
    (DATED, Ours::Timed(dated)),
];

/// The guard functions that an expression calls, computed once, since most expressions call few.
pub(super) struct GuardCalls(Vec<&'static (&'static str, Ours)>);

impl GuardCalls {
    pub(super) fn of(reach: &Reach) -> GuardCalls {
        GuardCalls(OURS.iter().filter(|(name, _)| reach.calls(name)).collect())
    }

    /// Registers them for one evaluation.
    pub(super) fn register(&self, evaluator: &mut Evaluator, meter: &Rc<Meter>, at: f64) {
        for (name, ours) in &self.0 {
            let meter = Rc::clone(meter);
            match *ours {
                Ours::Pass(check) => put(evaluator, name, move |arguments: &[JValue]| {
                    check(arguments.first().unwrap_or(&JValue::Undefined)).map(|()| first(arguments))
                }),
                Ours::Plain(function) => put(evaluator, name, function),
                Ours::Metered(function) => {
                    put(evaluator, name, move |arguments: &[JValue]| function(&meter, arguments));
                }
                Ours::Timed(function) => put(evaluator, name, move |arguments: &[JValue]| function(at, arguments)),
            }
        }
    }
}

fn made(meter: &Meter, arguments: &[JValue]) -> GuardResult {
    meter.made(arguments.first().unwrap_or(&JValue::Undefined)).map(|()| first(arguments))
}

fn split_at_byte(text: &str, separator: u8) -> Vec<JValue> {
    let places = || memchr::memchr_iter(separator, text.as_bytes());
    let mut parts = Vec::with_capacity(places().count() + 1);
    let mut from = 0;
    for place in places() {
        parts.push(JValue::string(&text[from..place]));
        from = place + 1;
    }
    parts.push(JValue::string(&text[from..]));
    parts
}

/// Implements `$split` with a literal text as the separator, and counts the parts. (The library has no fast search for
/// a single character, and traverses its arguments and its result several times.)
fn split(meter: &Meter, arguments: &[JValue]) -> GuardResult {
    let (text, separator) = match arguments {
        [JValue::String(text), JValue::String(separator)] => (text, separator),
        [JValue::Undefined, _] => return Ok(JValue::Undefined),
        _ => return mismatch("split", 1),
    };
    long(text.len())?;
    let parts = match separator.as_bytes() {
        [single] => split_at_byte(text, *single),
        _ => text.split(&**separator).map(JValue::string).collect(),
    };
    meter.items_made(parts.len())?;
    Ok(JValue::array(parts))
}

fn evaluated(meter: &Meter, arguments: &[JValue]) -> GuardResult {
    meter.evals.set(meter.evals.get().saturating_sub(1));
    Ok(first(arguments))
}

fn first(arguments: &[JValue]) -> JValue {
    arguments.first().cloned().unwrap_or(JValue::Undefined)
}

/// Returns the second argument if `other` holds for the first, else the first.
fn choose(arguments: &[JValue], other: impl Fn(&JValue) -> bool) -> GuardResult {
    match arguments {
        [value, instead] if other(value) => Ok(instead.clone()),
        _ => Ok(first(arguments)),
    }
}

fn text(value: &JValue) -> Result<(), EvaluatorError> {
    match value {
        JValue::String(text) => long(text.len()),
        _ => Ok(()),
    }
}

fn width(value: &JValue) -> Result<(), EvaluatorError> {
    match value {
        JValue::Number(width) if width.abs() > MAX_STRING_BYTES as f64 => long(usize::MAX),
        value => text(value),
    }
}

fn picture(value: &JValue) -> Result<(), EvaluatorError> {
    let length = match value {
        JValue::String(text) => text.len(),
        JValue::Object(members) => members.values().filter_map(JValue::as_str).map(str::len).sum(),
        _ => 0,
    };
    if length > MAX_PICTURE_CHARS {
        return refuse(format!("a picture, or the text it is for, has more than {MAX_PICTURE_CHARS} characters"));
    }
    Ok(())
}

/// Checks a date picture. The library uses any width as given, and panics at more than five digits.
pub(super) fn date_picture(value: &JValue) -> Result<(), EvaluatorError> {
    picture(value)?;
    let widths = value
        .as_str()
        .unwrap_or_default()
        .split('[')
        .skip(1)
        .filter_map(|rest| rest.split(']').next()?.split_once(','));
    let mut numbers = widths.flat_map(|(_, widths)| widths.split(|c: char| !c.is_ascii_digit()));
    if numbers.any(|number| number.len() > MAX_WIDTH_DIGITS) {
        return refuse(format!("a width in the picture of a date has more than {MAX_WIDTH_DIGITS} digits"));
    }
    Ok(())
}

fn printed(value: &JValue) -> Result<(), EvaluatorError> {
    text(value)?;
    held(value)
}

fn tupled(meter: &Meter, arguments: &[JValue]) -> GuardResult {
    let given = first(arguments);
    meter.charge(TUPLE_BYTES * given.as_array().map_or(1, Vec::len))?;
    Ok(given)
}

/// Implements `&`: undefined is the empty string, and values other than strings are printed.
fn joined(meter: &Meter, arguments: &[JValue]) -> GuardResult {
    let mut whole = String::new();
    for part in arguments {
        printed(part)?;
        match part {
            JValue::String(text) => whole.push_str(text),
            JValue::Undefined => {}
            other => {
                let text = jsonata_core::functions::string::string(other, None)?;
                whole.push_str(text.as_str().unwrap_or_default());
            }
        }
    }
    let whole = JValue::string(whole);
    meter.made(&whole)?;
    Ok(whole)
}

/// Removes duplicates and keeps the order of first appearance.
fn distinct(given: JValue) -> GuardResult {
    let JValue::Array(items) = &given else { return Ok(given) };
    held(&given)?;
    let mut keys: BTreeSet<String> = BTreeSet::new();
    if items.len() < 2 {
        return Ok(given);
    }
    let once = items.iter().filter(|item| item.is_function() || keys.insert(key(item))).cloned().collect();
    let mut once = JValue::array(once);
    if items.sequence {
        once.mark_sequence();
    }
    Ok(once)
}

/// Returns a string that is the same for equal values.
fn key(value: &JValue) -> String {
    match value {
        JValue::Object(members) => {
            let mut members: Vec<String> =
                members.iter().map(|(name, value)| format!("{name:?}:{}", key(value))).collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
        JValue::Array(items) => format!("[{}]", items.iter().map(key).collect::<Vec<_>>().join(",")),
        JValue::Number(number) => format!("{}", number + 0.0),
        other => other.to_string(),
    }
}

fn targets(arguments: &[JValue]) -> GuardResult {
    if let [JValue::Array(found), whole] = arguments {
        held(whole)?;
        if found.len().saturating_mul(values(whole)) > MAX_COMPARISONS {
            return refuse("a transform changes too many places in a value that is too large");
        }
    }
    Ok(first(arguments))
}

fn values(value: &JValue) -> usize {
    match value {
        JValue::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        JValue::Object(members) => 1 + members.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

fn check_integer(arguments: &[JValue]) -> GuardResult {
    arguments.iter().try_for_each(picture)?;
    let number = arguments.iter().skip(1).find_map(JValue::as_f64).or_else(|| arguments.first()?.as_f64());
    let is_roman = arguments.iter().filter_map(JValue::as_str).any(|picture| picture.starts_with(['I', 'i']));
    if is_roman && number.is_some_and(|number| number.abs() > MAX_ROMAN) {
        return refuse(format!("a number over {MAX_ROMAN} cannot be written in Roman numerals"));
    }
    Ok(JValue::Undefined)
}

fn check_zip(arguments: &[JValue]) -> GuardResult {
    let arrays = arguments.get(1..).unwrap_or_default();
    let rows = arrays.iter().map(|array| array.as_array().map_or(1, Vec::len)).min().unwrap_or(0);
    if rows.saturating_mul(arrays.len()) > MAX_ITEMS {
        return refuse(format!("`$zip` makes more than {MAX_ITEMS} items"));
    }
    Ok(JValue::Undefined)
}

fn check_join(arguments: &[JValue]) -> GuardResult {
    if let [_, JValue::Array(items), rest @ ..] = arguments {
        let separator = rest.first().and_then(JValue::as_str).map_or(0, str::len);
        let bytes = items.iter().filter_map(JValue::as_str).map(|text| text.len() + separator).sum();
        long(bytes)?;
    }
    Ok(JValue::Undefined)
}

/// Returns the text that a function searches and its other arguments. Without a text of its own, the context is
/// searched.
fn subject(arguments: &[JValue], own: bool) -> Option<(&str, &[JValue])> {
    let (context, given) = arguments.split_first()?;
    let (subject, rest) = if own { given.split_first()? } else { (context, given) };
    Some((subject.as_str()?, rest))
}

fn check_match(arguments: &[JValue]) -> GuardResult {
    let own = matches!(arguments, [_, JValue::String(_), ..]);
    let Some((subject, rest)) = subject(arguments, own) else { return Ok(JValue::Undefined) };
    long(subject.len())?;
    let limit = rest.get(1).and_then(JValue::as_f64).unwrap_or(f64::INFINITY);
    if let Some((pattern, flags)) = rest.first().and_then(extract_regex)
        && let Ok(regex) = build_regex(&pattern, &flags)
        && limit > MAX_MATCHES as f64
        && regex.find_iter(subject).take(MAX_MATCHES + 1).count() > MAX_MATCHES
    {
        return refuse(format!("`$match` finds more than {MAX_MATCHES} matches"));
    }
    Ok(JValue::Undefined)
}

fn check_replace(arguments: &[JValue]) -> GuardResult {
    let Some((subject, rest)) = subject(arguments, arguments.len() > 3) else { return Ok(JValue::Undefined) };
    long(subject.len())?;
    let [pattern, replacement, ..] = rest else { return Ok(JValue::Undefined) };
    let template = replacement.as_str().unwrap_or_default();
    let places = match pattern {
        JValue::String(pattern) if !pattern.is_empty() => subject.matches(&**pattern).count(),
        JValue::Lambda(_) | JValue::Builtin { .. } => {
            if subject.len().max(template.len()) > MAX_MATCHED_BY_FUNCTION_BYTES {
                return refuse(format!(
                    "`$replace` with a function as the pattern takes texts of at most {MAX_MATCHED_BY_FUNCTION_BYTES} bytes"
                ));
            }
            0
        }
        other => match extract_regex(other).map(|(pattern, flags)| build_regex(&pattern, &flags)) {
            Some(Ok(regex)) => regex.find_iter(subject).count(),
            _ => 0,
        },
    };
    let inserted = template.matches('$').count().saturating_mul(subject.len());
    let bytes = places.saturating_mul(template.len()).saturating_add(inserted).saturating_add(subject.len());
    if bytes > MAX_REPLACED_BYTES {
        return long(bytes).map(|()| JValue::Undefined);
    }
    Ok(JValue::Undefined)
}

/// Implements `$eval`: makes a function of the text, in the scope of the last argument.
fn compiled(meter: &Meter, arguments: &[JValue]) -> GuardResult {
    let [given @ .., JValue::Lambda(stub)] = arguments else { return Ok(JValue::Undefined) };
    let body = match given {
        [JValue::Undefined, ..] => AstNode::Undefined,
        [JValue::String(text)] | [JValue::String(text), _] => read(text)?,
        _ => {
            return Err(EvaluatorError::TypeError(
                "T0410: Argument 1 of function \"eval\" does not match function signature".to_owned(),
            ));
        }
    };
    meter.evals.set(meter.evals.get() + 1);
    let mut function = (**stub).clone();
    function.body = body;
    if let [_, focus] = given
        && !focus.is_undefined()
    {
        function.captured_data = Some(focus.clone().into_outer_wrapper());
    }
    Ok(JValue::Lambda(Rc::new(function)))
}

fn read(text: &str) -> Result<AstNode, EvaluatorError> {
    if text.len() > MAX_EXPRESSION_BYTES {
        return refuse(format!("the text of an `$eval` has more than {MAX_EXPRESSION_BYTES} bytes"));
    }
    let ast = parser::parse(text).map_err(|error| {
        EvaluatorError::EvaluationError(format!("D3120: The expression passed to $eval cannot be parsed: {error}"))
    })?;
    Ok(guard(ast))
}
