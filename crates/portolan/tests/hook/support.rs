//! A repository with gates, and hosts that ask about it.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use portolan_runtime::service::{Caller, Options, Service, ServiceError};
use serde_json::{Value, json};

/// Every host, with the event before a tool and the one after it.
pub(crate) const HOSTS: [(&str, &str, &str); 6] = [
    ("claude-code", "PreToolUse", "PostToolUse"),
    ("codex", "PreToolUse", "PostToolUse"),
    ("cursor", "preToolUse", "postToolUse"),
    ("gemini", "BeforeTool", "AfterTool"),
    ("opencode", "tool.execute.before", "tool.execute.after"),
    ("copilot", "PreToolUse", "PostToolUse"),
];

/// What a hook did.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) host: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: i32,
}

impl Said {
    fn of(host: &str, output: &Output) -> Said {
        Said {
            host: host.to_owned(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code().unwrap_or(-1),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }

    /// Whether the host takes it for a refusal of the call.
    pub(crate) fn is_denied(&self) -> bool {
        let said = self.json();
        let word = match self.host.as_str() {
            "cursor" => &said["permission"],
            "gemini" | "opencode" => &said["decision"],
            _ => &said["hookSpecificOutput"]["permissionDecision"],
        };
        self.status == 0 && matches!(word.as_str(), Some("deny" | "block"))
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.json()["hookSpecificOutput"]["permissionDecision"] == "ask"
    }

    /// Whether it lets the call happen.
    pub(crate) fn is_allowed(&self) -> bool {
        let is_spoken = matches!(self.host.as_str(), "cursor" | "gemini" | "opencode");
        self.status == 0 && !self.is_denied() && !self.is_asked() && (is_spoken || !self.stdout.contains("deny"))
    }
}

/// A repository with one commit on `main`.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new() -> Project {
        let folder = tempfile::tempdir().expect("a folder");
        let project = Project { folder };
        std::fs::create_dir(project.folder.path().join("project")).expect("a project");
        project.write("a.txt", "one\n");
        project.write(".gitignore", "/target\n");
        project.git("init -q -b main .");
        project.git("add -A");
        project.git_words(&["commit", "-q", "-m", "chore: begin (#1)"]);
        project
    }

    /// The same, on a branch of its own.
    pub(crate) fn on_branch() -> Project {
        let project = Project::new();
        project.git("switch -q -c feat/1-x");
        project
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("project").canonicalize().expect("the project is there")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder is there").join(name)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
        std::fs::write(path, text).expect("a file is written");
    }

    /// A program with nothing of the tester's surroundings, found before all others where it lies in `bin`.
    pub(crate) fn program(&self, name: &str) -> Command {
        let own = Path::new(env!("CARGO_BIN_EXE_portolan")).parent().expect("a folder");
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let places = [self.beside("bin"), own.to_owned()].into_iter().chain(std::env::split_paths(&usual));
        let mut command = Command::new(name);
        command.current_dir(self.path()).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::join_paths(places).expect("a path"));
        command.env("HOME", self.folder.path()).env("PORTOLAN_DATA_DIR", self.beside("person"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        }
        command
    }

