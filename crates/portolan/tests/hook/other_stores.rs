//! Runs in another store than the project's: the hooks, which nobody tells of a store, find them all the same.

use serde_json::{Value, json};

use crate::postgres::Server;
use crate::runs::{STEPS, served_with};
use crate::support::Project;

const HOST: &str = "claude-code";

/// A store, and what the environment of those that use it must have.
struct Elsewhere {
    address: String,
    password: Option<String>,
    server: Option<Server>,
}

impl Elsewhere {
    /// Returns a file beside the project, and a database if this machine has a server.
    fn all(project: &Project) -> Vec<Elsewhere> {
        let file = project.beside("runs-of-a-team.db").to_string_lossy().into_owned();
        let mut all = vec![Elsewhere { address: file, password: None, server: None }];
        if let Some(mut server) = Server::start() {
            server.sql("CREATE ROLE bob LOGIN SUPERUSER PASSWORD 'xyzzy'");
            server.reset(&[], "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
            let address = format!("postgres://bob@127.0.0.1:{}/postgres", server.port());
            all.push(Elsewhere { address, password: Some("xyzzy".to_owned()), server: Some(server) });
        }
        all
    }

    /// Returns the environment of a process that is started with the name of the store.
    fn named(&self) -> Vec<(&str, &str)> {
        std::iter::once(("PORTOLAN_STORE", self.address.as_str())).chain(self.secret()).collect()
    }

    /// Returns the environment of a process that is not.
    fn secret(&self) -> Vec<(&str, &str)> {
        self.password.iter().map(|password| ("PGPASSWORD", password.as_str())).collect()
    }
}

fn begun(project: &Project, store: &Elsewhere) -> String {
    let ask = |tool: &str, arguments: Value| served_with(project, &store.named(), tool, &arguments);
    let run = ask("Init", json!({ "workflowType": "steps" }))["run"].clone();
    assert_eq!(ask("Start", json!({ "run": run }))["run"], run);
    run.as_str().expect("a handle").to_owned()
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_run_of_another_store_binds_its_agent_until_it_is_over() {
    let project = Project::on_branch();
    project.write(".flow/workflows/steps.json", STEPS);
    for store in Elsewhere::all(&project) {
        let edits = |file: &str| {
            let call = project.edits(HOST, file).to_string();
            project.hook_with(HOST, "PreToolUse", call.as_bytes(), &store.secret())
        };
        assert!(edits("before.txt").is_allowed());
        let run = begun(&project, &store);
        let answer = edits("meanwhile.txt");
        assert!(answer.is_denied() && answer.stdout.contains("at `look`"), "{answer:?}");
        if store.password.is_some() {
            let answer = project.edit(HOST, "without-password.txt");
            assert!(answer.is_denied() && answer.stdout.contains("set `PGPASSWORD`"), "{answer:?}");
            assert!(project.shell(HOST, "ls").is_allowed());
        }
        let ask = |tool: &str, arguments: Value| served_with(&project, &store.named(), tool, &arguments);
        let next = ask("Current", json!({ "run": run }))["actions"]["required"][0]["arguments"].clone();
        assert_eq!(ask("Next", next)["state"], "ended");
        assert!(edits("afterwards.txt").is_allowed());
    }
}

/// Nothing binds the agents of this session: the run was begun by others.
#[test]
fn a_session_is_attached_to_a_run_of_another_store() {
    let project = Project::on_branch();
    project.write(".flow/workflows/steps.json", STEPS);
    for (store, session) in Elsewhere::all(&project).iter().zip(["of-file", "of-server"]) {
        let edits = |file: &str| {
            let mut call = project.edits(HOST, file);
            call["session_id"] = session.into();
            project.hook_with(HOST, "PreToolUse", call.to_string().as_bytes(), &store.secret())
        };
        let run = begun(&project, store);
        std::fs::remove_dir_all(project.path().join(".portolan/bindings")).expect("it is bound");
        std::fs::remove_dir_all(project.beside("person/known-stores")).expect("it is noted");
        assert!(edits("before.txt").is_allowed());
        let attach = format!("flow attach {run} --session {session}");
        let (done, text) = project.portolan_with(&attach, &store.secret());
        assert!(!done && text.contains("no run"), "{text}");
        assert!(edits("refused.txt").is_allowed());
        let (done, text) = project.portolan_with(&attach, &store.named());
        assert!(done, "{text}");
        let answer = edits("attached.txt");
        assert!(answer.is_denied() && answer.stdout.contains("at `look`"), "{answer:?}");
    }
}

/// A host waits for the hook at each call of the agent, those included that only look around.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_store_that_does_not_answer_is_given_up_after_some_seconds() {
    let project = Project::on_branch();
    project.write(".flow/workflows/steps.json", STEPS);
    let store = Elsewhere::all(&project).into_iter().find(|store| store.password.is_some());
    let Some(mut store) = store else { return };
    begun(&project, &store);
    let port = store.address.rsplit([':', '/']).nth(1).expect("a port").parse::<u16>().expect("a port");
    drop(store.server.take());
    // Connections are taken up, and nothing is ever said.
    let _silent = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    let call = project.edits(HOST, "meanwhile.txt").to_string();
    let answer = project.hook_with(HOST, "PreToolUse", call.as_bytes(), &store.secret());
    assert!(answer.is_denied() && answer.stdout.contains("did not answer within 5 seconds"), "{answer:?}");
    assert!(project.shell(HOST, "ls").is_allowed());
}

/// Whoever can write the project could note the address of any server, which would be asked with the user's password.
#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn a_store_in_which_the_user_has_not_worked_is_not_asked() {
    let project = Project::on_branch();
    project.write(".flow/workflows/steps.json", STEPS);
    let store = Elsewhere::all(&project).remove(0);
    let run = begun(&project, &store);
    let known = project.beside("person/known-stores");
    assert_eq!(std::fs::read_dir(&known).expect("it is noted").count(), 1);
    std::fs::remove_dir_all(&known).expect("it can be removed");
    let answer = project.edit(HOST, "a.txt");
    assert!(answer.is_denied() && answer.stdout.contains("nobody has worked in the store"), "{answer:?}");
    assert!(project.shell(HOST, "ls").is_allowed());
    // As the refusal says, whoever continues the run has worked there again.
    assert_eq!(served_with(&project, &store.named(), "Current", &json!({ "run": run }))["run"], run.as_str());
    let answer = project.edit(HOST, "longer.txt");
    assert!(answer.is_denied() && answer.stdout.contains("at `look`"), "{answer:?}");
}

