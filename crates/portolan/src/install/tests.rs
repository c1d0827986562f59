//! Each target, installed into and uninstalled from projects with files of different formatting.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;

struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Project {
        Project { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the project")
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
        fs::write(path, text).expect("a file is written");
    }

    /// Returns all files, and folders with a trailing slash.
    fn all(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(&self.path(), &self.path(), &mut all);
        all
    }

    fn go(&self, target: Target, direction: Direction) -> bool {
        self.go_as(target, direction, "/opt/my tools/portolan")
    }

    fn go_as(&self, target: Target, direction: Direction, program: &str) -> bool {
        let plan = Plan::of(target, direction, Extras::default(), &self.path(), program).expect("a plan");
        let changes = !plan.is_empty();
        assert_eq!(changes, !plan.diff().is_empty());
        plan.perform().expect("it is done");
        changes
    }

    fn git(&self, words: &[&str]) -> bool {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(words);
        command.current_dir(self.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("git runs").success()
    }
}

fn collect(root: &Path, folder: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root).expect("inside").to_string_lossy().into_owned();
        if path.is_dir() {
            all.insert(format!("{name}/"), Vec::new());
            collect(root, &path, all);
        } else {
            all.insert(name, fs::read(&path).expect("a file"));
        }
    }
}

const FILES: [&str; 8] = [
    ".claude/settings.json",
    ".mcp.json",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    "opencode.jsonc",
    ".vscode/mcp.json",
];

const TEXTS: [&str; 6] = [
    "{}",
    "{\n  // mine\n  \"theme\": \"dark\", // keep\n}\n",
    "{\r\n\t\"a\": [1,\r\n\t2],\r\n\t\"hooks\": {}\r\n}",
    "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"hooks\":{\"PreToolUse\":[{\"hooks\":[]}]}}",
    "   {\n        \"version\": 1,\n        \"hooks\": { \"stop\": [ { \"command\": \"mine\" } ] } }   \n\n",
    "",
];

#[test]
fn every_host_is_installed_once_and_taken_out_to_the_last_byte() {
    for host in Host::ALL {
        for text in std::iter::once(None).chain(TEXTS.map(Some)) {
            let project = Project::new();
            for file in FILES.iter().filter(|_| text.is_some()) {
                project.write(file, text.unwrap_or_default());
            }
            let before = project.all();
            let target = Target::Host(host);
            assert!(project.go(target, Direction::Install), "{host}");
            let installed = project.all();
            for event in host.events().iter().filter(|event| event.installed) {
                let name = event.name.as_bytes();
                assert!(
                    installed.values().any(|text| text.windows(name.len()).any(|word| word == name)),
                    "{host} {}",
                    event.name
                );
            }
            assert!(!project.go(target, Direction::Install), "{host}: the second time there is nothing to do");
            assert_eq!(project.all(), installed, "{host}");
            assert!(project.go(target, Direction::Uninstall), "{host}");
            assert_eq!(project.all(), before, "{host} in {text:?}");
            assert!(!project.go(target, Direction::Uninstall), "{host}: twice");
        }
    }
}

#[test]
fn what_the_user_adds_in_between_stays() {
    let project = Project::new();
    let target = Target::Host(Host::ClaudeCode);
    project.write(".claude/settings.json", "{\n  // mine\n  \"theme\": \"dark\"\n}\n");
    project.go(target, Direction::Install);
    let path = project.path().join(".claude/settings.json");
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(&path, text.replace("\"dark\"", "\"light\"")).expect("it is changed");
    project.go(target, Direction::Uninstall);
    assert_eq!(fs::read_to_string(&path).expect("a file"), "{\n  // mine\n  \"theme\": \"light\"\n}\n");
}

#[test]
fn a_program_that_has_moved_is_called_at_its_new_place_and_nothing_stands_twice() {
    for host in Host::ALL {
        let project = Project::new();
        project.go_as(Target::Host(host), Direction::Install, "/old/portolan");
        assert!(project.go_as(Target::Host(host), Direction::Install, "/new/portolan"));
        let all = project.all();
        assert!(!all.values().any(|text| String::from_utf8_lossy(text).contains("/old/")), "{host}");
    }
}

