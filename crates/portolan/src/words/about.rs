//! Texts that both sets of tools share: the rules of an activity, the checks of a step, and the given value.
//!
//! An agent that has lost its context has only the response that it reads, so every response contains them all.

use portolan_core::graph::{CheckBy, Fact};
use portolan_core::present::{ActivityView, Situation};
use portolan_runtime::service::lifted_by;
use serde_json::Value;

/// The most characters shown of the value that a function gives to an agent's workflow.
const MAX_GIVEN_CHARS: usize = 8_000;

/// The most bytes shown of a schema.
const MAX_SCHEMA_BYTES: usize = 2_000;

/// Returns the blocks about the step's activity, each with its title.
pub(super) fn about(situation: &Situation) -> Vec<String> {
    let Some(activity) = &situation.work.activity else { return Vec::new() };
    let ActivityView { rules, outcome, keep, notes, artifacts, .. } = activity;
    let blocks = [
        line("About", activity.description.as_slice()),
        lines("Rules", rules),
        lines("Done means", outcome),
        lines("Keep in mind", keep),
        lines("Notes", notes),
        lines("Artifacts", artifacts),
        line("Done with", &activity.means),
        line("Takes", activity.time.as_slice()),
    ];
    blocks.into_iter().flatten().collect()
}

fn lines(title: &str, texts: &[String]) -> Option<String> {
    let lines: String = texts.iter().map(|text| format!("\n- {text}")).collect();
    (!texts.is_empty()).then(|| format!("{title}:{lines}"))
}

fn line(title: &str, texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| format!("{title}: {}", texts.join(", ")))
}

/// Returns the checks that decide whether a reported outcome is accepted.
pub(super) fn checks(situation: &Situation) -> Option<String> {
    if situation.checks.is_empty() {
        return None;
    }
    let mut lines = vec!["Checked when you report it done:".to_owned()];
    lines.extend(situation.checks.iter().map(|check| match &check.by {
        CheckBy::Run { argv, .. } => format!("- {}: `{}` exits with status 0", check.id, argv.join(" ")),
        CheckBy::File { path } => format!("- {}: the file `{path}` exists and is not empty", check.id),
        CheckBy::Project { name } => format!("- {}: the project's check `{name}` holds", check.id),
        CheckBy::Gate { name } => format!("- {}: the repository satisfies `{name}`", check.id),
        CheckBy::Evidence(evidence) => format!("- {}: {}{}", check.id, evidence.description(), schema(&evidence.fact)),
    }));
    if let Some(untrusted) = &situation.untrusted {
        let lift = lifted_by(untrusted);
        lines.push(format!("These commands are not trusted yet, so it cannot pass: {lift}."));
    }
    Some(lines.join("\n"))
}

/// Returns the tools that may be used at the step, or `None` if all may.
pub(super) fn tools(situation: &Situation) -> Option<String> {
    let rules = situation.work.tools.as_ref()?;
    let listed = |patterns: &[String]| patterns.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let allow = rules.allow.as_ref().map(|allow| match allow.as_slice() {
        [] => "No tools are allowed at this step.".to_owned(),
        allow => format!("Only these tools are allowed at this step: {}.", listed(allow)),
    });
    let deny = (!rules.deny.is_empty()).then(|| format!("Not allowed at this step: {}.", listed(&rules.deny)));
    Some([allow, deny].into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

/// Returns the JSON Schema that a value or a file must satisfy.
fn schema(fact: &Fact) -> String {
    match fact {
        Fact::Output { name, schema } => {
            format!("; pass it in `outputs` as `{{\"{name}\": …}}`, matching the schema `{}`", shortened(schema))
        }
        Fact::File { schema: Some(schema), .. } => format!(": `{}`", shortened(schema)),
        _ => String::new(),
    }
}

fn shortened(schema: &Value) -> String {
    let text = schema.to_string();
    let end = text.floor_char_boundary(MAX_SCHEMA_BYTES.min(text.len()));
    if end < text.len() { format!("{}…", &text[..end]) } else { text }
}

/// Returns the value that a function gave to the workflow.
pub(super) fn given(situation: &Situation) -> Option<String> {
    let shown = situation.given.as_ref()?.to_string();
    Some(match shown.char_indices().nth(MAX_GIVEN_CHARS) {
        Some((end, _)) => format!("Given (the first {MAX_GIVEN_CHARS} characters): {}", &shown[..end]),
        None => format!("Given: {shown}"),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use portolan_core::dialect::{self, Strictness};
    use portolan_core::engine::open;
    use portolan_core::graph::Workflow;
    use portolan_core::present::{Viewer, situation};
    use portolan_core::run::{Opening, Run};
    use portolan_core::source::Source;
    use portolan_core::validate;

    use super::*;

    const ACTIVITY: &str = "id: w\nversion: 1.0.0\ntitle: T\nvariables: []\nactivities:\n  - id: a\n    \
                            steps: [{ id: s, name: S }]\n";

    fn workflow() -> Workflow {
        let (graph, faults) = dialect::parse(&Source::new("w.yaml", ACTIVITY), Strictness::Strict).first();
        let graph = graph.unwrap_or_else(|| panic!("{faults:?}"));
        validate::validate(&graph, &|_| None, Strictness::Strict).0.expect("it is sound")
    }

    #[test]
    fn all_that_counts_is_told_and_nothing_else() {
        let workflow = workflow();
        let opening = Opening::of(workflow.id().clone());
        let run = Run::fold(&open(&workflow, &opening).expect("it can be opened")).expect("it is open");
        let mut situation = situation(&workflow, &run, &Viewer::default());
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        situation.work.activity = Some(ActivityView {
            id: "a".to_owned(),
            name: "A".to_owned(),
            description: Some("Look at PR-7.".to_owned()),
            rules: texts(&["Ask.", "Change nothing."]),
            outcome: texts(&["PR-7 is understood"]),
            keep: Vec::new(),
            notes: texts(&["It may be old."]),
            artifacts: texts(&[".planning/PR-7.md"]),
            means: texts(&["debug", "read::code"]),
            time: Some("1-4h".to_owned()),
        });
        expect![[r#"
            About: Look at PR-7.
            Rules:
            - Ask.
            - Change nothing.
            Done means:
            - PR-7 is understood
            Notes:
            - It may be old.
            Artifacts:
            - .planning/PR-7.md
            Done with: debug, read::code
            Takes: 1-4h
        "#]]
        .assert_eq(&(about(&situation).join("\n") + "\n"));
        situation.work.activity = None;
        assert!(about(&situation).is_empty());
    }
}
