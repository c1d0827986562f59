//! The examples, walked by agents of every kind: what each shows is true of it wherever a run of it can come to.

mod joined;

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use portolan_core::value::Timestamp;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Act, Open, Report, RunCarrier, Service, States, View};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::common::{World, agent, wait};
use crate::offers::{check, shows_no_more};
use crate::walker::{Led, act, call, headline, json_of, offered, outputs};
use joined::{EXAMPLES, copied, ids, joined, renamed};

/// A project with the examples, in which no time passes: a question that answers itself would be another place.
fn world(states: States) -> World {
    let mut world = World::new();
    copied(&world);
    world.options.states = states;
    world.options.clock = Clock::Still(Timestamp(0));
    world
}

/// An agent that reports what it was asked for.
struct Agent {
    world: World,
    service: Service,
    /// What it reports of a variable: each time the next, and the last for ever.
    knows: BTreeMap<String, Vec<Value>>,
    reported: BTreeMap<String, usize>,
}

impl Agent {
    fn of(world: World, knows: Value) -> Agent {
        let Value::Object(knows) = knows else { panic!("what it knows is an object") };
        let list = |value: Value| value.as_array().expect("a list of values").clone();
        let knows = knows.into_iter().map(|(name, values)| (name, list(values))).collect();
        let service = world.service();
        Agent { world, service, knows, reported: BTreeMap::new() }
    }

    fn begin(&self, id: &str) -> View {
        let input = (id == "work-package")
            .then(|| Map::from_iter([("ticket".to_owned(), json!("AB-12"))]))
            .map(|given| std::sync::Arc::new(Value::Object(given)));
        let wanted = Open { carrier: RunCarrier::State, workflow: Some(id.to_owned()), input, ..Open::default() };
        wait(self.service.open(&wanted, &agent())).unwrap_or_else(|refused| panic!("{id}: {refused}"))
    }

    /// Does what is required. A question is answered with the first of `answers` that it has, else with its first option.
    fn obey(&mut self, now: &View, answers: &[&str]) -> View {
        let actions = &now.guidance().available_actions;
        let action = actions.required.first().unwrap_or_else(|| panic!("stuck at {}", headline(now)));
        let checkpoint = now.guidance().checkpoint;
        let options: Vec<&str> =
            checkpoint.iter().flat_map(|asked| asked.options.iter().map(|it| it.id.as_str())).collect();
        let option = answers.iter().find(|answer| options.contains(answer)).or(options.first());
        let (request, mut deed) = call(action, option.copied());
        if let Act::Complete { report, .. } = &mut deed {
            let given: Map<String, Value> = asked_for(now).into_iter().filter_map(|name| self.next(name)).collect();
            report.outputs = (!given.is_empty()).then(|| Value::Object(given).into());
        }
        let done = wait(self.service.act(&request, &deed, &agent()));
        done.unwrap_or_else(|refused| panic!("{}: {}", headline(now), refused))
    }

    fn next(&mut self, name: String) -> Option<(String, Value)> {
        let values = self.knows.get(&name)?;
        let nth = self.reported.entry(name.clone()).or_default();
        let value = values.get(*nth).or(values.last())?.clone();
        *nth += 1;
        Some((name, value))
    }

    /// Obeys until `is_there`, and tells each place that it came by.
    fn until(&mut self, mut now: View, answers: &[&str], is_there: &dyn Fn(&View) -> bool) -> (Vec<String>, View) {
        let mut told = Vec::new();
        while !is_there(&now) {
            assert!(!now.guidance().complete, "it is over: {told:#?}");
            told.push(place(&now));
            assert!(told.len() < MOST_CALLS, "it does not end: {told:#?}");
            now = self.obey(&now, answers);
        }
        (told, now)
    }
}

/// No obedient agent needs more calls for an example.
const MOST_CALLS: usize = 250;

/// The variables that the step is said to give: an agent reads it where it reads all else.
fn asked_for(now: &View) -> Vec<String> {
    let message = now.guidance().message;
    let line = message.lines().find_map(|line| line.strip_prefix("Outputs: "));
    let names = line.into_iter().flat_map(|names| names.split(", "));
    names.map(|name| name.split(' ').next().unwrap_or(name).to_owned()).collect()
}

fn place(now: &View) -> String {
    match &now.guidance().checkpoint {
        Some(asked) => format!("{} ? {}", headline(now), asked.message),
        None => headline(now),
    }
}

