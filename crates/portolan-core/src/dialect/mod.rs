//! The formats that definitions are written in. Each lowers its file to a [`Graph`]; none knows the engine.
//!
//! JSON and YAML are spellings, not formats: each format may be written in both. Adding a format is a folder and a line in
//! [`DIALECTS`]: all that is asked about a format is asked of its row.

mod activity;
mod checks;
mod codes;
pub mod editing;
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
mod written;

use crate::diagnostic::{Code, Diagnostic};
use crate::expr::Language;
use crate::graph::Graph;
use crate::source::fields::FaultList;
use crate::source::{self, Source, Tree};

pub use activity::{
    ActivitiesFolder, activities_folder, activity_files, is_activity_file, not_an_activity, taken_over,
};
pub use checks::verify;
pub use servers::servers;
pub use written::{ExpressionError, expression};

/// A format that definitions are written in.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Its name, which is that of its folder.
    pub name: &'static str,
    /// The field by which a file of it is known, for people who wrote none.
    pub field: &'static str,
    /// What a file of it is and has, for the same people.
    pub shape: &'static str,
    /// What its workflows are run as.
    pub run_as: RunAs,
    /// What an expression is written in where its definitions take a text for one.
    pub language: Language,
    /// Whether a text is written in it. The first row that says so reads the text.
    pub is_one: fn(&Source, &Tree) -> bool,
    /// Reads a text into an exact picture of the format, and lowers that to graphs: as many as can be drawn, with every
    /// fault that was found on the way.
    pub read: fn(&Source, &Tree, Strictness) -> File,
    /// The codes that nobody but this format reports.
    pub codes: &'static [Code],
    /// How its definitions are edited piece by piece; nothing where only their text can be.
    pub editing: Option<editing::Editing>,
    /// The program that the format comes from, where texts are taken over from it and written back for it.
    pub original: Option<Original>,
}

/// What a workflow is run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAs {
    /// An agent is led from step to step, and reports what each came to.
    Steps,
    /// An agent is led through activities, and shown what is open in them.
    Activities,
    /// Nobody is led: it is called like a function, and executed.
    Calls,
}

/// Another program that reads a format, and where it and we differ.
#[derive(Clone, Copy, Debug)]
pub struct Original {
    /// What of a text, written back for that program, it makes something else of, as warnings.
    pub beyond: fn(&Tree) -> Vec<Diagnostic>,
    /// What of a text, taken over from that program, is something else here, as warnings.
    pub unlike: fn(&Tree) -> Vec<Diagnostic>,
}

/// The formats there are, each before those that would take its files for their own.
pub const DIALECTS: &[Dialect] =
    &[toolgraph::DIALECT, phases::DIALECT, states::DIALECT, navigator::DIALECT, activity::DIALECT];

/// How closely a definition is held to its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Every fault is an error.
    #[default]
    Strict,
    /// What the format's original program would have loaded is loaded, each repair a warning.
    Lenient,
}

impl Strictness {
    /// The faults as they count.
    fn weigh(self, faults: FaultList) -> Vec<Diagnostic> {
        match self {
            Strictness::Strict => faults.0,
            Strictness::Lenient => faults.0.into_iter().map(Diagnostic::lenient).collect(),
        }
    }
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

    /// A file of one workflow, which cannot be run where the file has an error.
    fn of(graph: Option<Graph>, mut faults: Vec<Diagnostic>) -> File {
        sort(&mut faults);
        let broken = faults.iter().find(|fault| fault.is_error()).map(|fault| fault.message.clone());
        File { graphs: graph.into_iter().map(|graph| Graph { broken: broken.clone(), ..graph }).collect(), faults }
    }
}

/// Reads a definition in whichever dialect it is written: its fields tell, not its name.
pub fn parse(source: &Source, strictness: Strictness) -> File {
    parse_with(DIALECTS, source, strictness)
}

/// The same, where these are the dialects that there are.
pub fn parse_with(dialects: &[Dialect], source: &Source, strictness: Strictness) -> File {
    let (tree, mut faults) = source::parse(source);
    faults.extend(strictness.weigh(FaultList(source.faults().to_vec())));
    let Some(tree) = tree else { return File { graphs: Vec::new(), faults } };
    let mut file = match written_in(dialects, source, &tree) {
        Some(dialect) => (dialect.read)(source, &tree, strictness),
        None => File { graphs: Vec::new(), faults: vec![unknown_format(dialects, &tree)] },
    };
    // What the spelling could not say is a fault that no dialect repairs.
    if let Some(first) = faults.iter().find(|fault| fault.is_error()) {
        for graph in &mut file.graphs {
            graph.broken.get_or_insert_with(|| first.message.clone());
        }
    }
    faults.append(&mut file.faults);
    sort(&mut faults);
    File { graphs: file.graphs, faults }
}

/// The dialect that a text is written in; nothing where it is none, or cannot be read as text at all.
pub fn of(source: &Source) -> Option<&'static Dialect> {
    written_in(DIALECTS, source, &source::parse(source).0?)
}

/// The dialect of this name.
pub fn named(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.name == name)
}

/// Every code that reading a definition reports.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    let shared = [source::CODES, codes::CODES, nodes::CODES, checks::CODES, servers::CODES];
    shared.into_iter().chain(DIALECTS.iter().map(|dialect| dialect.codes)).flatten()
}

fn written_in<'d>(dialects: &'d [Dialect], source: &Source, tree: &Tree) -> Option<&'d Dialect> {
    dialects.iter().find(|dialect| (dialect.is_one)(source, tree))
}

/// Puts findings in the order of the text.
fn sort(faults: &mut [Diagnostic]) {
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
}

fn unknown_format(dialects: &[Dialect], tree: &Tree) -> Diagnostic {
    let shapes = || dialects.iter().map(|dialect| dialect.shape).collect::<Vec<_>>().join("; ");
    let (message, help) = match tree.entries() {
        Some(_) if tree.get("mcpServers").is_some() => (
            "this names MCP servers, and holds no workflow".to_owned(),
            "name it with `--mcp` beside a graph that calls the servers, or add `tools`".to_owned(),
        ),
        Some(_) if ["steps", "transitions"].iter().any(|key| tree.get(key).is_some()) => (
            "this is one activity, and no workflow by itself".to_owned(),
            "check the folder of its workflow; in a workflow it is an item of `activities`".to_owned(),
        ),
        Some(_) => {
            let fields: Vec<String> = dialects.iter().map(|dialect| format!("`{}`", dialect.field)).collect();
            let (last, others) = fields.split_last().expect("there is a dialect");
            (format!("this is no workflow: it has neither {} nor {last}", others.join(", ")), shapes())
        }
        None => (format!("a definition must be an object, but is {}", tree.describe()), shapes()),
    };
    Diagnostic::error("unknown-format", message).at(tree.head()).help(help)
}
