//! Workflows whose activities are files of their own: which files count, what is wrong with others, and what a run keeps.

use crate::common::calls::Calls;
use std::fs;
use std::path::Path;

use crate::common::{World, wait};
use expect_test::expect;
use portolan_core::dialect::Strictness;
use portolan_runtime::definition::Definition;
use portolan_runtime::library::{Library, workflow_files};
use portolan_runtime::service::Open;

const HEAD: &str = "id: mine\nversion: 1.0.0\ntitle: Mine\n";
const FOLDER: &str = ".flow/workflows/mine";

fn activity(id: &str, to: Option<&str>) -> String {
    let on = to.map(|to| format!("transitions: [{{ to: {to} }}]\n")).unwrap_or_default();
    format!("id: {id}\nversion: 1.0.0\nname: {id}\nsteps:\n  - {{ id: work, kind: step, name: Work }}\n{on}")
}

/// A project with a workflow of two activities in files of their own.
fn two() -> World {
    let world = World::new();
    world.write(&format!("{FOLDER}/workflow.yaml"), HEAD);
    world.write(&format!("{FOLDER}/activities/02-build.yml"), activity("build", None));
    world.write(&format!("{FOLDER}/activities/01-look.yaml"), activity("look", Some("build")));
    world
}

/// What is said of the workflow `mine`, each finding with its file, line and column.
fn findings(world: &World) -> String {
    findings_of(world.service().library(), "mine", &world.project())
}

fn findings_of(library: &Library, id: &str, project: &Path) -> String {
    let review = library.review(id).expect("it is there");
    let told = review.faults.iter().map(|fault| {
        let place = fault.span.map_or("-".to_owned(), |span| review.source.place(span.start));
        let kind = if fault.is_error() { "error" } else { "warning" };
        format!("{place} {kind} {}: {}\n", fault.code, fault.message)
    });
    told.collect::<String>().replace(&format!("{}/", project.display()), "")
}

fn nodes(definition: &Definition) -> String {
    let ids: Vec<&str> = definition.workflow.root().steps.keys().map(|id| id.as_str()).collect();
    ids.join(" ")
}

fn known(world: &World) -> String {
    nodes(&world.service().library().definition("mine").expect("it is sound"))
}

#[test]
fn activities_are_files_in_the_order_of_their_names() {
    let world = two();
    assert_eq!(findings(&world), "");
    assert_eq!(known(&world), "start look look.work build build.work done");
    let listed = world.service().library().list();
    assert_eq!(listed[0].id, "mine");
    // What the name says of the order is all that it says.
    world.write(&format!("{FOLDER}/workflow.yaml"), format!("{HEAD}initialActivity: look\n"));
    fs::rename(
        world.path(&format!("{FOLDER}/activities/02-build.yml")),
        world.path(&format!("{FOLDER}/activities/00-x.yml")),
    )
    .expect("it is renamed");
    assert_eq!(known(&world), "start build build.work look look.work done");
}

