//! Lowers the syntax tree of phases to the graph.
//!
//! ```text
//! start ─ first phase ─ … ─ last phase ─ done          a phase with `back` also leads there when its work has failed
//! ```

use std::collections::BTreeMap;

use super::super::checks;
use super::order::{order, unknown};
use super::syntax::{self, Field};
use crate::diagnostic::{Diagnostic, clip, list};
use crate::dialect::{File, Strictness};
use crate::graph::{Brief, CheckBy, Edge, EndResult, Gate, Graph, Kind, Node, Phase, Trigger, Variable, VariableOwner};
use crate::source::fields::FaultList;
use crate::source::{Source, Span, Spanned, Tree};
use crate::value::{NodeId, Outcome};

/// The default of how many times a run may go back.
pub(super) const DEFAULT_CAP: u32 = 5;

/// Lowers a parsed file of phases.
///
/// Returns a graph whenever the phases form one sequence, even with other faults.
pub(super) fn lower(source: &Source, tree: &Tree, _: Strictness) -> File {
    let mut faults = FaultList::default();
    let file = syntax::read(tree, &mut faults);
    let graph = file.and_then(|file| lower_file(source, &file, &mut faults));
    // The dialect is our own: there is no other program whose leniency could be followed.
    faults.0.iter_mut().for_each(|fault| fault.repair = None);
    File::of(graph, faults.0)
}

fn lower_file(source: &Source, file: &syntax::File, faults: &mut FaultList) -> Option<Graph> {
    let order = order(&file.phases, faults)?;
    let places: BTreeMap<&str, usize> =
        order.iter().enumerate().map(|(at, phase)| (file.phases[*phase].id.value.as_str(), at)).collect();
    let names = Names::of(&places);
    let phases: Vec<&syntax::Phase> = order.iter().map(|at| &file.phases[*at]).collect();
    let backs = backs(&phases, &places, faults);
    let counted_at = backs.iter().position(Option::is_some).map(|at| phases[at].id.value.clone());
    let cap = file.cap.as_ref().map_or(DEFAULT_CAP, |cap| cap.value);
    let mut nodes = vec![invented(&names.start, "Start", Kind::Start)];
    let mut edges = Vec::new();
    let mut from = Spanned { value: names.start.clone(), span: Span::default() };
    for (phase, back) in phases.iter().zip(&backs) {
        let id = Spanned { value: NodeId::from(phase.id.value.as_str()), span: phase.id.span };
        edges.push(edge(from, id.clone(), Trigger::Done));
        if let Some(back) = back {
            let failed = Trigger::Outcome(Spanned { value: Outcome::failed(), span: back.span });
            edges.push(edge(id.clone(), Spanned { value: back.value.as_str().into(), span: back.span }, failed));
        }
        nodes.push(node(phase, back.as_ref(), cap, counted_at.as_deref()));
        from = id;
    }
    edges.push(edge(from, Spanned { value: names.done.clone(), span: Span::default() }, Trigger::Done));
    nodes.push(invented(&names.done, "Done", Kind::End { result: EndResult::Success, escalation: None }));
    let variables: Vec<Variable> = file.fields.iter().map(|field| variable(field, &phases, &places, faults)).collect();
    claimed(&phases, &variables, faults);
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    let id = workflow_id(source, file, faults);
    let graph = Graph {
        name: text(&file.title).unwrap_or_else(|| id.value.clone()),
        description: text(&file.description).unwrap_or_default(),
        nodes,
        edges,
        unread: file.unread.iter().map(|id| NodeId::from(id.as_str())).collect(),
        version: text(&file.version),
        variables,
        call_rules: file.call_rules.clone(),
        ..Graph::new(id)
    };
    Some(checks::declared(graph, faults))
}

/// The ids of the nodes that are no phases.
struct Names {
    start: NodeId,
    done: NodeId,
}

impl Names {
    fn of(places: &BTreeMap<&str, usize>) -> Names {
        let free = |wanted: &str| {
            let mut name = wanted.to_owned();
            while places.contains_key(name.as_str()) {
                name.push('_');
            }
            NodeId::from(name)
        };
        Names { start: free("start"), done: free("done") }
    }
}

/// Returns the phase to which each phase goes back, which must be an earlier one.
fn backs(
    phases: &[&syntax::Phase],
    places: &BTreeMap<&str, usize>,
    faults: &mut FaultList,
) -> Vec<Option<Spanned<String>>> {
    let mut back = |(at, phase): (usize, &&syntax::Phase)| {
        let back = phase.back.as_ref()?;
        match places.get(back.value.as_str()) {
            Some(to) if *to < at => return Some(back.clone()),
            Some(_) => {
                let message =
                    format!("`{}` goes back to `{}`, which does not come before it", phase.id.value, back.value);
                faults.push(Diagnostic::error("back-is-ahead", message).at(back.span).help("name an earlier phase"));
            }
            None => faults.push(unknown(&back.value, back.span, "`back`", places)),
        }
        None
    };
    phases.iter().enumerate().map(&mut back).collect()
}

