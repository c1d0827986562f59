//! Values that occur in several places: models and their settings, judges, limits.

use std::num::NonZeroU32;

use serde_json::Number;

use crate::chat::ModelSettings;
use crate::diagnostic::{Diagnostic, clip};
use crate::graph::{Bounds, Judge};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Tree, TreeKind};

/// The maximum number of votes of a judge.
const MAX_VOTES: u32 = 25;
/// The maximum number of tokens of an answer.
const MAX_TOKENS: u32 = 10_000_000;
/// The decimal places of a microdollar in dollars.
const MICRODOLLARS: usize = 6;

/// Reads the model, as `provider:name`.
pub(in crate::dialect) fn model(fields: &mut Fields<'_>, faults: &mut FaultList) -> Option<String> {
    let model = fields.string("model", faults)?;
    if model.value.trim().is_empty() {
        let fault = Diagnostic::error("missing-field", "`model` is empty").at(model.span);
        faults.push(fault.help("write it as `provider:name`, or leave `model` out"));
        return None;
    }
    Some(model.value)
}

/// Reads `temperature`, `max_tokens` and `reasoning`.
pub(super) fn settings(fields: &mut Fields<'_>, faults: &mut FaultList) -> ModelSettings {
    let temperature = fields.optional("temperature").and_then(|tree| {
        let number = match tree.value() {
            serde_json::Value::Number(number) => Some(number),
            _ => None,
        };
        let sound = |number: &Number| number.as_f64().is_some_and(|number| (0.0..=2.0).contains(&number));
        number.filter(sound).or_else(|| fields.wrong("temperature", "a number from 0 to 2", tree, faults))
    });
    let max_tokens = fields.count("max_tokens", 1..=MAX_TOKENS, faults).map(|count| count.value);
    let reasoning = fields.optional("reasoning").and_then(|tree| match &tree.kind {
        TreeKind::String(text) if !text.is_empty() => Some(text.clone()),
        TreeKind::Number(text) if text.parse::<u32>().is_ok() => Some(text.clone()),
        _ => fields.wrong("reasoning", "an effort such as `low`, or a number of tokens", tree, faults),
    });
    ModelSettings { temperature, max_tokens, reasoning }
}

/// Reads `judge`: a model, or an object with model, votes and settings.
pub(in crate::dialect) fn judge(fields: &mut Fields<'_>, whose: &str, faults: &mut FaultList) -> Option<Judge> {
    let tree = fields.optional("judge")?;
    if tree.as_str().is_some() {
        return fields.string("judge", faults).map(|model| Judge { model: Some(model.value), ..Judge::default() });
    }
    let mut fields = Fields::of(tree, format!("`judge` of {whose}"), faults)?;
    let model = model(&mut fields, faults);
    let votes = fields.count("votes", 1..=MAX_VOTES, faults);
    let settings = settings(&mut fields, faults);
    fields.finish(faults);
    let votes = votes.and_then(|votes| NonZeroU32::new(votes.value)).unwrap_or(NonZeroU32::MIN);
    Some(Judge { model, votes, settings })
}

/// Reads the bounds of usage, and the maximum number of executed nodes: only a whole run has a bound in `steps`.
pub(in crate::dialect) fn limits(
    tree: &Tree,
    whose: &str,
    steps: bool,
    faults: &mut FaultList,
) -> (Bounds, Option<u64>) {
    let what = format!("`limits` of {whose}");
    let Some(mut fields) = Fields::of(tree, what.clone(), faults) else { return Default::default() };
    let mut reader = Reader { fields: &mut fields, what: &what, faults };
    let bounds = Bounds {
        attempts: reader.whole("attempts"),
        visits: reader.whole("visits"),
        model_calls: reader.whole("model_calls"),
        tool_calls: reader.whole("tool_calls"),
        tokens: reader.whole("tokens"),
        microdollars: reader.decimal("usd", MICRODOLLARS),
        ms: reader.decimal("seconds", 3),
    };
    let steps = if steps { reader.whole("steps") } else { None };
    fields.finish(faults);
    (bounds, steps)
}

struct Reader<'r, 't> {
    fields: &'r mut Fields<'t>,
    what: &'r str,
    faults: &'r mut FaultList,
}

impl Reader<'_, '_> {
    fn whole(&mut self, key: &'static str) -> Option<u64> {
        self.decimal(key, 0)
    }

    /// Reads a decimal number in units of its last digit, exactly: binary fractions would misstate amounts of money.
    fn decimal(&mut self, key: &'static str, places: usize) -> Option<u64> {
        let tree = self.fields.optional(key)?;
        let amount = match &tree.kind {
            TreeKind::Number(text) | TreeKind::String(text) => scaled(text, places),
            _ => None,
        };
        if amount.is_none() {
            let written = match &tree.kind {
                TreeKind::Number(text) | TreeKind::String(text) => format!("`{}`", clip(text)),
                _ => tree.describe().to_owned(),
            };
            let message = format!("`{key}` in {} is {written}, which is not a valid limit", self.what);
            let help = match places {
                0 => "write a whole number from 0".to_owned(),
                places => format!("write a decimal number from 0, with up to {places} digits after the point"),
            };
            self.faults.push(Diagnostic::error("bad-limit", message).at(tree.span).help(help));
        }
        amount
    }
}

fn scaled(text: &str, places: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > places {
        return None;
    }
    let factor = 10_u64.checked_pow(u32::try_from(places).ok()?)?;
    let rest: u64 = if places == 0 { 0 } else { format!("{fraction:0<places$}").parse().ok()? };
    whole.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(rest)
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn money_is_counted_exactly() {
        assert_eq!(scaled("0.1", 6), Some(100_000));
        assert_eq!(scaled("12", 6), Some(12_000_000));
        assert_eq!(scaled("0.0000010", 6), Some(1));
        assert_eq!(scaled("1.5", 3), Some(1_500));
        assert_eq!(scaled("7.0", 0), Some(7));
        for text in ["0.0000001", "-1", "1e3", ".5", "", "1.x", "99999999999999999999"] {
            assert_eq!(scaled(text, 6), None, "{text}");
        }
    }
}
