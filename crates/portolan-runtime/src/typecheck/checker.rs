//! The type checker of a project: the commands of its guidelines, or else those that its files suggest.

use std::path::Path;

use portolan_gates::{Guidelines, project};

use crate::digest::Digest;
use crate::disk;
use crate::trust::{self, TrustedCommand};

/// The timeout of all commands together when a person waits for them, in seconds.
pub(super) const PATIENCE_SECONDS: u64 = 600;
/// The maximum size of a `pyproject.toml` that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// A type checker: commands that are run one after the other, as long as they succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checker {
    /// The commands, each a program and its arguments.
    pub commands: Vec<Vec<String>>,
    /// Where the commands come from.
    pub origin: CheckerOrigin,
}

/// Where the commands of a type checker come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckerOrigin {
    /// The guidelines.
    Guidelines,
    /// Files of the project that suggest them.
    Suggested(Vec<&'static str>),
    /// The checks of the project, which are allowed together, by this digest.
    Project(Digest),
}

/// Returns the type checker of a project, or `None` if none is configured.
pub fn checker(project: &Path, guidelines: &Guidelines) -> Option<Checker> {
    let checker = match &guidelines.typecheck.commands {
        Some(commands) => Checker { commands: commands.clone(), origin: CheckerOrigin::Guidelines },
        None => suggested(project),
    };
    (!checker.commands.is_empty()).then_some(checker)
}

fn suggested(project: &Path) -> Checker {
    let (mut commands, mut files) = (Vec::new(), Vec::new());
    let mut suggest = |file: &'static str, lines: &[&str]| {
        files.push(file);
        commands.extend(lines.iter().map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>()));
    };
    if project.join("tsconfig.json").is_file() {
        suggest("tsconfig.json", &["npx --no-install tsc --noEmit"]);
    }
    if project.join("Cargo.toml").is_file() {
        suggest("Cargo.toml", &["cargo check --workspace --all-targets --locked"]);
    }
    if project.join("go.mod").is_file() {
        // Otherwise `go build` would write the program of a module with a single one into the project.
        suggest("go.mod", &["go build -o /dev/null ./...", "go vet ./..."]);
    }
    let python = python(project);
    if python.iter().any(|section| section.starts_with("[tool.mypy")) {
        suggest("pyproject.toml", &["mypy ."]);
    }
    if python.iter().any(|section| section.starts_with("[tool.pyright")) {
        suggest("pyproject.toml", &["pyright"]);
    }
    files.dedup();
    Checker { commands, origin: CheckerOrigin::Suggested(files) }
}

/// Returns the section headings of `pyproject.toml`.
fn python(project: &Path) -> Vec<String> {
    let path = project.join("pyproject.toml");
    let text = disk::text(&path, MOST_BYTES).unwrap_or_default();
    text.lines().map(str::trim).filter(|line| line.starts_with('[')).map(str::to_owned).collect()
}

impl Checker {
    /// Returns the commands as a shell command line.
    pub fn shown(&self) -> String {
        let lines: Vec<String> = self.commands.iter().map(|command| command.join(" ")).collect();
        lines.join(" && ")
    }

    /// Returns the commands as a person allows them.
    pub fn runs(&self) -> Vec<TrustedCommand> {
        let command = |(at, argv): (usize, &Vec<String>)| TrustedCommand {
            flow: String::new(),
            node: "typecheck".to_owned(),
            check: (at + 1).to_string(),
            argv: argv.clone(),
            timeout_seconds: PATIENCE_SECONDS,
        };
        self.commands.iter().enumerate().map(command).collect()
    }

    /// Returns the digest that a person allows. Other commands, or the same commands in another project, need their own
    /// permission.
    pub fn digest(&self) -> Digest {
        match &self.origin {
            CheckerOrigin::Project(digest) => digest.clone(),
            CheckerOrigin::Guidelines | CheckerOrigin::Suggested(_) => trust::digest_of(&self.runs()),
        }
    }

    /// Returns the command with which a person allows the checker.
    pub(super) fn allowed_by(&self) -> String {
        match &self.origin {
            CheckerOrigin::Project(_) => format!("portolan trust {}", project::FILE),
            CheckerOrigin::Guidelines | CheckerOrigin::Suggested(_) => "portolan trust --typecheck".to_owned(),
        }
    }

    /// Returns the command that runs the checker again.
    pub(super) fn run_by(&self) -> &'static str {
        match &self.origin {
            CheckerOrigin::Project(_) => "portolan checks run",
            CheckerOrigin::Guidelines | CheckerOrigin::Suggested(_) => "portolan qa typecheck",
        }
    }
}

#[cfg(test)]
mod tests {

    use std::fs;

    use super::*;

    #[test]
    fn files_suggest_and_guidelines_decide() {
        let folder = tempfile::tempdir().unwrap();
        let mut rules = Guidelines::default();
        assert_eq!(checker(folder.path(), &rules), None);
        for file in ["tsconfig.json", "Cargo.toml", "go.mod"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        fs::write(
            folder.path().join("pyproject.toml"),
            "[project]\nname = 'x'\n[tool.mypy]\n[[tool.mypy.overrides]]\n",
        )
        .unwrap();
        let found = checker(folder.path(), &rules).unwrap();
        assert_eq!(
            found.shown(),
            "npx --no-install tsc --noEmit && cargo check --workspace --all-targets --locked && \
             go build -o /dev/null ./... && go vet ./... && mypy ."
        );
        let files = vec!["tsconfig.json", "Cargo.toml", "go.mod", "pyproject.toml"];
        assert_eq!(found.origin, CheckerOrigin::Suggested(files));
        rules.typecheck.commands = Some(vec![vec!["make".into(), "types".into()]]);
        assert_eq!(checker(folder.path(), &rules).unwrap().shown(), "make types");
        rules.typecheck.commands = Some(vec![]);
        assert_eq!(checker(folder.path(), &rules), None, "none at all is a decision, too");
    }

    #[test]
    fn other_commands_are_allowed_anew() {
        let of = |commands: &[&[&str]]| Checker {
            commands: commands.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect(),
            origin: CheckerOrigin::Guidelines,
        };
        assert_ne!(of(&[&["a", "b"]]).digest(), of(&[&["a"], &["b"]]).digest());
        assert_ne!(of(&[&["a", "b"]]).digest(), of(&[&["a b"]]).digest());
        assert_eq!(of(&[&["a"]]).digest(), of(&[&["a"]]).digest());
    }
}
