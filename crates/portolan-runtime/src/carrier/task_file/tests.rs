//! Task files on a real file system: refused files, kept content, and many concurrent writers.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use tempfile::TempDir;

use super::*;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a scratch folder"))
    }

    fn with(self, name: &str, text: impl AsRef<[u8]>) -> Folder {
        fs::write(self.at(name), text).expect("a writable scratch folder");
        self
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).expect("a file")
    }

    fn open(&self, name: &str) -> Result<TaskFile, TaskFileError> {
        TaskFile::open(self.at(name).to_str().expect("text"))
    }

    fn task(&self, name: &str) -> TaskFile {
        self.open(name).expect("the place of a task file")
    }

    /// Does everything that a writing call does before the write.
    fn lock(&self, name: &str) -> Result<LockedTaskFile, TaskFileError> {
        let file = self.open(name)?;
        block_on(file.lock())
    }

    /// Returns the fault of both a reading and a writing call, without the folder's name.
    fn fault(&self, name: &str) -> String {
        let read = self.open(name).and_then(|file| file.read()).expect_err("it cannot be read");
        let write = self.lock(name).expect_err("it cannot be locked");
        assert_eq!(read.to_string(), write.to_string());
        format!("{}: {read}", read.code()).replace(&self.0.path().display().to_string(), "")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

fn changes(value: Value) -> Task {
    let Value::Object(task) = value else { panic!("{value}") };
    task
}

fn write(locked: &mut LockedTaskFile, value: Value) -> Result<(), TaskFileError> {
    locked.write(changes(value), WriteDurability::Rename).map(drop)
}

#[test]
fn a_new_task_is_written_as_json_with_two_spaces() {
    let folder = Folder::new();
    let mut locked = folder.lock("7.json").expect("a turn");
    assert_eq!(locked.task(), None);
    let new = changes(json!({"id": "7", "metadata": {"currentStep": "start", "gone": null}, "blocks": []}));
    assert_eq!(locked.write(new, WriteDurability::Fsync).expect("room").len(), 3);
    expect![[r#"
        {
          "id": "7",
          "metadata": {
            "currentStep": "start"
          },
          "blocks": []
        }"#]]
    .assert_eq(&folder.text("7.json"));
    drop(locked);
    assert_eq!(folder.names(), [".portolan.lock", "7.json"]);
    assert_eq!(folder.task("7.json").id(), "7");
    assert_eq!(folder.task("7.json").read().expect("JSON").map(|task| task.len()), Some(3));
}

#[test]
fn foreign_keys_stay_where_they_are() {
    let text =
        r#"{"owner":"me","status":"pending","metadata":{"a":1,"retrySourceGate":"x","z":{"k":[1.5]}},"blocks":["2"]}"#;
    let folder = Folder::new().with("1.json", text);
    let mut locked = folder.lock("1.json").expect("a turn");
    write(&mut locked, json!({"status": "in_progress", "metadata": {"retrySourceGate": null, "a": 2}})).expect("room");
    // A second write under the same lock merges over the first.
    write(&mut locked, json!({"metadata": {"step": "s"}, "activeForm": "S"})).expect("room");
    expect![[r#"
        {
          "owner": "me",
          "status": "in_progress",
          "metadata": {
            "a": 2,
            "z": {
              "k": [
                1.5
              ]
            },
            "step": "s"
          },
          "blocks": [
            "2"
          ],
          "activeForm": "S"
        }"#]]
    .assert_eq(&folder.text("1.json"));
}

#[test]
fn an_empty_object_is_a_task_to_be() {
    let folder = Folder::new().with("1.json", "{}").with("2.json", r#"{"subject":"s","metadata":null}"#);
    for name in ["1.json", "2.json"] {
        write(&mut folder.lock(name).expect("a turn"), json!({"metadata": {"step": "s"}})).expect("room");
        let task = folder.task(name).read().expect("JSON").expect("a task");
        assert_eq!(task["metadata"], json!({"step": "s"}));
    }
}

#[test]
fn what_is_no_task_is_named_and_left_alone() {
    let bad: [(&str, Vec<u8>); 11] = [
        ("empty.json", b"".into()),
        ("half.json", br#"{"metadata": {"currentStep": "#.into()),
        ("latin.json", b"{\"subject\": \"caf\xe9\"}".into()),
        ("deep.json", "[".repeat(10_000).into()),
        ("array.json", b"[1]".into()),
        ("string.json", b"\"task\"".into()),
        ("number.json", b"7".into()),
        ("package.json", br#"{"name": "x", "version": "1"}"#.into()),
        ("meta.json", br#"{"metadata": "text"}"#.into()),
        ("large.json", format!("{{\"subject\": \"{}\"}}", "x".repeat(5 << 20)).into()),
        ("two.json", b"{}{}".into()),
    ];
    let folder = bad.iter().fold(Folder::new(), |folder, (name, text)| folder.with(name, text));
    let told: Vec<_> = bad.iter().map(|(name, _)| folder.fault(name)).collect();
    expect![[r#"
        task_file_not_json: `/empty.json` is not valid JSON: EOF while parsing a value at line 1 column 0; repair it or move it away; it was left as it is
        task_file_not_json: `/half.json` is not valid JSON: EOF while parsing a value at line 1 column 29; repair it or move it away; it was left as it is
        task_file_not_json: `/latin.json` is not valid JSON: invalid unicode code point at line 1 column 17; repair it or move it away; it was left as it is
        task_file_not_json: `/deep.json` is not valid JSON: nested deeper than 256 levels; repair it or move it away; it was left as it is
        task_file_not_an_object: `/array.json` holds JSON that is not an object; give another path; it was left as it is
        task_file_not_an_object: `/string.json` holds JSON that is not an object; give another path; it was left as it is
        task_file_not_an_object: `/number.json` holds JSON that is not an object; give another path; it was left as it is
        task_file_not_a_task: `/package.json` is not a task: it has none of `metadata`, `subject`, `status` and `activeForm`; give another path; it was left as it is
        task_file_not_a_task: the `metadata` of `/meta.json` is not an object; make it an object or remove it; the file was left as it is
        task_file_too_large: `/large.json` holds more than 4 MB; check that it is a task file, and shorten it
        task_file_not_json: `/two.json` is not valid JSON: trailing characters at line 1 column 3; repair it or move it away; it was left as it is"#]]
    .assert_eq(&told.join("\n"));
    for (name, text) in bad {
        assert!(fs::read(folder.at(name)).expect("a file") == text, "{name} was changed");
    }
}

#[test]
fn paths_that_name_no_task_file_are_refused() {
    let folder = Folder::new().with("file", "x");
    let told: Vec<_> = ["x.txt", "", "x.json/", ".json", "nowhere/x.json", "file/x.json", "a\0.json", "x.JSON"]
        .map(|name| folder.fault(name))
        .into();
    expect![[r#"
        task_file_name: `/x.txt` does not name a task file; give the path of a file whose name ends in `.json`
        task_file_name: `/` does not name a task file; give the path of a file whose name ends in `.json`
        task_file_name: `/x.json/` does not name a task file; give the path of a file whose name ends in `.json`
        task_file_name: `/.json` does not name a task file; give the path of a file whose name ends in `.json`
        task_file_no_folder: the folder of `/nowhere/x.json` does not exist; create `/nowhere` first
        task_file_no_folder: the folder of `/file/x.json` does not exist; create `/file` first
        task_file_name: `/a\0.json` does not name a task file; give the path of a file whose name ends in `.json`
        task_file_name: `/x.JSON` does not name a task file; give the path of a file whose name ends in `.json`"#]]
    .assert_eq(&told.join("\n"));
    for path in ["", "~", "~/", ".json", "~/.json"] {
        assert_eq!(TaskFile::open(path).expect_err("no name").fault, TaskFileFault::Name, "{path}");
    }
    let long = folder.fault(&format!("{}.json", "x".repeat(300)));
    assert!(long.starts_with("task_file_unreadable: "), "{long}");
}

#[test]
fn a_leading_tilde_is_the_home_folder() {
    let home = std::env::home_dir().expect("a home folder");
    let file = TaskFile::open("~/no-task-of-this-name.json").expect("the home folder exists");
    assert_eq!(file.path(), home.join("no-task-of-this-name.json"));
    let here = TaskFile::open("no-task-of-this-name.json").expect("the working folder exists");
    assert_eq!(here.path(), std::env::current_dir().expect("a folder").join("no-task-of-this-name.json"));
}

#[cfg(unix)]
#[test]
fn only_files_are_task_files() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    fs::create_dir(folder.at("folder.json")).expect("a scratch folder");
    let made = Command::new("mkfifo").arg(folder.at("pipe.json")).status().expect("mkfifo runs");
    assert!(made.success());
    symlink("/dev/zero", folder.at("device.json")).expect("a scratch folder");
    symlink("nowhere.json", folder.at("dangling.json")).expect("a scratch folder");
    symlink("loop.json", folder.at("loop.json")).expect("a scratch folder");
    let names = ["folder.json", "pipe.json", "device.json", "dangling.json", "loop.json"];
    expect![[r#"
        task_file_not_a_file: `/folder.json` is a folder, not a file; give the path of the task's own `.json` file
        task_file_not_a_file: `/pipe.json` is a pipe or a device, not a file; give the path of the task's own `.json` file
        task_file_not_a_file: `/device.json` is a pipe or a device, not a file; give the path of the task's own `.json` file
        task_file_dangling: `/dangling.json` is a symlink whose target does not exist; remove it, or create its target
        task_file_dangling: `/loop.json` is a symlink whose target does not exist; remove it, or create its target"#]]
    .assert_eq(&names.map(|name| folder.fault(name)).join("\n"));
}

#[cfg(unix)]
#[test]
fn a_symlink_stays_and_its_target_is_rewritten() {
    let folder = Folder::new();
    fs::create_dir(folder.at("real")).expect("a scratch folder");
    let folder = folder.with("real/a.json", "{}");
    std::os::unix::fs::symlink("real/a.json", folder.at("1.json")).expect("a scratch folder");
    write(&mut folder.lock("1.json").expect("a turn"), json!({"status": "pending"})).expect("room");
    assert!(fs::symlink_metadata(folder.at("1.json")).expect("a link").is_symlink());
    assert_eq!(folder.text("real/a.json"), "{\n  \"status\": \"pending\"\n}");
    assert_eq!(folder.task("1.json").id(), "1");
    // Both names of the file use one lock.
    assert!(folder.at("real/.portolan.lock").exists() && !folder.at(".portolan.lock").exists());
}

#[cfg(unix)]
#[test]
fn rights_are_kept_and_the_lock_is_private() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new().with("1.json", "{}");
    let mode = |name: &str| fs::metadata(folder.at(name)).expect("a file").permissions().mode() & 0o7777;
    for wanted in [0o600, 0o664, 0o666, 0o640] {
        fs::set_permissions(folder.at("1.json"), fs::Permissions::from_mode(wanted)).expect("our own file");
        write(&mut folder.lock("1.json").expect("a turn"), json!({"status": "pending"})).expect("room");
        assert_eq!(mode("1.json"), wanted);
    }
    assert_eq!(mode(LOCK_FILE), 0o600);
}

#[cfg(unix)]
#[test]
fn a_read_only_file_is_refused_though_a_rename_would_work() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new().with("1.json", "{}");
    fs::set_permissions(folder.at("1.json"), fs::Permissions::from_mode(0o444)).expect("our own file");
    assert_eq!(folder.lock("1.json").expect_err("it is read-only").code(), "task_file_read_only");
    assert_eq!(folder.task("1.json").read().expect("it can be read"), Some(Task::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_is_a_clear_error() {
    // Not even root creates files here.
    let file = TaskFile::open("/proc/self/task.json").expect("the folder exists");
    let error = block_on(file.lock()).expect_err("nothing can be created there");
    assert!(matches!(error.fault, TaskFileFault::ReadOnly | TaskFileFault::Unwritable), "{error}");
    let denied = |kind: ErrorKind| TaskFileError::unwritable("1.json", kind.into()).code();
    assert_eq!(denied(ErrorKind::PermissionDenied), "task_file_read_only");
    assert_eq!(denied(ErrorKind::ReadOnlyFilesystem), "task_file_read_only");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_clear_error() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("a device that is always full");
    let error = write::fill(full, b"{}", None, WriteDurability::Rename).expect_err("it is full");
    let error = TaskFileError::unwritable("1.json", error);
    assert_eq!(error.code(), "task_file_full");
    expect![
        "there is no room to write `1.json`: No space left on device (os error 28); free some space and repeat the call; the file was left as it is"
    ]
    .assert_eq(&error.to_string());
}

#[test]
fn a_task_that_would_grow_too_large_is_not_written() {
    let folder = Folder::new().with("1.json", r#"{"status":"pending"}"#);
    let mut locked = folder.lock("1.json").expect("a turn");
    let error = write(&mut locked, json!({"subject": "x".repeat(5 << 20)})).expect_err("it is too large");
    assert_eq!(error.code(), "task_file_too_large");
    assert_eq!(folder.text("1.json"), r#"{"status":"pending"}"#);
    // The lock is still held, and the read content is still known.
    write(&mut locked, json!({"activeForm": "x"})).expect("room");
    assert_eq!(locked.task().map(Task::len), Some(2));
}

#[test]
fn what_a_crash_left_behind_is_in_nobodys_way() {
    let folder = Folder::new().with("1.json", "{}").with(".portolan.tmp", "half a ta");
    write(&mut folder.lock("1.json").expect("a turn"), json!({"status": "pending"})).expect("room");
    assert_eq!(folder.names(), [".portolan.lock", "1.json"]);
}

#[test]
fn changes_by_those_who_take_no_lock_are_kept() {
    let folder = Folder::new().with("1.json", r#"{"subject":"old","metadata":{"step":"a"}}"#);
    let mut locked = folder.lock("1.json").expect("a turn");
    let folder = folder.with("1.json", r#"{"subject":"renamed","owner":"me","metadata":{"step":"a"}}"#);
    write(&mut locked, json!({"metadata": {"step": "b"}})).expect("room");
    let task = folder.task("1.json").read().expect("JSON").expect("a task");
    assert_eq!(Value::Object(task), json!({"subject": "renamed", "owner": "me", "metadata": {"step": "b"}}));
}

#[test]
fn a_task_that_moved_meanwhile_is_not_moved_back() {
    let moved = r#"{"metadata":{"step":"elsewhere"}}"#;
    for (before, now) in [
        (Some(r#"{"metadata":{"step":"a"}}"#), Some(moved)),
        (None, Some(moved)),
        (Some(r#"{"metadata":{"step":"a"}}"#), None),
        (Some(r#"{"metadata":{"step":"a"}}"#), Some(r#"{"metadata":{"st"#)),
    ] {
        let folder = Folder::new();
        let folder = if let Some(text) = before { folder.with("1.json", text) } else { folder };
        let mut locked = folder.lock("1.json").expect("a turn");
        match now {
            Some(text) => fs::write(folder.at("1.json"), text),
            None => fs::remove_file(folder.at("1.json")),
        }
        .expect("a writable scratch folder");
        let error = write(&mut locked, json!({"metadata": {"step": "b"}})).expect_err("it moved");
        let expected =
            if now.is_some_and(|text| !text.ends_with('}')) { TaskFileFault::NotJson } else { TaskFileFault::Changed };
        assert_eq!(error.fault, expected, "{error}");
        assert_eq!(fs::read_to_string(folder.at("1.json")).ok().as_deref(), now);
    }
}

#[test]
fn waiting_for_a_turn_leaves_the_executor_free() {
    let folder = Folder::new().with("1.json", "{}");
    let held = folder.lock("1.json").expect("a turn");
    let file = folder.task("1.json");
    let locked = block_on(async {
        let mut waiting = pin!(file.lock());
        std::future::poll_fn(|context| {
            assert!(waiting.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        // If the executor were blocked, the lock would not be released here.
        drop(held);
        waiting.await
    });
    locked.expect("a turn");
}

#[test]
fn a_turn_that_never_comes_is_an_error() {
    let folder = Folder::new().with("1.json", "{}");
    let held = folder.lock("1.json").expect("a turn");
    let file = folder.task("1.json");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let error =
        runtime.block_on(LockedTaskFile::wait(&file, Duration::from_millis(5))).expect_err("somebody else has it");
    assert_eq!(error.code(), "task_file_busy");
    // The thread that still waits gets the lock and releases it, so the next one can take it.
    drop(held);
    runtime.block_on(file.lock()).expect("a turn");
}

fn count_up(file: &TaskFile, times: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for _ in 0..times {
        let mut locked = runtime.block_on(file.lock()).expect("a turn");
        let count = locked.task().and_then(|task| task["metadata"]["count"].as_u64()).expect("a count");
        write(&mut locked, json!({"metadata": {"count": count + 1}})).expect("room");
    }
}

/// Starts this program again with only the test `name` and its task file.
fn this_program(shell: &str, name: &str, file: PathBuf) -> Command {
    let name = format!("{}::{name}", module_path!().split_once("::").expect("in a crate").1);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{shell} exec \"$0\" --exact {name}")]);
    command.arg(std::env::current_exe().expect("this program")).env(WORK_ON, file).stdout(Stdio::null());
    command
}

const WORK_ON: &str = "PORTOLAN_TEST_TASK_FILE";

/// [`no_step_of_two_processes_is_lost`] starts this. On its own it does nothing.
#[test]
fn counting_process() {
    if let Ok(path) = std::env::var(WORK_ON) {
        count_up(&TaskFile::open(&path).expect("a task file"), 100);
    }
}

/// [`without_room_the_original_stays`] starts this. On its own it does nothing.
#[test]
fn cramped_process() {
    if let Ok(path) = std::env::var(WORK_ON) {
        let mut locked = block_on(TaskFile::open(&path).expect("a task file").lock()).expect("a turn");
        let error = write(&mut locked, json!({"status": "pending"})).expect_err("there is no room");
        assert_eq!(error.code(), "task_file_full");
    }
}

#[cfg(unix)]
#[test]
fn without_room_the_original_stays() {
    let folder = Folder::new().with("1.json", "{}");
    // No file may grow, and an attempt gives an error instead of a signal.
    let status = this_program("trap '' XFSZ; ulimit -f 0;", "cramped_process", folder.at("1.json")).status();
    assert!(status.expect("this program starts").success());
    assert_eq!(folder.text("1.json"), "{}");
    assert_eq!(folder.names(), [LOCK_FILE, "1.json"]);
}

#[cfg(unix)]
#[test]
fn no_step_of_two_processes_is_lost() {
    let folder = Folder::new().with("1.json", r#"{"metadata":{"count":0}}"#);
    let start = || this_program("", "counting_process", folder.at("1.json")).spawn().expect("this program starts");
    for mut process in [start(), start(), start()] {
        assert!(process.wait().expect("it ends").success());
    }
    assert_eq!(folder.task("1.json").read().expect("JSON").expect("a task")["metadata"]["count"], 300);
}

#[test]
fn no_step_of_many_threads_is_lost_and_no_reader_sees_half_a_file() {
    let padding = "x".repeat(100_000);
    let folder = Folder::new().with("1.json", r#"{"metadata":{"count":0}}"#);
    let (file, over, ready) = (folder.task("1.json"), AtomicBool::new(false), Barrier::new(5));
    let reads = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut reads, mut last) = (0, 0);
            ready.wait();
            while !over.load(Ordering::Relaxed) {
                let task = file.read().expect("a whole file").expect("it is always there");
                let count = task["metadata"]["count"].as_u64().expect("a count");
                assert!(count >= last, "{count} after {last}");
                (reads, last) = (reads + 1, count);
            }
            reads
        });
        let counters: Vec<_> = (0..3).map(|_| scope.spawn(|| (ready.wait(), count_up(&file, 100)))).collect();
        // A fourth writer makes the file long and short in turn.
        ready.wait();
        for turn in 0..100 {
            let text = if turn % 2 == 0 { padding.as_str() } else { "" };
            write(&mut block_on(file.lock()).expect("a turn"), json!({"description": text})).expect("room");
        }
        for counter in counters {
            counter.join().expect("no writer fails");
        }
        over.store(true, Ordering::Relaxed);
        reader.join().expect("no reader fails")
    });
    assert!(reads > 0);
    assert_eq!(file.read().expect("JSON").expect("a task")["metadata"]["count"], 300);
}

#[test]
fn siblings_are_the_other_tasks_in_order() {
    let child = |parent: &str| format!(r#"{{"metadata":{{"parentTaskId":"{parent}"}}}}"#);
    let folder = Folder::new()
        .with("1.json", "{}")
        .with("11.json", child("1"))
        .with("12.json", "{broken")
        .with("13.json", child("2"))
        .with("14.json", r#"{"name":"no task"}"#)
        .with("notes.txt", "x")
        .with(".lock", "");
    fs::create_dir(folder.at("15.json")).expect("a scratch folder");
    let tell = |sibling: Result<(PathBuf, Task), TaskFileError>| match sibling {
        Ok((path, task)) => {
            format!("{} of {}", path.file_stem().expect("a name").display(), task["metadata"]["parentTaskId"])
        }
        Err(error) => error.code().to_owned(),
    };
    let told: Vec<_> = folder.task("1.json").siblings().map(tell).collect();
    assert_eq!(
        told,
        ["11 of \"1\"", "task_file_not_json", "13 of \"2\"", "task_file_not_a_task", "task_file_not_a_file"]
    );
}

#[test]
fn too_many_siblings_are_said_to_be() {
    let folder = Folder::new();
    for number in 0..=MAX_SIBLINGS + 1 {
        fs::write(folder.at(&format!("{number:04}.json")), "{}").expect("a writable scratch folder");
    }
    let found: Vec<_> = folder.task("0000.json").siblings().collect();
    assert_eq!(found.len(), MAX_SIBLINGS + 1);
    let (last, read) = found.split_last().expect("there are some");
    let names = read.iter().flatten().map(|(path, _)| path.clone());
    assert!(names.eq((1..=MAX_SIBLINGS).map(|number| folder.at(&format!("{number:04}.json")))));
    assert_eq!(last.as_ref().expect_err("too many").code(), "task_file_too_many");
}

#[test]
fn a_file_that_another_program_has_written_is_put_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("a.txt");
    let exchanged = |known: &str, new: &str| {
        exchange_known(folder.path(), &target, (known.as_bytes(), new.as_bytes()), None, WriteDurability::Rename)
    };
    assert!(!exchanged("one", "mine").expect("nothing is in the way"), "there is no file");
    fs::write(&target, "one").expect("written");
    assert!(exchanged("one", "two").expect("nothing is in the way"));
    assert!(!exchanged("one", "three").expect("nothing is in the way"), "it has been changed");
    assert_eq!(fs::read_to_string(&target).expect("it is there"), "two");
    let names: Vec<_> = folder.path().read_dir().expect("a folder").collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// What another program writes last stands in the end, or was known when it was replaced.
#[test]
fn no_version_of_another_program_is_lost_while_a_file_is_exchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    let (target, beside) = (folder.path().join("a.txt"), folder.path().join("beside"));
    for _round in 0..30 {
        fs::write(&target, "theirs 0").expect("written");
        let place = |nth: u32| {
            fs::write(&beside, format!("theirs {nth}")).and_then(|()| fs::rename(&beside, &target)).expect("renamed");
        };
        let replaced = std::thread::scope(|threads| {
            let other = threads.spawn(|| (1..=100).for_each(place));
            let (mut nth, mut replaced) = (0, String::new());
            while !other.is_finished() {
                let known = fs::read_to_string(&target).expect("it is there");
                let texts = (known.as_bytes(), format!("mine {nth}"));
                let texts = (texts.0, texts.1.as_bytes());
                let done = exchange_known(folder.path(), &target, texts, None, WriteDurability::Rename);
                if done.is_ok_and(|done| done) && known.starts_with("theirs") {
                    replaced = known;
                }
                nth += 1;
            }
            replaced
        });
        let end = fs::read_to_string(&target).expect("it is there");
        assert!(end == "theirs 100" || replaced == "theirs 100", "{end} stands, and replaced {replaced}");
    }
}

/// The version that was taken last is the newest, however often others came between.
#[test]
fn a_version_that_was_taken_is_put_back_even_if_that_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (target, ours) = (folder.path().join("a.txt"), folder.path().join("ours"));
    for (most, newest) in [(0, "theirs 2"), (1, "theirs 1")] {
        fs::write(&target, "theirs 1").expect("written");
        fs::write(&ours, "theirs 2").expect("written");
        // What was placed is no longer there: each time another version seems to have come.
        let done = write::put_back(&ours, &target, (b"theirs 2".to_vec(), b"mine".to_vec()), most);
        assert_eq!(done.expect_err("it is given up").kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(fs::read_to_string(&target).expect("it is there"), newest, "{most}");
    }
}