fn asks(id: &'static str) -> impl Fn(&View) -> bool {
    move |now| now.guidance().checkpoint.as_ref().is_some_and(|asked| asked.id == id)
}

fn is_over(now: &View) -> bool {
    now.guidance().complete
}

/// What somebody who does the work has to report.
fn diligent() -> Value {
    let tasks = [("the parser", &["unit", "fuzz"][..]), ("the report", &["unit"]), ("the flag", &["unit", "cli"])];
    let task = |(title, checks): (&str, &[&str])| json!({ "title": title, "checks": checks });
    json!({
        "unclear": [2, 1, 0],
        "design": [{ "summary": "one pass", "files": ["parse.rs"] }],
        "public_api": [true],
        "risks": [["slow input"]],
        "tasks": [tasks.map(task)],
        "branch": ["ab-12"],
        "tests_pass": [true, false, false, true, true, true, true, true, false, true],
        "open_comments": [3, 1, 0],
        "leftovers": [["old flag", "docs"]],
        "filed": [2],
    })
}

#[test]
fn who_obeys_comes_to_the_end_of_each_example() {
    for states in [States::Handles, States::Tokens, States::Ledger] {
        for id in EXAMPLES {
            for knows in [json!({}), diligent()] {
                let mut agent = Agent::of(world(states), knows);
                let (_, end) = agent.until(agent.begin(id), &[], &is_over);
                assert!(end.guidance().message.contains("success"), "{id}: {}", end.guidance().message);
            }
        }
    }
}

/// `UPDATE_EXPECT=1 cargo test` writes the walk anew.
#[test]
fn a_work_package_is_gone_through_in_order() {
    let mut agent = Agent::of(world(States::Tokens), diligent());
    let (told, _) = agent.until(agent.begin("work-package"), &["yes"], &is_over);
    expect_file!["examples/work-package.txt"].assert_eq(&(told.join("\n") + "\n"));
}

/// A token carries what was reported, so that its length is that of the texts in it: here they are short.
#[test]
fn the_tokens_of_ninety_calls_are_short() {
    let (yes, no) = (json!(true), json!(false));
    let terse = json!({
        "unclear": [4, 3, 2, 1, 0],
        "public_api": [yes],
        "risks": [["r"]],
        "tasks": [[{ "title": "a", "checks": ["u"] }, { "title": "b", "checks": ["u"] }]],
        "tests_pass": [yes, no, no, no, yes, no, no, no, yes, no, no, yes],
        "open_comments": [4, 3, 2, 1, 0],
    });
    let mut agent = Agent::of(world(States::Tokens), terse);
    let (mut now, mut lengths) = (agent.begin("work-package"), Vec::new());
    while !now.guidance().complete {
        lengths.push(now.state.len());
        now = agent.obey(&now, &["yes"]);
    }
    assert!(lengths.len() >= 90, "{} calls", lengths.len());
    assert!(lengths.iter().take(90).all(|length| *length <= 256), "{lengths:?}");
}

/// Random walks: everything that is offered is done, everything else is refused, at each place that they come by.
fn explored(id: &str, walks: usize) -> usize {
    let agent = Agent::of(world(States::Tokens), json!({}));
    let ids = ids(&joined(id));
    let mut seen = BTreeSet::new();
    // At each kind of place another part of the ids is tried: all of them at each would take minutes.
    let part = |nth: usize| ids.iter().enumerate().filter(move |(at, _)| at % 6 == nth % 6).map(|(_, id)| id.clone());
    for walk in random_walks(walks) {
        wander(&agent, id, &walk, &mut |now, _| {
            if seen.insert(kind_of_place(now)) {
                check(&agent.service, now, &part(seen.len()).collect())
                    .unwrap_or_else(|fault| panic!("{}: {fault}", headline(now)));
            }
            let bytes = json_of(now).to_string().len();
            assert!(bytes < 3_000, "{bytes} bytes: {}", now.guidance().message);
        });
    }
    seen.len()
}

type Walk = Vec<prop::sample::Index>;

/// The same in every run.
fn random_walks(walks: usize) -> Vec<Walk> {
    let mut runner = TestRunner::deterministic();
    let walk = prop::collection::vec(any::<prop::sample::Index>(), 150);
    (0..walks).map(|_| walk.new_tree(&mut runner).expect("a walk").current()).collect()
}

