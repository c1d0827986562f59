//! Subflows run workflows that exist, are valid, and do not run themselves.

use std::collections::BTreeMap;

use super::Code;
use crate::diagnostic::{Diagnostic, clip};
use crate::dialect::Strictness;
use crate::graph::{EndResult, Graph, Kind, Node};
use crate::validate::map::Map;
use crate::validate::{Library, MAX_SUBFLOW_DEPTH, ruled};
use crate::value::NodeId;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "unknown-subflow",
        what: "A step runs a workflow that Portolan does not find.",
        fix: "Correct the name, or put the workflow where this one was read from, such as the same folder.",
    },
    Code {
        code: "subflow-cycle",
        what: "A workflow runs itself, directly or through others, or it starts a chain of more than 8 workflows that \
               run one another, itself included. A workflow cannot run inside itself.",
        fix: "Break the cycle: repeat steps with a `failed` edge, or move the shared part into a third workflow that \
              runs neither of the two. Shorten a chain that is too long.",
    },
    Code {
        code: "broken-subflow",
        what: "A step runs a workflow that has errors of its own.",
        fix: "Check that workflow by itself, and fix its errors.",
    },
    Code {
        code: "subflow-without-success",
        what: "A step runs a workflow in which no path leads to a success. The step fails whenever it runs.",
        fix: "Give that workflow an end with `\"result\": \"success\"`, and lead its work to it.",
    },
];

pub(in crate::validate) fn check<'g>(
    graph: &'g Graph,
    library: Library<'g>,
    strictness: Strictness,
    faults: &mut Vec<Diagnostic>,
) {
    let mut walk = Walk { library, strictness, path: vec![graph.id.value.as_str()], sound: BTreeMap::new() };
    let mut looked_at: BTreeMap<&str, Option<Trouble>> = BTreeMap::new();
    for node in &graph.nodes {
        for (name, span) in node.kind.workflows() {
            let found = match library(name) {
                None => Some(unknown(node, name).repaired("it is treated as a task")),
                Some(other) => {
                    // A function fails with the workflow it runs; only an agent would retry it in vain.
                    let is_led = graph.interface.is_none();
                    let trouble = looked_at.entry(name).or_insert_with(|| {
                        walk.height(other)
                            .err()
                            .or_else(|| (is_led && !can_succeed(other)).then_some(Trouble::Hopeless))
                    });
                    trouble.as_ref().map(|trouble| trouble.of(node, name))
                }
            };
            faults.extend(found.map(|fault| fault.at(span)));
        }
    }
}

/// Returns whether a success can be reached from the start of a workflow; every exit of a function is one.
fn can_succeed(graph: &Graph) -> bool {
    let map = Map::of(graph);
    let Some(start) = map.start() else { return true };
    let reached = map.reach(&start.id);
    let succeeds = |node: &Node| matches!(node.kind, Kind::End { result: EndResult::Success, .. });
    let may_lead_there = |id: &&NodeId| map.strays(id) || map.node(id).is_some_and(succeeds);
    graph.interface.is_some() || reached.iter().any(may_lead_there)
}

fn unknown(node: &Node, name: &str) -> Diagnostic {
    Diagnostic::error(
        "unknown-subflow",
        format!("`{}` runs the workflow `{}`, which is not known", node.id, clip(name)),
    )
    .help("correct the name, or put the workflow where this one was read from")
}

/// The descent through subflows.
struct Walk<'g> {
    library: Library<'g>,
    strictness: Strictness,
    path: Vec<&'g str>,
    /// The workflows without trouble, with the number of levels that they run below them. Without it, ten workflows
    /// that each run the next one twice would be checked a thousand times.
    sound: BTreeMap<&'g str, usize>,
}

/// The first trouble of a workflow that is run; the others are reported in its own file.
enum Trouble {
    Cycle(Vec<String>),
    Deep,
    Broken {
        which: String,
        first: String,
    },
    /// No success can be reached.
    Hopeless,
}

impl<'g> Walk<'g> {
    /// Returns how many levels `graph` runs below itself.
    fn height(&mut self, graph: &'g Graph) -> Result<usize, Trouble> {
        let id = graph.id.value.as_str();
        if let Some(first) = self.path.iter().position(|earlier| *earlier == id) {
            let round = self.path[first..].iter().chain([&id]);
            return Err(Trouble::Cycle(round.map(|name| format!("`{}`", clip(name))).collect()));
        }
        let height = match self.sound.get(id) {
            Some(height) => *height,
            None if self.path.len() >= MAX_SUBFLOW_DEPTH => return Err(Trouble::Deep),
            None => self.look(graph)?,
        };
        if self.path.len() + height >= MAX_SUBFLOW_DEPTH {
            return Err(Trouble::Deep);
        }
        self.sound.insert(id, height);
        Ok(height)
    }

    fn look(&mut self, graph: &'g Graph) -> Result<usize, Trouble> {
        let which = graph.id.value.as_str();
        if let Some(first) = self.first_fault(graph) {
            return Err(Trouble::Broken { which: which.to_owned(), first });
        }
        self.path.push(which);
        let height = self.below(graph);
        self.path.pop();
        height
    }

    fn below(&mut self, graph: &'g Graph) -> Result<usize, Trouble> {
        let mut height = 0;
        for (node, workflow) in graph.nodes.iter().flat_map(|node| node.kind.workflows().map(move |(id, _)| (node, id)))
        {
            match (self.library)(workflow) {
                Some(other) => height = height.max(1 + self.height(other)?),
                None if self.strictness == Strictness::Lenient => {}
                None => {
                    let first = unknown(node, workflow).message;
                    return Err(Trouble::Broken { which: graph.id.value.clone(), first });
                }
            }
        }
        Ok(height)
    }

    /// Returns the first fault that makes the graph unusable.
    fn first_fault(&self, graph: &Graph) -> Option<String> {
        if graph.broken.is_some() {
            return graph.broken.clone();
        }
        let stands = |fault: &Diagnostic| match self.strictness {
            Strictness::Strict => fault.is_error(),
            Strictness::Lenient => fault.is_error() && fault.repair.is_none(),
        };
        ruled(graph).into_iter().find(stands).map(|fault| fault.message)
    }
}

impl Trouble {
    fn of(&self, node: &Node, name: &str) -> Diagnostic {
        match self {
            Trouble::Cycle(round) => {
                let round = round.join(" → ");
                Diagnostic::error("subflow-cycle", format!("`{}` runs a workflow that runs itself: {round}", node.id))
                    .help("break the cycle: a workflow cannot run inside itself")
            }
            Trouble::Deep => Diagnostic::error(
                "subflow-cycle",
                format!("`{}` runs workflows within workflows, more than {MAX_SUBFLOW_DEPTH} levels deep", node.id),
            )
            .help("reduce the number of workflows that run one another"),
            Trouble::Broken { which, first } => {
                let which = clip(which);
                Diagnostic::error("broken-subflow", format!("`{}` runs `{which}`, which has faults: {first}", node.id))
                    .help(format!("check `{which}` by itself and fix it"))
            }
            Trouble::Hopeless => {
                let message = format!("`{}` runs `{}`, in which nothing leads to a success", node.id, clip(name));
                let fault = Diagnostic::error("subflow-without-success", message);
                fault.help("lead its work to an end with the result `success`").repaired("it fails each time")
            }
        }
    }
}
