//! The workflows of the catalogue in small projects: whoever only says that all is well comes to no success, and whoever
//! does the work does.

#![cfg(unix)]

use std::process::Command;
use std::sync::Arc;

use crate::common::calls::{Calls, Move};
use crate::common::{World, agent, person, step, wait};
use portolan_core::graph::{CheckBy, Fact, Kind};
use portolan_core::present::RunStatus;
use portolan_runtime::carrier::Address;
use portolan_runtime::catalog;
use portolan_runtime::definition::Definition;
use portolan_runtime::project_checks;
use portolan_runtime::service::{Caller, View};
use serde_json::{Value, json};

/// A small project: its language, its code, and a test beside it.
struct Language {
    name: &'static str,
    code: (&'static str, &'static str),
    test: (&'static str, &'static str),
}

const LANGUAGES: [Language; 4] = [
    Language {
        name: "rust",
        code: ("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n"),
        test: ("tests/one.rs", "#[test]\nfn one_is_one() {\n    assert_eq!(it::one(), 1);\n}\n"),
    },
    Language {
        name: "typescript",
        code: ("src/one.ts", "export const one = () => 1;\n"),
        test: ("src/one.test.ts", "test(\"one\", () => expect(one()).toBe(1));\n"),
    },
    Language {
        name: "python",
        code: ("one.py", "def one():\n    return 1\n"),
        test: ("tests/test_one.py", "def test_one():\n    assert one() == 1\n"),
    },
    Language {
        name: "go",
        code: ("one.go", "package one\n\nfunc One() int { return 1 }\n"),
        test: ("one_test.go", "package one\n\nfunc TestOne(t *testing.T) { if One() != 1 { t.Fatal(1) } }\n"),
    },
];

/// What stands for the project's own tools: it holds while no file says that something is broken.
const CHECKS: &str =
    "checks:\n  tests: {run: [sh, check.sh]}\n  lint: {run: [sh, check.sh]}\n  format: {run: [sh, check.sh]}\n";

fn project(language: &Language) -> World {
    let world = World::new();
    world.write(language.code.0, language.code.1);
    world.write("check.sh", format!("! grep -q broken {}\n", language.code.0));
    world.write(".gitignore", ".portolan/\ntasks/\n");
    git(&world, &["init", "-q", "-b", "main"]);
    git(&world, &["init", "-q", "--bare", "../remote.git"]);
    git(&world, &["remote", "add", "origin", "../remote.git"]);
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "begin"]);
    world.write(project_checks::FILE, CHECKS);
    world.trust_checks();
    world
}

fn git(world: &World, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(words).current_dir(world.project()).env("HOME", world.project().join("../home"));
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "it@example.org");
    }
    let output = command.output().expect("git is there");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn begun(world: &World, workflow: &str) -> Address {
    let address = world.open(workflow);
    world.start(&address).expect("it starts");
    address
}

/// The position that somebody works at next: a branch, where there are several.
fn look(world: &World, address: &Address) -> View {
    let whole = world.current(address).expect("it is there");
    let branch = whole.situation.offers.iter().find_map(|offer| offer.branch.clone());
    match branch {
        Some(branch) => wait(world.service().current(address, Some(&branch), &agent())).expect("it is there"),
        None => whole,
    }
}

fn report(world: &World, view: &View, outputs: Option<Value>, caller: &Caller) -> Result<View, String> {
    let branch = view.situation.position.branch.clone();
    let wanted = Move { branch, outputs: outputs.map(Arc::new), ..step(view, "passed") };
    wait(world.service().next(&wanted, caller)).map_err(|refused| format!("{}: {}", refused.code, refused.message))
}

#[test]
fn whoever_only_says_that_it_passed_comes_to_no_success() {
    for language in &LANGUAGES {
        for entry in catalog::WORKFLOWS {
            let world = project(language);
            let address = begun(&world, entry.id);
            let mut said = Vec::new();
            for _ in 0..60 {
                let view = look(&world, &address);
                if matches!(view.situation.state, RunStatus::Ended | RunStatus::Waiting) {
                    break;
                }
                let refused = report(&world, &view, None, &agent()).err();
                said.push(format!("{}: {refused:?}", view.current_step));
                // Said again, it is refused again: nothing has changed.
                if refused.is_some() {
                    break;
                }
            }
            let end = world.current(&address).expect("it is there");
            assert_ne!(end.terminal, Some("success"), "{} in {}: {said:#?}", entry.id, language.name);
        }
    }
}

