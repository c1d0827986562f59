//! Who counts as a person: at a terminal, below an agent's host, and with a passphrase. Terminals are Python's.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use expect_test::expect;
use portolan_runtime::service::Start;

use crate::support::{Project, checked};

/// Runs a program in a terminal of its own, and types a line after each prompt. One with a `*` before it
/// is typed as soon as the terminal shows nothing of it.
const TERMINAL: &str = r#"
import os, pty, sys, termios
typed = sys.argv[1].split('|') if sys.argv[1] else []
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen, answered, told = b'', 0, 0
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:
        break
    if not more:
        break
    seen += more
    if answered < len(typed) and seen[told:].endswith((b'assphrase: ', b'more: ', b'bypass it: ', b'[y/N] ')):
        line = typed[answered]
        # What is typed before the terminal hides it would be seen.
        while line.startswith('*') and termios.tcgetattr(terminal)[3] & termios.ECHO:
            os.sched_yield()
        os.write(terminal, (line.lstrip('*') + '\n').encode())
        answered, told = answered + 1, len(seen)
sys.stdout.write(seen.decode().replace('\r', ''))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

const SMALL: &str = "
id: small
iterationCap: 1
phases:
  - { id: idle }
  - { id: begin, accept: [{ id: ready, file: ready, invariant: I-3 }] }
";

