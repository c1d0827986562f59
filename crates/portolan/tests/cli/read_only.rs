//! A task on a file system that nobody can write to: told with what to do, nothing is passed, and nothing is lost.
#![cfg(target_os = "linux")]

use std::process::Command;

use expect_test::expect;

use super::support::Project;

const PHASES: &str =
    "id: small\nfields:\n  branch: { type: string }\nphases:\n  - id: idle\n  - id: work\n  - id: done\n";

/// The binary where the project cannot be written, for root as well; nothing where this machine does not allow that.
fn says_read_only(project: &Project, line: &str) -> Option<String> {
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && cd \"$1\" && shift && exec \"$@\"";
    let words: Vec<&str> = line.split_whitespace().collect();
    let command = project.command(&words);
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]).arg(project.path());
    inside.arg(command.get_program()).args(command.get_args());
    inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = inside.output().ok()?;
    let refused = String::from_utf8_lossy(&output.stderr);
    let cannot = ["unshare:", "mount:"].iter().any(|who| refused.contains(who));
    (!cannot).then(|| project.output_text(&output))
}

#[test]
#[expect(clippy::print_stderr, reason = "a check that is skipped says so")]
fn a_task_that_cannot_be_written_stays_where_it_is() {
    let project = Project::new();
    project.write(".flow/workflows/small.yaml", PHASES);
    project.write(".portolan/guidelines.yaml", "strict: true\nbypass: agent\n");
    assert!(project.says("flow start t --workflow small").ends_with("exit: 0\n"));
    let mut all = String::new();
    for line in [
        "flow tick",
        "flow patch branch=feat/x",
        "flow override I-3 --reason no",
        "flow abort --as escalated --reason no",
        "flow events --type flow.transition",
    ] {
        let Some(said) = says_read_only(&project, line) else {
            eprintln!("SKIPPED: this machine lets nobody mount a folder read-only (`unshare --mount --map-root-user`)");
            return;
        };
        all.push_str(&format!("$ portolan {line}\n{said}"));
    }
    expect![[r#"
        $ portolan flow tick
        stderr: error: the run store is not writable
        stderr: help: allow writing there, or keep runs in another place
        exit: 1
        $ portolan flow patch branch=feat/x
        stderr: error: the run store is not writable
        stderr: help: allow writing there, or keep runs in another place
        exit: 1
        $ portolan flow override I-3 --reason no
        stderr: error: the run store is not writable
        stderr: help: allow writing there, or keep runs in another place
        exit: 1
        $ portolan flow abort --as escalated --reason no
        stderr: error: the run store is not writable
        stderr: help: allow writing there, or keep runs in another place
        exit: 1
        $ portolan flow events --type flow.transition
        stderr: no such event is recorded
        exit: 0
    "#]]
    .assert_eq(&all);
    let state = project.says("flow status --format json");
    assert!(state.contains(r#""phase": "idle""#) && state.contains(r#""bypasses": []"#), "{state}");
    assert!(project.says("flow tick").ends_with("exit: 0\n"), "it goes on where it can be written");
}