/// Goes where chance leads, and has each place looked at, with the option that is taken there.
fn wander(agent_at: &Agent, id: &str, walk: &Walk, look: &mut dyn FnMut(&View, Option<&str>)) {
    let mut now = agent_at.begin(id);
    for choice in walk {
        // Ending early shows nothing more.
        let on: Vec<_> =
            offered(&now.guidance()).into_iter().filter(|(action, _)| action.tool != "end_workflow").collect();
        let Some((action, option)) = (!on.is_empty()).then(|| choice.get(&on)) else {
            look(&now, None);
            assert!(now.guidance().complete, "stuck at {}", headline(&now));
            return;
        };
        look(&now, option.as_deref());
        let (request, mut deed) = call(action, option.as_deref());
        if let Act::Complete { report, .. } = &mut deed {
            let given: Map<String, Value> = asked_for(&now)
                .into_iter()
                .filter_map(|name| Some((name.clone(), any_value(&name, choice)?)))
                .collect();
            report.outputs = (!given.is_empty()).then(|| Value::Object(given).into());
        }
        now = wait(agent_at.service.act(&request, &deed, &agent()))
            .unwrap_or_else(|refused| panic!("{}: {}", headline(&now), refused));
    }
}

fn any_value(name: &str, choice: &prop::sample::Index) -> Option<Value> {
    let values = match name {
        "unclear" | "open_comments" => json!([0, 1, 2]),
        "public_api" | "tests_pass" => json!([true, false]),
        "risks" | "leftovers" => json!([[], ["slow input"], ["one", "two"]]),
        "tasks" => {
            json!([[], [{ "title": "one", "checks": [] }], [{ "title": "two", "checks": ["unit"] }, { "title": "three" }]])
        }
        "filed" => json!([0, 3]),
        _ => return None,
    };
    Some(choice.get(values.as_array().expect("a list")).clone())
}

/// A place whatever the variables hold there.
fn kind_of_place(now: &View) -> String {
    let shown = json_of(now);
    let titles: Vec<String> = offered(&now.guidance())
        .into_iter()
        .map(|(action, option)| option.unwrap_or_else(|| action.tool.to_owned()))
        .collect();
    let at = &shown["position"];
    format!(
        "{} {} {} {} {titles:?}",
        at["activity"]["id"], at["step"]["id"], at["loop"]["id"], shown["checkpoint"]["id"]
    )
}

#[test]
fn in_a_work_package_only_what_is_offered_can_be_done() {
    let places = explored("work-package", 10);
    assert!(places > 60, "only {places} places were seen");
}

#[test]
fn in_a_follow_up_only_what_is_offered_can_be_done() {
    let places = explored("follow-up", 8);
    assert!(places > 6, "only {places} places were seen");
}

#[test]
fn in_a_release_only_what_is_offered_can_be_done() {
    let places = explored("release", 16);
    assert!(places > 20, "only {places} places were seen");
}

#[test]
fn no_example_shows_an_id_that_is_not_open() {
    let mut world = World::new();
    world.options.states = States::Tokens;
    world.options.clock = Clock::Still(Timestamp(0));
    for id in EXAMPLES {
        world.write(&format!(".flow/workflows/{id}.json"), renamed(&joined(id)).to_string());
    }
    let agent = Agent::of(world, json!({}));
    for id in EXAMPLES {
        let all: BTreeSet<String> = EXAMPLES.iter().flat_map(|id| ids(&renamed(&joined(id)))).collect();
        assert!(all.len() > 100 && all.iter().all(|id| id.starts_with("zz-")), "{all:?}");
        for walk in random_walks(6) {
            wander(&agent, id, &walk, &mut |now, _| {
                shows_no_more(now, &all).unwrap_or_else(|fault| panic!("{}: {fault}", headline(now)));
            });
        }
    }
}

#[test]
fn a_run_at_github_never_sees_anything_of_jira() {
    let agent = Agent::of(world(States::Tokens), json!({}));
    let (mut at_github, mut at_jira) = (0, 0);
    for walk in random_walks(24) {
        let mut chosen = None;
        let mut was_asked = false;
        wander(&agent, "work-package", &walk, &mut |now, option| {
            was_asked |= now.guidance().checkpoint.as_ref().is_some_and(|asked| asked.id == "project");
            if chosen == Some(false) {
                assert!(!json_of(now).to_string().replace(&now.state, "").to_lowercase().contains("jira"), "{now:#?}");
            }
            if now.guidance().checkpoint.as_ref().is_some_and(|asked| asked.id == "platform") {
                chosen = option.map(|option| option == "jira");
            }
        });
        at_github += usize::from(chosen == Some(false));
        at_jira += usize::from(chosen == Some(true));
        assert_eq!(was_asked, chosen == Some(true), "the project is asked for where it is Jira, and only there");
    }
    assert!(at_github > 5 && at_jira > 5, "{at_github} and {at_jira}");
}

