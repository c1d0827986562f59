//! Gates that check the results of the work, and the fields that each of them accepts.

use std::sync::Arc;

use super::stays_inside;
use crate::diagnostic::{Diagnostic, clip, list};
use crate::dialect::schemas;
use crate::graph::{Evidence, Fact, Graph, Node, Since, Variable, VariableKind, VariableOwner};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Span, Spanned, Tree};
use crate::value::NodeId;

/// The maximum number of patterns in one list.
const MAX_PATTERNS: usize = 64;
/// The maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 300;

/// The fields of a check besides its gate.
#[derive(Default)]
pub(super) struct With<'t> {
    must: Option<Vec<Spanned<String>>>,
    may: Option<Vec<Spanned<String>>>,
    must_not: Option<Vec<Spanned<String>>>,
    path: Option<Spanned<String>>,
    name: Option<Spanned<String>>,
    schema: Option<&'t Tree>,
    since: Option<Since>,
}

/// The fields, each with the gates that accept it.
const TAKEN: [(&str, &[&str]); 7] = [
    ("must", &["changed"]),
    ("may", &["changed"]),
    ("mustNot", &["changed"]),
    ("path", &["file", "json"]),
    ("name", &["output"]),
    ("schema", &["json", "output"]),
    (
        "since",
        &[
            "changed",
            "commit",
            "tests-touched",
            "tests-not-weakened",
            "no-conflict-marks",
            "file",
            "json",
            "reviewed-by-another",
        ],
    ),
];

impl<'t> With<'t> {
    pub(super) fn read(fields: &mut Fields<'t>, faults: &mut FaultList) -> With<'t> {
        let mut patterns = |key: &'static str| {
            let found = fields.has(key).then(|| fields.strings(key, faults));
            fields.ignored(&[key]);
            found
        };
        let (must, may, must_not) = (patterns("must"), patterns("may"), patterns("mustNot"));
        With {
            must,
            may,
            must_not,
            path: fields.string("path", faults),
            name: fields.string("name", faults),
            schema: fields.optional("schema"),
            since: fields.choice("since", &[("step", Since::Step), ("run", Since::Run)], faults),
        }
    }

    fn given(&self) -> impl Iterator<Item = &'static str> {
        let is_given = [
            self.must.is_some(),
            self.may.is_some(),
            self.must_not.is_some(),
            self.path.is_some(),
            self.name.is_some(),
            self.schema.is_some(),
            self.since.is_some(),
        ];
        TAKEN.iter().zip(is_given).filter(|(_, is_given)| *is_given).map(|((field, _), _)| *field)
    }

    /// Reports the given fields that the gate does not accept.
    pub(super) fn refused(&self, gate: Option<&str>, id: &str, span: Span) -> Option<Diagnostic> {
        let takes = |field: &str| {
            gate.is_some_and(|gate| TAKEN.iter().any(|(known, by)| *known == field && by.contains(&gate)))
        };
        let foreign: Vec<&str> = self.given().filter(|field| !takes(field)).collect();
        if foreign.is_empty() {
            return None;
        }
        let message = format!("check `{}` has {}, which this kind of check does not take", clip(id), list(&foreign));
        let taken: Vec<&str> = TAKEN
            .iter()
            .filter(|(_, by)| gate.is_some_and(|gate| by.contains(&gate)))
            .map(|(field, _)| *field)
            .collect();
        let help = match (gate, taken.as_slice()) {
            (Some(gate), []) => format!("remove it: `{gate}` takes no other fields"),
            (Some(gate), taken) => format!("`{gate}` takes {}", list(taken)),
            (None, _) => "remove it: it belongs to a gate that checks what the work has produced".to_owned(),
        };
        Some(Diagnostic::error("bad-check", message).at(span).help(help))
    }
}

/// Returns the evidence that a gate checks; `None` if it checks none, or its fields have a fault.
pub(super) fn of(gate: &str, with: &With<'_>, (id, span): (&str, Span), faults: &mut FaultList) -> Option<Evidence> {
    let fact = match gate {
        "changed" => changed(with, faults)?,
        "commit" => Fact::Commit,
        "pushed" => Fact::Pushed,
        "tests-touched" => Fact::TestsTouched,
        "tests-not-weakened" => Fact::TestsNotWeakened,
        "no-conflict-marks" => Fact::NoConflictMarks,
        "file" => Fact::File { path: path(with, (id, span), faults)?, schema: None },
        "json" => {
            let (path, schema) = (path(with, (id, span), faults), form(with, (id, span), faults));
            Fact::File { path: path?, schema: Some(schema?) }
        }
        "output" => output(with, (id, span), faults)?,
        "reviewed-by-another" => Fact::ReviewedByAnother,
        "person" => Fact::Person,
        _ => return None,
    };
    let since = with.since.unwrap_or(fact.usually_since());
    Some(Evidence { fact, since })
}

