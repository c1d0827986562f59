//! A project that is put back as it was before each death, and the process that dies.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_portolan");
const SHIM: &str = include_str!("shim.c");
const MARKERS: [&str; 7] =
    ["CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "COPILOT_CLI", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE"];
/// How many moments of a command are tried where there are more, unless all of them are wanted.
const MOST: usize = 20;

/// The library that kills, compiled once; nothing where it cannot be had.
fn shim() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if !cfg!(target_os = "linux") {
            not_checked("this is no Linux");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (source, library) = (folder.path().join("shim.c"), folder.path().join("shim.so"));
        fs::write(&source, SHIM).expect("written");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&library).arg(&source);
        match command.arg("-ldl").output() {
            Ok(built) if built.status.success() => Some((folder, library)),
            Ok(built) => panic!("the shim does not compile: {}", String::from_utf8_lossy(&built.stderr)),
            Err(error) => {
                not_checked(&format!("there is no C compiler: {error}"));
                None
            }
        }
    });
    built.as_ref().map(|(_, library)| library.as_path())
}

/// Past the harness, which shows what a test that passes has written to nobody.
fn not_checked(why: &str) {
    let line = format!("NOT CHECKED: what a killed process leaves behind, because {why}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error is there");
}

/// Where a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// Before its n-th write.
    Before(usize),
    /// In the middle of it.
    Amid(usize),
    /// Nowhere.
    Never,
}

/// What became of a command.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    /// Nothing where it was killed.
    pub(crate) exit: Option<i32>,
}

impl Said {
    fn of(output: &Output) -> Said {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(matches!(output.status.signal(), None | Some(9)), "{output:?}");
        Said { out: text(&output.stdout), err: text(&output.stderr), exit: output.status.code() }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.exit == Some(0)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

/// A project, its user's own folder and the folder of task files, below one folder.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let stage = Stage { folder: tempfile::tempdir().expect("a folder") };
        for name in ["project", "tasks"] {
            fs::create_dir_all(stage.live().join(name)).expect("a folder");
        }
        stage
    }

    fn live(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join("live")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.live().join("project").join(name)
    }

    pub(crate) fn task(&self) -> String {
        self.live().join("tasks/1.json").to_string_lossy().into_owned()
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn git(&self, words: &[&str]) {
        let name = ["-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").args(name).args(words).current_dir(self.path("")).output().expect("git runs");
        assert!(output.status.success(), "{output:?}");
    }

    /// What is there now is there before each death.
    fn keep(&self) {
        copy(&self.live(), &self.folder.path().join("kept"));
    }

    pub(crate) fn restore(&self) {
        fs::remove_dir_all(self.live()).expect("it is ours");
        copy(&self.folder.path().join("kept"), &self.live());
    }

    /// The binary in this project, to die there.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: &[S], death: Death) -> Command {
        let mut command = Command::new(BINARY);
        command.args(words).current_dir(self.path("")).stdin(Stdio::null());
        command.env("PORTOLAN_DATA_DIR", self.live().join("person")).env("USER", "ada").env("HOME", self.live());
        command.env_remove("FLOW_EVENTS_PATH").env_remove("XCODER_EVENTS_PATH").env_remove("XDG_DATA_HOME");
        for marker in MARKERS {
            command.env_remove(marker);
        }
        if let Some(shim) = shim() {
            command.env("LD_PRELOAD", shim).env("KILLED_BELOW", self.live());
            command.env("KILLED_VICTIM", Path::new(BINARY).canonicalize().expect("it is built"));
            let (at, is_torn) = match death {
                Death::Before(at) => (at, false),
                Death::Amid(at) => (at, true),
                Death::Never => (0, false),
            };
            command.env("KILLED_AT", at.to_string());
            if is_torn {
                command.env("KILLED_TORN", "1");
            }
        }
        command
    }

    pub(crate) fn says(&self, line: &str) -> Said {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.says_to(&words)
    }

    pub(crate) fn says_to(&self, words: &[&str]) -> Said {
        Said::of(&self.command(words, Death::Never).output().expect("it starts"))
    }

    /// The same, which must be done.
    pub(crate) fn does(&self, line: &str) -> Said {
        let said = self.says(line);
        assert!(said.is_done(), "`{line}`: {said:?}");
        said
    }

    /// What holds whatever has happened: the log is whole, and the doctor has nothing to say of the task.
    pub(crate) fn is_sound(&self) {
        self.does("flow events --verify");
        let told = self.says("doctor --json").json();
        let wrong = told["findings"].as_array().into_iter().flatten().filter(|finding| finding["state"] == "wrong");
        assert_eq!(wrong.count(), 0, "{told:#}");
    }

