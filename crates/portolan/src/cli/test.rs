//! `portolan test`: runs graphs against scripted answers, without their servers.

use std::path::{Path, PathBuf};

use clap::Args;
use portolan_runtime::definition::DefinitionError;
use portolan_runtime::library::Library;
use portolan_runtime::script::{CaseReport, Coverage, EdgeTaken, Suite, TestReport, Tester};
use portolan_runtime::service::ServiceError;
use serde_json::{Value, json};

use super::check::{counted, refuse_files};
use super::output::{Output, Paint, one_line};
use super::{Common, Exit, Leniency, block_on};

/// Test graphs against scripted answers: no server is started.
///
/// Example: portolan test count.test.yaml
#[derive(Args)]
#[command(
    after_help = "A test file is called `<graph>.test.yaml`, or names its graph. Exit code 1 when a test fails or too few edges were taken."
)]
pub(super) struct Test {
    /// Test files, graphs with a test file beside them, or folders.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    leniency: Leniency,
}

/// How deep folders are searched.
const MAX_DEPTH: usize = 16;
const MAX_ENTRIES: usize = 50_000;
/// The endings of test files.
const ENDINGS: [&str; 3] = [".test.yaml", ".test.yml", ".test.json"];

pub(super) fn run(args: &Test, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let options = common.options()?;
    let library = Library::new(&options.project, &[], args.leniency.strictness())?;
    let tester = Tester::new(&options)?;
    let files = files(&args.paths)?;
    let mut reports = Vec::new();
    let mut worst = Exit::Done;
    for file in &files {
        match one(&tester, file, &library) {
            Ok(report) => {
                if !output.is_json() {
                    print(output, &report)?;
                }
                reports.push(report);
            }
            Err(refused) => worst = refuse_files(&output, &file.to_string_lossy(), refused)?,
        }
    }
    let passed = reports.iter().all(TestReport::passed);
    if output.is_json() {
        let passed = passed && worst == Exit::Done;
        output.json(&json!({ "files": reports, "passed": passed }))?;
    } else {
        summary(output, &reports)?;
    }
    Ok(match worst {
        Exit::Done if !passed => Exit::Failed,
        worst => worst,
    })
}

fn one(tester: &Tester, file: &Path, library: &Library) -> Result<TestReport, DefinitionError> {
    let suite = Suite::open(file, library)?;
    let run = block_on(tester.run(&suite));
    let failed = |error: std::io::Error| ServiceError::failed("failed", error.to_string(), "try again");
    Ok(run.map_err(failed)??)
}

/// Returns the test files that the command line names.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, ServiceError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut left = MAX_ENTRIES;
            let mut found = Vec::new();
            search(path, MAX_DEPTH, &mut left, &mut found);
            if found.is_empty() {
                let message = format!("`{}` holds no tests", path.display());
                return Err(ServiceError::refused(
                    "no_tests",
                    message,
                    "a file of tests is called `<graph>.test.yaml`",
                ));
            }
            found.sort();
            files.extend(found);
        } else {
            files.push(file(path)?);
        }
    }
    files.dedup();
    Ok(files)
}

fn search(folder: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // Links to folders are not followed: they could form a cycle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 && !name.starts_with('.') && !["node_modules", "target"].contains(&name.as_str()) {
            search(&path, depth - 1, left, found);
        } else if !is_folder && is_test(&name) {
            found.push(path);
        }
    }
}

fn is_test(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Returns the test file of a path: itself, or the one beside a graph.
fn file(path: &Path) -> Result<PathBuf, ServiceError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let beside =
        ENDINGS.iter().map(|ending| path.with_file_name(format!("{stem}{ending}"))).find(|file| file.is_file());
    match beside {
        Some(beside) if !is_test(&name) => Ok(beside),
        None if !is_test(&name) && super::check::is_graph(path) => Err(ServiceError::refused(
            "no_tests",
            format!("there is no `{stem}.test.yaml` beside `{}`", path.display()),
            "`portolan run --record` writes one",
        )),
        _ => Ok(path.to_owned()),
    }
}