#[test]
fn without_a_record_hooks_are_found_again_and_not_put_in_twice() {
    let project = Project::new();
    let target = Target::Host(Host::Cursor);
    project.go(target, Direction::Install);
    let hooks = project.path().join(".cursor/hooks.json");
    let first = fs::read_to_string(&hooks).expect("hooks");
    fs::remove_file(project.path().join(".portolan/installed.json")).expect("the record is gone");
    project.go(target, Direction::Install);
    let count = |text: &str| text.matches("hook cursor preToolUse").count();
    assert_eq!((count(&first), count(&fs::read_to_string(&hooks).expect("hooks"))), (1, 1));
}

fn refusal(project: &Project, target: Target, direction: Direction) -> String {
    let plan = Plan::of(target, direction, Extras::default(), &project.path(), "portolan");
    format!("{:#}", plan.err().expect("it is refused"))
}

#[test]
fn what_cannot_be_changed_safely_is_left_alone() {
    let project = Project::new();
    project.write(".claude/settings.json", "{ broken");
    let why = refusal(&project, Target::Host(Host::ClaudeCode), Direction::Install);
    assert!(why.starts_with("`.claude/settings.json` was not changed: "), "{why}");
    project.write(".opencode/plugins/portolan.js", "// mine");
    let why = refusal(&project, Target::Host(Host::OpenCode), Direction::Install);
    assert!(why.contains("portolan did not make"), "{why}");
    assert!(refusal(&project, Target::Git, Direction::Install).contains("not a git repository"));
}

#[test]
#[cfg(unix)]
fn links_are_not_followed() {
    let project = Project::new();
    let outside = Project::new();
    outside.write("settings.json", "{}");
    std::os::unix::fs::symlink(outside.path(), project.path().join(".gemini")).expect("a link");
    let why = refusal(&project, Target::Host(Host::Gemini), Direction::Install);
    assert!(why.contains("is outside the project"), "{why}");
    project.write(".cursor/other.json", "{}");
    std::os::unix::fs::symlink("other.json", project.path().join(".cursor/hooks.json")).expect("a link");
    assert!(refusal(&project, Target::Host(Host::Cursor), Direction::Install).contains("symbolic link"));
}

/// Writes a program by means of a shell. A file that this process has open for writing may be inherited by another
/// test's child, and could not be executed meanwhile.
#[cfg(unix)]
fn script(project: &Project, name: &str, text: &str) -> String {
    let path = project.path().join(name).to_string_lossy().into_owned();
    let line = r#"printf %s "$2" > "$1" && chmod 755 "$1""#;
    let done = Command::new("sh").args(["-c", line, "sh", &path, text]).status().expect("a shell");
    assert!(done.success(), "{path}");
    path
}

/// Writes a program that logs its arguments and input, and refuses while a file `refuse` exists.
#[cfg(unix)]
fn recorder(project: &Project) -> String {
    let text = "#!/bin/sh\nhere=$(dirname -- \"$0\")\necho \"program $*\" >> \"$here/log\"\ncase $3 in pre-push|reference-transaction) cat >> \"$here/log\";; esac\n[ ! -e \"$here/refuse\" ]\n";
    script(project, "portolan program", text)
}

