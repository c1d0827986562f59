//! The formats that definitions are written in. Each lowers its file to a [`Graph`]; none knows the engine.

pub mod navigator;
mod reader;

use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use crate::source::{self, Source};

/// How closely a definition is held to its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Every fault is an error.
    #[default]
    Strict,
    /// What the format's original program would have loaded is loaded, each repair a warning.
    Lenient,
}

/// Reads a definition in whichever dialect it is written.
///
/// The graph is there whenever the text could be understood far enough to draw it, faults or not.
pub fn parse(source: &Source, strictness: Strictness) -> (Option<Graph>, Vec<Diagnostic>) {
    match source::parse_json(source) {
        Ok(tree) => navigator::lower(source, &tree, strictness),
        Err(fault) => (None, vec![fault]),
    }
}
