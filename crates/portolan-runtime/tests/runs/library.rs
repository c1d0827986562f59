//! Which definition an id means, and what becomes of files that are none.

use crate::common::calls::Calls;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::common::{World, answer_text, flow, refusal, wait};
use expect_test::expect;
use portolan_runtime::library::Sketch;
use portolan_runtime::service::{Open, RunCarrier, ServiceError};

const MINE: &str = "start -> mine; mine -> done";

fn begin(world: &World, id: &str) -> Result<String, &'static str> {
    let wanted = Open { workflow: Some(id.to_owned()), ..Open::default() };
    match world.init(&wanted) {
        Ok(view) => Ok(world.start(&view.address).expect("it starts").current_step),
        Err(error) => Err(error.code),
    }
}

/// What a list of workflows says, without those of the catalogue.
fn listed(world: &World) -> String {
    let listed = world.service().library().list();
    let own = listed.iter().filter(|one| one.origin.word() != "catalog");
    own.map(|one| format!("{} {} {}\n", one.id, one.origin.word(), one.steps)).collect()
}

fn error(result: Result<impl Sized, ServiceError>) -> ServiceError {
    match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error,
    }
}

#[test]
fn the_projects_own_comes_before_the_catalogue() {
    let world = World::new();
    assert_eq!(begin(&world, "execute").as_deref(), Ok("execute"));
    world.define("execute", MINE);
    assert_eq!(begin(&world, "execute").as_deref(), Ok("mine"));
    assert_eq!(listed(&world), "execute project 3\n");
    let all = world.service().library().list();
    assert_eq!(all.iter().filter(|one| one.id == "execute").count(), 1, "one of each id");
    fs::remove_file(world.path(".flow/workflows/execute.json")).expect("it is removed");
    world.write(".flow/workflows/execute/workflow.json", flow("execute", "start -> nested; nested -> done"));
    assert_eq!(begin(&world, "execute").as_deref(), Ok("nested"));
    world.define("execute", MINE);
    assert_eq!(begin(&world, "execute").as_deref(), Ok("mine"), "the flat file wins");
}

#[test]
fn files_may_be_yaml_and_the_first_of_a_name_counts() {
    let world = World::new();
    let places = ["execute/workflow.yml", "execute/workflow.json", "execute.yml", "execute.yaml", "execute.json"];
    for (nth, place) in places.iter().enumerate() {
        // JSON is YAML too.
        world.write(&format!(".flow/workflows/{place}"), flow("execute", &format!("start -> s{nth}; s{nth} -> done")));
        assert_eq!(begin(&world, "execute").as_deref(), Ok(format!("s{nth}").as_str()), "{place}");
        assert_eq!(listed(&world), "execute project 3\n", "{place}");
    }
    let beside = ["execute.test.yaml", "execute.test.json", "mcp.json", ".mcp.json", "notes.txt", "yaml"];
    beside.iter().for_each(|other| world.write(&format!(".flow/workflows/{other}"), "{}"));
    assert_eq!(world.service().library().project_ids(), ["execute"], "tests and lists of servers are no workflows");
}

#[test]
fn a_faulty_file_of_the_project_hides_the_catalogue_all_the_same() {
    let world = World::new();
    let faulty: [(&[u8], &str); 5] = [
        (b"{", "invalid_definition"),
        (b"", "invalid_definition"),
        (b"null", "invalid_definition"),
        (b"{\"nodes\": {}, \"edges\": []}", "invalid_definition"),
        (b"\xff\xfe{", "not_utf8"),
    ];
    for (text, code) in faulty {
        world.write(".flow/workflows/execute.json", text);
        assert_eq!(begin(&world, "execute").as_deref().map_err(|code| *code), Err(code), "{text:?}");
        let listed = world.service().library().list();
        assert!(listed.iter().all(|one| one.id != "execute" || one.origin.word() == "project"), "{text:?}");
        assert!(listed.len() >= 15, "the others are listed");
    }
    let file = world.path(".flow/workflows/execute.json");
    fs::remove_file(&file).expect("it is removed");
    std::os::unix::fs::symlink("nowhere", &file).expect("a link");
    assert_eq!(
        begin(&world, "execute").as_deref().map_err(|code| *code),
        Err("unreadable"),
        "a link that leads nowhere"
    );
    fs::remove_file(&file).expect("it is removed");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("there is a mkfifo").success());
    assert_eq!(
        begin(&world, "execute").as_deref().map_err(|code| *code),
        Err("unreadable"),
        "a pipe is not waited for"
    );
}