#[test]
fn commands_about_the_task_find_it_in_the_store_where_it_began() {
    let project = Project::on_branch();
    for store in Elsewhere::all(&project) {
        let (done, text) = project.portolan_with("flow start login", &store.named());
        assert!(done, "{text}");
        let (done, text) = project.portolan_with("flow status", &store.secret());
        assert!(done && text.contains("login"), "{text}");
        let answer =
            project.hook_with(HOST, "PreToolUse", project.edits(HOST, "a.txt").to_string().as_bytes(), &store.secret());
        assert!(answer.is_allowed(), "{answer:?}");
        let calls = project.events("flow.tool.invoked");
        assert_eq!(calls.last().map(|call| &call["taskId"]), Some(&json!("login")), "{calls:?}");
        std::fs::remove_dir_all(project.beside("person/known-stores")).expect("it can be removed");
        let (done, text) = project.portolan_with("flow status", &store.secret());
        assert!(!done && text.contains("continue the run or the task with `--store`"), "{text}");
        project.portolan_with("flow tick", &store.named());
        let (done, text) = project.portolan_with("flow status", &store.secret());
        assert!(done && text.contains("login"), "{text}");
        // A command that names another store is told where the task is.
        let own = project.path().join(".portolan/runs.db").to_string_lossy().into_owned();
        let (done, text) = project.portolan_with("flow status", &[("PORTOLAN_STORE", &own)]);
        let place = store.address.clone();
        assert!(!done && text.contains(&format!("is in progress in the store `{place}`")), "{text}");
        let (done, text) = project.portolan_with("flow abort --reason later --as escalated", &store.secret());
        assert!(done, "{text}");
        assert!(!project.path().join(".portolan/flow.json").exists());
    }
}