#[test]
fn whoever_does_the_work_comes_to_success() {
    for language in &LANGUAGES {
        for entry in catalog::WORKFLOWS {
            let world = project(language);
            let address = begun(&world, entry.id);
            let mut worker = Worker { world: &world, language, is_idle: false, made: 0, asked: Vec::new() };
            for _ in 0..60 {
                let view = look(&world, &address);
                if view.situation.state == RunStatus::Ended {
                    break;
                }
                worker.step(&view);
            }
            let end = world.current(&address).expect("it is there");
            let history = world.history(&address);
            assert_eq!(end.terminal, Some("success"), "{} in {}:\n{history}", entry.id, language.name);
            // What the project says by itself, nobody is asked.
            let mut asked = worker.asked;
            asked.retain(|question| !question.contains("`reviewed-by-another`") && !question.contains("`person`"));
            assert!(asked.is_empty(), "{} in {}: {asked:#?}", entry.id, language.name);
        }
    }
}

/// Workflows whose work is words or lies elsewhere: what is reported of it is all that there is to look at.
const WORDS: [&str; 5] = ["batch-process", "context-gather", "execute", "hitl-test", "odd-even-test"];

#[test]
fn whoever_reports_well_and_does_nothing_comes_to_no_success() {
    let language = &LANGUAGES[0];
    for entry in catalog::WORKFLOWS.iter().filter(|entry| !WORDS.contains(&entry.id)) {
        let world = project(language);
        let address = begun(&world, entry.id);
        let mut worker = Worker { world: &world, language, is_idle: true, made: 0, asked: Vec::new() };
        for _ in 0..60 {
            let view = look(&world, &address);
            // Once a person is asked how it goes on, it is told.
            if matches!(view.situation.state, RunStatus::Ended | RunStatus::Waiting) {
                break;
            }
            worker.step(&view);
        }
        let end = world.current(&address).expect("it is there");
        assert_ne!(end.terminal, Some("success"), "{}:\n{}", entry.id, world.history(&address));
    }
}

/// Does what the checks of each step look for.
struct Worker<'w> {
    world: &'w World,
    language: &'w Language,
    /// It only reports.
    is_idle: bool,
    made: usize,
    asked: Vec<String>,
}

impl Worker<'_> {
    fn step(&mut self, view: &View) {
        if view.situation.state == RunStatus::Waiting {
            let question = view.situation.question.as_ref().expect("it is asked").asked.message.clone();
            self.asked.push(question);
            report(self.world, view, None, &person()).expect("a person may");
            return;
        }
        let mut outputs = json!({});
        for check in &view.situation.checks {
            let CheckBy::Evidence(evidence) = &check.by else { continue };
            match &evidence.fact {
                Fact::Output { name, schema } => outputs[name] = sample(schema),
                fact if !self.is_idle => self.leave(fact),
                _ => {}
            }
        }
        let given = outputs.as_object().is_some_and(|given| !given.is_empty()).then_some(outputs);
        report(self.world, view, given, &agent()).unwrap_or_else(|why| panic!("`{}`: {why}", view.current_step));
    }

    fn leave(&mut self, fact: &Fact) {
        self.made += 1;
        let Language { code, test, .. } = self.language;
        match fact {
            Fact::Changed { .. } => self.world.write(code.0, format!("{}\n{}", code.1, "\n".repeat(self.made))),
            Fact::TestsTouched => self.world.write(test.0, format!("{}{}", test.1, "\n".repeat(self.made))),
            Fact::File { path, .. } => self.world.write(path, format!("number {}", self.made)),
            Fact::Commit => {
                git(self.world, &["add", "."]);
                git(self.world, &["commit", "-q", "--allow-empty", "-m", "feat: it"]);
            }
            Fact::Pushed => git(self.world, &["push", "-q", "origin", "HEAD"]),
            _ => {}
        }
    }
}

