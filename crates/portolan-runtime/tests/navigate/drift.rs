//! The definition changes while a run is under way. The run is held to the one that it began with; a person may have it
//! continue with another.

use portolan_runtime::service::{DefinitionChange, Request, ServiceError, States, View};
use serde_json::json;

use crate::common::{World, agent, person, wait};
use crate::walker::{Led, begin, headline, look, obey, required, send, world};

const ID: &str = "change";

fn text(version: &str, steps: &str) -> String {
    format!(
        "id: change\nversion: {version}\ntitle: A change\nvariables:\n  - {{ name: risk, type: string, default: low }}\n\
         activities:\n  - id: work\n    name: Work\n    steps:\n{steps}"
    )
}

fn steps(names: &[&str]) -> String {
    names.iter().map(|id| format!("      - {{ id: {id}, kind: step, name: The {id} }}\n")).collect()
}

/// A run that began with the first version, at its second step.
fn begun(states: States) -> (World, View) {
    let world = world(ID, &text("1.0.0", &steps(&["plan", "build", "test"])), states);
    let now = begin(&world, ID, json!({}));
    let now = send(&world, &required(&now), None).expect("it is open");
    assert_eq!(headline(&now), "Work · step 2: The build");
    (world, now)
}

fn go_on(world: &World, state: &str, drift: DefinitionChange) -> Result<View, ServiceError> {
    let request = Request { definition: Some(drift), ..Request::led(state) };
    wait(world.service().view(&request, &agent()))
}

/// The run, carried over by a person.
fn carry_over(world: &World, state: &str) -> Result<View, ServiceError> {
    let request = Request { definition: Some(DefinitionChange::Migrate), ..Request::led(state) };
    wait(world.service().view(&request, &person()))
}

fn change(world: &World, text: &str) {
    world.write(&format!(".flow/workflows/{ID}.yaml"), text);
}

#[test]
fn a_token_is_held_to_the_version_that_it_began_with() {
    let (world, now) = begun(States::Tokens);
    change(&world, &text("1.1.0", &steps(&["plan", "build", "review", "test"])));
    let after = look(&world, &now.state).expect("it continues");
    assert!(after.guidance().message.contains("has changed since this run began"), "{}", after.guidance().message);
    assert_eq!(go_on(&world, &now.state, DefinitionChange::Pinned).expect("it is the same").state, after.state);
    let (told, _) = obey(&world, now.clone());
    assert_eq!(told, ["Work · step 2: The build", "Work · step 3: The test"]);
    std::fs::remove_file(world.path(&format!(".flow/workflows/{ID}.yaml"))).expect("it was there");
    look(&world, &now.state).expect("nor does it matter that the file is gone");
}

#[test]
fn only_a_person_carries_a_run_over() {
    let (world, now) = begun(States::Tokens);
    change(&world, &text("1.1.0", &steps(&["plan", "build", "review", "test"])));
    let refused = go_on(&world, &now.state, DefinitionChange::Migrate).expect_err("an agent does not");
    assert_eq!(refused.code, "needs_person");
    let ways = refused.view.expect("where it is").guidance().available_actions;
    assert_eq!(ways.required[0].tool, "complete_step", "what is offered is to continue as it was");
    let migrated = carry_over(&world, &now.state).expect("its step is still there");
    let (told, _) = obey(&world, migrated);
    assert_eq!(told, ["Work · step 2: The build", "Work · step 3: The review", "Work · step 4: The test"]);
}

#[test]
fn a_run_is_carried_over_only_where_all_that_it_names_is_still_there() {
    let gone = text("2.0.0", &steps(&["plan", "test"]));
    let other =
        text("2.0.0", "      - { id: build, kind: checkpoint, message: Build?, options: [{ id: y, label: Y }] }\n");
    let typed = text("2.0.0", &steps(&["plan", "build"])).replace("string, default: low", "number");
    let faulty =
        text("2.0.0", "      - { id: build, kind: step, name: Build, transitionTo: x, nope: 1 }\n") + "  - 3\n";
    for (changed, why) in
        [(gone, "no longer exists"), (other, ""), (typed, "`risk` is a number now"), (faulty, "fault")]
    {
        let (world, now) = begun(States::Tokens);
        change(&world, &changed);
        let refused = carry_over(&world, &now.state).expect_err("it cannot be carried over");
        assert_eq!(refused.code, "definition_changed");
        let told = format!("{} {}", refused.message, refused.help);
        assert!(told.contains(why), "{told}");
        go_on(&world, &now.state, DefinitionChange::Pinned).expect("it can go on as it was");
    }
}

