//! The formats that definitions are written in. Each lowers its file to a [`Graph`]; none knows the engine.
//!
//! JSON and YAML are spellings, not formats: each format may be written in both.

mod activity;
mod checks;
pub mod navigator;
mod nodes;
mod phases;
pub mod script;
mod servers;
mod states;
pub mod toolgraph;

use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use crate::source::{self, Source, Tree};

pub use activity::{ActivitiesFolder, activities_folder, is_activity_file, not_an_activity};
pub use servers::servers;
pub use states::{beyond_original, unlike_original};

/// How closely a definition is held to its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Every fault is an error.
    #[default]
    Strict,
    /// What the format's original program would have loaded is loaded, each repair a warning.
    Lenient,
}

/// What a definition file says.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Its workflows, in the order written: as many as could be understood far enough to be drawn, faults or not.
    pub graphs: Vec<Graph>,
    /// Everything that was found while reading it, in the order of the text.
    pub faults: Vec<Diagnostic>,
}

impl File {
    /// The first workflow and the findings: all that there is to a file of one workflow.
    pub fn first(self) -> (Option<Graph>, Vec<Diagnostic>) {
        (self.graphs.into_iter().next(), self.faults)
    }
}

/// Reads a definition in whichever dialect it is written: its fields tell, not its name.
pub fn parse(source: &Source, strictness: Strictness) -> File {
    let (tree, mut faults) = source::parse(source);
    faults.extend(source.faults().iter().cloned());
    let Some(tree) = tree else { return File { graphs: Vec::new(), faults } };
    let mut file = match Format::of(source, &tree) {
        Some(Format::ToolGraph) => toolgraph::lower(source, &tree, strictness),
        Some(Format::Activity) => {
            let (graph, faults) = activity::lower(source, &tree, strictness);
            File { graphs: graph.into_iter().collect(), faults }
        }
        Some(Format::Phases) => {
            let (graph, faults) = phases::lower(source, &tree);
            File { graphs: graph.into_iter().collect(), faults }
        }
        Some(Format::States) => {
            let (graph, faults) = states::lower(source, &tree, strictness);
            File { graphs: graph.into_iter().collect(), faults }
        }
        Some(Format::Navigator) => {
            let (graph, faults) = navigator::lower(source, &tree, strictness);
            File { graphs: graph.into_iter().collect(), faults }
        }
        None => File { graphs: Vec::new(), faults: vec![unknown_format(&tree)] },
    };
    // What the spelling could not say is a fault that no dialect repairs.
    if let Some(first) = faults.iter().find(|fault| fault.is_error()) {
        for graph in &mut file.graphs {
            graph.broken.get_or_insert_with(|| first.message.clone());
        }
    }
    faults.append(&mut file.faults);
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    File { graphs: file.graphs, faults }
}

/// The formats there are.
enum Format {
    Navigator,
    ToolGraph,
    Activity,
    Phases,
    States,
}

impl Format {
    fn of(source: &Source, tree: &Tree) -> Option<Format> {
        let has = |key: &str| tree.get(key).is_some();
        if toolgraph::is_one(tree) {
            return Some(Format::ToolGraph);
        }
        if has("phases") {
            return Some(Format::Phases);
        }
        if has("states") {
            return Some(Format::States);
        }
        if has("nodes") || has("edges") {
            return Some(Format::Navigator);
        }
        let named = ["activities", "initialActivity", "activitiesDir"].into_iter().any(has);
        (named || source.is_joined()).then_some(Format::Activity)
    }
}

fn unknown_format(tree: &Tree) -> Diagnostic {
    let (message, help) = match tree.entries() {
        Some(_) if tree.get("mcpServers").is_some() => (
            "this names MCP servers, and holds no workflow".to_owned(),
            "name it with `--mcp` beside a graph that calls the servers, or add `tools`",
        ),
        Some(_) if ["steps", "transitions"].iter().any(|key| tree.get(key).is_some()) => (
            "this is one activity, and no workflow by itself".to_owned(),
            "check the folder of its workflow; in a workflow it is an item of `activities`",
        ),
        Some(_) => (
            "this is no workflow: it has neither `nodes`, `tools`, `activities`, `phases` nor `states`".to_owned(),
            FORMATS,
        ),
        None => (format!("a definition must be an object, but is {}", tree.describe()), FORMATS),
    };
    Diagnostic::error("unknown-format", message).at(tree.head()).help(help)
}

const FORMATS: &str = "a workflow for agents has `nodes`, an object from node id to node, and `edges`, or \
                       `activities`, a list, each with its `steps`, or `phases`, a list in their order; a workflow of agents' states has `states`, \
                       an object from name to state; a graph of tool calls has `tools`, a list of tools with their `nodes`";
