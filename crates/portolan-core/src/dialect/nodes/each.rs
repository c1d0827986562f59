//! Iteration over the items of a list.

use std::num::NonZeroU32;

use super::{Dollar, MAX_COUNT, args, wrapped};
use crate::expr::Expr;
use crate::source::Source;
use crate::source::fields::{FaultList, Fields};

/// The items and how they are iterated. The node that runs for each item is read elsewhere.
pub(in crate::dialect) struct Each {
    pub(in crate::dialect) items: Expr,
    pub(in crate::dialect) args: Option<Expr>,
    pub(in crate::dialect) concurrency: NonZeroU32,
}

pub(in crate::dialect) fn each(
    source: &Source,
    dollar: Dollar,
    fields: &mut Fields<'_>,
    named: &str,
    faults: &mut FaultList,
) -> Option<Each> {
    let items = fields.required("items", faults);
    let items = items.and_then(|tree| wrapped(source, tree, &format!("`items` of {named}"), faults));
    let args = args(source, dollar, fields, named, faults);
    let most = fields.count("concurrency", 1..=MAX_COUNT, faults);
    let concurrency = most.and_then(|most| NonZeroU32::new(most.value)).unwrap_or(NonZeroU32::MIN);
    Some(Each { items: items?, args: args?, concurrency })
}