#[test]
fn the_folder_may_have_another_name_and_stand_beside_a_flat_file() {
    let world = World::new();
    world.write(".flow/workflows/mine.yaml", format!("{HEAD}activitiesDir: parts/of-mine\n"));
    world.write(".flow/workflows/parts/of-mine/01-look.json", r#"{"id": "look", "version": "1.0.0", "name": "Look"}"#);
    assert_eq!(findings(&world), "");
    assert_eq!(known(&world), "start look done");
    assert_eq!(world.service().library().project_ids(), ["mine"], "an activity is no workflow");
}

#[test]
fn a_flat_file_with_activities_has_nothing_of_the_folder_beside_it() {
    let world = World::new();
    let own = "activities:\n  - { id: own, version: 1.0.0, name: Own }\n";
    world.write(".flow/workflows/mine.yaml", format!("{HEAD}{own}"));
    world.write(".flow/workflows/other.yaml", "id: other\nversion: 1.0.0\ntitle: Other\ninitialActivity: look\n");
    world.write(".flow/workflows/activities/01-look.yaml", activity("look", None));
    assert_eq!(known(&world), "start own done");
    assert_eq!(findings_of(world.service().library(), "other", &world.project()), "");
    world.write(".flow/workflows/other.yaml", "id: other\nversion: 1.0.0\ntitle: Other\n");
    assert_eq!(findings_of(world.service().library(), "other", &world.project()), "");
    world.write(".flow/workflows/other.yaml", "id: other\nnotes: none\n");
    assert!(findings_of(world.service().library(), "other", &world.project()).contains("unknown-format"));
}

#[test]
fn a_fault_is_told_with_its_file() {
    let world = two();
    world.write(&format!("{FOLDER}/activities/02-build.yml"), "id: build\nversion: 1.0.0\nname: Build\nstesp: []\n");
    expect![[r#"
        .flow/workflows/mine/activities/02-build.yml:4:1 error unknown-field: activity `build` has a field `stesp`, which has no meaning here
    "#]]
    .assert_eq(&findings(&world));
    let error = world.service().library().definition("mine").expect_err("it is refused");
    let message = error.message.replace(&format!("{}/", world.project().display()), "");
    expect!["workflow `mine` has 1 fault(s): .flow/workflows/mine/activities/02-build.yml:4:1: activity `build` has a field `stesp`, which has no meaning here (unknown-field)"]
        .assert_eq(&message);
}

#[test]
fn what_cannot_be_read_is_never_left_out() {
    let world = two();
    world.write(&format!("{FOLDER}/activities/03-text.yaml"), b"id: \xff");
    fs::create_dir(world.path(&format!("{FOLDER}/activities/04-folder.yaml"))).expect("a folder");
    world.write(&format!("{FOLDER}/activities/05-large.yaml"), vec![b'#'; (4 << 20) + 1]);
    world.write(&format!("{FOLDER}/activities/06-empty.yaml"), "");
    world.write(&format!("{FOLDER}/activities/notes.json"), "{}");
    world.write(&format!("{FOLDER}/activities/7-seventh.yaml"), "{}");
    world.write(&format!("{FOLDER}/activities/README.md"), "what is here");
    fs::create_dir(world.path(&format!("{FOLDER}/activities/old.yaml"))).expect("a folder");
    expect![[r#"
        .flow/workflows/mine/activities/03-text.yaml:1:1 error unreadable-file: `.flow/workflows/mine/activities/03-text.yaml` is not UTF-8: invalid character at byte 4
        .flow/workflows/mine/activities/04-folder.yaml:1:1 error unreadable-file: `.flow/workflows/mine/activities/04-folder.yaml` is not a file
        .flow/workflows/mine/activities/05-large.yaml:1:1 error unreadable-file: `.flow/workflows/mine/activities/05-large.yaml` has more than 4194304 bytes
        .flow/workflows/mine/activities/06-empty.yaml:1:1 error syntax: the file is empty
        .flow/workflows/mine/activities/7-seventh.yaml:1:1 warning bad-file-name: `7-seventh.yaml` is not read as an activity
        .flow/workflows/mine/activities/notes.json:1:1 warning bad-file-name: `notes.json` is not read as an activity
    "#]]
    .assert_eq(&findings(&world));
    assert_eq!(world.service().library().definition("mine").expect_err("it is refused").code, "invalid_definition");
    let lenient = world.lenient();
    assert!(lenient.service().library().definition("mine").is_err(), "leniency leaves nothing out either");
}

#[test]
fn all_files_together_are_bounded() {
    let world = two();
    let large = format!("# {}\n", "x".repeat(3 << 20));
    world.write(&format!("{FOLDER}/activities/01-look.yaml"), format!("{}{large}", activity("look", Some("build"))));
    assert_eq!(findings(&world), "");
    world.write(&format!("{FOLDER}/activities/02-build.yml"), format!("{}{large}", activity("build", None)));
    let told = findings(&world);
    assert!(told.contains("02-build.yml:1:1 error too-large"), "{told}");
    let world = two();
    (0..99).for_each(|nth| world.write(&format!("{FOLDER}/activities/03-{nth}.yaml"), "{}"));
    let told = findings(&world);
    assert!(told.contains("holds 101 activities, more than the 100 that are read"), "{told}");
}

#[test]
fn activities_here_and_there_are_a_fault() {
    let world = two();
    world.write(
        &format!("{FOLDER}/workflow.yaml"),
        format!("{HEAD}activities:\n  - {{ id: own, version: 1.0.0, name: Own }}\n"),
    );
    expect![[r#"
        .flow/workflows/mine/workflow.yaml:4:1 error either-or: the workflow has `activities`, and also 2 in files of their own in `.flow/workflows/mine/activities`
    "#]]
    .assert_eq(&findings(&world));
    world.write(&format!("{FOLDER}/workflow.yaml"), format!("{HEAD}activitiesDir: none\n"));
    expect![[r#"
        .flow/workflows/mine/workflow.yaml:4:16 error unreadable-file: `.flow/workflows/mine/none` cannot be read: no such file or directory
    "#]]
    .assert_eq(&findings(&world));
    fs::create_dir(world.path(&format!("{FOLDER}/none"))).expect("a folder");
    expect![[r#"
        .flow/workflows/mine/workflow.yaml:1:1 error missing-field: the workflow has no `activities`
    "#]]
    .assert_eq(&findings(&world));
}

#[test]
fn nothing_leads_out_of_the_folder() {
    for dir in ["../parts", "/etc", "a/../../b", ".", "./activities", "C:\\\\x", "a//b", ""] {
        let world = two();
        world.write(&format!("{FOLDER}/workflow.yaml"), format!("{HEAD}activitiesDir: \"{dir}\"\n"));
        let told = findings(&world);
        assert!(told.contains("workflow.yaml:4:16 error bad-path: `activitiesDir` is"), "{dir}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let world = two();
    world.write("elsewhere/01-other.yaml", activity("other", None));
    let link = |from: &str, to: &str| symlink(world.path(from), world.path(to)).expect("a link");
    link("elsewhere/01-other.yaml", &format!("{FOLDER}/activities/03-other.yaml"));
    link("elsewhere/none.yaml", &format!("{FOLDER}/activities/04-none.yaml"));
    expect![[r#"
        .flow/workflows/mine/activities/03-other.yaml:1:1 error bad-path: `.flow/workflows/mine/activities/03-other.yaml` is outside the workflow's folder
        .flow/workflows/mine/activities/04-none.yaml:1:1 error unreadable-file: `.flow/workflows/mine/activities/04-none.yaml` cannot be read: no such file or directory
    "#]]
    .assert_eq(&findings(&world).replace("elsewhere/01-other.yaml", "ELSEWHERE"));
    fs::remove_dir_all(world.path(&format!("{FOLDER}/activities"))).expect("it is removed");
    link("elsewhere", &format!("{FOLDER}/activities"));
    let told = findings(&world);
    assert!(told.contains("workflow.yaml:1:1 error bad-path: `"), "{told}");
    // Inside the folder a link may lead where it likes.
    fs::remove_file(world.path(&format!("{FOLDER}/activities"))).expect("it is removed");
    world.write(&format!("{FOLDER}/inner/01-look.yaml"), activity("look", None));
    link(&format!("{FOLDER}/inner"), &format!("{FOLDER}/activities"));
    assert_eq!(findings(&world), "");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_activity_and_nobody_waits_for_it() {
    let world = two();
    let pipe = world.path(&format!("{FOLDER}/activities/03-pipe.yaml"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    let told = findings(&world);
    assert!(told.contains("03-pipe.yaml` is not a file"), "{told}");
}

#[test]
fn a_changed_added_or_removed_file_counts_for_the_next_run_of_the_same_service() {
    let world = two();
    let service = world.service();
    let now = || service.library().definition("mine").expect("it is sound");
    let first = now();
    assert!(std::sync::Arc::ptr_eq(&first, &now()), "nothing has changed");
    world.write(&format!("{FOLDER}/activities/02-build.yml"), activity("build", Some("third")));
    assert!(service.library().definition("mine").is_err(), "`third` does not exist");
    world.write(&format!("{FOLDER}/activities/03-third.yaml"), activity("third", None));
    assert_eq!(nodes(&now()), "start look look.work build build.work third third.work done");
    world.write(&format!("{FOLDER}/activities/02-build.yml"), activity("build", None));
    fs::remove_file(world.path(&format!("{FOLDER}/activities/03-third.yaml"))).expect("it is removed");
    assert_eq!(nodes(&now()), nodes(&first));
    assert_eq!(now().digest, first.digest);
    world.write(&format!("{FOLDER}/activities/03-third.yaml"), b"\xff");
    assert!(service.library().definition("mine").is_err(), "a file that cannot be read is there");
}

#[test]
fn a_run_goes_on_as_it_began_whatever_becomes_of_its_activities() {
    let world = two();
    let wanted = Open { workflow: Some("mine".to_owned()), ..Open::default() };
    let address = world.init(&wanted).expect("it begins").address;
    world.start(&address).expect("it starts");
    fs::remove_dir_all(world.path(FOLDER)).expect("it is removed");
    let now = world.next(&address, "passed").expect("it goes on");
    assert_eq!(now.current_step, "build.work");
    world.next(&address, "passed").expect("it comes to its end");
    assert!(wait(world.service().current(&address, None, &crate::common::agent())).is_ok());
}

#[test]
fn a_definition_is_the_same_when_it_is_taken_up_again() {
    let world = two();
    let definition = world.service().library().definition("mine").expect("it is sound");
    assert_eq!(definition.bundle.activities["mine"].len(), 2);
    let again = Definition::from_text(&definition.text).expect("it is stored soundly");
    assert_eq!(again.digest, definition.digest);
    assert_eq!(nodes(&again), nodes(&definition));
    // One without such files is stored as it always was.
    world.define("plain", "start -> work; work -> done");
    let plain = world.service().library().definition("plain").expect("it is sound");
    assert!(plain.text.starts_with("{\"root\":\"plain\",\"workflows\":{") && !plain.text.contains("activities"));
}

#[test]
fn a_folder_is_named_on_the_command_line_by_its_path() {
    let world = two();
    let folder = world.path(FOLDER);
    let found = workflow_files(&folder).expect("it can be read");
    let ids: Vec<&str> = found.iter().map(|file| file.id.as_str()).collect();
    assert_eq!(ids, ["mine"]);
    let library = Library::new(&world.path("tasks"), &[folder], Strictness::Strict).expect("it is given");
    assert_eq!(nodes(&library.definition("mine").expect("it is sound")), "start look look.work build build.work done");
}

/// Two workflows beside each other, of which `mine` takes over from `other`.
fn beside() -> World {
    let world = World::new();
    let other = "fragments:\n  rules: { polite: Be polite. }\n  checkpoints:\n    sure: { message: Sure?, options: [{ id: yes, label: Yes }] }\n";
    world.write(".flow/workflows/other/workflow.yaml", format!("id: other\nversion: 1.0.0\ntitle: Other\n{other}"));
    let asks = "id: ask\nversion: 1.0.0\nname: Ask\nsteps:\n  - { id: sure, kind: checkpoint, ref: sure }\n";
    world.write(".flow/workflows/other/activities/02-ask.yaml", asks);
    let list = "rules: { workflow: [{ ref: other::polite }] }\nactivities: [01-look.yaml, other/02-ask.yaml]\n";
    world.write(&format!("{FOLDER}/workflow.yaml"), format!("{HEAD}{list}"));
    world.write(&format!("{FOLDER}/activities/01-look.yaml"), activity("look", Some("ask")));
    world
}

#[test]
fn activities_rules_and_checkpoints_are_taken_over_from_a_workflow_beside() {
    let world = beside();
    assert_eq!(findings(&world), "");
    assert_eq!(known(&world), "start look look.work ask ask.sure done");
    let definition = world.service().library().definition("mine").expect("it is sound");
    let rules: Vec<&str> = definition.workflow.root().activities[0].rules.iter().map(|rule| &*rule.text).collect();
    assert_eq!(rules, ["Be polite."]);
    // A run keeps what was taken over.
    let kept = Definition::from_text(&definition.text).expect("it can be read back");
    assert_eq!(nodes(&kept), nodes(&definition));
    assert_eq!(kept.workflow.root().activities, definition.workflow.root().activities);
    // What is taken over counts as it is now.
    let path = ".flow/workflows/other/workflow.yaml";
    let text = fs::read_to_string(world.path(path)).expect("it is there");
    world.write(path, text.replace("Be polite", "Be brief"));
    let definition = world.service().library().definition("mine").expect("it is sound");
    assert_eq!(definition.workflow.root().activities[0].rules[0].text, "Be brief.");
}

#[test]
fn what_is_not_beside_is_a_fault_that_lenient_reading_does_without() {
    let world = beside();
    fs::remove_dir_all(world.path(".flow/workflows/other")).expect("it is there");
    expect![[r#"
        .flow/workflows/mine/workflow.yaml:4:28 error unknown-rules: there are no shared rules `other::polite`
        other/02-ask.yaml:1:1 error unreadable-file: `other/02-ask.yaml` does not exist
    "#]]
    .assert_eq(&findings(&world));
    let folder = world.path(FOLDER);
    let library =
        Library::new(&world.project(), &[folder.join("workflow.yaml")], Strictness::Lenient).expect("it is given");
    assert!(library.definition("mine").is_ok());
}