    /// Puts a program before all others of its name.
    pub(crate) fn shadow(&self, name: &str, script: &str) {
        let path = self.beside("bin").join(name);
        std::fs::create_dir_all(self.beside("bin")).expect("a folder");
        // A shell writes it, so that no process of the tests holds it open while it is started.
        let mut shell = Command::new("sh");
        let done = shell.args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod +x \"$2\"", "sh", script]).arg(&path);
        assert!(done.status().expect("a shell").success());
    }

    pub(crate) fn git(&self, line: &str) -> String {
        self.git_words(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub(crate) fn git_words(&self, words: &[&str]) -> String {
        let (done, said) = self.tries(words);
        assert!(done, "git {words:?}: {said}");
        said
    }

    /// Whether git does it, and what it says.
    pub(crate) fn tries(&self, words: &[&str]) -> (bool, String) {
        let output = self.program("git").args(words).output().expect("git");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    }

    pub(crate) fn portolan(&self, line: &str) -> String {
        let (done, text) = self.portolan_with(line, &[]);
        assert!(done, "{line}: {text}");
        text
    }

    /// Returns whether a command succeeds, and what it prints.
    pub(crate) fn portolan_with(&self, line: &str, environment: &[(&str, &str)]) -> (bool, String) {
        let mut command = self.program(env!("CARGO_BIN_EXE_portolan"));
        let output = command.args(line.split_whitespace()).envs(environment.iter().copied()).output();
        let output = output.expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = if output.status.success() { text(&output.stdout) } else { text(&output.stderr) };
        (output.status.success(), printed)
    }

    /// What the hook of a host answers to these bytes.
    pub(crate) fn hook(&self, host: &str, event: &str, input: &[u8]) -> Said {
        self.hook_with(host, event, input, &[])
    }

    pub(crate) fn hook_with(&self, host: &str, event: &str, input: &[u8], environment: &[(&str, &str)]) -> Said {
        let mut command = self.program(env!("CARGO_BIN_EXE_portolan"));
        command.args(["hook", host, event]).envs(environment.iter().copied());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // One that has read enough closes its end.
        let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("it ends");
        writing.join().expect("written");
        Said::of(host, &output)
    }

    /// What the MCP server answers to these lines.
    pub(crate) fn served(&self, lines: &str, environment: &[(&str, &str)]) -> String {
        let mut command = self.program(env!("CARGO_BIN_EXE_portolan"));
        command.envs(environment.iter().copied());
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(format!("{lines}\n").as_bytes()).expect("it is read");
        let mut answers = std::io::BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut said = String::new();
        // What is asked is answered before the end of the input is noticed only where one waits for it.
        for line in answers.by_ref().map_while(Result::ok) {
            let is_last = line.contains("\"id\":2");
            said = said + &line + "\n";
            if is_last {
                break;
            }
        }
        drop(stdin);
        child.wait().expect("it ends");
        said
    }

    /// A host announces that a file will be written.
    pub(crate) fn edit(&self, host: &str, file: &str) -> Said {
        let event = before(host);
        self.hook(host, event, self.edits(host, file).to_string().as_bytes())
    }

    pub(crate) fn edits(&self, host: &str, file: &str) -> Value {
        let path = self.path().join(file);
        let (name, input) = match host {
            "codex" => {
                let patch = format!("*** Begin Patch\n*** Update File: {}\n*** End Patch\n", path.display());
                ("apply_patch", json!({ "command": patch }))
            }
            "gemini" => ("write_file", json!({ "file_path": path, "content": "x" })),
            "opencode" => ("write", json!({ "filePath": path, "content": "x" })),
            "copilot" => ("create", json!({ "path": path, "file_text": "x" })),
            _ => ("Write", json!({ "file_path": path, "content": "x" })),
        };
        self.call(host, name, input)
    }

    /// A host announces that a shell will run something.
    pub(crate) fn shell(&self, host: &str, line: &str) -> Said {
        self.hook(host, before(host), self.runs(host, line).to_string().as_bytes())
    }

    pub(crate) fn runs(&self, host: &str, line: &str) -> Value {
        let name = match host {
            "cursor" => "Shell",
            "gemini" => "run_shell_command",
            "opencode" | "copilot" => "bash",
            _ => "Bash",
        };
        self.call(host, name, json!({ "command": line }))
    }

    pub(crate) fn call(&self, host: &str, name: &str, input: Value) -> Value {
        let id = format!("{host}-{}", input.to_string().len());
        json!({ "session_id": "s1", "tool_use_id": id, "cwd": self.path(), "tool_name": name, "tool_input": input,
            "something_new": { "of": ["a", "later", "version"] } })
    }

    /// The events of a type that are on record.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let said = self.portolan(&format!("flow events --json --type {kind}"));
        said.lines().map(|line| serde_json::from_str(line).expect("a line")).collect()
    }

    /// Does something with the task of the project.
    pub(crate) fn service<T>(
        &self,
        what: impl AsyncFnOnce(&Service, &Caller) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let service = Service::new(Options { trust: Some(self.beside("person")), ..Options::of(self.path()) })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(what(&service, &Caller::agent("tester")))
    }
}

pub(crate) fn before(host: &str) -> &'static str {
    HOSTS.iter().find(|(name, ..)| *name == host).expect("a host").1
}

pub(crate) fn after(host: &str) -> &'static str {
    HOSTS.iter().find(|(name, ..)| *name == host).expect("a host").2
}