/// A run with a check before it, at a step that has one.
#[test]
fn a_run_is_carried_over_to_nothing_that_asks_for_less_so_far() {
    let checked = |name: &str, file: &str| {
        format!("      - {{ id: {name}, kind: step, name: The {name}, accept: [{{ id: there, file: {file} }}] }}\n")
    };
    let plain = |name: &str| steps(&[name]);
    let begun = checked("plan", "plan.md") + &checked("build", "build.md") + &plain("test");
    for (changed, why) in [
        (
            plain("plan") + &checked("build", "build.md") + &plain("test"),
            "the check `there` of `work.plan` was changed or removed",
        ),
        (checked("plan", "plan.md") + &plain("build") + &plain("test"), "the check `there` of `work.build`"),
        (
            checked("plan", "plan.md") + &checked("build", "other.md") + &plain("test"),
            "the check `there` of `work.build`",
        ),
        (
            checked("plan", "plan.md") + &checked("more", "more.md") + &checked("build", "build.md"),
            "`work.more` is now on the path so far",
        ),
        (checked("build", "build.md") + &plain("test"), "`work.plan`, which is on the path so far, no longer exists"),
    ] {
        let world = world(ID, &text("1.0.0", &begun), States::Tokens);
        let now = begin(&world, ID, json!({}));
        world.write("plan.md", "a plan");
        let now = send(&world, &required(&now), None).expect("it is open");
        assert_eq!(headline(&now), "Work · step 2: The build");
        change(&world, &text("1.1.0", &changed));
        let refused = carry_over(&world, &now.state).expect_err("it would ask for less");
        assert_eq!(refused.code, "definition_changed");
        assert!(refused.help.contains(why), "{}", refused.help);
    }
    // What comes later is what a person may change.
    let world = world(ID, &text("1.0.0", &begun), States::Tokens);
    let now = begin(&world, ID, json!({}));
    change(&world, &text("1.1.0", &(checked("plan", "plan.md") + &plain("build") + &checked("review", "r.md"))));
    carry_over(&world, &now.state).expect("nothing of it was come by");
}

#[test]
fn without_a_copy_only_the_definition_itself_helps() {
    let (world, now) = begun(States::Tokens);
    std::fs::remove_dir_all(world.path(".portolan/definitions")).expect("copies are kept");
    let before = std::fs::read_to_string(world.path(".flow/workflows/change.yaml")).expect("it is there");
    change(&world, &text("1.1.0", &steps(&["plan", "build", "test", "more"])));
    for drift in [DefinitionChange::Pinned, DefinitionChange::Migrate] {
        let refused = go_on(&world, &now.state, drift).expect_err("there is no copy");
        assert_eq!(refused.code, "definition_changed");
        assert!(refused.view.is_none(), "nobody can tell where it is");
    }
    change(&world, &before);
    assert_eq!(look(&world, &now.state).expect("it is the same again"), now);
}

#[test]
fn a_run_of_the_store_is_held_to_its_version_and_says_so() {
    for states in [States::Handles, States::Ledger] {
        let (world, now) = begun(states);
        change(&world, &text("1.1.0", &steps(&["plan", "build", "review", "test"])));
        let after = look(&world, &now.state).expect("it goes on");
        assert_eq!(after.state, now.state);
        assert!(after.guidance().message.contains("has changed since this run began"), "{}", after.guidance().message);
        let (told, _) = obey(&world, now);
        assert_eq!(told, ["Work · step 2: The build", "Work · step 3: The test"]);
    }
}

#[test]
fn a_run_begins_also_where_no_copy_can_be_kept() {
    let world = world(ID, &text("1.0.0", &steps(&["plan", "build"])), States::Tokens);
    world.write(".portolan", "a file where a folder should be");
    let now = begin(&world, ID, json!({}));
    assert!(
        now.guidance().message.starts_with("Note: no copy of the workflow could be kept"),
        "{}",
        now.guidance().message
    );
    let (told, _) = obey(&world, look(&world, &now.state).expect("it is there"));
    assert_eq!(told, ["Work · step 1: The plan", "Work · step 2: The build"]);
}

/// A run in a loop is carried over only where that loop is as it was.
#[test]
fn a_pass_of_a_loop_stays_one() {
    let looping = |over: &str, inner: &str, after: &str| {
        format!(
            "      - {{ id: plan, kind: step, name: Plan }}\n      - id: each\n        kind: loop\n        {over}\n        \
             variable: item\n        steps:\n{inner}{after}"
        )
    };
    let version = |version: &str, steps: &str| {
        text(version, steps).replace("activities:", "  - { name: items, type: array, default: [a, b] }\nactivities:")
    };
    let (make, tell) =
        ("          - { id: make, kind: step, name: Make }\n", "      - { id: tell, kind: step, name: Tell }\n");
    let over = "loopType: forEach\n        over: items";
    let world = world(ID, &version("1.0.0", &looping(over, make, tell)), States::Tokens);
    let now = begin(&world, ID, json!({}));
    let now = send(&world, &required(&now), None).expect("it is open");
    assert_eq!(headline(&now), "Work · step 1: Make · each, pass 1 of 2, a");
    let outside = looping(over, &make.replace("make", "other"), "      - { id: make, kind: step, name: Make }\n");
    let typed = looping("loopType: while\n        condition: items exists", make, tell);
    for changed in [outside, typed] {
        change(&world, &version("1.1.0", &changed));
        let refused = carry_over(&world, &now.state).expect_err("it is another loop");
        assert_eq!(refused.code, "definition_changed");
    }
    let required = version("1.1.0", &looping(over, make, tell))
        .replace("activities:", "  - { name: owner, type: string, required: true }\nactivities:");
    change(&world, &required);
    let refused = carry_over(&world, &now.state).expect_err("it lacks a variable");
    assert!(refused.help.contains("`owner` is now required"), "{}", refused.help);
    change(&world, &version("1.1.0", &looping(over, make, &tell.replace("Tell", "Tell them"))));
    let (told, _) = obey(&world, carry_over(&world, &now.state).expect("the loop is the same"));
    assert_eq!(told.last().map(String::as_str), Some("Work · step 2: Tell them"));
}