fn changed(with: &With<'_>, faults: &mut FaultList) -> Option<Fact> {
    let before = faults.0.len();
    let mut patterns = |key: &str, given: &Option<Vec<Spanned<String>>>| -> Vec<String> {
        let given = given.as_deref().unwrap_or_default();
        if let Some(extra) = given.get(MAX_PATTERNS) {
            let message = format!("`{key}` has {} patterns, more than the limit of {MAX_PATTERNS}", given.len());
            faults.push(Diagnostic::error("too-large", message).at(extra.span).help("use `**` for any folders"));
        }
        for pattern in given.iter().take(MAX_PATTERNS) {
            if !stays_inside(&pattern.value) || pattern.value.len() > MAX_PATTERN_BYTES {
                let message = format!("`{}` in `{key}` is not a path pattern", clip(&pattern.value));
                let help = "write a path relative to the repository, with `*` within a name and `**` for any folders";
                faults.push(Diagnostic::error("bad-check", message).at(pattern.span).help(help));
            }
        }
        given.iter().map(|pattern| pattern.value.clone()).collect()
    };
    let must = patterns("must", &with.must);
    let may = patterns("may", &with.may);
    let must_not = patterns("mustNot", &with.must_not);
    let fact = Fact::Changed { must, may: with.may.is_some().then_some(may), must_not };
    (faults.0.len() == before).then_some(fact)
}

fn path(with: &With<'_>, (id, span): (&str, Span), faults: &mut FaultList) -> Option<String> {
    let fault = match &with.path {
        Some(path) if stays_inside(&path.value) => return Some(path.value.clone()),
        Some(path) => Diagnostic::error(
            "bad-check",
            format!("check `{}` refers to `{}`, which may be outside the project", clip(id), clip(&path.value)),
        )
        .at(path.span)
        .help("write a path relative to the project, without `..`"),
        None => Diagnostic::error("bad-check", format!("check `{}` does not say which file", clip(id)))
            .at(span)
            .help("add its `path`, relative to the project"),
    };
    faults.push(fault);
    None
}

fn form(with: &With<'_>, (id, span): (&str, Span), faults: &mut FaultList) -> Option<Arc<serde_json::Value>> {
    let Some(tree) = with.schema else {
        let message = format!("check `{}` has no `schema`", clip(id));
        let help = "add one, as in `\"schema\": {\"type\": \"object\", \"required\": [\"steps\"]}`";
        faults.push(Diagnostic::error("bad-check", message).at(span).help(help));
        return None;
    };
    schemas::compiled(tree, "schema", &format!("check `{}`", clip(id)), faults)?;
    Some(Arc::new(tree.value()))
}

fn output(with: &With<'_>, (id, span): (&str, Span), faults: &mut FaultList) -> Option<Fact> {
    let schema = form(with, (id, span), faults);
    let Some(name) = &with.name else {
        let message = format!("check `{}` does not say which value the report must give", clip(id));
        faults
            .push(Diagnostic::error("bad-check", message).at(span).help("add its `name`, as in `\"name\": \"plan\"`"));
        return None;
    };
    let schema = schema?;
    let mut wrong = |message: String, span: Span, help: &str| {
        faults.push(Diagnostic::error("bad-check", message).at(span).help(help));
        None
    };
    if !is_name(&name.value) {
        let message = format!("`{}` cannot be the name of a value", clip(&name.value));
        return wrong(message, name.span, "write up to 64 letters, digits, `_` and `-`, as in `plan`");
    }
    if kind(&schema).is_none() {
        let at = with.schema.map_or(span, |tree| tree.span);
        let message = format!("the `schema` of check `{}` does not say which type the value has", clip(id));
        let help = "give it a `type`: `object`, `array`, `string`, `number` or `boolean`";
        return wrong(message, at, help);
    }
    Some(Fact::Output { name: name.value.clone(), schema })
}

fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Returns the kind of variable for the values that a schema describes.
fn kind(schema: &serde_json::Value) -> Option<VariableKind> {
    match schema.get("type")?.as_str()? {
        "object" => Some(VariableKind::Object),
        "array" => Some(VariableKind::Array),
        "string" => Some(VariableKind::String),
        "number" | "integer" => Some(VariableKind::Number),
        "boolean" => Some(VariableKind::Boolean),
        _ => None,
    }
}

/// Returns a graph with the variables declared that its checks require and nothing else declares.
pub(in crate::dialect) fn declared(mut graph: Graph, faults: &mut FaultList) -> Graph {
    declare(&mut graph, false, faults);
    graph
}

/// Declares the variables that checks require and nothing else declares, either for the definition's own checks or for
/// the attached ones.
pub(super) fn declare(graph: &mut Graph, attached: bool, faults: &mut FaultList) {
    let wanted = graph.nodes.iter().flat_map(|node| wanted(node, attached));
    let wanted: Vec<(NodeId, Span, String, VariableKind)> = wanted.collect();
    for (node, span, name, kind) in wanted {
        let Some(variable) = graph.variables.iter_mut().find(|variable| variable.name.value == name) else {
            graph.variables.push(Variable {
                name: Spanned { value: name, span },
                kind,
                description: None,
                default: None,
                required: false,
                keeper: VariableOwner::Anyone,
                only_at: Some(vec![node]),
            });
            continue;
        };
        if variable.kind != kind {
            let message = format!(
                "`{name}` is {} according to the `schema` of a check, but {} elsewhere",
                kind.described(),
                variable.kind.described()
            );
            let help = "use the same type in both places, or give the value another name";
            faults.push(Diagnostic::error("bad-check", message).at(span).help(help));
        }
        if let Some(nodes) = variable.only_at.as_mut().filter(|nodes| !nodes.contains(&node)) {
            nodes.push(node);
        }
    }
}

fn wanted(node: &Node, attached: bool) -> impl Iterator<Item = (NodeId, Span, String, VariableKind)> {
    node.accept.iter().filter(move |check| check.attached == attached).filter_map(|check| {
        let (name, schema) = check.by.evidence()?.fact.output()?;
        Some((node.id.clone(), check.span, name.to_owned(), kind(schema)?))
    })
}