#[test]
#[cfg(unix)]
fn git_hooks_run_what_was_there_first_and_then_the_program() {
    let (project, beside) = (Project::new(), Project::new());
    assert!(project.git(&["init", "-q", "-b", "main"]));
    let mine = format!(
        "#!/bin/sh\ncat >/dev/null\necho \"mine $*\" >> '{}/log'\n[ ! -e .mine-refuses ]\n",
        beside.path().display()
    );
    script(&project, ".git/hooks/pre-commit", &mine);
    script(&project, ".git/hooks/reference-transaction", &mine);
    let program = recorder(&beside);
    let before = project.all();
    assert!(project.go_as(Target::Git, Direction::Install, &program));
    assert!(!project.go_as(Target::Git, Direction::Install, &program), "a second time");
    assert!(project.git(&["commit", "-q", "--allow-empty", "-m", "one"]));
    let log = fs::read_to_string(beside.path().join("log")).expect("a log");
    let at = |what: &str| log.find(what).unwrap_or_else(|| panic!("{what} in {log}"));
    assert!(at("mine \n") < at("program guard git pre-commit"));
    assert!(at("mine prepared") < at("program guard git reference-transaction prepared"));
    assert!(
        log.contains(" refs/heads/main\n")
            && log.contains("guard git commit-msg")
            && log.contains("guard git post-commit")
    );
    fs::write(beside.path().join("refuse"), "").expect("a file");
    assert!(!project.git(&["commit", "-q", "--allow-empty", "-m", "two"]), "the program refuses");
    assert!(!project.git(&["commit", "-q", "--no-verify", "--allow-empty", "-m", "two"]), "also without verification");
    fs::remove_file(beside.path().join("refuse")).expect("gone");
    project.write(".mine-refuses", "");
    assert!(!project.git(&["commit", "-q", "--allow-empty", "-m", "three"]), "the hook that was there refuses");
    fs::remove_file(project.path().join(".mine-refuses")).expect("gone");
    assert!(project.go_as(Target::Git, Direction::Uninstall, &program));
    let hooks = |all: &BTreeMap<String, Vec<u8>>| -> BTreeMap<String, Vec<u8>> {
        all.iter()
            .filter(|(name, _)| name.starts_with(".git/hooks"))
            .map(|(name, text)| (name.clone(), text.clone()))
            .collect()
    };
    assert_eq!(hooks(&project.all()), hooks(&before));
    assert!(files::is_executable(&project.path().join(".git/hooks/pre-commit")));
}

