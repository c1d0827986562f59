//! Evidence without commands, in a real repository: what counts, what does not, and what a person is asked.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

use crate::common::{World, agent, refusal, step, view_line, wait};
use portolan_core::present::RunStatus;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Open, RunCarrier, States, View};
use serde_json::{Value, json};

use crate::common::calls::{Calls, Move};

/// For each line: the check of the one step, and what is done between its beginning and the report. `before` is done before
/// the run begins. Where nothing else is said, `a.txt` and `src/lib.rs` are committed, and `loose.txt` is not.
const CASES: &str = r#"
"changed"
"changed" | put b.txt=b
"changed" | put a.txt=b; put a.txt=a
"changed" | put loose.txt=more
"changed" | before put sub/x=x; rm sub/x
"changed" | git update-index --assume-unchanged a.txt; put a.txt=b
"changed" | git update-index --skip-worktree a.txt; put a.txt=b
"changed" | before git update-index --assume-unchanged a.txt; before put a.txt=b
"changed" | put .portolan/x=x
"changed" | put a.txt=b; git add .; git commit -q -m b
{"gate": "changed", "must": ["src/**"]} | put b.txt=b
{"gate": "changed", "must": ["src/**"], "may": []} | put src/lib.rs=b; put b.txt=b
{"gate": "changed", "must": ["src/**"], "mustNot": ["*.txt"]} | put src/lib.rs=b; put b.txt=b
{"gate": "changed", "must": ["src/**"]} | put src/new/x.rs=b
"changed" | rules policies: {changed: off}
"changed" | rules policies: {changed: warn}
"changed" | rules nonsense: [
"changed" | before rm .git; put a.txt=b
"changed" | before git switch -q --orphan none; put a.txt=b
"commit" | put b.txt=b
"commit" | put b.txt=b; git add b.txt; git commit -q -m b
"commit" | put b.txt=b; git add b.txt; git commit -q -m b; rules commits: {maxHeader: 50}
"commit" | put b.txt=b; git add b.txt; git commit -q -m "feat: b"; rules commits: {maxHeader: 50}
"commit" | git commit -q --allow-empty -m b
"commit" | git switch -q other
"commit" | before git switch -q --orphan none; put a.txt=b; git add a.txt; git commit -q -m b
"commit" | git fetch -q origin; git merge -q --ff-only origin/theirs
"pushed"
"pushed" | before git push -q origin main
"pushed" | before git push -q origin main; git commit -q --allow-empty -m b
"pushed" | git push -q origin HEAD:main
"pushed" | git remote remove origin
"pushed" | git checkout -q --detach
"pushed" | git remote set-url origin ../nowhere
"tests-touched" | put src/lib.rs=pub fn b() {}
"tests-touched" | put tests/a.rs=x
"tests-touched" | put src/lib.rs=#[test]\nfn it() { assert!(true) }
"tests-not-weakened"
"tests-not-weakened" | before tested; put src/lib.rs=pub fn a() {}
"tests-not-weakened" | before tested; git update-index --assume-unchanged src/lib.rs; put src/lib.rs=pub fn a() {}
"tests-not-weakened" | before tested; rm src/lib.rs
"tests-not-weakened" | before tested; put src/lib.rs=pub fn a() {}; put src/tests.rs=#[test]\nfn it_is() {\n    assert!(true);\n}\n
"no-conflict-marks" | put a.txt=<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n
"no-conflict-marks" | put new.txt=a\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n
"no-conflict-marks" | git update-index --assume-unchanged a.txt; put a.txt=<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n
"no-conflict-marks" | put a.txt=Title\n=======\n
"no-conflict-marks" | before put loose.txt=<<<<<<< ours\n; put a.txt=b
{"gate": "file", "path": "plan.md"}
{"gate": "file", "path": "plan.md"} | put plan.md=x
{"gate": "file", "path": "plan.md"} | before put plan.md=x
{"gate": "file", "path": "ignored/plan.md"} | before put .gitignore=ignored; before put ignored/plan.md=x
{"gate": "file", "path": "ignored/plan.md"} | before put .gitignore=ignored; before put ignored/plan.md=x; put ignored/plan.md=y
{"gate": "json", "path": "plan.json", "schema": {"type": "object", "required": ["steps"]}} | put plan.json={
{"gate": "json", "path": "plan.json", "schema": {"type": "object", "required": ["steps"]}} | put plan.json={}
{"gate": "json", "path": "plan.json", "schema": {"type": "object", "required": ["steps"]}} | put plan.json={"steps":1}
{"gate": "output", "name": "plan", "schema": {"type": "object", "required": ["steps"]}}
{"gate": "output", "name": "plan", "schema": {"type": "object", "required": ["steps"]}} | output {"plan": {}}
{"gate": "output", "name": "plan", "schema": {"type": "object", "required": ["steps"]}} | output {"plan": 1}
{"gate": "output", "name": "plan", "schema": {"type": "object", "required": ["steps"]}} | output {"plan": {"steps": 1}, "more": 2}
{"gate": "output", "name": "plan", "schema": {"type": "object", "required": ["steps"]}} | output {"plan": {"steps": 1}}
"pull-request" | git checkout -q --detach
"person"
"reviewed-by-another"
"reviewed-by-another" | rules policies: {reviewed-by-another: off}
"#;

const TESTED: &str = "#[test]\nfn it_is() {\n    assert!(true);\n}\n";

/// A project that is a repository, with a remote that has a branch of somebody else.
fn repository(world: &World) {
    git(world, "init -q -b main");
    world.write(".git/info/exclude", ".portolan\n.flow\ntasks\n");
    world.write("a.txt", "a");
    world.write("src/lib.rs", "pub fn a() {}\n");
    git(world, "add .");
    git(world, "commit -q -m begin");
    git(world, "init -q --bare ../remote.git");
    git(world, "remote add origin ../remote.git");
    git(world, "switch -q -c theirs");
    git(world, "commit -q --allow-empty -m theirs");
    git(world, "push -q origin theirs");
    git(world, "switch -q -c other");
    git(world, "switch -q main");
    git(world, "branch -q -D theirs");
    world.write("loose.txt", "loose");
}

fn git(world: &World, line: &str) {
    let words = words(line);
    let mut command = Command::new("git");
    command.args(&words).current_dir(world.project());
    for (key, value) in environment(world) {
        command.env(key, value);
    }
    let output = command.output().expect("git is there");
    assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Words, of which one may stand in double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

fn environment(world: &World) -> Vec<(&'static str, String)> {
    let home = world.project().join("../home").display().to_string();
    let mut environment = vec![("HOME", home), ("GIT_CONFIG_NOSYSTEM", "1".to_owned())];
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        environment.push((name, "it@example.org".to_owned()));
    }
    // So that commits have the same names each time.
    for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        environment.push((name, "2026-01-01T00:00:00Z".to_owned()));
    }
    environment
}

/// A project with a run of one step that has this check, in the store or in a task file.
fn begun(check: &str, in_task: bool, before: &[&str]) -> (World, Address) {
    let world = World::with("checked", &format!("start -> fix; fix -> done\nfix: accept [{check}]"));
    repository(&world);
    for step in before {
        perform(&world, step);
    }
    let address = match in_task {
        true => world.begin("1", "checked"),
        false => {
            let address = world.open("checked");
            world.start(&address).expect("it starts");
            address
        }
    };
    (world, address)
}

fn perform(world: &World, step: &str) {
    let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
    match word {
        "put" => {
            let (path, text) = rest.split_once('=').expect("a path and a text");
            world.write(path, text.replace("\\n", "\n"));
        }
        "rm" if rest == ".git" => std::fs::remove_dir_all(world.path(rest)).expect("it is there"),
        "rm" => std::fs::remove_file(world.path(rest)).expect("it is there"),
        "rules" => world.write(".portolan/guidelines.yaml", rest),
        "tested" => {
            world.write("src/lib.rs", TESTED);
            git(world, "add src");
            git(world, "commit -q -m tested");
        }
        "git" => git(world, rest),
        _ => panic!("nobody knows how to `{step}`"),
    }
}

/// What the report comes to.
fn outcome(world: &World, address: &Address, outputs: Option<Value>) -> String {
    let now = world.current(address).expect("it is there");
    let wanted = Move { outputs: outputs.map(Arc::new), ..step(&now, "passed") };
    match wait(world.service().next(&wanted, &agent())) {
        Ok(view) if view.situation.state == RunStatus::Waiting => {
            let question =
                view.situation.question.as_ref().map(|question| question.asked.message.clone()).unwrap_or_default();
            format!("asks a person: {question}")
        }
        Ok(view) => claim_text(&view),
        Err(refused) => format!("refused {}: {}", refused.code, refused.message),
    }
}

fn claim_text(view: &View) -> String {
    let claim = view.claim.as_ref().expect("it was checked");
    let word = if claim.held { "holds" } else { "fails" };
    let reasons: Vec<&str> = claim.checks.iter().filter_map(|check| check.reason.as_deref()).collect();
    format!("{word}: {}", reasons.join("; "))
}

#[test]
fn evidence_holds_fails_or_is_a_persons_to_say() {
    let mut all = String::new();
    for case in CASES.lines().filter(|case| !case.is_empty()) {
        let (check, steps) = case.split_once(" | ").unwrap_or((case, ""));
        let steps: Vec<&str> = steps.split("; ").map(str::trim).filter(|step| !step.is_empty()).collect();
        let (before, then): (Vec<&str>, Vec<&str>) = steps.into_iter().partition(|step| step.starts_with("before "));
        let before: Vec<&str> = before.into_iter().map(|step| &step["before ".len()..]).collect();
        let come_to = [false, true].map(|in_task| {
            let (world, address) = begun(check, in_task, &before);
            let mut outputs = None;
            for step in &then {
                match step.strip_prefix("output ") {
                    Some(given) => outputs = Some(serde_json::from_str(given).expect("JSON")),
                    None => perform(&world, step),
                }
            }
            outcome(&world, &address, outputs)
        });
        assert_eq!(come_to[0], come_to[1], "a run in the store and one in a task file: {case}");
        all.push_str(&format!("{case}\n    {}\n", come_to[0]));
    }
    expect_test::expect_file!["evidence.txt"].assert_eq(&all);
}

/// Has the repository a forge, whose `gh` is this script.
fn forge(world: &mut World, script: &str) {
    world.write("../bin/gh", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(world.path("../bin/gh"), fs::Permissions::from_mode(0o755)).expect("it may run");
    git(world, "remote add upstream https://github.com/o/r.git");
    let path = format!("{}:{}", world.path("../bin").display(), std::env::var("PATH").expect("a path"));
    world.options.environment = Some(vec![("PATH".into(), path.into())]);
}

#[test]
fn of_what_the_forge_does_not_say_a_person_is_asked() {
    for (level, said) in [
        (
            "block",
            "asks a person: `fix` was reported as passed. Is that correct? `pull-request`: `gh` is not logged in; run `gh auth login`",
        ),
        (
            "warn",
            "holds: cannot verify: `gh` is not logged in; run `gh auth login`; passed because `policies.pull-request` is `warn`",
        ),
    ] {
        let (mut world, address) = begun("\"pull-request\"", false, &[]);
        forge(&mut world, "exit 4");
        perform(&world, &format!("rules policies: {{pull-request: {level}}}"));
        assert_eq!(outcome(&world, &address, None), said);
    }
    let (mut world, address) = begun("\"pull-request\"", false, &[]);
    forge(&mut world, "echo '[]'");
    assert_eq!(outcome(&world, &address, None), "fails: no pull request is claimed; open one and claim its number");
}

#[test]
fn what_is_switched_off_is_not_looked_at() {
    for gate in ["pushed", "prOpenedBeforeIdle"] {
        for (level, is_asked) in [("warn", true), ("off", false)] {
            let (mut world, address) = begun(&format!("\"{gate}\""), false, &[]);
            let asked = world.path("../asked");
            // The one is started by whoever asks the remote, the other by whoever asks the forge.
            let touch = format!("touch {}", asked.display());
            git(&world, &format!("config remote.origin.uploadpack \"{touch}; git-upload-pack\""));
            forge(&mut world, &format!("{touch}\nexit 1"));
            perform(&world, &format!("rules policies: {{{gate}: {level}}}"));
            let said = outcome(&world, &address, None);
            assert_eq!(said.contains("not checked"), !is_asked, "{said}");
            assert_eq!(asked.exists(), is_asked, "{gate} is {level}: {said}");
        }
    }
}

#[test]
fn what_was_done_before_an_attempt_failed_counts_still() {
    for in_task in [false, true] {
        let (world, address) = begun(r#""changed", "commit""#, in_task, &[]);
        world.write("a.txt", "b");
        assert!(outcome(&world, &address, None).starts_with("fails: "), "nothing is committed");
        git(&world, "commit -q -a -m b");
        assert!(outcome(&world, &address, None).starts_with("holds: "), "the change is of the same step");
    }
}

#[test]
fn a_gate_looks_at_the_step_before_it_and_work_that_is_done_again_begins_anew() {
    let text = "start -> build; build -> look; look -> done; look -failed-> build\nbuild: accept [\"changed\"]\n\
                look: gate retries 5\nlook: accept [{\"gate\": \"changed\", \"must\": [\"a.txt\"]}]";
    let world = World::with("checked", text);
    repository(&world);
    let address = world.open("checked");
    world.start(&address).expect("it starts");
    world.write("b.txt", "b");
    assert!(outcome(&world, &address, None).starts_with("holds: "));
    let failed = outcome(&world, &address, None);
    assert!(failed.starts_with("fails: no file matching `a.txt` has changed"), "{failed}");
    assert!(outcome(&world, &address, None).starts_with("fails: no file has changed"), "what was done before is done");
    world.write("a.txt", "c");
    assert!(outcome(&world, &address, None).starts_with("holds: "));
    assert_eq!(view_line(&world.next(&address, "passed").expect("it is led on")), "done (success) ended\n");
}

#[test]
fn since_the_run_began_counts_what_earlier_steps_did() {
    let text = "start -> build; build -> keep; keep -> done\nbuild: accept [\"commit\"]\n\
                keep: accept [{\"gate\": \"commit\", \"since\": \"run\"}]";
    let world = World::with("checked", text);
    repository(&world);
    let address = world.open("checked");
    world.start(&address).expect("it starts");
    world.write("a.txt", "b");
    git(&world, "commit -q -a -m b");
    assert!(outcome(&world, &address, None).starts_with("holds: "));
    assert!(outcome(&world, &address, None).starts_with("holds: "));
}

#[test]
fn a_value_is_given_with_the_report_that_it_belongs_to() {
    let check = r#"{"gate": "output", "name": "plan", "schema": {"type": "array", "minItems": 1}}, "changed""#;
    let (world, address) = begun(check, false, &[]);
    let given = || Some(json!({ "plan": ["a"] }));
    let seen = world.current(&address).expect("it is there").situation.work.gives;
    assert_eq!(seen, ["plan"]);
    assert!(outcome(&world, &address, given()).starts_with("fails: "), "nothing has changed");
    world.write("a.txt", "b");
    let now = world.current(&address).expect("it is there");
    let refused = refusal(world.report(&step(&now, "passed")));
    assert_eq!((refused.code, refused.view.is_some()), ("bad_outputs", true), "what was given before is not given now");
    assert!(outcome(&world, &address, given()).starts_with("holds: "));
}

#[test]
fn the_own_task_file_of_a_run_is_no_work_wherever_it_lies() {
    let check = r#"{"gate": "changed", "must": [".portolan/reviews/**"]}"#;
    let world = World::with("checked", &format!("start -> fix; fix -> done\nfix: accept [{check}]"));
    repository(&world);
    world.write(".git/info/exclude", ".flow\ntasks\n");
    world.write(".portolan/reviews/plan.md", "a");
    let carrier = RunCarrier::Task(world.path(".portolan/reviews/own.json").to_string_lossy().into_owned());
    let wanted = Open { carrier, workflow: Some("checked".to_owned()), ..Open::default() };
    let address = world.init(&wanted).expect("it begins").address;
    world.start(&address).expect("it starts");
    let said = outcome(&world, &address, None);
    assert!(said.starts_with("fails: "), "{said}");
    world.write(".portolan/reviews/plan.md", "b");
    assert!(outcome(&world, &address, None).starts_with("holds: "));
}

#[test]
fn a_run_that_opens_at_a_step_counts_from_there() {
    for (carrier, step) in [(RunCarrier::State, None), (RunCarrier::Store, Some("fix".to_owned()))] {
        let world = World::with("checked", "start -> fix; fix -> done\nfix: accept [\"changed\"]");
        repository(&world);
        let wanted = Open { carrier, workflow: Some("checked".to_owned()), step, ..Open::default() };
        let address = world.init(&wanted).expect("it begins").address;
        world.write("a.txt", "b");
        let said = outcome(&world, &address, None);
        assert!(said.starts_with("holds: "), "{said}");
    }
}

#[test]
fn a_run_that_lives_in_its_token_alone_asks_a_person() {
    let mut world = World::with("checked", "start -> fix; fix -> done\nfix: accept [\"changed\"]");
    world.options.states = States::Tokens;
    repository(&world);
    let wanted = Open { carrier: RunCarrier::State, workflow: Some("checked".to_owned()), ..Open::default() };
    let address = world.init(&wanted).expect("it begins").address;
    world.write("a.txt", "b");
    let said = outcome(&world, &address, None);
    assert!(said.starts_with("asks a person: ") && said.contains("was not recorded"), "{said}");
}