#[test]
fn a_second_visit_demands_and_asks_everything_again() {
    let mut agent = Agent::of(world(States::Tokens), json!({}));
    let (before, now) = agent.until(agent.begin("work-package"), &[], &asks("approve"));
    let again = agent.obey(&now, &["revise"]);
    let (after, now) = agent.until(again, &[], &asks("approve"));
    let first = before.iter().position(|place| place.starts_with("Understand")).expect("it was there");
    assert_eq!(before[first..], after, "what was done on the first visit is to be done on the second");
    assert!(after.iter().any(|place| place.contains("May the work on AB-12 go on?")), "{after:#?}");
    assert_eq!(headline(&agent.obey(&now, &["approve"])), "Prepare · step 1: Make a branch for AB-12");
}

#[test]
fn what_is_asked_once_in_a_run_is_not_asked_on_a_second_visit() {
    let mut agent_at = Agent::of(world(States::Tokens), json!({}));
    let now = agent_at.begin("release");
    assert!(asks("channel")(&now), "{now:#?}");
    let (told, now) = agent_at.until(now, &["stable"], &|now| headline(now).contains("Count what failed"));
    assert_eq!(told[1..3], ["Prepare · step 1: Choose the number", "Prepare · step 2: Write the changelog"]);
    let (outcome, outputs) = ("passed".into(), outputs(json!({ "failures": 1 })));
    let failed = Act::Complete { step: "count".into(), report: Report { outcome, note: None, outputs } };
    let now = act(&agent_at.world, &now.state, &failed, &agent()).expect("it is open");
    // What failed is prepared anew, where it is not approved.
    let (asked, now) = agent_at.until(now, &["go", "no"], &|now| headline(now).starts_with("Prepare"));
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(headline(&now), "Prepare · step 1: Choose the number", "the channel is known");
}

#[test]
fn each_pass_of_a_loop_asks_for_itself() {
    let mut agent = Agent::of(world(States::Tokens), diligent());
    let (_, now) = agent.until(agent.begin("work-package"), &["yes"], &asks("next-task"));
    assert_eq!(
        headline(&now),
        "Implement · Tasks, pass 1 of 3, {\"title\":\"the parser\",\"checks\":[\"unit\",\"fuzz\"]}"
    );
    let now = agent.obey(&now, &["yes"]);
    assert_eq!(
        headline(&now),
        "Implement · step 1: Write a test for the report · Tasks, pass 2 of 3, {\"title\":\"the report\",\"checks\":[\"unit\"]}"
    );
    let (_, now) = agent.until(now, &["yes"], &asks("next-task"));
    assert!(
        now.guidance().message.contains("the report is done. Go on with the next task?"),
        "{}",
        now.guidance().message
    );
    assert_eq!(headline(&agent.obey(&now, &["enough"])), "Validate · step 1: Run all tests · Rounds, pass 1");
}

#[test]
fn what_was_put_off_is_filed_by_the_workflow_that_is_started() {
    let mut agent = Agent::of(world(States::Tokens), diligent());
    let in_follow_up = |now: &View| headline(now).starts_with("Follow-up");
    let (_, now) = agent.until(agent.begin("work-package"), &["yes"], &in_follow_up);
    assert_eq!(headline(&now), "Follow-up · step 1: Look through the notes on AB-12");
    assert_eq!(now.guidance().position.workflow, "work-package", "calls go on as they began");
    let (told, now) = agent.until(now, &["yes"], &|now| headline(now).starts_with("Close"));
    assert!(told.iter().any(|place| place.contains("File an issue: docs")), "{told:#?}");
    let (_, now) = agent.until(now, &["no"], &|now| headline(now).contains("Tell the person"));
    assert!(now.guidance().message.contains("2 issues were filed"), "{}", now.guidance().message);
}

#[test]
fn a_loop_over_what_is_not_there_names_it_as_it_is_written() {
    let knows = json!({ "tasks": [[{ "title": "the parser" }]] });
    let mut agent = Agent::of(world(States::Tokens), knows);
    let (_, now) = agent.until(agent.begin("work-package"), &["yes"], &asks("each-check"));
    let note = "Note: `task.checks` has no value, but the loop iterates over its items";
    assert!(now.guidance().message.contains(note), "{}", now.guidance().message);
}
