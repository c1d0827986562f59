//! The exact syntax tree of a file: the fields beside the states.

use std::collections::BTreeMap;

use super::nodes::{self, Node};
use super::ways::{self, Transition};
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::nodes::{About, is_id, judge, limits, model, redact, schema};
use crate::dialect::servers;
use crate::graph::{Bounds, DEFAULT_MAX_NODES, FileSettings, Interface, RunLimits};
use crate::source::fields::{FaultList, Fields, distinct};
use crate::source::{Source, Spanned, Tree, TreeKind};

/// The maximum number of states of a file.
const MAX_STATES: usize = 10_000;

/// The nodes that no definition contains: the start and the end.
const INVENTED_NODES: u64 = 2;

pub(super) struct File {
    pub(super) id: Spanned<String>,
    pub(super) name: Option<String>,
    pub(super) description: String,
    pub(super) nodes: Vec<Node>,
    /// The names under `states` that could not be read.
    pub(super) unread: Vec<String>,
    /// The transition of each node, by its name.
    pub(super) ways: BTreeMap<String, Transition>,
    pub(super) interface: Interface,
    pub(super) settings: FileSettings,
}

pub(super) fn read(source: &Source, tree: &Tree, faults: &mut FaultList) -> Option<File> {
    let mut fields = Fields::of(tree, "the file", faults)?;
    version(&mut fields, faults);
    let id = fields.string("id", faults).filter(|id| is_id(id, "a workflow", faults));
    let name = fields.string("name", faults);
    let purpose = fields.string("objective", faults).map(|text| text.value).unwrap_or_default();
    let description = fields.string("description", faults).map(|text| text.value);
    let (interface, settings) = read_frame(source, &mut fields, faults);
    let judge = judge(&mut fields, "the file", faults).unwrap_or_default();
    let about = About { source, purpose, judge };
    let states = fields.required("states", faults);
    let transitions = fields.optional("transitions");
    fields.ignored(&["graph_layout", "$schema", "metadata"]);
    fields.finish(faults);
    let (nodes, unread) = read_states(&about, states?, faults)?;
    let ways = transitions.map(|tree| ways::read(source, tree, faults)).unwrap_or_default();
    let name = name.map(|name| name.value).filter(|name| !name.is_empty());
    let stem = source.stem().map(str::to_owned).or_else(|| name.clone()).unwrap_or_else(|| "workflow".to_owned());
    Some(File {
        id: id.unwrap_or(Spanned { value: stem, span: tree.head() }),
        name,
        description: description.unwrap_or(about.purpose),
        nodes,
        unread,
        ways,
        interface,
        settings,
    })
}

/// Reads the version of the format, which the original program ignores.
fn version(fields: &mut Fields<'_>, faults: &mut FaultList) {
    let Some(tree) = fields.optional("version") else { return };
    let (TreeKind::String(text) | TreeKind::Number(text)) = &tree.kind else {
        return drop(fields.string("version", faults));
    };
    if !["2.0", "2"].contains(&text.as_str()) {
        let message = format!("`version` of the file is `{}`, which is not a version of this format", clip(text));
        let fault = Diagnostic::error("bad-version", message).at(tree.span);
        faults.push(fault.help("write `\"2.0\"`").repaired("it is read as `2.0`"));
    }
}

/// Reads the fields of the file other than its states.
fn read_frame(source: &Source, fields: &mut Fields<'_>, faults: &mut FaultList) -> (Interface, FileSettings) {
    let input = schema(fields, "input_schema", "the file", faults);
    let output = schema(fields, "output_schema", "the file", faults);
    let model = model(fields, faults);
    let (bounds, steps) = match fields.optional("limits") {
        Some(tree) => limits(tree, "the file", true, faults),
        None => (Bounds::default(), None),
    };
    let (servers, unread) = match fields.optional("mcpServers") {
        Some(tree) => servers::read(source, tree, "mcpServers", faults),
        None => Default::default(),
    };
    let redact = redact(fields, |_| false, faults);
    let max_nodes = steps.map_or(DEFAULT_MAX_NODES, |steps| steps.saturating_add(INVENTED_NODES));
    let interface = Interface {
        input,
        output,
        // Time has a bound like money: a run that has used it up waits, and does not fail.
        limits: RunLimits { max_nodes, max_ms: u64::MAX / 2 },
        bounds,
        waits_at_limits: true,
        ..Interface::default()
    };
    let unread_servers = unread.into_iter().collect();
    (interface, FileSettings { model, names_input: true, servers, unread_servers, redact, ..FileSettings::default() })
}

type States = (Vec<Node>, Vec<String>);

fn read_states(about: &About<'_>, tree: &Tree, faults: &mut FaultList) -> Option<States> {
    let Some(entries) = tree.entries() else {
        let message = format!("`states` must be an object from name to state, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.head()).help(STATES_HELP));
        return None;
    };
    if entries.is_empty() {
        faults.push(Diagnostic::error("missing-field", "the workflow has no states").at(tree.head()).help(STATES_HELP));
        return None;
    }
    if entries.len() > MAX_STATES {
        let message = format!("the workflow has {} states, more than the limit of {MAX_STATES}", entries.len());
        let fault = Diagnostic::error("too-large", message).at(tree.head());
        faults.push(fault.help("move some of them into a workflow of their own, and run it with `run`"));
        return None;
    }
    let mut states = States::default();
    for entry in distinct(entries, "`states`", faults) {
        if !is_id(&entry.key, "a state", faults) {
            continue;
        }
        shadowing(&entry.key, faults);
        match nodes::read(about, &entry.key, &entry.value, faults) {
            Some(node) => states.0.push(node),
            None => states.1.push(entry.key.value.clone()),
        }
    }
    Some(states)
}

const STATES_HELP: &str = "write `\"states\": {\"research\": {\"objective\": \"…\"}}`, each state under its name";

/// The names that expressions can refer to. A state with such a name would hide the original meaning.
pub(super) const SEEN: [&str; 6] = ["input", "output", "shared", "attempt", "calls", "feedback"];

fn shadowing(name: &Spanned<String>, faults: &mut FaultList) {
    if SEEN.contains(&name.value.as_str()) {
        let message = format!("expressions after the state `{0}` find its output under the name `{0}`", name.value);
        let fault = Diagnostic::warning("shadowing-state", message).at(name.span);
        faults.push(fault.help("give the state another name: expressions use this one for something else"));
    }
}

/// Returns a text with its span.
pub(super) fn spanned(tree: &Tree) -> Option<Spanned<String>> {
    tree.as_str().map(|text| Spanned { value: text.to_owned(), span: tree.span })
}
