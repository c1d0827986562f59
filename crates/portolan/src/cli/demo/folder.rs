//! The demo's temporary repository, and the person's data folder beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) const WORKFLOW_FILE: &str = ".flow/workflows/greeting.json";

const WORKFLOW: &str = include_str!("greeting.json");
const MANIFEST: &str = "[package]\nname = \"greeting\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
const TESTS: &str = r#"#[test]
fn a_greeting_names_the_user() {
    assert_eq!(greeting::greet("Ada"), "Hello, Ada.");
}
"#;
pub(super) const BROKEN: &str = "pub fn greet(name: &str) -> String {\n    format!(\"Hello, {name\")\n}\n";
pub(super) const MENDED: &str = "pub fn greet(name: &str) -> String {\n    format!(\"Hello, {name}.\")\n}\n";

/// A folder that remains after the demo, for inspection.
pub(super) struct DemoFolder {
    folder: PathBuf,
}

impl DemoFolder {
    pub(super) fn set() -> anyhow::Result<DemoFolder> {
        let cargo = Command::new("cargo").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        anyhow::ensure!(
            cargo.is_ok_and(|status| status.success()),
            "the demo checks its agent's work with `cargo test`: install Rust first"
        );
        let folder = tempfile::Builder::new().prefix("portolan-demo-").tempdir()?.keep();
        let scene = DemoFolder { folder: folder.canonicalize()? };
        scene.write("Cargo.toml", MANIFEST)?;
        scene.write("tests/greet.rs", TESTS)?;
        scene.write(".gitignore", "target\n")?;
        scene.write(WORKFLOW_FILE, WORKFLOW)?;
        scene.init_repository()?;
        Ok(scene)
    }

    /// Creates a repository with `git init`, or writes the same few files if git is not installed.
    fn init_repository(&self) -> std::io::Result<()> {
        let git =
            Command::new("git").args(["init", "--quiet"]).current_dir(self.project()).stderr(Stdio::null()).status();
        if git.is_ok_and(|status| status.success()) {
            return Ok(());
        }
        let git = self.project().join(".git");
        std::fs::create_dir_all(git.join("objects"))?;
        std::fs::create_dir_all(git.join("refs").join("heads"))?;
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        std::fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.project().join(".portolan").join("runs.db")
    }

    pub(super) fn write(&self, path: &str, text: &str) -> std::io::Result<()> {
        let path = self.project().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(path, text)
    }

    /// Prepares a command of the demo: it runs in the project, with the person's records in a separate folder.
    pub(super) fn command(&self, mut command: Command) -> Command {
        command.current_dir(self.project()).env("PORTOLAN_DATA_DIR", self.folder.join("person")).env("NO_COLOR", "1");
        // The demo's crate must not build in the target folder of Portolan's own development.
        command.env("CARGO_TARGET_DIR", self.folder.join("target")).env_remove("RUSTFLAGS").stdin(Stdio::null());
        command
    }
}