/// A task in a phase whose rule only a person gets past.
fn project() -> Project {
    let project = Project::new();
    project.write(".flow/workflows/small.yaml", SMALL);
    project.write(".flow/workflows/release.json", checked(r#"["git", "--version"]"#));
    project.write(".portolan/guidelines.yaml", "bypass: {I-3: human-only, I-15: human-only}\n");
    let start = Start { task: "t".to_owned(), at: None, workflow: Some("small".to_owned()) };
    project.agent(async |service, me| service.flow().start(&start, me).await).expect("begun");
    project.agent(async |service, me| service.flow().tick(me).await).expect("ticked");
    project
}

/// What somebody sees who types these lines, `|` between them, at a terminal of their own.
pub(crate) fn at_terminal(project: &Project, typed: &str, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = in_terminal(project, typed, &words).output().expect("Python starts");
    settled(project, &output)
}

fn in_terminal(project: &Project, typed: &str, words: &[&str]) -> Command {
    terminal_of(project, typed, env!("CARGO_BIN_EXE_portolan"), words)
}

fn terminal_of(project: &Project, typed: &str, program: &str, words: &[&str]) -> Command {
    let own = project.command::<&str>(&[]);
    let mut python = Command::new("python3");
    python.args(["-c", TERMINAL, typed, program]).args(words);
    python.current_dir(project.path()).stdin(Stdio::null());
    alike(&mut python, &own);
    python.env("NO_COLOR", "1");
    python
}

/// Gives a command the environment of another.
fn alike(command: &mut Command, other: &Command) {
    for (name, value) in other.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

fn settled(project: &Project, output: &Output) -> String {
    let told = project.output_text(output);
    told.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// Has the hook of a host run below this process: from then on, this process is an agent's host.
pub(crate) fn become_host(project: &Project) {
    let mut hook = project.command(&["hook", "claude-code", "SessionStart"]);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let said = serde_json::json!({ "session_id": "s1", "cwd": project.path(), "source": "startup" });
    hook.stdin.take().expect("a pipe").write_all(said.to_string().as_bytes()).expect("written");
    assert!(hook.wait().expect("it ends").success());
}

/// What a commit on `main` comes to, at a terminal, with what is set in front of it.
fn commits(project: &Project, set: &[&str]) -> (bool, String) {
    let words = [set, &["git", "commit", "-q", "--allow-empty", "-m", "fix: x (#1)"]].concat();
    let done = terminal_of(project, "", "/usr/bin/env", &words).output().expect("python starts");
    (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned())
}

/// A project whose git asks the guards.
pub(crate) fn guarded() -> Project {
    let project = Project::new();
    for line in [
        "init -q -b main",
        "config user.name Ada",
        "config user.email ada@example.org",
        "commit -q --allow-empty -m begin",
    ] {
        let mut git = Command::new("git");
        assert!(git.args(line.split(' ')).current_dir(project.path()).status().expect("git").success(), "{line}");
    }
    assert!(project.says("install git --yes").ends_with("exit: 0\n"));
    project
}

const ASKS: [&str; 2] = ["PORTOLAN_ALLOW_INTEGRATION_EDIT=1", "PORTOLAN_BYPASS_REASON=first aid"];

#[test]
fn a_variable_in_front_of_git_is_a_persons_word_at_their_terminal() {
    let project = guarded();
    let (done, told) = commits(&project, &[]);
    assert!(!done && told.contains("`PORTOLAN_ALLOW_INTEGRATION_EDIT=1 PORTOLAN_BYPASS_REASON"), "{told}");
    let (done, told) = commits(&project, &ASKS);
    assert!(done, "{told}");
    assert!(project.says("flow events --type flow.bypass").contains("first aid"));
}

#[test]
fn a_variable_counts_for_nothing_where_persons_give_a_passphrase() {
    let project = guarded();
    at_terminal(&project, "*three plain words|*three plain words", "people passphrase");
    let (done, told) = commits(&project, &ASKS);
    assert!(!done && told.contains("is accepted here only from a person"), "{told}");
}

#[test]
fn a_variable_counts_for_nothing_below_an_agents_host() {
    let project = guarded();
    become_host(&project);
    let (done, told) = commits(&project, &ASKS);
    assert!(!done && told.contains("only a person can allow what I-2 refuses; ask them"), "{told}");
    assert!(!told.contains("flow override"), "{told}");
}

const OVERRIDE: &str = "flow override I-3 --reason spike";

#[test]
fn a_person_at_a_terminal_gets_past_a_rule_by_its_name() {
    let project = project();
    let told = at_terminal(&project, "I-4", OVERRIDE);
    assert!(told.contains("error: `I-3` was not confirmed") && told.ends_with("exit: 2\n"), "{told}");
    let told = at_terminal(&project, "I-3", OVERRIDE);
    assert!(told.contains("Type `I-3` to bypass it: ") && told.ends_with("exit: 0\n"), "{told}");
    expect![[r#"
        stderr: error: only a person may bypass `I-3`, and there is no terminal
        stderr: help: run the command yourself, in a terminal of your own
        exit: 2
    "#]]
    .assert_eq(&project.says(OVERRIDE));
}

#[test]
fn a_terminal_that_an_agent_has_opened_makes_it_no_person() {
    let project = project();
    become_host(&project);
    let refused = |told: &str| {
        let is_refused = told.contains("this was started from within `claude-code`") && told.contains("exit: 2\n");
        assert!(is_refused, "{told}");
    };
    refused(&at_terminal(&project, "I-3", OVERRIDE));
    refused(&project.says("trust .flow/workflows/release.json"));
    project.write(".portolan/plugins.yaml", "budgets: {task: {turns: 10}}\n");
    refused(&project.says("supervisor budget raise task turns --to 20 --reason more"));
    let shown = project.says("people show");
    assert!(shown.contains("an agent: this was started from within") && shown.ends_with("exit: 1\n"), "{shown}");
    // Taking trust back takes nothing from anybody.
    assert!(project.says("trust --revoke .flow/workflows/release.json").ends_with("exit: 0\n"));
}

/// The shell between the two still has the folder that the host has.
#[test]
#[cfg(target_os = "linux")]
fn another_folder_for_what_is_remembered_leaves_no_host_behind() {
    let project = project();
    become_host(&project);
    let own = project.command(&["trust", ".flow/workflows/release.json"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "PORTOLAN_DATA_DIR=\"$0\" \"$@\"; exit $?"]).arg(project.person().with_file_name("elsewhere"));
    shell.arg(own.get_program()).args(own.get_args()).current_dir(project.path());
    alike(&mut shell, &own);
    let told = project.output_text(&shell.output().expect("it starts"));
    assert!(told.contains("started from within `claude-code`") && told.ends_with("exit: 2\n"), "{told}");
}

/// A passphrase that is set holds in a project whose log does not name it yet, wherever its own folder is said to be.
#[test]
#[cfg(target_os = "linux")]
fn another_data_folder_has_no_passphrase_of_its_own() {
    let project = project();
    at_terminal(&project, "*three plain words|*three plain words", "people passphrase");
    let log = project.path().join(".portolan/flow-events.jsonl");
    std::fs::remove_file(&log).expect("a log");
    let elsewhere = project.person().with_file_name("elsewhere");
    let led = |typed: &str| {
        let own = in_terminal(&project, typed, &["people", "show"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", "PORTOLAN_DATA_DIR=\"$0\" \"$@\"; exit $?"]).arg(&elsewhere);
        shell.arg(own.get_program()).args(own.get_args()).current_dir(project.path());
        alike(&mut shell, &own);
        settled(&project, &shell.output().expect("it starts"))
    };
    let shown = led("");
    assert!(shown.contains("set, but not yet recorded in this project"), "{shown}");
}

#[test]
fn what_a_host_gives_to_its_shell_makes_it_no_person() {
    let project = project();
    let mut command = project.command(&["trust", ".flow/workflows/release.json"]);
    expect![[r#"
        stderr: error: only a person may trust what a project runs, and `GEMINI_CLI` is set, which Gemini CLI does for its agent
        stderr: help: a person must run the command in a terminal that was not opened by an agent's program
        exit: 2
    "#]]
    .assert_eq(&project.output_text(&command.env("GEMINI_CLI", "1").output().expect("it starts")));
    assert!(project.says("trust .flow/workflows/release.json").ends_with("exit: 0\n"));
}

#[test]
fn a_passphrase_is_set_asked_for_changed_and_missed() {
    let project = project();
    let told = at_terminal(&project, "*three plain words|*three plain wards", "people passphrase");
    assert!(told.contains("error: the two passphrases differ") && told.ends_with("exit: 2\n"), "{told}");
    let told = at_terminal(&project, "*short|*short", "people passphrase");
    assert!(told.contains("a passphrase must have at least 10 characters"), "{told}");
    let told = at_terminal(&project, "*three plain words|*three plain words", "people passphrase");
    assert!(told.contains("this project asks for it from now on") && told.ends_with("exit: 0\n"), "{told}");
    assert!(!told.contains("three plain"), "it is not echoed: {told}");

    let told = at_terminal(&project, "*anything else", OVERRIDE);
    assert!(told.contains("error: this is not the passphrase") && told.ends_with("exit: 2\n"), "{told}");
    let told = at_terminal(&project, "*three plain words", OVERRIDE);
    assert!(told.contains("help: try again in 1 s") || told.ends_with("exit: 0\n"), "{told}");
    expect![[r#"
        stderr: error: only a person may trust what a project runs, and there is no terminal
        stderr: help: run the command yourself, in a terminal of your own
        exit: 2
    "#]]
    .assert_eq(&project.says("trust .flow/workflows/release.json"));
    let blocked = project.says("flow events --type flow.guard.block");
    assert!(
        blocked.contains("passphrase stopped it: a wrong passphrase was given where only a person may bypass `I-3`")
    );
    assert!(project.says("doctor").contains("good  people: persons confirm with their passphrase"));

    std::fs::remove_file(project.person().join("people/passphrases.json")).expect("ours");
    let told = at_terminal(&project, "*three plain words", OVERRIDE);
    assert!(told.contains("does not hold the passphrase that the event log of this project names"), "{told}");
    let doctor = project.says("doctor");
    assert!(doctor.contains("wrong  people: the passphrase") && doctor.ends_with("exit: 1\n"), "{doctor}");
}

#[test]
fn a_passphrase_is_set_by_nobody_else() {
    let project = project();
    expect![[r#"
        stderr: error: only a person may set the passphrase, and there is no terminal
        stderr: help: run the command yourself, in a terminal of your own
        exit: 2
    "#]]
    .assert_eq(&project.says("people passphrase"));
    become_host(&project);
    let told = at_terminal(&project, "*three plain words|*three plain words", "people passphrase");
    assert!(told.contains("only a person may set the passphrase, and this was started from within"), "{told}");
}
