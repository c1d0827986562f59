//! Model prices: a table that people write, and the cost of an answer computed from it, in whole numbers. A cost that
//! the table or the usage does not determine is unknown, never zero.

use std::collections::BTreeMap;

use super::Usage;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::{FaultList, Fields, distinct};
use crate::source::{self, Source, Tree, TreeKind};

/// The maximum number of models in one file.
const MAX_MODELS: usize = 10_000;
/// The highest price, in millionths of a dollar per million tokens: a million dollars.
const MAX_PRICE: u64 = 1_000_000_000_000;

/// The price of a model, in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The price of input tokens.
    pub input: u64,
    /// The price of output tokens.
    pub output: u64,
    /// The price of cached input tokens; `None` if they cost as much as other input.
    pub cached: Option<u64>,
}

/// The prices of models, by `provider:name` or a prefix of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Reads a price file. Returns `None` if it has errors, and all diagnostics at once.
    pub fn read(source: &Source) -> (Option<Prices>, Vec<Diagnostic>) {
        let (tree, found) = source::parse(source);
        let mut faults = FaultList(found);
        let prices = tree.and_then(|tree| read(&tree, &mut faults));
        let mut faults = faults.0;
        faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
        let sound = !faults.iter().any(Diagnostic::is_error);
        (prices.filter(|_| sound), faults)
    }

    /// Merges `others`, which takes precedence for the models that it names.
    #[must_use]
    pub fn with(mut self, others: Prices) -> Prices {
        self.0.extend(others.0);
        self
    }

    /// Returns the price of a model, called `provider:name` or `provider:name@base-url`: the entry with exactly that
    /// name, or with the longest prefix of it that ends at a word boundary, such as `gpt-4o` for `gpt-4o-2024-08-06`.
    ///
    /// A model at a base URL of its own may differ from the model of that name: only an entry with that URL counts.
    pub fn of(&self, model: &str) -> Option<Price> {
        if let Some(price) = self.0.get(model) {
            return Some(*price);
        }
        let is_meant = |name: &str| {
            let rest = model.strip_prefix(name)?;
            let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '.');
            (ends && name.contains('@') == model.contains('@')).then_some(())
        };
        let longest = self.0.iter().filter(|(name, _)| is_meant(name).is_some()).max_by_key(|(name, _)| name.len());
        longest.map(|(_, price)| *price)
    }

    /// Returns the cost of a model's answer, in millionths of a US dollar.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<u64> {
        self.of(model)?.cost(usage)
    }
}

impl Price {
    /// Returns the cost of a usage in millionths of a US dollar, rounded up once; `None` if the usage is unknown. Input
    /// that is not reported as cached costs the full input price, which never understates the cost.
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        let (input, output) = (usage.input?, usage.output?);
        let cached = usage.cached.unwrap_or(0).min(input);
        let of = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let parts =
            [of(input - cached, self.input), of(cached, self.cached.unwrap_or(self.input)), of(output, self.output)];
        let sum = parts.into_iter().try_fold(0_u128, u128::checked_add)?;
        u64::try_from(sum.div_ceil(1_000_000)).ok()
    }
}

fn read(tree: &Tree, faults: &mut FaultList) -> Option<Prices> {
    let mut fields = Fields::of(tree, "the price file", faults)?;
    let models = fields.required("prices", faults);
    let prices = models.and_then(|tree| {
        let Some(entries) = tree.entries() else {
            return fields.wrong("prices", "an object from model to price", tree, faults);
        };
        let entries = distinct(entries, "`prices`", faults);
        if entries.len() > MAX_MODELS {
            let message = format!("there are {} prices, more than the {MAX_MODELS} that are read", entries.len());
            faults
                .push(Diagnostic::error("too-large", message).at(tree.head()).help("keep those of the models you use"));
            return None;
        }
        let mut prices = Prices::default();
        for entry in entries {
            let name = &entry.key;
            if !name.value.contains(':') {
                let message = format!("the model `{}` has no provider", clip(&name.value));
                faults.push(
                    Diagnostic::error("wrong-type", message)
                        .at(name.span)
                        .help(format!("write it with its provider, such as `openai:{}`", clip(&name.value))),
                );
            }
            if let Some(price) = price(&entry.value, &name.value, faults) {
                prices.0.insert(name.value.clone(), price);
            }
        }
        Some(prices)
    });
    fields.finish(faults);
    prices
}

fn price(tree: &Tree, model: &str, faults: &mut FaultList) -> Option<Price> {
    let mut fields = Fields::of(tree, format!("the price of `{}`", clip(model)), faults)?;
    fields.required("input", faults);
    fields.required("output", faults);
    let [input, output, cached] = ["input", "output", "cached"].map(|key| dollars(&mut fields, key, faults));
    fields.finish(faults);
    Some(Price { input: input?, output: output?, cached })
}

/// Reads a field in dollars per million tokens as millionths of a dollar.
fn dollars(fields: &mut Fields<'_>, key: &'static str, faults: &mut FaultList) -> Option<u64> {
    let tree = fields.optional(key)?;
    let amount = match &tree.kind {
        TreeKind::Number(text) => millionths(text).filter(|amount| *amount <= MAX_PRICE),
        _ => None,
    };
    if amount.is_none() {
        let wanted = "US dollars per million tokens, a number from 0 to 1000000 with at most 6 decimal places";
        return fields.wrong(key, wanted, tree, faults);
    }
    amount
}

