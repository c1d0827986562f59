//! A real repository with a `gh` that answers from files, and the service of its project.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use portolan_core::value::Timestamp;
use portolan_runtime::rules::rules;
use portolan_runtime::service::{Options, Service, Start, Tick};
use portolan_runtime::trust::{Digest, Trust, TrustEntry};
use portolan_runtime::typecheck::checker;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::stand::{me, object, past, person};

const GH: &str = r#"#!/bin/sh
here=$(dirname "$0")
cat "$here/$1.json"
cat "$here/$1.err" >&2
exit "$(cat "$here/$1.status")"
"#;

/// A repository whose `main` is on a remote, and a branch with one commit.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        let world = World { folder: tempfile::tempdir().expect("a folder") };
        for name in ["project", "home", "bin"] {
            fs::create_dir(world.at(name)).expect("a folder");
        }
        fs::write(world.at("bin/gh"), GH).expect("a script");
        fs::set_permissions(world.at("bin/gh"), fs::Permissions::from_mode(0o755)).expect("it may run");
        world.gh("issue", 0, r#"{"number":42,"state":"OPEN","title":"Auth","url":"https://github.com/o/r/issues/42"}"#);
        world.git(&["init", "-q", "-b", "main"]);
        world.put("README.md", "# It\n");
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "-m", "chore: begin"]);
        world.git(&["remote", "add", "origin", "https://github.com/o/r.git"]);
        world.git(&["update-ref", "refs/remotes/origin/main", "main"]);
        world
    }

    /// Where it lies, as messages quote it.
    pub(crate) fn folder_name(&self) -> String {
        self.at("").display().to_string().trim_end_matches('/').to_owned()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(path)
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.at("project").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// A person allows the type checker of the project.
    pub(crate) fn trust(&self) {
        let rules = rules(&self.at("project")).expect("rules without faults");
        let checker = checker(&self.at("project"), &rules).expect("a type checker");
        let entry = TrustEntry {
            project: PathBuf::new(),
            commands: checker.digest(),
            file: Digest::of(""),
            path: "test".to_owned(),
            at: Timestamp(0),
            runs: checker.runs(),
        };
        Trust::open(&self.at("data"), &self.at("project")).expect("a folder").record(entry).expect("on record");
    }

    pub(crate) fn gh(&self, noun: &str, status: i32, answer: &str) {
        for (ending, text) in [("json", answer), ("err", ""), ("status", &status.to_string())] {
            fs::write(self.at(&format!("bin/{noun}.{ending}")), text).expect("written");
        }
    }

    pub(crate) fn request(&self, state: &str) {
        let head = self.git(&["rev-parse", "HEAD"]);
        let answer = json!({
            "number": 7, "state": state, "isDraft": false, "headRefName": "feat/build-auth", "headRefOid": head,
            "baseRefName": "main", "isCrossRepository": false, "url": "https://github.com/o/r/pull/7",
            "title": "Auth", "body": "", "author": { "login": "ada" },
            "mergeable": "MERGEABLE",
            "statusCheckRollup": [{ "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS" }],
            "reviews": [{ "author": { "login": "bob" }, "state": "APPROVED", "commit": { "oid": head } }],
        });
        self.gh("pr", 0, &answer.to_string());
    }

    /// An open one whose check stands so.
    pub(crate) fn request_with(&self, check: &str) {
        self.request("OPEN");
        let path = self.at("bin/pr.json");
        let answer = fs::read_to_string(&path).expect("an answer");
        let status = if check == "IN_PROGRESS" { check } else { "COMPLETED" };
        let answer = answer.replace("COMPLETED", status).replace("SUCCESS", check);
        fs::write(path, answer).expect("written");
    }

    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = format!("{}:{}", self.at("bin").display(), std::env::var("PATH").expect("a path"));
        vec![("PATH".into(), path.into()), ("HOME".into(), self.at("home").into())]
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]);
        command.args(arguments).current_dir(self.at("project")).envs(self.environment()).stderr(Stdio::null());
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    pub(crate) fn service(&self) -> Service {
        let options = Options {
            trust: Some(self.at("data")),
            environment: Some(self.environment()),
            ..Options::of(self.at("project"))
        };
        Service::new(options).expect("a service")
    }

    pub(crate) async fn start(&self, at: Option<&str>) {
        self.begin("build-auth", at, None).await;
    }

    pub(crate) async fn begin(&self, task: &str, at: Option<&str>, workflow: Option<&str>) {
        let start = Start { task: task.to_owned(), at: at.map(str::to_owned), workflow: workflow.map(str::to_owned) };
        self.service().flow().start(&start, &me()).await.expect("begun");
    }

    pub(crate) async fn tick(&self) -> Tick {
        self.service().flow().tick(&me()).await.expect("a tick")
    }

    pub(crate) async fn patch(&self, values: Value) {
        self.service().flow().patch(&object(values), &me()).await.expect("claimed");
    }

    pub(crate) async fn get_past(&self, invariant: &str) {
        self.service().flow().get_past(&past(invariant), &person()).await.expect("on record");
    }
}
