//! The dialects in which definitions are written. Each lowers its file to a [`Graph`]; none knows the engine.
//!
//! JSON and YAML are text formats, not dialects: each dialect may be written in both. A new dialect is a folder and a
//! line in [`DIALECTS`]: everything that depends on the dialect is read from its row.

mod activity;
mod checks;
mod codes;
pub mod editing;
mod expression_fields;
mod navigator;
mod nodes;
mod phases;
mod schemas;
pub mod script;
mod servers;
mod states;
#[cfg(test)]
mod tests;
mod toolgraph;

use crate::diagnostic::{Code, Diagnostic};
use crate::expr::Language;
use crate::graph::Graph;
use crate::source::fields::FaultList;
use crate::source::{self, Source, Tree};

pub use activity::{
    ActivitiesFolder, activities_folder, activity_files, is_activity_file, not_an_activity, taken_over,
};
pub use checks::verify;
pub use expression_fields::{ExpressionError, expression};
pub use servers::servers;

/// A dialect in which definitions are written.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The name, which is also that of its folder.
    pub name: &'static str,
    /// The field that identifies a file of the dialect, for messages to authors whose file has no such field.
    pub field: &'static str,
    /// A description of such a file, for the same messages.
    pub shape: &'static str,
    /// How its workflows are run.
    pub run_as: RunAs,
    /// The expression language of fields that take a text as an expression.
    pub language: Language,
    /// Returns whether a text is written in the dialect. The first matching row reads the text.
    pub is_one: fn(&Source, &Tree) -> bool,
    /// Reads a text into an exact syntax tree of the dialect, and lowers it to as many graphs as can be drawn, with
    /// every fault found on the way.
    pub read: fn(&Source, &Tree, Strictness) -> File,
    /// The codes that only this dialect reports.
    pub codes: &'static [Code],
    /// How its definitions are edited piece by piece; `None` if only their text can be edited.
    pub editing: Option<editing::Editing>,
    /// The program that the dialect comes from, if definitions are imported from it and exported for it.
    pub original: Option<Original>,
}

/// How a workflow is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAs {
    /// An agent is led from step to step, and reports the outcome of each.
    Steps,
    /// An agent is led through activities, and sees the open ones.
    Activities,
    /// The workflow is called like a function, and executed without an agent.
    Calls,
}

/// Another program that reads a dialect, and the differences to it.
#[derive(Clone, Copy, Debug)]
pub struct Original {
    /// Returns warnings about the parts of an exported text that the program reads differently.
    pub beyond: fn(&Tree) -> Vec<Diagnostic>,
    /// Returns warnings about the parts of an imported text that are read differently here.
    pub unlike: fn(&Tree) -> Vec<Diagnostic>,
}

/// All dialects, each before those that would accept its files as their own.
pub const DIALECTS: &[Dialect] =
    &[toolgraph::DIALECT, phases::DIALECT, states::DIALECT, navigator::DIALECT, activity::DIALECT];

/// How strictly a definition is checked against its dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Every fault is an error.
    #[default]
    Strict,
    /// Definitions that the original program would load are loaded, with a warning for each repair.
    Lenient,
}

impl Strictness {
    /// Returns the faults with the severity that this strictness gives them.
    fn weigh(self, faults: FaultList) -> Vec<Diagnostic> {
        match self {
            Strictness::Strict => faults.0,
            Strictness::Lenient => faults.0.into_iter().map(Diagnostic::lenient).collect(),
        }
    }
}

/// The content of a definition file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Its workflows, in the order written: all that were understood well enough to be drawn, with faults or without.
    pub graphs: Vec<Graph>,
    /// All diagnostics of reading it, in the order of the text.
    pub faults: Vec<Diagnostic>,
}

impl File {
    /// Returns the first workflow and the diagnostics: the whole content of a file of one workflow.
    pub fn first(self) -> (Option<Graph>, Vec<Diagnostic>) {
        (self.graphs.into_iter().next(), self.faults)
    }

    /// Creates a file of one workflow, which is marked broken if there is an error.
    fn of(graph: Option<Graph>, mut faults: Vec<Diagnostic>) -> File {
        sort(&mut faults);
        let broken = faults.iter().find(|fault| fault.is_error()).map(|fault| fault.message.clone());
        File { graphs: graph.into_iter().map(|graph| Graph { broken: broken.clone(), ..graph }).collect(), faults }
    }
}

/// Reads a definition in the dialect that its fields identify; its name does not matter.
pub fn parse(source: &Source, strictness: Strictness) -> File {
    parse_with(DIALECTS, source, strictness)
}

/// Reads a definition in one of the given dialects.
pub fn parse_with(dialects: &[Dialect], source: &Source, strictness: Strictness) -> File {
    let (tree, mut faults) = source::parse(source);
    faults.extend(strictness.weigh(FaultList(source.faults().to_vec())));
    let Some(tree) = tree else { return File { graphs: Vec::new(), faults } };
    let mut file = match written_in(dialects, source, &tree) {
        Some(dialect) => (dialect.read)(source, &tree, strictness),
        None => File { graphs: Vec::new(), faults: vec![unknown_format(dialects, &tree)] },
    };
    // No dialect repairs a fault of the JSON or YAML text.
    if let Some(first) = faults.iter().find(|fault| fault.is_error()) {
        for graph in &mut file.graphs {
            graph.broken.get_or_insert_with(|| first.message.clone());
        }
    }
    faults.append(&mut file.faults);
    sort(&mut faults);
    File { graphs: file.graphs, faults }
}

/// Returns the dialect of a text; `None` if no dialect matches, or the text cannot be parsed.
pub fn of(source: &Source) -> Option<&'static Dialect> {
    written_in(DIALECTS, source, &source::parse(source).0?)
}

/// Returns the dialect of this name.
pub fn named(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.name == name)
}

/// Returns every code that reading a definition reports.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    let shared = [source::CODES, codes::CODES, nodes::CODES, checks::CODES, servers::CODES];
    shared.into_iter().chain(DIALECTS.iter().map(|dialect| dialect.codes)).flatten()
}

fn written_in<'d>(dialects: &'d [Dialect], source: &Source, tree: &Tree) -> Option<&'d Dialect> {
    dialects.iter().find(|dialect| (dialect.is_one)(source, tree))
}

/// Sorts diagnostics in the order of the text.
fn sort(faults: &mut [Diagnostic]) {
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
}

fn unknown_format(dialects: &[Dialect], tree: &Tree) -> Diagnostic {
    let shapes = || dialects.iter().map(|dialect| dialect.shape).collect::<Vec<_>>().join("; ");
    let (message, help) = match tree.entries() {
        Some(_) if tree.get("mcpServers").is_some() => (
            "this names MCP servers, and contains no workflow".to_owned(),
            "pass it with `--mcp` together with a graph that calls the servers, or add `tools`".to_owned(),
        ),
        Some(_) if ["steps", "transitions"].iter().any(|key| tree.get(key).is_some()) => (
            "this is one activity, not a workflow".to_owned(),
            "check the folder of its workflow; in a workflow it is an item of `activities`".to_owned(),
        ),
        Some(_) => {
            let fields: Vec<String> = dialects.iter().map(|dialect| format!("`{}`", dialect.field)).collect();
            let (last, others) = fields.split_last().expect("there is a dialect");
            (format!("this is not a workflow: it has neither {} nor {last}", others.join(", ")), shapes())
        }
        None => (format!("a definition must be an object, but is {}", tree.describe()), shapes()),
    };
    Diagnostic::error("unknown-format", message).at(tree.head()).help(help)
}