/// Guards of hosts rely on git's hooks, so both are installed together.
#[cfg(unix)]
#[test]
fn a_host_brings_the_hooks_of_git_along() {
    let project = Project::new();
    assert!(project.git(&["init", "-q", "."]));
    let host = Target::Host(Host::Codex);
    assert!(project.go(host, Direction::Install));
    assert!(project.all().contains_key(".git/hooks/reference-transaction"));
    assert!(project.go(host, Direction::Uninstall));
    assert!(!project.all().contains_key(".git/hooks/pre-push"), "they go with the last host");
    assert!(project.go(host, Direction::Install));
    assert!(!project.go(Target::Git, Direction::Install), "they are in already");
    assert!(project.go(host, Direction::Uninstall));
    assert!(project.all().contains_key(".git/hooks/pre-push"), "they were asked for by name");
    assert!(project.go(Target::Git, Direction::Uninstall));

    project.write(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
    project.write(".git/hooks/pre-push.portolan-chained", "#!/bin/sh\n");
    let plan = Plan::of(host, Direction::Install, Extras::default(), &project.path(), "portolan").expect("a plan");
    assert!(plan.notes.iter().any(|note| note.starts_with("git's own hooks are not installed")), "{:?}", plan.notes);
    plan.perform().expect("the host's are");
    assert!(project.all().contains_key(".codex/hooks.json"));
    assert!(!project.all().contains_key(".git/hooks/pre-commit"), "none of git's where one cannot be");
}

#[test]
#[cfg(unix)]
fn git_hooks_go_where_git_looks_for_them() {
    let (project, beside) = (Project::new(), Project::new());
    assert!(project.git(&["init", "-q"]) && project.git(&["config", "core.hooksPath", ".husky"]));
    let before = project.all();
    project.go_as(Target::Git, Direction::Install, &recorder(&beside));
    assert!(project.path().join(".husky/pre-push").exists());
    assert!(project.git(&["commit", "-q", "--allow-empty", "-m", "one"]));
    assert!(beside.path().join("log").exists());
    project.go_as(Target::Git, Direction::Uninstall, "portolan");
    assert_eq!(project.all().contains_key(".husky/"), before.contains_key(".husky/"));
}

/// Runs the plug-in in a real Node.
#[cfg(unix)]
fn shim_says(answering: &str, step: &str) -> Option<String> {
    if Command::new("node").arg("--version").output().is_err() {
        #[expect(clippy::print_stderr, reason = "a check that is skipped says so")]
        {
            eprintln!("NOT CHECKED: the OpenCode plug-in, because there is no `node` here");
        }
        return None;
    }
    let project = Project::new();
    let program = script(&project, "program", answering);
    project.write("portolan.mjs", &hosts::shim(&program));
    let script = format!(
        "import {{ Portolan }} from './portolan.mjs';\nconst hooks = await Portolan({{ directory: process.cwd() }});\n\
         const output = {{ args: {{ command: 'ls' }}, output: 'seen' }};\n\
         try {{ await hooks['tool.execute.{step}']({{ tool: 'bash', sessionID: 's', callID: 'c', args: output.args }}, output);\n\
         console.log('passed', output.output) }} catch (error) {{ console.log('thrown', error.message) }}\n"
    );
    project.write("go.mjs", &script);
    let done = Command::new("node").arg("go.mjs").current_dir(project.path()).output().expect("node runs");
    let told = fs::read_to_string(project.path().join("told")).unwrap_or_default();
    Some(format!("{}{told}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr)))
}

#[test]
#[cfg(unix)]
fn the_plug_in_of_opencode_lets_nothing_through_but_a_clear_yes() {
    let allow = "#!/bin/sh\ncat > told\necho '{\"decision\":\"allow\",\"context\":\"and more\"}'\n";
    for (answering, step, expected) in [
        (allow, "before", "passed seen\n{\"session_id\":\"s\",\"tool_use_id\":\"c\",\"cwd\":"),
        (allow, "after", "passed seen\nand more\n"),
        (
            "#!/bin/sh\necho '{\"decision\":\"deny\",\"reason\":\"not on main\"}'\n",
            "before",
            "thrown portolan: not on main\n",
        ),
        ("#!/bin/sh\nexit 0\n", "before", "thrown portolan: the hook gave no answer\n"),
        ("#!/bin/sh\necho oops\n", "before", "thrown portolan: the hook gave no answer\n"),
        ("#!/bin/sh\necho '{}'\n", "before", "thrown portolan: refused\n"),
        ("#!/bin/sh\necho broken >&2\nexit 3\n", "before", "thrown portolan: broken\n"),
        ("#!/bin/sh\nkill -9 $$\n", "before", "thrown portolan: the hook ended with status null\n"),
        ("#!/no/such/interpreter\n", "before", "thrown portolan: spawn "),
    ] {
        let Some(said) = shim_says(answering, step) else { return };
        assert!(said.starts_with(expected), "{answering}{said}");
    }
}

/// Uses a script with a scripted answer as the host's hook.
#[test]
#[cfg(unix)]
fn what_no_longer_refuses_is_found() {
    let look = |project: &Project| -> Vec<String> {
        let record = Record::load(&project.path()).expect("a record");
        let findings =
            crate::cli::block_on(examine(&project.path(), &record, ExaminationContext::default())).expect("a runtime");
        findings.iter().map(|finding| format!("{:?} {}", finding.state, finding.message)).collect()
    };
    let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
    let (project, beside) = (Project::new(), Project::new());
    let program = script(&beside, "portolan", &format!("#!/bin/sh\ncat > told\necho '{deny}'\n"));
    project.go_as(Target::Host(Host::ClaudeCode), Direction::Install, &program);
    let said = look(&project);
    assert!(said.iter().all(|said| said.starts_with("Good")) && said.len() == 3, "{said:?}");
    let told = fs::read_to_string(project.path().join("told")).expect("the hook was run");
    let call = crate::hook::read(Host::ClaudeCode, "PreToolUse", told.as_bytes()).expect("it is a call");
    let portolan_gates::Tool::Edit { paths } = call.intent.expect("a tool").tool else { panic!("{told}") };
    let own = project.path().join(".claude/settings.json");
    assert_eq!(paths, [own.to_string_lossy()]);
    script(&beside, "portolan", "#!/bin/sh\necho 'not today' >&2\nexit 1\n");
    assert!(look(&project).contains(&"Wrong a forbidden edit of `.claude/settings.json` is not refused: the hook for `PreToolUse` ends with status 1, saying: not today".to_owned()), "{:?}", look(&project));
    script(&beside, "portolan", "#!/bin/sh\necho 'what hook?' >&2\nexit 2\n");
    let broken = "Wrong every call is refused: the hook for `PreToolUse` ends with status 2, saying: what hook?";
    assert!(look(&project).contains(&broken.to_owned()), "{:?}", look(&project));
    fs::remove_file(&program).expect("gone");
    assert!(look(&project).iter().any(|said| said.starts_with("Wrong the hook for `PreToolUse` cannot be started")));
    project.write(".claude/settings.local.json", "{\"disableAllHooks\": true}");
    assert!(look(&project).iter().any(|said| said.contains("`disableAllHooks` in `.claude/settings.local.json`")));
    project.write(".claude/settings.json", "{}");
    assert!(look(&project).iter().any(|said| said.contains("is no longer what was installed")));
    fs::remove_file(own).expect("gone");
    assert!(look(&project).iter().any(|said| said.contains("`.claude/settings.json` is gone")));
}

#[test]
#[cfg(unix)]
fn git_hooks_that_git_passes_over_are_found() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::new();
    assert!(project.git(&["init", "-q"]));
    project.go(Target::Git, Direction::Install);
    let wrong = || -> Vec<String> {
        let record = Record::load(&project.path()).expect("a record");
        let findings =
            crate::cli::block_on(examine(&project.path(), &record, ExaminationContext::default())).expect("a runtime");
        findings.into_iter().filter(|finding| finding.state == State::Wrong).map(|finding| finding.message).collect()
    };
    assert_eq!(wrong(), Vec::<String>::new());
    let hook = project.path().join(".git/hooks/pre-push");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).expect("permissions");
    assert!(wrong().len() == 1 && wrong()[0].contains("is not executable"), "{:?}", wrong());
    assert!(project.git(&["config", "core.hooksPath", "/dev/null"]));
    assert_eq!(wrong().len(), 6, "{:?}", wrong());
}

#[test]
fn the_plug_in_of_claude_code_is_as_it_was_read() {
    let mut told = String::new();
    for (name, text) in plugin::files() {
        told += &format!("=== {name}\n{text}");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hook/plugin.txt");
    expect_test::expect_file![golden].assert_eq(&told);
    let project = Project::new();
    let folder = project.path().join("plugin");
    assert_eq!(plugin::write(&folder).expect("it is written").len(), plugin::files().len());
    plugin::write(&folder).expect("an earlier one is replaced");
    project.write("other/mine.txt", "mine");
    let why = plugin::write(&project.path().join("other")).expect_err("it is refused");
    assert!(why.to_string().contains("contains other files"), "{why}");
}

#[test]
fn a_shell_in_a_sandbox_stays_until_everything_is_taken_out() {
    let project = Project::new();
    project.write(".claude/settings.json", "{\n  // mine\n  \"env\": { \"A\": \"1\" }\n}\n");
    let before = project.all();
    let target = Target::Host(Host::ClaudeCode);
    let plan = Plan::of(
        target,
        Direction::Install,
        Extras { sandbox: true, ..Extras::default() },
        &project.path(),
        "/opt/portolan",
    )
    .expect("a plan");
    plan.perform().expect("it is done");
    let all = project.all();
    let text = |name: &str| String::from_utf8(all[name].clone()).expect("text");
    let (name, script) = ["bash", "zsh"]
        .iter()
        .find_map(|name| all.get(&format!(".portolan/sandbox/{name}")).map(|script| (name, script)))
        .expect("a program");
    let script = String::from_utf8(script.clone()).expect("text");
    assert!(script.contains("exec /opt/portolan sandbox --project "), "{script}");
    assert!(files::is_executable(&project.path().join(".portolan/sandbox").join(name)));
    let settings = text(".claude/settings.json");
    let named =
        format!("\"CLAUDE_CODE_SHELL\": {}", serde_json::json!(project.path().join(".portolan/sandbox").join(name)));
    assert!(settings.contains("\"A\": \"1\"") && settings.replace("\":\"", "\": \"").contains(&named), "{settings}");
    // A repeated installation keeps the shell.
    assert!(!project.go_as(target, Direction::Install, "/opt/portolan"));
    // The sandbox creates this folder, and it is still empty.
    fs::create_dir(project.path().join(".portolan/issues")).expect("a folder is made");
    assert!(project.go_as(target, Direction::Uninstall, "/opt/portolan"));
    assert_eq!(project.all(), before);
}

fn behind_gate(project: &Project, host: Host) -> Plan {
    let extras = Extras { gate: true, ..Extras::default() };
    Plan::of(Target::Host(host), Direction::Install, extras, &project.path(), "/opt/portolan").expect("a plan")
}

/// A file of each host with servers, and the names of those that the gate can start.
const SERVERS: [(Host, &str, &str); 5] = [
    (
        Host::ClaudeCode,
        ".mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"db\": { \"command\": \"db\", \"env\": { \"T\": \"${T}\" } }, // keep\n    \"web\": { \"type\": \"http\", \"url\": \"https://example.org/mcp\" }\n  }\n}\n",
    ),
    (
        Host::Cursor,
        ".cursor/mcp.json",
        "{\"mcpServers\":{\"db\":{\"command\":\"db\",\"args\":[\"${workspaceFolder}/x\",\"${env:T}\"]},\"web\":{\"url\":\"https://example.org/mcp\"}}}",
    ),
    (
        Host::Gemini,
        ".gemini/settings.json",
        "{\r\n\t\"theme\": \"x\",\r\n\t\"mcpServers\": { \"db\": { \"command\": \"db\", \"trust\": true }, \"web\": { \"httpUrl\": \"https://example.org/mcp\" } }\r\n}",
    ),
    (
        Host::OpenCode,
        "opencode.json",
        "{ \"mcp\": { \"db\": { \"type\": \"local\", \"command\": [\"db\", \"-x\"], \"environment\": { \"T\": \"{env:T}\" }, \"enabled\": false },\n \"web\": { \"type\": \"remote\", \"url\": \"https://example.org/mcp\" } } }\n",
    ),
    (
        Host::Copilot,
        ".vscode/mcp.json",
        "{\n\t\"servers\": {\n\t\t\"db\": { \"type\": \"stdio\", \"command\": \"db\", \"cwd\": \"inner\" },\n\t\t\"web\": { \"type\": \"http\", \"url\": \"https://example.org/mcp\" }\n\t}\n}\n",
    ),
];

#[test]
fn servers_move_behind_the_gate_and_back_to_the_last_byte() {
    for (host, file, text) in SERVERS {
        let project = Project::new();
        project.write(file, text);
        let before = project.all();
        behind_gate(&project, host).perform().expect("it is done");
        let installed = project.all();
        let now = String::from_utf8(installed[file].clone()).expect("text");
        assert!(now.contains("gate.json") && !now.contains("example.org"), "{host}: {now}");
        let servers = String::from_utf8(installed[gate::FILE].clone()).expect("text");
        let source = portolan_core::source::Source::new(gate::FILE, servers.clone());
        let (read, faults) = portolan_core::dialect::servers(&source);
        let names: Vec<&str> = read.iter().map(|server| server.name.as_str()).collect();
        assert!(names == ["db", "web"] && faults.is_empty(), "{host}: {faults:?} {servers}");
        assert_eq!(read[0].disabled, host == Host::OpenCode);
        let folder = if host == Host::Copilot { project.path().join("inner") } else { project.path() };
        assert!(servers.contains(&format!("\"cwd\": {}", serde_json::json!(folder))), "{servers}");
        for again in [behind_gate(&project, host), ordinary(&project, host)] {
            assert!(again.is_empty(), "{host}: {}", again.diff());
        }
        assert!(project.go_as(Target::Host(host), Direction::Uninstall, "/opt/portolan"));
        assert_eq!(project.all(), before, "{host}");
    }
}

fn ordinary(project: &Project, host: Host) -> Plan {
    let extras = Extras::default();
    Plan::of(Target::Host(host), Direction::Install, extras, &project.path(), "/opt/portolan").expect("a plan")
}

#[test]
fn a_server_that_is_added_beside_the_gate_is_moved_the_next_time() {
    let project = Project::new();
    let (host, file, text) = SERVERS[0];
    project.write(file, text);
    behind_gate(&project, host).perform().expect("it is done");
    let now = fs::read_to_string(project.path().join(file)).expect("a file");
    let more = now.replacen("\"portolan\"", "\"more\": { \"command\": \"more\" },\n\"portolan\"", 1);
    project.write(file, &more);
    behind_gate(&project, host).perform().expect("it is done");
    let servers = fs::read_to_string(project.path().join(gate::FILE)).expect("a file");
    assert!(["\"db\"", "\"web\"", "\"more\""].iter().all(|name| servers.contains(name)), "{servers}");
    project.go_as(Target::Host(host), Direction::Uninstall, "/opt/portolan");
    let text = fs::read_to_string(project.path().join(file)).expect("a file");
    let left = splice::parsed(&text).expect("JSON");
    let names: Vec<&String> = left["mcpServers"].as_object().expect("servers").keys().collect();
    assert!(names.len() == 3 && text.contains("// mine") && !text.contains("portolan"), "{text}");
}

#[test]
fn a_server_that_the_gate_cannot_start_stays() {
    let project = Project::new();
    let key = "{\"servers\":{\"web\":{\"url\":\"https://example.org/${input:key}\"}}}";
    project.write(".vscode/mcp.json", key);
    let plan = |extras| Plan::of(Target::Host(Host::Copilot), Direction::Install, extras, &project.path(), "portolan");
    let refused = format!("{:#}", plan(Extras { gate: true, ..Extras::default() }).err().expect("it is refused"));
    assert!(refused.contains("it has no server that could be moved behind the gate"), "{refused}");
    assert!(refused.contains("`web` stays where it is: "), "{refused}");
    project.write(".vscode/mcp.json", &key.replace("\"web\"", "\"db\":{\"command\":\"db\"},\"web\""));
    let plan = behind_gate(&project, Host::Copilot);
    assert!(plan.notes.iter().any(|note| note.starts_with("`web` stays where it is")), "{:?}", plan.notes);
    plan.perform().expect("it is done");
    let now = fs::read_to_string(project.path().join(".vscode/mcp.json")).expect("a file");
    assert!(now.contains("example.org") && !now.contains("\"db\""), "{now}");
    // A file of servers that was changed by hand is not overwritten.
    project.write(gate::FILE, "{}");
    let extras = Extras { gate: true, ..Extras::default() };
    let plan = Plan::of(Target::Host(Host::Copilot), Direction::Install, extras, &project.path(), "portolan");
    assert!(format!("{:#}", plan.err().expect("it is refused")).contains("it was changed since it was installed"));
    project.write(".cursor/mcp.json", "{\"mcpServers\":{\"portolan\":{\"command\":\"mine\"}}}");
    let plan = Plan::of(Target::Host(Host::Cursor), Direction::Install, extras, &project.path(), "portolan");
    assert!(format!("{:#}", plan.err().expect("it is refused")).contains("your own entry `portolan`"));
}
