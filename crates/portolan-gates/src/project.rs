//! The checks of a project by name: a workflow asks for `tests`, and the project defines the command.

use std::collections::BTreeMap;

use portolan_core::diagnostic::{Diagnostic, clip};
use portolan_core::graph::{DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS, is_check_name};
use portolan_core::source::fields::{FaultList, Fields, distinct};
use portolan_core::source::{self, Entry, Source, Tree, TreeKind};

/// The names that the catalogue's workflows use, in listing order. A project may define others.
pub const USUAL: &[&str] = &["build", "typecheck", "lint", "format", "tests", "docs"];

/// The most checks of a project.
const MAX_CHECKS: usize = 100;
/// The file that defines the checks, relative to the project's folder.
pub const FILE: &str = ".portolan/checks.yaml";

/// The checks of a project.
///
/// ```
/// use portolan_gates::project::{ProjectCheck, read};
/// use portolan_core::source::Source;
///
/// let (checks, faults) = read(&Source::new("checks.yaml", "checks:\n  tests: {run: [cargo, test], timeout: 15m}\n  docs: none\n"));
/// assert!(faults.is_empty());
/// let tests = ProjectCheck::Run { argv: vec!["cargo".into(), "test".into()], timeout_seconds: 900 };
/// assert_eq!(checks["tests"], tests);
/// assert_eq!(checks["docs"], ProjectCheck::Absent);
/// ```
pub type ProjectChecks = BTreeMap<String, ProjectCheck>;

/// A project's definition of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectCheck {
    /// The check passes if a command exits with status 0. The command runs in the project's folder, without a shell.
    Run {
        /// The program, then its arguments.
        argv: Vec<String>,
        /// The number of seconds after which the command is stopped and the check counts as not passed.
        timeout_seconds: u64,
    },
    /// The project has no such check. A workflow that asks for it passes, on record.
    Absent,
}

/// Reads the checks of a project. Leaves out faulty checks and returns every fault, in the order of the text.
pub fn read(source: &Source) -> (ProjectChecks, Vec<Diagnostic>) {
    let mut checks = ProjectChecks::new();
    let says_something = |line: &str| !matches!(line.trim().chars().next(), None | Some('#'));
    if !source.text.lines().any(says_something) {
        return (checks, Vec::new());
    }
    let (tree, faults) = source::parse(source);
    let mut faults = FaultList(faults);
    if let Some(mut fields) = tree.as_ref().and_then(|tree| Fields::of(tree, "the file", &mut faults)) {
        if let Some(tree) = fields.required("checks", &mut faults) {
            all(tree, &mut checks, &mut faults);
        }
        fields.finish(&mut faults);
    }
    let FaultList(mut faults) = faults;
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    (checks, faults)
}

fn all(tree: &Tree, checks: &mut ProjectChecks, faults: &mut FaultList) {
    let Some(entries) = tree.entries() else {
        let message = format!("`checks` must be an object that maps names to checks, but is {}", tree.describe());
        let help = "write `checks: {tests: {run: [cargo, test]}}`";
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span).help(help));
        return;
    };
    distinct(entries, "`checks`", faults);
    if let Some(extra) = entries.get(MAX_CHECKS) {
        let message = format!("there are {} checks, more than the {MAX_CHECKS} that a project can have", entries.len());
        faults.push(
            Diagnostic::error("too-large", message).at(extra.key.span).help("let one command run several of them"),
        );
    }
    for entry in entries.iter().take(MAX_CHECKS) {
        if let Some(check) = one(entry, faults) {
            checks.insert(entry.key.value.clone(), check);
        }
    }
}