fn node(phase: &syntax::Phase, back: Option<&Spanned<String>>, cap: u32, counted_at: Option<&str>) -> Node {
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    let id = NodeId::from(phase.id.value.as_str());
    let counted_at = counted_at.map_or_else(|| id.clone(), NodeId::from);
    let back = back.map(|back| NodeId::from(back.value.as_str()));
    Node {
        name: text(&phase.title).unwrap_or_else(|| phase.id.value.clone()),
        brief: Brief { description: text(&phase.description), instructions: text(&phase.prompt), ..Brief::default() },
        accept: phase.accept.clone(),
        phase: Some(Box::new(Phase { back, cap, counted_at })),
        tools: phase.tools.clone(),
        call_rules: phase.call_rules.clone(),
        ..Node::new(id, phase.id.span, Kind::Work { gate: false, outputs: Vec::new() })
    }
}

fn invented(id: &NodeId, name: &str, kind: Kind) -> Node {
    Node { name: name.to_owned(), ..Node::new(id.clone(), Span::default(), kind) }
}

fn edge(from: Spanned<NodeId>, to: Spanned<NodeId>, on: Trigger) -> Edge {
    let span = from.span;
    Edge { from, to, on, label: None, span }
}

/// Returns the variable of a field, with the phases at which it may be set.
fn variable(
    field: &Field,
    phases: &[&syntax::Phase],
    places: &BTreeMap<&str, usize>,
    faults: &mut FaultList,
) -> Variable {
    let mut place = |named: &Option<Spanned<String>>, by: &str, usual: usize| {
        let Some(named) = named else { return usual };
        places.get(named.value.as_str()).copied().unwrap_or_else(|| {
            faults.push(unknown(&named.value, named.span, by, places));
            usual
        })
    };
    let (first, last) = (place(&field.from, "`from`", 0), place(&field.until, "`until`", phases.len() - 1));
    if first > last {
        let message = format!("field `{}` begins at a phase that comes after its last one", clip(&field.name.value));
        faults
            .push(Diagnostic::error("back-is-ahead", message).at(field.name.span).help("exchange `from` and `until`"));
    }
    let limited = field.from.is_some() || field.until.is_some();
    let nodes = phases.iter().skip(first).take((last + 1).saturating_sub(first));
    Variable {
        name: field.name.clone(),
        kind: field.kind,
        description: field.description.as_ref().map(|text| text.value.clone()),
        default: field.default.clone(),
        required: false,
        keeper: VariableOwner::Anyone,
        only_at: limited.then(|| nodes.map(|phase| NodeId::from(phase.id.value.as_str())).collect()),
    }
}

/// Reports gates that check a claim without a field in which it can be made by then.
fn claimed(phases: &[&syntax::Phase], variables: &[Variable], faults: &mut FaultList) {
    let names: Vec<&str> = variables.iter().map(|variable| variable.name.value.as_str()).collect();
    for (at, phase) in phases.iter().enumerate() {
        for check in &phase.accept {
            let CheckBy::Gate { name } = &check.by else { continue };
            let Some(claim) = Gate::named(name).and_then(|gate| gate.claim) else { continue };
            let Some(field) = variables.iter().find(|variable| variable.name.value == claim) else {
                let message = format!("`{name}` of phase `{}` checks `{claim}`, which is not a field", phase.id.value);
                let known = match names.as_slice() {
                    [] => String::new(),
                    names => format!(" (there are {})", list(names)),
                };
                let help = format!("add it to `fields`: `{claim}: {{ type: …, until: {} }}`{known}", phase.id.value);
                faults.push(Diagnostic::error("gate-without-claim", message).at(check.span).help(help));
                continue;
            };
            if let Some(first) = given_later(field, &phases[..=at]) {
                let phase = &phase.id.value;
                let message = format!(
                    "`{name}` of phase `{phase}` checks `{claim}`, which cannot be given before phase `{first}`"
                );
                let help = format!("allow it earlier with `from: {phase}`, or remove `from`");
                faults.push(Diagnostic::error("claimed-too-late", message).at(check.span).help(help));
            }
        }
    }
}

/// Returns the first phase at which a field can be set, if it has no value by the last of these phases.
fn given_later<'v>(field: &'v Variable, phases: &[&syntax::Phase]) -> Option<&'v NodeId> {
    let at = field.only_at.as_ref().filter(|_| field.default.is_none())?;
    let by_then = at.iter().any(|node| phases.iter().any(|phase| phase.id.value == node.as_str()));
    at.first().filter(|_| !by_then)
}

/// Returns the id of the workflow: the name of its file, by which it is started, whatever id the text has.
fn workflow_id(source: &Source, file: &syntax::File, faults: &mut FaultList) -> Spanned<String> {
    let own = file.id.clone().unwrap_or_else(|| Spanned { value: "phases".to_owned(), span: Span::default() });
    let Some(name) = source.stem().filter(|name| *name != own.value) else { return own };
    if file.id.is_some() {
        let message =
            format!("the workflow has the id `{}`, but its file is called `{}`", clip(&own.value), clip(name));
        let fault = Diagnostic::warning("id-file-name", message).at(own.span);
        faults.push(fault.help("use the name of its file as `id`: the workflow is started by that name"));
    }
    Spanned { value: name.to_owned(), span: own.span }
}
