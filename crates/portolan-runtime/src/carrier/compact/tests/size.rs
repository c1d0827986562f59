//! The length of tokens: of a very large workflow, at every call of an agent that follows it.

use expect_test::expect;
use portolan_core::run::{EffectResult, EventKind, moves};
use portolan_core::value::PASSED;
use tempfile::TempDir;

use super::*;
use crate::carrier::token::{Claims, Fingerprint, Tokens};
use crate::digest::Digest;
use crate::store::RunId;

/// The maximum number of characters of a token that an agent copies reliably.
const MOST: usize = 256;

/// Returns some variables of each kind, with defaults and without.
fn variables() -> Value {
    let variables = [
        ("ticket", "string", Value::Null),
        ("branch", "string", json!("main")),
        ("issue_platform", "string", json!("github")),
        ("risk", "string", json!("low")),
        ("packages", "array", json!([])),
        ("reviewers", "array", json!([])),
        ("pull_request", "number", Value::Null),
        ("coverage", "number", json!(0.5)),
        ("open_findings", "number", json!(5)),
        ("results", "object", json!({"passed": 0, "failed": 0})),
        ("is_breaking", "boolean", json!(false)),
        ("needs_migration", "boolean", json!(false)),
        ("docs_needed", "boolean", json!(true)),
        ("has_tests", "boolean", json!(false)),
        ("is_approved", "boolean", json!(false)),
    ];
    let variable = |(name, kind, default): (&str, &str, Value)| match default {
        Value::Null => json!({"name": name, "type": kind}),
        default => json!({"name": name, "type": kind, "default": default}),
    };
    variables.into_iter().map(variable).collect()
}

/// Returns the outputs of steps, by their numbers.
fn reported(activity: &str, step: &str) -> Option<Value> {
    Some(match (activity, step) {
        ("a1", "s2") => json!({"ticket": "PROJ-4821"}),
        ("a2", "s1") => json!({"branch": "fix/login-4821", "is_breaking": true}),
        ("a3", "s5") => json!({"packages": ["api", "core", "web", "cli"]}),
        ("a5", "s3") => json!({"results": {"passed": 212, "failed": 0}, "has_tests": true}),
        ("a6", "s4") => json!({"coverage": 0.83}),
        ("a8", "s2") => json!({"pull_request": 1291, "docs_needed": false}),
        ("a9", "s1") => json!({"reviewers": ["ada", "grace"]}),
        ("a11", "s3") => json!({"open_findings": 3}),
        _ => return None,
    })
}

/// Returns a workflow with twelve activities of five steps, ten questions, two loops, and conditional transitions.
fn large() -> String {
    let activities: Vec<Value> = (1..=12).map(activity).collect();
    let text = json!({
        "id": "work-package",
        "version": "3.4.0",
        "title": "Work package",
        "variables": variables(),
        "activities": activities,
    });
    text.to_string()
}

fn activity(nth: u32) -> Value {
    let step = |step: u32| json!({"id": format!("s{step}"), "kind": "step", "name": format!("Step {step} of {nth}")});
    let mut steps: Vec<Value> = (1..=5).map(step).collect();
    let mut repeat = |mut looping: Value| {
        looping["steps"] = steps.drain(..3).collect();
        steps.insert(0, looping);
    };
    match nth {
        4 => repeat(
            json!({"id": "each", "kind": "loop", "loopType": "forEach", "over": "packages", "variable": "package"}),
        ),
        11 => repeat(json!({"id": "until", "kind": "loop", "loopType": "doWhile", "condition": "open_findings > 0"})),
        _ => {}
    }
    if nth <= 10 {
        steps.push(question(nth));
    }
    let mut activity = json!({"id": format!("a{nth}"), "name": format!("Activity {nth}"), "steps": steps});
    if nth < 12 {
        let hopeless = json!({"type": "simple", "variable": "risk", "operator": "==", "value": "hopeless"});
        let next = format!("a{}", nth + 1);
        activity["transitions"] = json!([{"to": "a12", "condition": hopeless}, {"to": next, "isDefault": true}]);
    }
    activity
}

fn question(nth: u32) -> Value {
    let sets = if nth.is_multiple_of(2) { json!({"risk": "medium"}) } else { json!({"needs_migration": true}) };
    json!({
        "id": "ask",
        "kind": "checkpoint",
        "message": format!("Go on after {nth}?"),
        "options": [
            {"id": "go", "label": "Go on", "effect": {"setVariable": sets}},
            {"id": "short", "label": "Go on, without the last", "effect": {"skipActivities": ["a12"]}},
        ],
    })
}

struct Desk {
    tokens: Tokens,
    _folder: TempDir,
    workflow: Workflow,
    digest: Digest,
}

impl Desk {
    fn new() -> Desk {
        let folder = TempDir::new().expect("there is room for a directory");
        let text = large();
        let (workflow, digest) = (workflow(&[("work-package.json", &text)]), Digest::of(&text));
        Desk { tokens: Tokens::in_folder(folder.path()), _folder: folder, workflow, digest }
    }

    /// Returns the token of a run, after checking that it opens to the same run.
    fn token(&self, run: &Run) -> String {
        self.sealed(run, comes_back(&self.workflow, run))
    }