fn print(output: Output, report: &TestReport) -> anyhow::Result<()> {
    output.line(one_line(&report.file))?;
    for test in &report.tests {
        let (paint, word) = if test.passed { (Paint::Good, "ok    ") } else { (Paint::Bad, "FAILED") };
        output.line(format!("  {}  {}", output.paint(paint, word), one_line(&test.name)))?;
        if !test.passed {
            output.line(format!("          line {}", test.line))?;
            for line in difference(test) {
                output.line(format!("          {}", one_line(&line)))?;
            }
            for name in &test.unanswered {
                let text = format!("`{name}` was called, but has no answer: write one under `mock`");
                output.line(format!("          {}", one_line(&text)))?;
            }
        }
        unused(output, "          ", &test.unused)?;
    }
    unused(output, "  ", &report.unused)?;
    for coverage in &report.coverage {
        print_coverage(output, coverage)?;
    }
    if let Some(minimum) = report.minimum.filter(|minimum| report.percent < *minimum) {
        let text = format!("  {} % of the edges were taken, less than the required {minimum} %", report.percent);
        output.line(output.paint(Paint::Bad, &text))?;
    }
    Ok(())
}

fn unused(output: Output, lead: &str, names: &[String]) -> anyhow::Result<()> {
    for name in names {
        output.line(output.paint(Paint::Warn, &one_line(&format!("{lead}the answer for `{name}` was not used"))))?;
    }
    Ok(())
}

fn print_coverage(output: Output, coverage: &Coverage) -> anyhow::Result<()> {
    let (taken, all) = (coverage.taken(), coverage.edges.len());
    output.line(one_line(&format!("  {}: {taken} of {} taken", coverage.tool, counted(all, "edge"))))?;
    for edge in coverage.edges.iter().filter(|edge| !edge.taken) {
        output.line(one_line(&format!("    never taken: {}", edge_line(edge))))?;
    }
    Ok(())
}

fn edge_line(edge: &EdgeTaken) -> String {
    let when = edge.when.as_ref().map_or_else(String::new, |when| format!(" ({when})"));
    format!("line {}: {} → {}{when}", edge.line, edge.from, edge.to)
}

fn summary(output: Output, reports: &[TestReport]) -> anyhow::Result<()> {
    let tests = || reports.iter().flat_map(|report| &report.tests);
    let failed = tests().filter(|test| !test.passed).count();
    let edges = || reports.iter().flat_map(|report| &report.coverage).flat_map(|coverage| &coverage.edges);
    let taken = edges().filter(|edge| edge.taken).count();
    let text = format!(
        "{}: {} passed, {failed} failed; {taken} of {} taken",
        counted(tests().count(), "test"),
        tests().count() - failed,
        counted(edges().count(), "edge")
    );
    let paint = if reports.iter().all(TestReport::passed) { Paint::Good } else { Paint::Bad };
    output.line(output.paint(paint, &text))
}

/// The most lines of each side that are compared, which takes time proportional to their product.
const MAX_COMPARED: usize = 400;

/// Returns the difference line by line: `-` was expected and is missing, `+` was not expected.
fn difference(test: &CaseReport) -> Vec<String> {
    let lines = |value: &Option<Value>| -> Vec<String> {
        let text = value.as_ref().and_then(|value| serde_json::to_string_pretty(value).ok()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let (wanted, got) = (lines(&test.expected), lines(&test.got));
    if wanted.len() > MAX_COMPARED || got.len() > MAX_COMPARED {
        let cut = |sign: char, lines: &[String]| -> Vec<String> {
            lines.iter().take(MAX_COMPARED).map(|line| format!("{sign} {line}")).collect()
        };
        return [cut('-', &wanted), cut('+', &got)].concat();
    }
    compared(&wanted, &got)
}

/// Keeps the longest common subsequence of lines, and marks the others.
fn compared(wanted: &[String], got: &[String]) -> Vec<String> {
    let width = got.len() + 1;
    let mut common = vec![0_u32; (wanted.len() + 1) * width];
    for i in (0..wanted.len()).rev() {
        for j in (0..got.len()).rev() {
            common[i * width + j] = if wanted[i] == got[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < wanted.len() || j < got.len() {
        if i < wanted.len() && j < got.len() && wanted[i] == got[j] {
            lines.push(format!("  {}", wanted[i]));
            (i, j) = (i + 1, j + 1);
        } else if j >= got.len() || (i < wanted.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            lines.push(format!("- {}", wanted[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", got[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_keeps_what_is_common() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(compared(&lines("a b c d"), &lines("a x c")), ["  a", "- b", "+ x", "  c", "- d"]);
        assert_eq!(compared(&[], &lines("a")), ["+ a"]);
    }
}
