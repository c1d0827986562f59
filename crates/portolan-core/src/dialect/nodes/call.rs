//! A tool call: its server, its arguments, and its retries.

use super::{Dollar, MAX_COUNT, MAX_MS, template, wrapped};
use crate::diagnostic::Diagnostic;
use crate::expr::Expr;
use crate::graph::{Call, Retry};
use crate::source::fields::{FaultList, Fields, not_an_object};
use crate::source::{Source, Tree, TreeKind};

/// Reads the fields of a call; `post` is the name of its `postTransform` in messages.
pub(in crate::dialect) fn call(
    source: &Source,
    dollar: Dollar,
    fields: &mut Fields<'_>,
    (what, post): (&str, &str),
    faults: &mut FaultList,
) -> Option<Call> {
    let server = fields.required_string("server", faults);
    let tool = fields.required_string("tool", faults);
    let args = args(source, dollar, fields, what, faults);
    let post = fields.optional("postTransform").map(|tree| wrapped(source, tree, post, faults));
    let retry = retry(fields, what, faults);
    let timeout = fields.duration_ms("timeout", 1..=MAX_MS, faults);
    let idempotent = fields.flag("idempotent", faults).is_some_and(|flag| flag.value);
    let post = match post {
        Some(post) => Some(post?),
        None => None,
    };
    Some(Call {
        server: server?,
        tool: tool?,
        args: args?.unwrap_or(Expr::Object(Vec::new())),
        post,
        retry: retry?,
        timeout_ms: timeout.map(|timeout| timeout.value),
        idempotent,
    })
}

/// Reads the optional `args`, an object that may contain expressions; the outer `None` means that it has a fault.
pub(in crate::dialect) fn args(
    source: &Source,
    dollar: Dollar,
    fields: &mut Fields<'_>,
    what: &str,
    faults: &mut FaultList,
) -> Option<Option<Expr>> {
    let Some(tree) = fields.optional("args") else { return Some(None) };
    let what = format!("`args` of {what}");
    if tree.entries().is_none() {
        faults.push(not_an_object(tree, &what));
        return None;
    }
    template(source, dollar, tree, &what, faults).map(Some)
}

/// Reads `retry`: how often and when a call is retried; `None` if it has a fault.
fn retry(outer: &mut Fields<'_>, named: &str, faults: &mut FaultList) -> Option<Retry> {
    let Some(tree) = outer.optional("retry") else { return Some(Retry::default()) };
    let mut fields = Fields::of(tree, format!("`retry` of {named}"), faults)?;
    let usual = Retry::default();
    let max = fields.count("max", 0..=MAX_COUNT, faults);
    if max.is_none() && !fields.has("max") {
        fields.required("max", faults);
    }
    let backoff = fields.duration_ms("backoff", 0..=MAX_MS, faults);
    let longest = fields.duration_ms("maxDelay", 0..=MAX_MS, faults);
    let factor = fields.optional("factor").map(|tree| (tree, factor_percent(tree)));
    fields.finish(faults);
    let factor_percent = match factor {
        None => usual.factor_percent,
        Some((_, Some(percent))) => percent,
        Some((tree, None)) => {
            let message = format!("`factor` in `retry` of {named} must be a number from 1 to 100");
            faults.push(
                Diagnostic::error("wrong-type", message).at(tree.head()).help("with 2, the wait doubles each time"),
            );
            return None;
        }
    };
    Some(Retry {
        max: max?.value,
        backoff_ms: backoff.map_or(usual.backoff_ms, |time| time.value),
        factor_percent,
        max_delay_ms: longest.map_or(usual.max_delay_ms, |time| time.value),
    })
}

/// Reads a factor in hundredths.
fn factor_percent(tree: &Tree) -> Option<u32> {
    let TreeKind::Number(text) = &tree.kind else { return None };
    let factor: f64 = text.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 100 and 10,000")]
    (1.0..=100.0).contains(&factor).then(|| (factor * 100.0).round() as u32)
}
