//! Readers for the contents of nodes, shared by the dialects that have such nodes.
//!
//! None of them knows the dialect: words that differ between dialects are arguments. None of them reads edges either,
//! in which dialects differ most.

mod ask;
mod call;
mod codes;
mod each;
mod expressions;
mod fork;
mod redact;
mod results;
mod state;
mod values;

pub(super) use super::schemas::{compiled, schema};
pub(super) use ask::{Answer, Ask, ask, is_answer};
pub(super) use call::{args, call};
pub(super) use codes::CODES;
pub(super) use each::{Each, each};
pub(super) use expressions::{Dollar, computed, has_expr, jsonata, rule, template, text_or_template, wrapped};
pub(super) use fork::{Fork, Joins, Words, fork, strategy, unpaired};
pub(super) use redact::redact;
pub(super) use state::{About, leads_to, state};
pub(super) use values::{judge, limits, model};

use crate::diagnostic::{Diagnostic, clip, is_unseen};
use crate::source::Spanned;
use crate::source::fields::FaultList;

/// The maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 200;
/// The maximum of all delays and timeouts, in milliseconds: a day.
const MAX_MS: u64 = 86_400_000;
/// The maximum number of retries, and of concurrent branches and items.
const MAX_COUNT: u32 = 10_000;

/// Returns whether a text can be an id, and reports if it cannot.
pub(super) fn is_id(id: &Spanned<String>, whose: &str, faults: &mut FaultList) -> bool {
    let text = &id.value;
    let sound = !text.is_empty() && text.len() <= MAX_ID_BYTES && !text.contains(is_unseen);
    if !sound {
        let message = format!("`{}` cannot be the name of {whose}", clip(text));
        faults.push(Diagnostic::error("bad-id", message).at(id.span).help("use letters, digits, `_` and `-`"));
    }
    sound
}