/// Parses `0.15` as 150000. Does not round: returns `None` for a price that cannot be represented exactly.
fn millionths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = |text: &str| text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || fraction.len() > 6 || !digits(fraction) {
        return None;
    }
    let parts: u64 = format!("{fraction:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(parts)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Prices {
        let (prices, faults) = Prices::read(&Source::new("prices.yaml", text));
        prices.unwrap_or_else(|| panic!("{faults:?}"))
    }

    fn check(text: &str, expected: &Expect) {
        let source = Source::new("prices.yaml", text);
        let (prices, faults) = Prices::read(&source);
        assert!(prices.is_none(), "it has no faults");
        let mut said = String::new();
        for fault in faults {
            let at = source.location(fault.span.map_or(0, |span| span.start));
            said.push_str(&format!("{}:{} {}\n", at.line, at.column, fault.message));
            said.push_str(&fault.help.map_or_else(String::new, |help| format!("    {help}\n")));
        }
        expected.assert_eq(&said);
    }

    #[test]
    fn all_faults_are_told_at_once_and_where_they_stand() {
        check(
            "prices:\n  gpt-4o: {input: 2.5, output: 10}\n  openai:a: {input: -1, output: '3'}\n  openai:b: {inptu: 1}\n  \
             openai:c: {input: 0.1234567, output: 1e3}\n  openai:c: {input: 1, output: 2}\n  openai:d: 7\nversion: 1\n",
            &expect![[r#"
                2:3 the model `gpt-4o` has no provider
                    write it with its provider, such as `openai:gpt-4o`
                3:21 `input` of the price of `openai:a` must be US dollars per million tokens, a number from 0 to 1000000 with at most 6 decimal places, but is `-1`
                3:33 `output` of the price of `openai:a` must be US dollars per million tokens, a number from 0 to 1000000 with at most 6 decimal places, but is a string
                4:13 the price of `openai:b` has no `input`
                4:13 the price of `openai:b` has no `output`
                4:14 the price of `openai:b` has a field `inptu`, which has no meaning here
                    did you mean `input`?
                6:3 `prices` has `openai:c` twice
                    keep one of the two: readers disagree on which one counts
                7:13 the price of `openai:d` must be an object, but is a number
                8:1 the price file has a field `version`, which has no meaning here
                    the fields here are `prices`
            "#]],
        );
        check(
            "[]",
            &expect![[r#"
            1:1 the price file must be an object, but is an array
        "#]],
        );
    }

    #[test]
    fn the_longest_beginning_that_ends_with_a_word_counts() {
        let prices = read(
            "prices:\n  openai:gpt-4o: {input: 1, output: 1}\n  openai:gpt-4o-mini: {input: 2, output: 2}\n  \
             openai:qwen@http://127.0.0.1:8080/v1: {input: 0, output: 0}\n",
        );
        let of = |name: &str| prices.of(name).map(|price| price.input / 1_000_000);
        for (name, input) in [
            ("openai:gpt-4o", Some(1)),
            ("openai:gpt-4o-2024-08-06", Some(1)),
            ("openai:gpt-4o-mini", Some(2)),
            ("openai:gpt-4o-mini-2024", Some(2)),
            ("openai:gpt-4omega", None),
            ("openai:gpt-4", None),
            ("openai:gpt-4o@http://127.0.0.1:1", None),
            ("openai:qwen@http://127.0.0.1:8080/v1", Some(0)),
            ("openai:qwen", None),
        ] {
            assert_eq!(of(name), input, "{name}");
        }
    }

    #[test]
    fn an_answer_costs_what_it_took_and_what_is_unknown_is_not_free() {
        let prices = read("prices:\n  a:b: {input: 0.15, output: 0.6, cached: 0.075}\n  a:c: {input: 3, output: 15}\n");
        let usage = |input, output, cached| Usage { input, output, cached, reasoning: None };
        for (model, used, cost) in [
            ("a:b", usage(Some(1_000_000), Some(1_000_000), None), Some(750_000)),
            ("a:b", usage(Some(1_000_000), Some(0), Some(1_000_000)), Some(75_000)),
            ("a:b", usage(Some(11), Some(7), Some(4)), Some(6)),
            ("a:b", usage(Some(0), Some(0), None), Some(0)),
            ("a:c", usage(Some(1_000_000), Some(0), Some(1_000_000)), Some(3_000_000)),
            ("a:b", usage(Some(10), Some(0), Some(1_000)), Some(1)),
            ("a:b", usage(None, Some(7), None), None),
            ("a:b", usage(Some(7), None, None), None),
            ("a:z", usage(Some(7), Some(7), None), None),
            ("a:c", usage(Some(u64::MAX), Some(u64::MAX), None), None),
        ] {
            assert_eq!(prices.cost(model, &used), cost, "{model} {used:?}");
        }
    }

    #[test]
    fn the_later_table_has_the_last_word() {
        let prices = read("prices: {'a:b': {input: 1, output: 1}, 'a:c': {input: 1, output: 1}}")
            .with(read("prices: {'a:b': {input: 2, output: 2}}"));
        assert_eq!(prices.of("a:b").map(|price| price.input), Some(2_000_000));
        assert_eq!(prices.of("a:c").map(|price| price.input), Some(1_000_000));
    }

    proptest! {
        #[test]
        fn a_price_is_kept_to_its_last_digit(whole in 0_u64..1_000_000, parts in 0_u64..1_000_000) {
            prop_assert_eq!(millionths(&format!("{whole}.{parts:06}")), Some(whole * 1_000_000 + parts));
        }

        #[test]
        fn more_tokens_never_cost_less(input in 0_u64..1 << 40, output in 0_u64..1 << 40, more in 0_u64..1 << 20) {
            let price = Price { input: 150_000, output: 600_000, cached: Some(75_000) };
            let cost = |input, output| price.cost(&Usage { input: Some(input), output: Some(output), ..Usage::default() });
            prop_assert!(cost(input, output) <= cost(input + more, output + more));
        }
    }
}