/// A value that fits a schema, of those that the catalogue has.
fn sample(schema: &Value) -> Value {
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema.get("enum") {
        return values[0].clone();
    }
    match schema["type"].as_str() {
        Some("string") => json!("x".repeat(schema["minLength"].as_u64().unwrap_or(1) as usize)),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(0)),
        Some("boolean") => json!(true),
        Some("array") => {
            let many = schema["minItems"].as_u64().unwrap_or(0) as usize;
            Value::Array((0..many).map(|_| sample(&schema["items"])).collect())
        }
        Some("object") => {
            let required = schema.get("required").or_else(|| schema.pointer("/anyOf/0/required"));
            let names = required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let value = |name: &str| schema["properties"].get(name).map_or(json!("x"), sample);
            Value::Object(names.map(|name| (name.to_owned(), value(name))).collect())
        }
        _ => json!("x"),
    }
}

/// The steps of the catalogue's workflows, with whether anything is checked at them.
fn steps() -> Vec<(String, bool, bool)> {
    let world = World::new();
    let service = world.service();
    let definition = |id: &str| -> Arc<Definition> { service.library().definition(id).expect("it is sound") };
    let mut steps = Vec::new();
    for entry in catalog::WORKFLOWS {
        for step in definition(entry.id).workflow.root().steps.values() {
            if let Kind::Work { gate, .. } = step.node.kind {
                steps.push((format!("{} {}", entry.id, step.node.id), gate, !step.node.accept.is_empty()));
            }
        }
    }
    steps
}

#[test]
fn every_gate_and_every_task_is_checked() {
    let steps = steps();
    let count = |gates: bool| {
        let of = steps.iter().filter(|(_, gate, _)| *gate == gates);
        (of.clone().filter(|(_, _, is_checked)| *is_checked).count(), of.count())
    };
    assert_eq!((count(true), count(false)), ((26, 26), (71, 71)), "{steps:#?}");
}

/// `UPDATE_EXPECT=1` writes it anew.
#[test]
fn the_page_about_the_catalogue_says_what_each_step_is_checked_by() {
    let world = World::new();
    let service = world.service();
    let mut page = String::from(HEAD);
    for entry in catalog::WORKFLOWS {
        let definition = service.library().definition(entry.id).expect("it is sound");
        let flow = definition.workflow.root();
        page.push_str(&format!("\n## {}\n\n{}\n\n| step | checked by |\n|---|---|\n", entry.id, flow.description));
        for step in flow.steps.values().filter(|step| matches!(step.node.kind, Kind::Work { .. })) {
            let checks: Vec<String> = step.node.accept.iter().map(|check| by(&check.by)).collect();
            let looks = if step.node.tools.is_some() { " *(looks only)*" } else { "" };
            page.push_str(&format!("| `{}`{looks} | {} |\n", step.node.id, checks.join("; ")));
        }
    }
    expect_test::expect_file!["../../../../docs/catalogue.md"].assert_eq(&page);
}

const HEAD: &str = "# The catalogue, and what is checked at its steps

These workflows come with Portolan. `portolan catalog list` lists them; `portolan catalog copy ID` makes a version of your own. Every gate
and task in them has [evidence](evidence.md) or a [check of the project](checks.md), so an agent that only reports `passed` reaches no
successful end. Steps marked *looks only* deny tools that edit files, where [hooks](hosts.md) enforce it.

Portolan cannot verify that a reported plan, finding or cause is true. It is on record, and later steps, their checks and people compare
the work with it. `person` asks a person; so does `reviewed-by-another` if the project names no [model that
reviews](evidence.md#a-model-that-reviews).

A project's own version of a workflow without checks accepts every report, and so do workflows that come from Navigator.
";

fn by(check: &CheckBy) -> String {
    match check {
        CheckBy::Evidence(evidence) => match evidence.fact.output() {
            Some((name, _)) => format!("the report has `{name}`, which fits a schema"),
            None => evidence.description(),
        },
        CheckBy::Project { name } => format!("the project's `{name}`"),
        CheckBy::Gate { name } => format!("`{name}`"),
        CheckBy::Run { .. } | CheckBy::File { .. } => panic!("the catalogue has no such checks"),
    }
}
