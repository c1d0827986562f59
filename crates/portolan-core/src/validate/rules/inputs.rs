//! A workflow that another one runs receives the variables that it requires.

use super::Code;
use crate::diagnostic::{Diagnostic, clip};
use crate::graph::{Graph, Kind, Node, Variable};
use crate::validate::Library;

pub(super) const CODES: &[Code] = &[Code {
    code: "missing-input",
    what: "A workflow requires a variable, and the step that runs it passes no value, or a value of another type. The \
           workflow could not begin.",
    fix: "Name the variable in `passContext` and declare it with the same type in both workflows, or give it a \
          `default` in the workflow that requires it.",
}];

pub(in crate::validate) fn check<'g>(graph: &'g Graph, library: Library<'g>, faults: &mut Vec<Diagnostic>) {
    for node in &graph.nodes {
        let Kind::Subflow { workflow, args: None, context } = &node.kind else { continue };
        let Some(other) = library(&workflow.value).filter(|other| other.interface.is_none()) else { continue };
        let required = other.variables.iter().filter(|variable| variable.required && variable.default.is_none());
        let missing = required.filter_map(|wanted| missing(graph, node, other, wanted, context));
        faults.extend(missing.map(|fault| if graph.advised { fault.lenient() } else { fault }));
    }
}

fn missing(graph: &Graph, node: &Node, other: &Graph, wanted: &Variable, context: &[String]) -> Option<Diagnostic> {
    let (id, name) = (clip(&other.id.value), wanted.name.value.as_str());
    let handed = context.iter().any(|handed| handed == name);
    let own = graph.variables.iter().find(|variable| variable.name.value == name).filter(|_| handed);
    let (message, help) = match own {
        // The dialect reports a variable that is passed without being declared.
        None if handed => return None,
        None => (
            format!("`{}` runs `{id}`, which requires `{}`, but does not pass it", node.id, clip(name)),
            format!("name `{}` in `passContext`, or give it a default in `{id}`", clip(name)),
        ),
        Some(own) if wanted.kind.may_take_of(own.kind) => return None,
        Some(own) => (
            format!(
                "`{}` runs `{id}`, which takes `{}` as {}, but here it is {}",
                node.id,
                clip(name),
                wanted.kind.described(),
                own.kind.described()
            ),
            "declare it with the same type in both".to_owned(),
        ),
    };
    let fault = Diagnostic::error("missing-input", message).at(node.span).help(help);
    Some(fault.repaired("a run that gets there waits for a person"))
}
