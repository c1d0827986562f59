//! Real processes, in a temporary project. No test sleeps to wait: a named pipe reports when the last process that
//! holds its other end has ended.

use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use expect_test::{Expect, expect};
use portolan_core::engine::CheckRequest;
use portolan_core::graph::CheckBy;
use rustix::fs::{OFlags, fcntl_setfl};
use tempfile::TempDir;

use crate::gates::{CheckWorkspace, perform};
use crate::repository::Repository;

use super::command::Limits;
use super::*;
use crate::process::{Environment, TAIL_BYTES, Tail, clean};

/// Long enough for any machine. It only elapses if something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

struct Project(TempDir);

impl Project {
    fn new() -> Project {
        Project(tempfile::tempdir().expect("a scratch folder"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(self, name: &str, text: &str, mode: u32) -> Project {
        fs::write(self.at(name), text).expect("a writable scratch folder");
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(mode)).expect("our own file");
        self
    }

    fn with_pipe(self, name: &str) -> Project {
        let made = std::process::Command::new("mkfifo").arg(self.at(name)).status().expect("mkfifo runs");
        assert!(made.success());
        self
    }

    fn perform(&self, check: CheckBy) -> Verdict {
        block_on(perform(&work(check), &ground(self.0.path())))
    }

    fn run(&self, argv: &[&str]) -> Verdict {
        self.perform(run_check(argv))
    }

    fn sh(&self, script: &str) -> Verdict {
        self.run(&["sh", "-c", script])
    }

    fn file(&self, path: &str) -> Verdict {
        self.perform(CheckBy::File { path: path.into() })
    }

    fn run_with(&self, script: &str, limits: Limits, variables: &[(&str, &str)]) -> Verdict {
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        let others = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::of(others.chain(path));
        block_on(command::run(
            &["sh", "-c", script].map(String::from),
            limits,
            self.0.path(),
            &environment,
            LineSplitter::default(),
        ))
    }
}

fn run_check(argv: &[&str]) -> CheckBy {
    CheckBy::Run { argv: argv.iter().map(|word| (*word).into()).collect(), timeout_seconds: 600 }
}

fn work(check: CheckBy) -> CheckRequest {
    CheckRequest { check, claims: Default::default() }
}

fn ground(project: &Path) -> CheckWorkspace {
    CheckWorkspace::of(Repository::of(project), Vec::new())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

fn verdict_text(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Held => "held".to_owned(),
        Verdict::Shown { reason, .. } | Verdict::Excused { reason, .. } => format!("held: {reason}"),
        Verdict::Broken { reason, output } if output.is_empty() => format!("broken: {reason}"),
        Verdict::Broken { reason, output } => format!("broken: {reason}\n{output}"),
        Verdict::ForPerson { reason } => format!("for a person: {reason}"),
        Verdict::Unknown { reason } => format!("unknown: {reason}"),
    }
}

fn tells(verdict: Verdict, expected: Expect) {
    expected.assert_eq(&verdict_text(&verdict));
}

fn output(verdict: Verdict) -> String {
    match verdict {
        Verdict::Broken { output, .. } => output,
        other => panic!("expected a broken check, not {other:?}"),
    }
}

/// The reading end of a named pipe, opened before there is a writer.
struct Ears(File);

impl Ears {
    fn on(path: PathBuf) -> Ears {
        let pipe = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
        let pipe = pipe.expect("a pipe can be opened for reading before there is a writer");
        fcntl_setfl(&pipe, OFlags::empty()).expect("our own pipe");
        Ears(pipe)
    }

    /// Reads until no process holds the writing end.
    fn until_silence(mut self) -> String {
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            let mut heard = String::new();
            self.0.read_to_string(&mut heard).expect("text");
            send.send(heard)
        });
        receive.recv_timeout(PATIENCE).expect("a process of the command is still alive")
    }
}

