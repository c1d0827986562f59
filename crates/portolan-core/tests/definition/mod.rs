//! What must hold of every definition, whatever its text. The property tests and the fuzz target both call it.

use std::collections::BTreeSet;

use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::{Exits, FailureHandling, Flow, Graph, Kind, Workflow};
use portolan_core::source::Source;
use portolan_core::validate;
use portolan_core::value::{NodeId, WorkflowId};

/// Reads any bytes as a definition, strictly and leniently.
///
/// # Panics
/// When reading them breaks a promise of the crate.
pub(crate) fn reads(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let json = "flows/fuzzed.json";
    for (name, strictness) in
        [(json, Strictness::Strict), (json, Strictness::Lenient), ("flows/fuzzed.yaml", Strictness::Lenient)]
    {
        read(&Source::new(name, &text), strictness);
    }
}

/// Reads and checks one text, and looks at all that comes out. The text may run itself as a subflow.
pub(crate) fn read(source: &Source, strictness: Strictness) -> (Option<Workflow>, Vec<Diagnostic>) {
    let (graph, mut faults) = dialect::parse(source, strictness).first();
    let Some(graph) = graph else {
        assert!(faults.iter().any(Diagnostic::is_error), "nothing is refused without an error");
        look_at_faults(source, &faults);
        return (None, faults);
    };
    // In a file of several graphs they may be another one's.
    let are_others = faults.iter().any(Diagnostic::is_error) && source.text.contains("tools");
    let itself = |name: &str| -> Option<&Graph> { (name == graph.id.value).then_some(&graph) };
    let (workflow, found) = validate::validate(&graph, &itself, strictness);
    faults.extend(found);
    look_at_faults(source, &faults);
    let errors = faults.iter().any(Diagnostic::is_error);
    assert!(
        workflow.is_none() == errors || are_others,
        "a workflow comes out exactly when there is no error: {faults:?}"
    );
    if let Some(workflow) = &workflow {
        look_at_workflow(workflow, strictness);
    }
    (workflow, faults)
}

fn look_at_faults(source: &Source, faults: &[Diagnostic]) {
    let codes: BTreeSet<&str> = portolan_core::codes().iter().map(|code| code.code).collect();
    for fault in faults {
        assert!(codes.contains(fault.code), "`{}` is not in the table of codes", fault.code);
        for text in [Some(&fault.message), fault.help.as_ref()].into_iter().flatten() {
            assert!(!text.is_empty() && !text.contains(char::is_control), "not one clean line: {text:?}");
            assert!(text.len() < 4_000, "a message of {} bytes is not a sentence", text.len());
        }
        if let Some(span) = fault.span {
            let text = &source.text;
            assert!(span.start <= span.end && span.end <= text.len(), "{fault:?} stands outside of the text");
            assert!(
                text.is_char_boundary(span.start) && text.is_char_boundary(span.end),
                "{fault:?} splits a character"
            );
        }
    }
}

fn look_at_workflow(workflow: &Workflow, strictness: Strictness) {
    assert!(workflow.flows().next().is_some_and(|(id, _)| id == workflow.id()), "the root comes first");
    for (_, flow) in workflow.flows() {
        look_at_flow(workflow, flow, strictness);
    }
}

fn look_at_flow(workflow: &Workflow, flow: &Flow, strictness: Strictness) {
    assert!(flow.step(&flow.start).node.kind == Kind::Start, "a flow begins at a start");
    for (id, step) in &flow.steps {
        assert_eq!(*id, step.node.id);
        for target in targets(&step.exits) {
            assert!(flow.steps.contains_key(target), "`{id}` leads to `{target}`, which is not there");
        }
        let outcomes: Vec<_> = step.exits.outcomes().collect();
        assert_eq!(outcomes.iter().collect::<BTreeSet<_>>().len(), outcomes.len(), "`{id}` has an outcome twice");
        assert!(outcomes[1..].iter().all(|outcome| outcome.as_str() != "passed"), "`passed` stands first at `{id}`");
        match &step.node.kind {
            Kind::End { .. } => assert!(step.exits.on.is_empty(), "the end `{id}` leads on"),
            Kind::Fork { join, .. } => {
                assert!(matches!(&flow.step(&join.value).node.kind, Kind::Join { fork, .. } if fork.value == *id));
                assert!(!step.exits.branches.is_empty(), "the fork `{id}` opens nothing");
            }
            Kind::Subflow { workflow: name, .. } => {
                let name = WorkflowId::from(name.value.as_str());
                assert!(workflow.flows().any(|(flow, _)| *flow == name), "the subflow `{id}` runs nothing");
            }
            Kind::Each(each) => {
                let name = WorkflowId::from(each.workflow.value.as_str());
                assert!(workflow.flows().any(|(flow, _)| *flow == name), "`{id}` runs nothing for its items");
            }
            Kind::Switch if !step.exits.guards.is_empty() => {}
            _ => {
                assert!(!step.exits.on.is_empty(), "`{id}` leads nowhere");
            }
        }
    }
    if strictness == Strictness::Strict {
        let starts = flow.steps.values().filter(|step| step.node.kind == Kind::Start).count();
        assert_eq!(starts, 1, "a flow that was checked strictly has one start");
    }
}

fn targets(exits: &Exits) -> impl Iterator<Item = &NodeId> {
    let failing = match &exits.failing {
        FailureHandling::Stays | FailureHandling::Ends => [None, None],
        FailureHandling::Leads(to) | FailureHandling::Caught(to) => [Some(to), None],
        FailureHandling::Retries { to, exhausted, .. } => [Some(to), exhausted.as_ref()],
    };
    exits.on.iter().map(|(_, to)| to).chain(&exits.branches).chain(failing.into_iter().flatten())
}
