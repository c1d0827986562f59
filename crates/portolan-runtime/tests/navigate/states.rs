//! What agents hold: handles with revisions, tokens, tokens with a ledger. Each mistake has a code of its own.

use expect_test::expect;
use portolan_runtime::service::{Act, Open, Report, Request, RunCarrier, ServiceError, States};
use portolan_runtime::store::ListFilter;
use serde_json::json;

use crate::common::{agent, wait};
use crate::walker::{Led, act, begin, json_of, look, obey, outputs, required, send, sound, world};

const ID: &str = "pull-request-review";

fn refusal_text(refused: &ServiceError) -> String {
    let situated = if refused.view.is_some() { "situated" } else { "no situation" };
    format!("{}: {}\nhelp: {}\n{situated}\n", refused.code, refused.message, refused.help)
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, ServiceError>) -> ServiceError {
    answer.expect_err("it is refused")
}

#[test]
fn who_obeys_comes_to_the_end_with_whatever_it_holds() {
    let mut walks = Vec::new();
    for states in [States::Handles, States::Tokens, States::Ledger] {
        let world = world(ID, &sound("activity-sound"), states);
        let (told, end) = obey(&world, begin(&world, ID, json!({ "findings": ["one", "two"] })));
        assert!(end.guidance().message.contains("success"), "{}", end.guidance().message);
        walks.push(told);
        let runs = wait(world.service().store().list(ListFilter::default())).expect("a list").len();
        assert_eq!(runs, usize::from(states != States::Tokens), "{states:?}");
    }
    assert!(walks.windows(2).all(|pair| pair[0] == pair[1]), "{walks:#?}");
    expect![[r#"
        Intake · step 1: Read the pull request
        Intake
        Intake · step 2: Skim related issues
        Review · step 1: List the findings
        Review · step 1: Answer one · Findings, pass 1 of 2, one
        Review · Findings, pass 1 of 2, one
        Review · step 1: Answer two · Findings, pass 2 of 2, two
        Review · Findings, pass 2 of 2, two
        Publish · step 1: Post the review
        Wrap up · step 1: Note what was learnt"#]]
    .assert_eq(&walks[0].join("\n"));
}

#[test]
fn reading_gives_the_same_to_the_byte() {
    for states in [States::Handles, States::Tokens, States::Ledger] {
        let world = world(ID, &sound("activity-sound"), states);
        let now = begin(&world, ID, json!({}));
        let again = look(&world, &now.state).expect("it is there");
        assert_eq!(json_of(&again), json_of(&now), "{states:?}");
    }
}

#[test]
fn a_handle_alone_is_enough_to_look() {
    let world = world(ID, &sound("activity-sound"), States::Handles);
    let now = begin(&world, ID, json!({}));
    let (handle, _) = now.state.split_once('.').expect("a handle and a revision");
    assert!((6..=8).contains(&handle.len()), "{handle}");
    assert_eq!(look(&world, &handle.to_uppercase()).expect("it is there"), now);
    let step = Act::Complete { step: "read".into(), report: Report::of("passed") };
    expect![[r#"
        revision_required: a handle alone can be used to view a run, but not to move it
        help: send one of the current actions unchanged: its `state` has the handle and the revision
        situated
    "#]]
    .assert_eq(&refusal_text(&refusal(act(&world, handle, &step, &agent()))));
}

#[test]
fn an_old_state_is_stale_wherever_that_can_be_known() {
    let step = Act::Complete { step: "read".into(), report: Report::of("passed") };
    for states in [States::Handles, States::Ledger] {
        let world = world(ID, &sound("activity-sound"), states);
        let first = begin(&world, ID, json!({}));
        let second = act(&world, &first.state, &step, &agent()).expect("it is open");
        let refused = refusal(act(&world, &first.state, &step, &agent()));
        assert_eq!(refused.code, "stale", "{states:?}");
        assert_eq!(refused.view.as_deref(), Some(&second), "{states:?}");
    }
    // Nobody keeps a ledger: the same token twice is two ways from the same place, and each comes to the same.
    let world = world(ID, &sound("activity-sound"), States::Tokens);
    let first = begin(&world, ID, json!({}));
    let twice = [act(&world, &first.state, &step, &agent()), act(&world, &first.state, &step, &agent())];
    let [one, two] = twice.map(|answer| answer.expect("it is open"));
    assert_eq!(one, two);
}

#[test]
fn each_mistake_has_a_code_of_its_own() {
    let mut world = world(ID, &sound("activity-sound"), States::Tokens);
    world.write(".flow/workflows/other.yaml", sound("activity-first-generation"));
    let now = begin(&world, ID, json!({}));
    let end = now.state.len();
    let flipped = now.state.replacen(&now.state[60..61], if &now.state[60..61] == "A" { "B" } else { "A" }, 1);
    let states = [
        String::new(),
        "k3mx8q2".to_owned(),
        "k3mx8q2p.x".to_owned(),
        "k3mx8q2p.3".to_owned(),
        now.state[..20].to_owned(),
        now.state[..end - 8].to_owned(),
        format!("{}{}", now.state, now.state),
        flipped,
        now.state.replacen("v1.", "v2.", 1),
    ];
    let codes: Vec<String> = states.iter().map(|state| refusal(look(&world, state)).code.to_owned()).collect();
    expect![[r#"
        [
            "damaged",
            "damaged",
            "damaged",
            "unknown_run",
            "damaged",
            "damaged",
            "damaged",
            "damaged",
            "unsupported_version",
        ]
    "#]]
    .assert_debug_eq(&codes);
    let elsewhere = Request { workflow: Some("other".into()), ..Request::led(now.state.clone()) };
    let refused = refusal(wait(world.service().view(&elsewhere, &agent())));
    assert_eq!(refused.code, "workflow_mismatch");
    // Somebody else's keys: the token is whole, and nobody here signed it.
    world.options.trust = Some(world.project().with_file_name("somebody"));
    assert_eq!(refusal(look(&world, &now.state)).code, "not_authentic");
    assert_eq!(refusal(look(&world, "k3mx8q2p.3")).code, "unknown_run");
}

#[test]
fn a_ledger_knows_only_its_own_runs() {
    let mut world = world(ID, &sound("activity-sound"), States::Tokens);
    let now = begin(&world, ID, json!({}));
    world.options.states = States::Ledger;
    assert_eq!(refusal(look(&world, &now.state)).code, "unknown_run");
}

#[test]
fn variables_are_typed_when_a_run_begins_and_when_a_step_is_done() {
    let world = world(ID, &sound("activity-sound"), States::Handles);
    let input = outputs(json!({ "findings": "none", "nobody": 1 }));
    let wanted = Open { carrier: RunCarrier::State, workflow: Some(ID.to_owned()), input, ..Open::default() };
    expect![[r#"
        bad_input: the variables are not valid for `pull-request-review`: `findings` must be an array, but is a string; there is no variable `nobody`
        help: give each a value of its type, and leave out what the workflow does not name
        no situation
    "#]]
    .assert_eq(&refusal_text(&refusal(wait(world.service().open(&wanted, &agent())))));
    let now = begin(&world, ID, json!({}));
    let done = |given| Act::Complete {
        step: "read".into(),
        report: Report { outputs: outputs(given), ..Report::of("passed") },
    };
    let refused = refusal(act(&world, &now.state, &done(json!({ "depth": 3 })), &agent()));
    assert_eq!(refused.code, "bad_outputs");
    assert_eq!(refused.view.as_deref(), Some(&now));
    // What a person answers is nobody else's to say, and what there is besides is not told.
    for foreign in [json!({ "issue_platform": "jira" }), json!({ "depth": "quick", "secret": true })] {
        let refused = refusal(act(&world, &now.state, &done(foreign), &agent()));
        assert_eq!(refused.code, "bad_outputs");
        assert!(refused.message.starts_with("the step does not give `"), "{}", refused.message);
        assert_eq!(look(&world, &now.state).expect("it is there"), now);
    }
    let input = outputs(json!({ "issue_platform": "jira" }));
    let wanted = Open { carrier: RunCarrier::State, workflow: Some(ID.to_owned()), input, ..Open::default() };
    let refused = refusal(wait(world.service().open(&wanted, &agent())));
    assert!(refused.message.contains("is answered by a person"), "{}", refused.message);
    let after = act(&world, &now.state, &done(json!({ "depth": "quick" })), &agent()).expect("it fits");
    let action = &required(&after);
    let after = send(&world, action, Some("jira")).expect("it is open");
    assert!(after.guidance().message.contains("Which Jira project does jira use?"), "{}", after.guidance().message);
}

#[test]
fn whatever_is_made_of_a_token_the_run_stays_as_it_is() {
    let world = world(ID, &sound("activity-sound"), States::Tokens);
    let service = world.service();
    let now = begin(&world, ID, json!({}));
    let step = Act::Complete { step: "read".into(), report: Report::of("passed") };
    let mut random = Random(7);
    for _ in 0..2_000 {
        let state = random.mutated(&now.state);
        let request = Request::led(state.clone());
        match wait(service.act(&request, &step, &agent())) {
            Err(refused) => {
                let known = ["damaged", "not_authentic", "unsupported_version", "unknown_run"];
                assert!(known.contains(&refused.code), "{state}: {}", refused);
                assert!(refused.view.is_none(), "{state}");
            }
            Ok(after) => assert_eq!(state.trim(), now.state, "{after:?}"),
        }
    }
    assert_eq!(look(&world, &now.state).expect("it is as it was"), now);
}

/// Numbers that are as good as random and the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % most as u64).expect("it is below `most`")
    }

    /// A token with some of its characters changed, left out, doubled or moved.
    fn mutated(&mut self, token: &str) -> String {
        let mut letters: Vec<char> = token.chars().collect();
        for _ in 0..=self.below(3) {
            let at = self.below(letters.len().max(1));
            if at >= letters.len() {
                break;
            }
            match self.below(5) {
                0 => letters[at] = char::from(b'!' + u8::try_from(self.below(90)).expect("a letter")),
                1 => drop(letters.remove(at)),
                2 => letters.insert(at, letters[at]),
                3 => letters.truncate(at.max(1)),
                _ => letters.rotate_left(at),
            }
        }
        letters.into_iter().collect()
    }
}