#[test]
fn status_zero_holds_and_any_other_does_not() {
    let project = Project::new();
    tells(project.run(&["true"]), expect!["held"]);
    tells(project.sh("exit 3"), expect![[r#"broken: `sh -c "exit 3"` exited with status 3"#]]);
    tells(
        project.sh("kill -KILL $$"),
        expect![[r#"broken: `sh -c "kill -KILL $$"` was killed (signal 9); the machine may have run out of memory"#]],
    );
    tells(project.sh("kill -SEGV $$"), expect![[r#"broken: `sh -c "kill -SEGV $$"` was ended by signal 11"#]]);
}

#[test]
fn both_streams_are_handed_on_in_order() {
    let printed = Project::new().sh("echo one; echo two >&2; echo three; exit 1");
    assert_eq!(output(printed), "one\ntwo\nthree");
}

#[test]
fn no_shell_reads_the_arguments() {
    tells(Project::new().run(&["test", "$(exit 1); *", "=", "$(exit 1); *"]), expect!["held"]);
}

#[test]
fn it_runs_in_the_project_with_nothing_to_read() {
    let project = Project::new().with("marker", "", 0o644);
    tells(project.sh("test -f marker && cat"), expect!["held"]);
}

#[test]
fn closing_the_output_early_is_not_the_end() {
    let verdict = Project::new().sh("exec >&- 2>&-; exit 4");
    tells(verdict, expect![[r#"broken: `sh -c "exec >&- 2>&-; exit 4"` exited with status 4"#]]);
}

#[test]
fn a_flood_leaves_only_its_end() {
    let printed = output(Project::new().sh("yes flood | head -c 18000000; echo the end; exit 1"));
    assert!(printed.len() <= TAIL_BYTES && printed.len() > TAIL_BYTES - 100, "{}", printed.len());
    assert!(printed.starts_with("[earlier output left out]\nflood\n"), "{}", &printed[..60]);
    assert!(printed.ends_with("flood\nthe end"));
}

#[test]
fn one_endless_line_leaves_its_end_too() {
    let printed = output(Project::new().sh("yes x | tr -d '\\n' | head -c 1000000; echo; echo done; exit 1"));
    assert!(printed.len() > TAIL_BYTES / 2 && printed.ends_with("xxx\ndone"), "{}", printed.len());
}

#[test]
fn what_is_kept_is_bounded() {
    let mut tail = Tail::default();
    for _ in 0..10_000 {
        tail.push(&[b'x'; 8192]);
        assert!(tail.held() <= 16 * TAIL_BYTES);
    }
}

#[test]
fn output_is_plain_text() {
    let escapes =
        "\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}plain \u{1b}]8;;http://x\u{1b}\\link\r\n10%\r99%\u{8}\t.";
    assert_eq!(clean(escapes), "red plain link\n10%\n99%\t.");
    assert_eq!(clean("\u{1b}]never ends\nnext line"), "\nnext line");
    assert_eq!(output(Project::new().sh(r"printf 'a\377b\033[2Kc'; exit 1")), "a\u{fffd}bc");
}

#[test]
fn secrets_are_neither_given_nor_shown() {
    let secrets = [("CI_TOKEN", "s3cr3t-value"), ("aws_secret_access_key", "another one"), ("DB_PASSWORD", "12")];
    let open = [("MAX_TOKENS", "4000"), ("TOKENIZER", "bpe")];
    let variables = [&secrets[..], &open[..]].concat();
    let script = "echo \"$CI_TOKEN$aws_secret_access_key$DB_PASSWORD|$MAX_TOKENS $TOKENIZER\"
        echo found s3cr3t-value and another one in .env, 12 times; exit 1";
    let verdict = Project::new().run_with(script, Limits::default(), &variables);
    assert_eq!(output(verdict), "|4000 bpe\nfound [redacted] and [redacted] in .env, 12 times");
}

#[test]
fn a_secret_at_the_cut_is_not_shown_in_part() {
    let secret = "0123456789abcdef".repeat(32);
    let script = format!("yes x | head -c 5000; printf '{secret}'; yes y | head -c 8000; exit 1");
    let verdict = Project::new().run_with(&script, Limits::default(), &[("API_KEY", &secret)]);
    assert!(!output(verdict).contains("abcdef"));
}

#[test]
fn too_long_a_run_is_stopped_with_everything_it_started() {
    let project = Project::new().with_pipe("alive");
    let ears = Ears::on(project.at("alive"));
    let limits = Limits { seconds: 2, grace: Duration::from_millis(50) };
    // Both ignore the request to end.
    let script = "trap '' TERM; exec 3>alive; echo begun; sleep 1000 & sleep 1000; sleep 1000; exit 0";
    let verdict = project.run_with(script, limits, &[]);
    let expected = format!("broken: `sh -c \"{script}\"` ran longer than 2 s and was stopped\nbegun");
    assert_eq!(verdict_text(&verdict), expected);
    ears.until_silence();
}

#[test]
fn a_stopped_command_may_clean_up() {
    let limits = Limits { seconds: 2, grace: PATIENCE };
    let script = "trap 'echo cleaned; exit 0' TERM; echo begun; while :; do sleep 1000 & wait; done";
    assert_eq!(output(Project::new().run_with(script, limits, &[])), "begun\ncleaned");
}

#[test]
fn nothing_survives_a_command_that_ends_by_itself() {
    let project = Project::new().with_pipe("alive");
    let ears = Ears::on(project.at("alive"));
    tells(project.sh("exec 3>alive; sleep 1000 & exit 0"), expect!["held"]);
    assert_eq!(ears.until_silence(), "");
}

#[test]
fn dropping_the_future_ends_the_command() {
    let project = Project::new().with_pipe("alive");
    let work = work(run_check(&["sh", "-c", "exec 3>alive; sleep 1000 & echo begun >&3; sleep 1000"]));
    let ears = block_on(async {
        let ground = ground(project.0.path());
        let mut performing = pin!(perform(&work, &ground));
        std::future::poll_fn(|context| {
            assert!(performing.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        // Opening waits until the command opens the other end.
        let mut ears = BufReader::new(File::open(project.at("alive")).expect("a pipe"));
        let mut line = String::new();
        ears.read_line(&mut line).expect("text");
        assert_eq!(line, "begun\n");
        ears
    });
    Ears(ears.into_inner()).until_silence();
}

#[test]
#[cfg(target_os = "linux")]
fn who_escapes_the_group_is_not_waited_for() {
    let project = Project::new().with_pipe("escaped").with_pipe("leave");
    // The escaped process holds the output open until it is told to leave, which is after the verdict.
    let script = "setsid sh -c 'echo yes > escaped; read go < leave' & read yes < escaped; echo done; exit 1";
    assert_eq!(output(project.sh(script)), "done");
    fs::write(project.at("leave"), "go\n").expect("the escaped process reads");
}

#[test]
fn commands_that_cannot_be_started_say_what_to_do() {
    let project = Project::new()
        .with("plain.sh", "#!/bin/sh\n", 0o644)
        .with("orphan.sh", "#!/no/such/interpreter\n", 0o755)
        .with("fine.sh", "#!/bin/sh\n", 0o755);
    fs::create_dir(project.at("folder")).expect("a scratch folder");
    symlink("/bin/sh", project.at("outward")).expect("a scratch folder");
    tells(project.run(&["./fine.sh"]), expect!["held"]);
    tells(project.run(&["folder/../fine.sh"]), expect!["held"]);
    let cases: [&[&str]; 9] = [
        &[],
        &["no-such-program-here"],
        &["./missing"],
        &["./plain.sh"],
        &["./orphan.sh"],
        &["./folder"],
        &["../../../../../../../../bin/sh"],
        &["./outward", "-c", "exit 0"],
        &["echo", "a\0b"],
    ];
    let told: Vec<_> = cases.iter().map(|argv| verdict_text(&project.run(argv))).collect();
    expect![[r#"
        unknown: the check names no program; add one to its `run`
        unknown: no executable `no-such-program-here` was found on the `PATH`; install it, or correct the check
        unknown: `./missing` does not exist in the project; create it, or correct the check
        unknown: `./plain.sh` is not executable; make it executable (`chmod +x`), or correct the check
        unknown: `./orphan.sh` or the interpreter in its first line does not exist; install it, or correct the check
        unknown: `./folder` is a folder; name a program in it
        unknown: `../../../../../../../../bin/sh` is outside the project; name a program inside it, one on the `PATH`, or an absolute path
        unknown: `./outward` is outside the project; name a program inside it, one on the `PATH`, or an absolute path
        unknown: `echo` cannot be started (nul byte found in provided data); correct the check"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_project_that_is_gone_is_said_to_be() {
    let work = work(run_check(&["true"]));
    let verdict = block_on(perform(&work, &ground(Path::new("/no/such/project"))));
    tells(verdict, expect!["unknown: the project `/no/such/project` is not a folder; start in the project's folder"]);
}

#[test]
fn long_command_lines_are_quoted_in_part() {
    let verdict = Project::new().run(&["false", &"ü".repeat(500), ""]);
    let Verdict::Broken { reason, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(reason, format!("`false {}…` exited with status 1", "ü".repeat(154)));
}

#[test]
fn a_file_must_be_there_with_something_in_it() {
    let project = Project::new().with("plan.md", "a plan", 0o644).with("empty.md", "", 0o644).with_pipe("pipe");
    fs::create_dir(project.at("docs")).expect("a scratch folder");
    symlink("plan.md", project.at("inward")).expect("a scratch folder");
    symlink("/etc/passwd", project.at("outward")).expect("a scratch folder");
    symlink("nowhere", project.at("dangling")).expect("a scratch folder");
    let paths = [
        "plan.md",
        "docs/../plan.md",
        "inward",
        "empty.md",
        "docs",
        "pipe",
        "missing.md",
        "plan.md/x",
        "dangling",
        "outward",
        "/etc/passwd",
        "../../../../../../../../etc/passwd",
    ];
    let told: Vec<_> = paths.iter().map(|path| verdict_text(&project.file(path))).collect();
    expect![[r#"
        held
        held
        held
        broken: `empty.md` is empty
        broken: `docs` is not a file
        broken: `pipe` is not a file
        broken: `missing.md` does not exist
        broken: `plan.md/x` does not exist
        broken: `dangling` does not exist
        broken: `outward` is outside the project
        broken: `/etc/passwd` is outside the project
        broken: `../../../../../../../../etc/passwd` is outside the project"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_file_that_cannot_be_looked_at_is_unknown() {
    let project = Project::new().with("closed.md", "text", 0o000);
    symlink("loop", project.at("loop")).expect("a scratch folder");
    assert!(verdict_text(&project.file("loop")).starts_with("unknown: `loop` cannot be read ("));
    assert!(verdict_text(&project.file(&"x".repeat(300))).starts_with("unknown: "));
    // Root can read every file.
    let expected = if rustix::process::geteuid().is_root() { "held" } else { "unknown: `closed.md` cannot be read" };
    assert!(verdict_text(&project.file("closed.md")).starts_with(expected));
}

#[test]
fn performing_may_move_between_threads() {
    fn is_send<T: Send>(_: T) {}
    is_send(perform(&work(run_check(&["true"])), &ground(Path::new("."))));
}