fn one(Entry { key, value }: &Entry, faults: &mut FaultList) -> Option<ProjectCheck> {
    if !is_check_name(&key.value) {
        let message = format!("`{}` cannot be the name of a check", clip(&key.value));
        let help = "write up to 64 small letters, digits, `-` and `_`, as in `unit-tests`";
        faults.push(Diagnostic::error("bad-check", message).at(key.span).help(help));
        return None;
    }
    if let TreeKind::String(text) = &value.kind {
        if text == "none" {
            return Some(ProjectCheck::Absent);
        }
        let message = format!("check `{}` is neither a command nor `none`", key.value);
        let help = "write `{run: [program, argument]}`, or `none` if the project has no such check";
        faults.push(Diagnostic::error("bad-check", message).at(value.span).help(help));
        return None;
    }
    let before = faults.0.len();
    let mut fields = Fields::of(value, format!("check `{}`", key.value), faults)?;
    fields.required("run", faults);
    let argv: Vec<String> = fields.strings("run", faults).into_iter().map(|word| word.value).collect();
    let timeout = fields.duration_ms("timeout", 1_000..=MAX_TIMEOUT_SECONDS * 1_000, faults);
    fields.finish(faults);
    if faults.0.len() > before {
        return None;
    }
    if argv.first().is_none_or(String::is_empty) {
        let message = format!("check `{}` runs nothing", key.value);
        let help = "write the program and its arguments, as in `run: [cargo, test]`; they are not run in a shell";
        faults.push(Diagnostic::error("bad-check", message).at(value.span).help(help));
        return None;
    }
    let timeout_seconds = timeout.map_or(DEFAULT_TIMEOUT_SECONDS, |timeout| timeout.value.div_ceil(1_000));
    Some(ProjectCheck::Run { argv, timeout_seconds })
}

/// Returns the line of the file for one check, without indentation, as [`read`] parses it.
///
/// A word that YAML might read as something else is written as a JSON string.
pub fn line(name: &str, check: &ProjectCheck) -> String {
    match check {
        ProjectCheck::Absent => format!("{name}: none"),
        ProjectCheck::Run { argv, timeout_seconds } => {
            let words: Vec<String> = argv.iter().map(|word| scalar(word)).collect();
            let timeout = match *timeout_seconds {
                DEFAULT_TIMEOUT_SECONDS => String::new(),
                seconds if seconds % 60 == 0 => format!(", timeout: {}m", seconds / 60),
                seconds => format!(", timeout: {seconds}s"),
            };
            format!("{name}: {{run: [{}]{timeout}}}", words.join(", "))
        }
    }
}

fn scalar(word: &str) -> String {
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=@+".contains(&byte));
    // Every YAML reader takes words that begin with `--` or a letter as text, except for `true`, `no` and the like.
    let begins =
        word.starts_with(|first: char| first.is_ascii_alphabetic()) || (word.starts_with("--") && word.len() > 2);
    let other = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    match plain && begins && !other.contains(&word.to_ascii_lowercase().as_str()) {
        true => word.to_owned(),
        false => serde_json::Value::from(word).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome_lines(text: &str) -> Vec<String> {
        let source = Source::new("checks.yaml", text);
        let (checks, faults) = read(&source);
        let faults = faults.iter().map(|fault| {
            let place = fault.span.map(|span| source.location(span.start));
            let place = place.map_or_else(String::new, |place| format!("{}:{} ", place.line, place.column));
            format!("{place}{}: {}", fault.code, fault.message)
        });
        checks.iter().map(|(name, check)| line(name, check)).chain(faults).collect()
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let lines = [
            "lint: {run: [cargo, clippy, \"--\", \"-D\", warnings]}",
            "odd: {run: [\"./a b\", \"\", \"#\", \"true\", \"1\", \"é\", \"*\"], timeout: 61s}",
            "tests: {run: [cargo, test, --workspace, a=b/c.d], timeout: 15m}",
            "docs: none",
        ];
        let text = format!("checks:\n  {}\n", lines.join("\n  "));
        let mut sorted = lines.to_vec();
        sorted.sort_unstable();
        assert_eq!(outcome_lines(&text), sorted);
    }

    #[test]
    fn every_fault_is_told_in_its_place_and_the_rest_is_read() {
        let text = "checks:\n  Tests: none\n  a: maybe\n  b: {run: []}\n  c: {run: [x], timeout: soon}\n  d: {runs: [x]}\n  e: {run: [x]}\nmore: 1\n";
        assert_eq!(
            outcome_lines(text),
            [
                "e: {run: [x]}",
                "2:3 bad-check: `Tests` cannot be the name of a check",
                "3:6 bad-check: check `a` is neither a command nor `none`",
                "4:6 bad-check: check `b` runs nothing",
                "5:26 bad-duration: `timeout` of check `c` is `soon`, which is not a valid duration",
                "6:6 missing-field: check `d` has no `run`",
                "6:7 unknown-field: check `d` has a field `runs`, which has no meaning here",
                "8:1 unknown-field: the file has a field `more`, which has no meaning here",
            ]
        );
        assert_eq!(outcome_lines(""), Vec::<String>::new());
        assert_eq!(outcome_lines("# nothing yet\n"), Vec::<String>::new());
    }
}