#[test]
fn a_folder_called_like_a_file_is_none() {
    let world = World::new();
    world.write(".flow/workflows/execute.json/notes.txt", "");
    world.write(".flow/workflows/notes.txt", "");
    world.write(".flow/workflows/empty/notes.txt", "");
    assert_eq!(begin(&world, "execute").as_deref(), Ok("execute"));
    assert_eq!(listed(&world), "");
    assert_eq!(world.service().library().project_ids(), [""; 0]);
}

#[test]
fn ids_never_leave_the_folder() {
    let world = World::new();
    world.write("secret.json", flow("secret", MINE));
    world.write("execute/workflow.json", flow("execute", MINE));
    let long = "x".repeat(100_000);
    let outside = world.path("secret").to_string_lossy().into_owned();
    for id in ["../../secret", "..", ".", "", "a/b", "/", "a\\b", "a\0b", "a\nb", ".hidden", &outside, &long] {
        assert_eq!(begin(&world, id).as_deref().map_err(|code| *code), Err("bad_id"), "{id:?}");
        let error = error(world.service().library().definition(id));
        assert!(error.message.len() < 200, "{}", error.message);
    }
    assert_eq!(begin(&world, &"x".repeat(200)).as_deref().map_err(|code| *code), Err("unknown_workflow"));
    expect![[r#"
        unknown_workflow: workflow `bug-fixx` is not known
          help: did you mean `bug-fix`? the list of workflows shows them all
    "#]]
    .assert_eq(&answer_text(&world.init(&Open { workflow: Some("bug-fixx".into()), ..Open::default() })));
}

#[test]
fn a_file_of_fifty_megabytes_is_not_read_to_its_end() {
    let world = World::new();
    let file = fs::File::create(world.path(".flow/workflows/huge.json")).expect("a file");
    file.set_len(50 << 20).expect("a file with holes");
    assert_eq!(begin(&world, "huge").as_deref().map_err(|code| *code), Err("too_large"));
    assert_eq!(listed(&world), "");
    world.write("tasks/1.json", "");
    let task = fs::File::create(world.path("tasks/1.json")).expect("a file");
    task.set_len(50 << 20).expect("a file with holes");
    assert_eq!(refusal(world.init(&world.task_init("1", "execute"))).code, "task_file_too_large");
}

#[test]
fn a_change_counts_for_the_next_run_of_the_same_service() {
    let world = World::with("mine", MINE);
    let service = world.service();
    let now = || service.library().definition("mine").expect("it is sound").digest.clone();
    let first = now();
    assert_eq!(now(), first);
    world.define("mine", "start -> sub; sub: runs inner; sub -passed-> done; sub -failed-> failed");
    assert_eq!(error(service.library().definition("mine")).code, "invalid_definition");
    world.define("inner", MINE);
    let second = now();
    world.define("inner", "start -> other; other -> done");
    assert!(first != second && second != now(), "a subflow is part of it");
}

#[test]
fn a_change_shows_whose_size_and_time_are_those_of_the_text_before() {
    let world = World::new();
    let service = world.service();
    let path = world.path(".flow/workflows/mine.json");
    world.define("mine", "start -> s000; s000 -> done");
    let time = path.metadata().and_then(|metadata| metadata.modified()).expect("a time");
    for nth in 0..100 {
        let step = format!("s{nth:03}");
        world.define("mine", &format!("start -> {step}; {step} -> done"));
        let file = fs::File::options().write(true).open(&path).expect("it opens");
        file.set_modified(time).expect("it is set");
        let definition = service.library().definition("mine").expect("it is sound");
        assert!(definition.workflow.root().steps.contains_key(step.as_str()), "{step}");
    }
}

#[test]
fn what_is_shown_of_a_definition_is_read_again_after_a_change_of_any_of_its_files() {
    let world = World::with("mine", MINE);
    let service = world.service();
    let now = || service.library().sketch("mine", None).expect("it is read");
    let codes = || now().faults.iter().map(|fault| fault.code).collect::<Vec<_>>();
    let first = now();
    assert!(Arc::ptr_eq(&first, &now()), "nothing has changed");
    world.define("mine", "start -> sub; sub: runs inner; sub -passed-> done; sub -failed-> failed");
    assert_eq!(codes(), ["unknown-subflow"]);
    world.define("inner", MINE);
    assert_eq!(codes(), [""; 0]);
    let second = now();
    assert!(Arc::ptr_eq(&second, &now()), "nothing has changed");
    assert_eq!(second.graphs["inner"].nodes[1].id.as_str(), "mine");
    world.define("inner", "start -> other; other -> done");
    assert_eq!(now().graphs["inner"].nodes[1].id.as_str(), "other");
    world.write(".portolan/verify.yaml", "verify: [{ workflow: inner, accept: [{ gate: changed, must: [src] }] }]\n");
    let checks = |sketch: &Sketch| sketch.graphs["inner"].nodes.iter().map(|node| node.accept.len()).sum::<usize>();
    assert_eq!((checks(&second), checks(&now())), (0, 1), "the project's attachments are part of it");
    fs::remove_file(world.path(".flow/workflows/inner.json")).expect("it is removed");
    assert_eq!(codes(), ["unknown-subflow"]);
}

#[test]
fn a_subflow_that_cannot_be_read_is_named() {
    let world = World::with("outer", "start -> sub; sub: runs inner; sub -passed-> done; sub -failed-> failed");
    let why = |world: &World| {
        let error = error(world.service().library().definition("outer"));
        format!("{}\n", error.message).replace(&world.project().to_string_lossy().into_owned(), "")
    };
    expect![[r#"
        workflow `outer` has 1 fault(s): /.flow/workflows/outer.json:1:150: `sub` runs the workflow `inner`, which is not known (unknown-subflow)
    "#]].assert_eq(&why(&world));
    world.write(".flow/workflows/inner.json", "{");
    expect![[r#"
        workflow `inner` has 1 fault(s): /.flow/workflows/inner.json:1:1: not valid JSON: unterminated object (syntax)
    "#]]
    .assert_eq(&why(&world));
    world.write(".flow/workflows/inner.json", b"\xff");
    expect![[r#"
        `/.flow/workflows/inner.json` is not UTF-8: invalid character at byte 0
    "#]]
    .assert_eq(&why(&world));
    // Lenient reading does not pass over a file that is there either.
    let world = world.lenient();
    assert_eq!(error(world.service().library().definition("outer")).code, "not_utf8");
    world.define("inner", "start -> sub; sub: runs outer; sub -passed-> done; sub -failed-> failed");
    let error = error(world.service().library().definition("outer"));
    assert!(error.message.contains("subflow-cycle"), "{}", error.message);
}

#[test]
fn another_folders_workflows_have_a_name_of_their_own_and_replace_nothing() {
    let world = World::with("mine", MINE);
    let theirs = world.path("plugin/.flow/workflows");
    world.write("plugin/.flow/workflows/mine.json", flow("mine", "start -> theirs; theirs -> done"));
    world.write(
        "plugin/.flow/workflows/execute.json",
        flow("execute", "start -> sub; sub: runs z; sub -passed-> done; sub -failed-> failed"),
    );
    world.write("plugin/.flow/workflows/z/workflow.json", flow("z", "start -> inner_theirs; inner_theirs -> done"));
    world.write("plugin/.flow/workflows/broken.json", "{");
    world.define("z", "start -> inner_mine; inner_mine -> done");
    let service = world.service();
    let loaded = service.library().load_external(&theirs, "plugin", None).expect("it is loaded");
    assert_eq!(loaded.ids, ["plugin:execute", "plugin:mine", "plugin:z"]);
    assert_eq!(loaded.errors.len(), 1);
    let begin = |id: &str| {
        let wanted = Open {
            workflow: Some(id.to_owned()),
            carrier: RunCarrier::Task(world.task(&id.replace(':', "-"))),
            ..Open::default()
        };
        let view = wait(service.open(&wanted, &crate::common::agent())).expect("it begins");
        wait(service.start(&view.address, None, &crate::common::agent())).expect("it starts")
    };
    assert_eq!(begin("mine").current_step, "mine");
    assert_eq!(begin("execute").current_step, "execute");
    assert_eq!(begin("plugin:mine").current_step, "theirs");
    let view = begin("plugin:execute");
    assert_eq!(view.current_step, "inner_theirs", "what lies beside it comes first");
    // A later service has loaded nothing, and the run goes on.
    assert_eq!(world.current(&view.address).expect("it is there").current_step, "inner_theirs");
    assert_eq!(world.next(&view.address, "passed").expect("it goes on").terminal, Some("success"));
    assert_eq!(world.read_task("plugin-execute")["metadata"]["workflowType"], "plugin:execute");
    let listed: Vec<String> =
        service.library().list().into_iter().map(|one| format!("{} {}", one.id, one.origin.word())).collect();
    for line in
        ["mine project", "execute catalog", "plugin:execute external", "plugin:mine external", "plugin:z external"]
    {
        assert!(listed.iter().any(|other| other == line), "{line} in {listed:?}");
    }
    assert_eq!(
        self::begin(&world, "plugin:mine").as_deref().map_err(|code| *code),
        Err("unknown_workflow"),
        "it is not loaded here"
    );
}

#[test]
fn some_of_a_folder_may_be_loaded_and_run_what_lies_beside_them() {
    let world = World::new();
    world.write("plugin/a.json", flow("a", "start -> sub; sub: runs z; sub -passed-> done; sub -failed-> failed"));
    world.write("plugin/z.json", flow("z", MINE));
    let service = world.service();
    let only = ["a".to_owned(), "gone".to_owned()];
    let loaded = service.library().load_external(&world.path("plugin"), "plugin", Some(&only)).expect("it is loaded");
    assert_eq!((loaded.ids, loaded.errors.len()), (vec!["plugin:a".to_owned()], 1));
    assert_eq!(error(service.library().definition("plugin:z")).code, "unknown_workflow");
    // Loaded again after it was spoilt, it stays what it was known as.
    world.write("plugin/a.json", "{");
    let loaded = service.library().load_external(&world.path("plugin"), "plugin", Some(&only)).expect("a report");
    assert_eq!((loaded.ids.len(), loaded.errors.len()), (0, 2));
    let error = error(service.library().load_external(&world.path("nowhere"), "plugin", None));
    assert_eq!(error.code, "unreadable");
}

#[test]
fn lenient_loading_runs_what_navigator_ran() {
    let world = World::new();
    // Two starts, an edge to nowhere, an unknown type, an id that is not the name of the file.
    let text = r#"{"id": "other", "nodes": {"start": {"type": "start"}, "again": {"type": "start"}, "work": {"type": "widget"},
        "done": {"type": "end", "result": "success"}}, "edges": [{"from": "start", "to": "work"},
        {"from": "work", "to": "gone", "on": "failed"}, {"from": "work", "to": "done", "on": "passed"}]}"#;
    world.write(".flow/workflows/old.json", text);
    assert_eq!(begin(&world, "old").as_deref().map_err(|code| *code), Err("invalid_definition"));
    let world = world.lenient();
    assert_eq!(begin(&world, "old").as_deref(), Ok("work"));
    let task = world.begin("1", "old");
    assert_eq!(world.next(&task, "passed").expect("it goes on").terminal, Some("success"));
    assert_eq!(world.read_task("1")["metadata"]["workflowType"], "old");
}

#[test]
fn files_on_the_command_line_count_as_the_projects() {
    let mut world = World::with("mine", MINE);
    world.write("given/mine.json", flow("mine", "start -> given; given -> done"));
    world.write("given/more/workflow.json", flow("more", MINE));
    world.options.definitions = vec![world.path("given")];
    assert_eq!(begin(&world, "mine").as_deref(), Ok("given"));
    assert_eq!(begin(&world, "more").as_deref(), Ok("mine"));
    assert_eq!(listed(&world), "mine project 3\nmore project 3\n");
    assert_eq!(world.service().library().given_ids(), ["mine", "more"]);
    let refused = |definitions: Vec<PathBuf>, world: &mut World| {
        world.options.definitions = definitions;
        error(world.try_service()).code
    };
    let twice = vec![world.path("given"), world.path(".flow/workflows/mine.json")];
    assert_eq!(refused(twice, &mut world), "duplicate_id");
    assert_eq!(refused(vec![world.path("nowhere")], &mut world), "unreadable");
}

/// A file whose name gives an id by which nothing is found.
#[test]
fn a_file_that_no_id_leads_to_takes_nobody_down() {
    for name in ["workflow.yaml", "workflow.json", "..yaml", "a:b.yaml"] {
        let world = World::with("mine", MINE);
        world.write(&format!(".flow/workflows/{name}"), "{}");
        assert!(listed(&world).contains("mine project"), "{name}");
        let broken = world.service().library().overview();
        assert!(broken.iter().all(|known| known.fault.is_none() || known.id != "mine"), "{name}: {broken:?}");
        assert_eq!(begin(&world, "mnie"), Err("unknown_workflow"), "{name}");
        assert_eq!(begin(&world, "mine").as_deref(), Ok("mine"), "{name}");
    }
}