    /// The length of a token with the run as JSON in it, which is packed like any other state.
    fn as_json(&self, run: &Run) -> usize {
        self.sealed(run, serde_json::to_vec(run).expect("a run is JSON")).len()
    }

    fn sealed(&self, run: &Run, state: Vec<u8>) -> String {
        let claims = Claims {
            workflow: "work-package".to_owned(),
            version: Some("3.4.0".to_owned()),
            definition: Fingerprint::of(&self.digest),
            run: RunId::parse("k3mx8q2p").expect("a handle"),
            revision: run.revision,
            state,
        };
        let text = self.tokens.seal(&claims).expect("it is sealed");
        assert_eq!(self.tokens.open(&text).as_ref(), Ok(&claims));
        text
    }
}

/// Makes the first move that is offered, with the step's outputs.
fn obey(walk: &mut Walk<'_>, workflow: &Workflow) {
    let (path, frame) =
        walk.run.positions().first().map(|(path, frame)| (path.clone(), (*frame).clone())).expect("one");
    let offer = moves(workflow, &frame).into_iter().next().expect("something is offered");
    let revision = Some(frame.since);
    let what = match offer.outcome().cloned() {
        None => EventKind::Begun { revision },
        Some(outcome) => {
            let seat = workflow.root().step(frame.place.node()).node.seat.clone().expect("it stands in an activity");
            let activity = &workflow.root().activities[seat.activity].id;
            let outputs = reported(activity, &seat.id).filter(|_| outcome.as_str() == PASSED).map(Arc::new);
            EventKind::Reported { frame: path, outcome, revision, note: None, outputs }
        }
    };
    walk.happen(what).expect("what is offered can be done");
    while let Some(effect) = walk.run.passing() {
        walk.happen(effect.settled(EffectResult::Due, 0)).expect("what is pending can be done");
    }
}

/// Returns the lengths of all tokens of a walk and of their states, and the run after the last.
fn lengths(desk: &Desk, opening: &Opening, calls: usize) -> (Vec<(usize, usize)>, Run) {
    let mut walk = Walk::open(&desk.workflow, opening);
    let mut lengths = Vec::new();
    for _ in 0..calls {
        obey(&mut walk, &desk.workflow);
        lengths.push((desk.token(&walk.run).len(), comes_back(&desk.workflow, &walk.run).len()));
    }
    (lengths, walk.run)
}

fn sizes_text(lengths: &[(usize, usize)]) -> String {
    let line = |call: &usize| {
        let (token, state) = lengths[call - 1];
        format!("call {call}: {token} characters, {state} bytes of state\n")
    };
    let longest = lengths.iter().max().expect("there are calls").0;
    format!("{}longest: {longest} characters\n", [1, 30, 60, 90].iter().map(line).collect::<String>())
}

#[test]
fn a_token_at_call_90_of_a_large_workflow_has_at_most_256_characters() {
    let desk = Desk::new();
    let root = desk.workflow.root();
    let steps = root.steps.values().filter(|step| step.node.seat.as_ref().is_some_and(|seat| seat.number.is_some()));
    assert_eq!((root.activities.len(), root.variables.len()), (12, 15));
    assert!(steps.count() >= 60);
    let (lengths, run) = lengths(&desk, &Opening::of("work-package"), 90);
    // In the second loop, with most of the variables set.
    assert!(matches!(&run.root.place, Place::Looping { pass: 1.., .. }), "{:?}", run.root.place);
    expect![[r#"
        call 1: 145 characters, 8 bytes of state
        call 30: 241 characters, 80 bytes of state
        call 60: 241 characters, 81 bytes of state
        call 90: 253 characters, 87 bytes of state
        longest: 253 characters
    "#]]
    .assert_eq(&sizes_text(&lengths));
    assert!(lengths.iter().all(|(token, _)| *token <= MOST), "{lengths:?}");
}

/// Why the state is not JSON: with a general compression alone, tokens would be longer than an agent carries.
#[test]
fn a_token_with_the_run_as_json_is_longer_than_an_agent_carries() {
    let desk = Desk::new();
    let (lengths, run) = lengths(&desk, &Opening::of("work-package"), 90);
    let (compact, as_json) = (lengths[89].0, desk.as_json(&run));
    expect![[r#"
        compact: 253 characters, JSON and deflate: 669
    "#]]
    .assert_eq(&format!("compact: {compact} characters, JSON and deflate: {as_json}\n"));
    assert!(as_json > 400, "{as_json}: JSON would do");
}

#[test]
fn a_description_adds_its_own_length_and_little_else() {
    let desk = Desk::new();
    let description = "The login of two tenants times out when both are opened at..";
    assert_eq!(description.len(), 60);
    let opening = Opening { description: Some(description.to_owned()), ..Opening::of("work-package") };
    let (lengths, _) = lengths(&desk, &opening, 90);
    expect![[r#"
        call 1: 225 characters, 69 bytes of state
        call 30: 305 characters, 141 bytes of state
        call 60: 325 characters, 142 bytes of state
        call 90: 333 characters, 148 bytes of state
        longest: 333 characters
    "#]]
    .assert_eq(&sizes_text(&lengths));
}
