//! The catalogue, as lists of workflows show it.

use std::sync::OnceLock;

use portolan_core::dialect::Strictness;

use super::{Listed, Origin};
use crate::catalog::{Entry, workflows};
use crate::definition::Parsed;

/// The workflows that agents are led through, as lists show them. They are read once.
pub fn catalogue() -> &'static [Listed] {
    static LISTED: OnceLock<Vec<Listed>> = OnceLock::new();
    LISTED.get_or_init(|| workflows().filter_map(|entry| shown(&entry)).collect())
}

/// A workflow of the catalogue, as lists show it.
pub fn shown(entry: &Entry) -> Option<Listed> {
    let parsed = Parsed::read(entry.source(), Strictness::Strict).ok()?;
    Some(Listed::of(entry.id, &parsed, Origin::Catalog))
}