    /// The lines of the log: type, phase and task; and what they are made of.
    pub(crate) fn log(&self) -> Vec<String> {
        let said = self.says("flow events --json --limit 1000");
        let line = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            format!("{} {} {}", line["type"], line["phase"], line["data"]["to"]).replace('"', "").replace(" null", "")
        };
        said.out.lines().map(line).filter(|line| !line.starts_with("log.repaired")).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("it is listed")) {
        let (path, kind) = (to.join(entry.file_name()), entry.file_type().expect("it is one"));
        if kind.is_dir() {
            copy(&entry.path(), &path);
        } else if kind.is_symlink() {
            let _gone = fs::remove_file(&path);
            std::os::unix::fs::symlink(fs::read_link(entry.path()).expect("a link"), &path).expect("a link");
        } else {
            fs::copy(entry.path(), &path).expect("copied");
        }
    }
    fs::set_permissions(to, fs::metadata(from).expect("it is there").permissions()).expect("it is ours");
}

/// The moments at which the process of `act` may die: before each write, and amid those that are written as a text.
fn moments(stage: &Stage, act: &dyn Fn(&Stage, Death)) -> Vec<(Death, String)> {
    let list = stage.folder.path().join("list");
    let _none = fs::remove_file(&list);
    // Only the counting process tells what it writes.
    LIST.with_borrow_mut(|told| *told = Some(list.clone()));
    act(stage, Death::Never);
    LIST.with_borrow_mut(|told| *told = None);
    let text = fs::read_to_string(&list).expect("it writes something");
    let mut moments = Vec::new();
    for (line, at) in text.lines().zip(1..) {
        moments.push((Death::Before(at), line.to_owned()));
        if line.starts_with("write ") {
            moments.push((Death::Amid(at), format!("half a {line}")));
        }
    }
    moments
}

thread_local! {
    static LIST: std::cell::RefCell<Option<PathBuf>> = const { std::cell::RefCell::new(None) };
}

/// Has the command tell what it writes, where somebody counts.
pub(crate) fn counted(command: &mut Command) {
    LIST.with_borrow(|list| {
        if let Some(list) = list {
            command.env("KILLED_LIST", list);
        }
    });
}

/// Of many moments some that are spread evenly, with all of those at files that are written whole; all where all are wanted.
fn chosen(moments: Vec<(Death, String)>) -> Vec<(Death, String)> {
    let is_database = |what: &str| what.contains("runs.db");
    let many = moments.iter().filter(|(_, what)| is_database(what)).count();
    if std::env::var_os("PORTOLAN_KILL_ALL").is_some() || many <= MOST {
        return moments;
    }
    let stride = many.div_ceil(MOST);
    let mut nth = 0;
    let mut is_kept = |what: &str| {
        nth += usize::from(is_database(what));
        !is_database(what) || nth % stride == 0
    };
    moments.into_iter().filter(|(_, what)| is_kept(what)).collect()
}

/// Kills `act` at each of its moments, and has `next` look what is left and go on; it says what it found.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the row of the table, and where it broke")]
pub(crate) fn killed(
    name: &str,
    prepare: impl FnOnce(&Stage),
    act: impl Fn(&Stage, Death) + 'static,
    next: impl Fn(&Stage) -> String,
) {
    if shim().is_none() {
        return;
    }
    let stage = Stage::new();
    prepare(&stage);
    stage.keep();
    let all = moments(&stage, &act);
    let (count, tried) = (all.len(), chosen(all));
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let points = tried.len();
    for (death, what) in tried {
        stage.restore();
        act(&stage, death);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| next(&stage)));
        match outcome {
            Ok(outcome) => *found.entry(outcome).or_default() += 1,
            Err(why) => {
                let kept = stage.folder.path().to_owned();
                let shown = what.replace(&*stage.live().to_string_lossy(), "…");
                eprintln!("`{name}` was killed at {death:?}: {shown}; what is left is in {}", kept.display());
                if std::env::var_os("PORTOLAN_KILL_KEEP").is_some() {
                    std::mem::forget(stage);
                }
                std::panic::resume_unwind(why);
            }
        }
    }
    let found: Vec<String> = found.iter().map(|(what, count)| format!("{what}: {count}")).collect();
    println!("| {name} | {points} of {count} | {} |", found.join(", "));
}

/// A command line that dies.
pub(crate) fn line(line: &'static str) -> impl Fn(&Stage, Death) + 'static {
    move |stage, death| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = stage.command(&words, death);
        counted(&mut command);
        let said = Said::of(&command.output().expect("it starts"));
        assert_eq!(said.exit.is_none(), death != Death::Never, "`{line}` {death:?}: {said:?}");
    }
}
