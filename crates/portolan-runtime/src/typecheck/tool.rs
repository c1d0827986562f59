//! Identifies the tool that a command starts: by its version output, or by its files without starting it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::digest::Digest;
use crate::program::{Question, ask};

const TIMEOUT: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 64 * 1024;
/// The maximum length of a version, in characters.
const VERSION_CHARS: usize = 400;
/// The maximum size of a manifest that is hashed, in bytes. A larger one is left out.
const MANIFEST_BYTES: u64 = 1024 * 1024;

/// Returns the version output of a command's tool, or an empty text if there is none.
pub(super) async fn version(argv: &[String], project: &Path, environment: &[(OsString, OsString)]) -> String {
    let line = asked(argv);
    let Some(program) = line.first().and_then(|name| found(name, project, environment)) else { return String::new() };
    let Some(program) = program.to_str() else { return String::new() };
    let arguments: Vec<&str> = line[1..].iter().map(String::as_str).collect();
    let question = Question {
        program,
        arguments: &arguments,
        folder: project,
        environment,
        input: &[],
        timeout: TIMEOUT,
        most_bytes: MOST_BYTES,
    };
    match ask(question).await {
        Ok(output) => format!("{:?} {}", output.code, output.stdout.trim()).chars().take(VERSION_CHARS).collect(),
        Err(_silent) => String::new(),
    }
}

/// Returns the command that prints a tool's version. Skips programs that only start another tool.
fn asked(argv: &[String]) -> Vec<String> {
    let [program, arguments @ ..] = argv else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    let version = |line: &[String]| [line, &["--version".to_owned()]].concat();
    match (name, started(argv)) {
        ("go", _) => vec![program.clone(), "version".to_owned()],
        (_, Some(at)) => version(&argv[..=at]),
        _ if name.starts_with("python") && arguments.len() > 1 && arguments[0] == "-m" => version(&argv[..3]),
        _ => version(&argv[..1]),
    }
}

/// Returns the position of the tool in a command of `npx`.
fn started(argv: &[String]) -> Option<usize> {
    let (first, rest) = argv.split_first()?;
    let is_starter = first.rsplit('/').next() == Some("npx");
    rest.iter().position(|word| !word.starts_with('-')).filter(|_| is_starter).map(|at| at + 1)
}

/// Returns a digest that identifies the tools of some commands without starting them: their paths, sizes and
/// modification times.
pub(super) fn stamp(commands: &[Vec<String>], project: &Path, environment: &[(OsString, OsString)]) -> Digest {
    let mut parts: Vec<String> = Vec::new();
    for argv in commands {
        let program = argv.first().and_then(|name| found(name, project, environment));
        let local = started(argv).map(|at| project.join("node_modules/.bin").join(&argv[at]));
        parts.extend([program, local].into_iter().map(|path| path.map_or_else(String::new, |path| file(&path))));
    }
    Digest::of_parts(parts.iter().map(String::as_bytes))
}

/// Describes the file behind all symlinks. A package manager gives all its files the same time, so the manifest counts
/// too.
fn file(path: &Path) -> String {
    let Ok(real) = path.canonicalize() else { return String::new() };
    let Ok(meta) = real.metadata() else { return String::new() };
    let manifests = real.ancestors().skip(1).take(3).map(|folder| folder.join("package.json"));
    let manifest = manifests.into_iter().find(|path| path.is_file()).map(|path| {
        let small = path.metadata().is_ok_and(|found| found.len() <= MANIFEST_BYTES);
        if small {
            fs::read(&path).map(|bytes| Digest::of(bytes).to_string()).unwrap_or_default()
        } else {
            String::new()
        }
    });
    format!("{} {} {:?} {manifest:?}", real.display(), meta.len(), meta.modified().ok())
}

/// Returns the path of a program: relative to the project if its name has a slash, or else from the `PATH`.
fn found(name: &str, project: &Path, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(project.join(name));
    }
    let path = environment.iter().rev().find(|(name, _)| name == OsStr::new("PATH")).map(|(_, value)| value)?;
    std::env::split_paths(path).map(|folder| project.join(folder).join(name)).find(|place| place.is_file())
}

#[cfg(test)]
mod tests {

    use super::*;

    fn line(text: &str) -> String {
        asked(&text.split(' ').map(str::to_owned).collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn it_is_the_checker_that_is_asked_and_not_what_starts_it() {
        for (command, version) in [
            ("cargo check --workspace", "cargo --version"),
            ("npx --no-install tsc --noEmit", "npx --no-install tsc --version"),
            ("go vet ./...", "go version"),
            ("python3 -m mypy .", "python3 -m mypy --version"),
            ("./check.sh all", "./check.sh --version"),
            ("npx", "npx --version"),
        ] {
            assert_eq!(line(command), version);
        }
    }

    #[test]
    fn another_file_is_another_tool() {
        let folder = tempfile::tempdir().unwrap();
        let command = vec![vec!["./check".to_owned()]];
        let of = || stamp(&command, folder.path(), &[]);
        let none = of();
        fs::write(folder.path().join("check"), "a").unwrap();
        let one = of();
        assert_ne!(none, one);
        assert_eq!(one, of());
        fs::write(folder.path().join("check"), "ab").unwrap();
        assert_ne!(one, of());
    }
}
