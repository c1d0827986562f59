//! Definitions and what is said about them: every folder under `cases/check` is a case, named after its fault.
//!
//! `UPDATE_EXPECT=1` rewrites the `expected.txt` of every case.
#![expect(clippy::disallowed_methods, reason = "the cases are files")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use portolan_core::diagnostic::{Diagnostic, Severity};
use portolan_core::dialect::verify::{self, Attachments};
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::{FailureHandling, Graph, Step, Workflow};
use portolan_core::prove::{AnalysisLimits, prove};
use portolan_core::source::{MAX_SOURCE_BYTES, Piece, Source};
use portolan_core::validate;

#[test]
fn every_case_says_what_is_expected() {
    let mut differing = Vec::new();
    for folder in folders("tests/cases/check") {
        let found = Case::read(&folder).story();
        let file = folder.join("expected.txt");
        if std::env::var("UPDATE_EXPECT").is_ok() {
            std::fs::write(&file, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        if found != expected {
            differing.push(format!("=== {}\n--- expected\n{expected}--- found\n{found}", folder.display()));
        }
    }
    assert!(differing.is_empty(), "UPDATE_EXPECT=1 accepts these:\n{}", differing.join("\n"));
}

#[test]
fn every_code_is_in_the_table_and_shown_by_a_case() {
    let mut shown = BTreeSet::new();
    for folder in folders("tests/cases/check") {
        let case = Case::read(&folder);
        shown.extend(case.check(Strictness::Strict).1.iter().map(|fault| fault.code));
        shown.extend(case.check(Strictness::Lenient).1.iter().map(|fault| fault.code));
        shown.extend(case.attachments().2.iter().map(|fault| fault.code));
    }
    let table: BTreeSet<&str> = portolan_core::codes().iter().map(|code| code.code).collect();
    assert_eq!(table.len(), portolan_core::codes().len(), "a code stands in the table twice");
    let missing: Vec<_> = table.difference(&shown).collect();
    let unknown: Vec<_> = shown.difference(&table).collect();
    assert!(missing.is_empty(), "no case shows {missing:?}");
    assert!(unknown.is_empty(), "the table lacks {unknown:?}");
}

#[test]
fn the_catalogue_has_no_fault() {
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../portolan-runtime/catalog");
    let mut files = self::files(&catalogue.join("workflows"));
    assert_eq!(files.len(), 16);
    files.extend(self::files(&catalogue.join("phases")));
    assert_eq!(files.len(), 18);
    for (name, text) in files {
        let sources = BTreeMap::from([(name.clone(), text)]);
        let case = Case { main: name, sources, activities: None, verify: None };
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let (workflow, faults) = case.check(strictness);
            assert!(faults.is_empty(), "{} has faults: {faults:?}", case.main);
            assert_eq!(workflow.len(), 1, "{} is refused", case.main);
        }
    }
}

#[test]
fn a_text_of_five_megabytes_is_refused_unread() {
    let text = format!(r#"{{"name": "{}", "nodes": {{}}, "edges": []}}"#, "x".repeat(5 << 20));
    let (graph, faults) = dialect::parse(&Source::new("large.json", text), Strictness::Strict).first();
    assert!(graph.is_none());
    let codes: Vec<_> = faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["too-large"]);
    assert!(faults[0].message.contains(&MAX_SOURCE_BYTES.to_string()), "{}", faults[0].message);
}

#[test]
fn nesting_is_read_to_a_depth_that_no_stack_minds() {
    let nested = |depth: usize| {
        let metadata = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let text = format!(r#"{{"metadata": {metadata}, "nodes": {{}}, "edges": []}}"#);
        dialect::parse(&Source::new("nested.json", text), Strictness::Strict).first()
    };
    let (graph, faults) = nested(500);
    assert!(graph.is_some() && faults.is_empty(), "{faults:?}");
    for depth in [600, 100_000] {
        let (graph, faults) = nested(depth);
        assert!(graph.is_none());
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].code, "syntax");
        assert!(faults[0].span.is_some(), "the place is known");
    }
}

/// One folder: a definition and the others that its subflows may name.
struct Case {
    main: String,
    sources: BTreeMap<String, String>,
    /// The files of its activities, where it has a folder of them.
    activities: Option<Vec<Piece>>,
    /// What the project attaches to it: `verify.yaml`.
    verify: Option<String>,
}

impl Case {
    /// `workflow.json` or `workflow.yaml` is the definition, or else the file that is called like the folder.
    fn read(folder: &Path) -> Case {
        let mut sources: BTreeMap<String, String> = files(folder).into_iter().collect();
        let id = folder.file_name().expect("a case has a name").to_string_lossy().into_owned();
        let called = ["workflow", &id].map(|stem| ["json", "yaml"].map(|extension| format!("{id}/{stem}.{extension}")));
        let main = called.into_iter().flatten().find(|name| sources.contains_key(name));
        let activities = pieces(&folder.join("activities"));
        let verify = sources.remove(&format!("{id}/verify.yaml"));
        Case { main: main.expect("a case has a definition"), sources, activities, verify }
    }

    fn main(&self) -> Source {
        let source = Source::new(self.main.as_str(), &self.sources[&self.main]);
        self.activities.clone().map_or(source.clone(), |activities| source.joined(activities, Vec::new()))
    }

    /// What the project attaches, with its text and everything that is said about it.
    fn attachments(&self) -> (Attachments, Source, Vec<Diagnostic>) {
        let source = Source::new("verify.yaml", self.verify.as_deref().unwrap_or_default());
        let (attachments, mut faults) = verify::read(&source);
        let graphs = dialect::parse(&self.main(), Strictness::Lenient).graphs;
        faults.extend(attachments.unmatched(&graphs.iter().collect::<Vec<_>>()));
        (attachments, source, faults)
    }

    /// The workflows, when nothing hinders them, and everything that is said about the definition.
    fn check(&self, strictness: Strictness) -> (Vec<Workflow>, Vec<Diagnostic>) {
        let (attachments, ..) = self.attachments();
        let library: Vec<Graph> = self
            .sources
            .iter()
            .filter(|(name, _)| **name != self.main)
            .map(|(name, text)| Source::new(name.as_str(), text))
            .chain([self.main()])
            .flat_map(|source| dialect::parse(&source, strictness).graphs)
            .collect();
        let dialect::File { mut graphs, mut faults } = dialect::parse(&self.main(), strictness);
        graphs.iter_mut().for_each(|graph| faults.extend(attachments.attach(graph).faults));
        let find = |name: &str| library.iter().find(|graph| graph.id.value == name);
        let mut workflows = Vec::new();
        for graph in &graphs {
            let (workflow, found) = validate::validate(graph, &find, strictness);
            faults.extend(found);
            faults.extend(validate::servers(graph, &servers(graph)));
            workflows.extend(workflow);
        }
        if strictness == Strictness::Strict && !faults.iter().any(Diagnostic::is_error) {
            faults.extend(workflows.iter().flat_map(proved));
        }
        let all = workflows.len() == graphs.len() && !faults.iter().any(Diagnostic::is_error);
        (if all { workflows } else { Vec::new() }, faults)
    }

    fn story(&self) -> String {
        let source = self.main();
        let (strict, faults) = self.check(Strictness::Strict);
        let mut lines: Vec<String> = faults.iter().map(|fault| line(&source, fault)).collect();
        lines.push(verdict(&strict).to_owned());
        let (lenient, faults) = self.check(Strictness::Lenient);
        lines.extend(faults.iter().map(|fault| format!("lenient: {}", line(&source, fault))));
        lines.push(format!("lenient: {}", verdict(&lenient)));
        let steps = lenient.iter().flat_map(|workflow| workflow.root().steps.values());
        lines.extend(steps.map(|step| format!("lenient:   {}", ways(step))));
        let (_, attached, faults) = self.attachments();
        lines.extend(faults.iter().map(|fault| format!("verify.yaml: {}", line(&attached, fault))));
        lines.join("\n") + "\n"
    }
}

/// What the analysis finds.
fn proved(workflow: &Workflow) -> Vec<Diagnostic> {
    let proof = prove(workflow, &AnalysisLimits::default(), &mut || false);
    assert_eq!(proof.bound(), None, "`{}` is not decided", workflow.id());
    let findings = proof.findings(workflow);
    let runs = findings.iter().filter_map(|finding| finding.run.as_ref());
    runs.filter(|run| run.assumes.is_empty())
        .for_each(|run| assert!(run.is_replayed, "the engine does not go there: {:#?}", run.lines));
    findings.into_iter().map(|finding| finding.diagnostic).collect()
}

fn line(source: &Source, fault: &Diagnostic) -> String {
    let place = fault.span.map_or("-".to_owned(), |span| {
        let location = source.location(span.start);
        let place = format!("{}:{}", location.line, location.column);
        let (file, _) = source.file_at(span.start);
        if *file == *source.name { place } else { format!("{file}:{place}") }
    });
    let severity = match fault.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let help = fault.help.as_ref().map(|help| format!(" | help: {help}")).unwrap_or_default();
    format!("{place} {severity} {}: {}{help}", fault.code, fault.message)
}

fn verdict(workflows: &[Workflow]) -> &'static str {
    match workflows {
        [] => "no workflow",
        [_] => "a workflow",
        _ => "workflows",
    }
}

/// The servers that a graph of tool calls brings along, and those that are part of Portolan.
fn servers(graph: &Graph) -> Vec<&str> {
    let own = graph.settings.servers.iter().map(|server| server.name.as_str());
    own.chain(["filesystem", "echo"]).collect()
}

/// `verify (gate): passed > done, failed > work 2 times, then stuck`
fn ways(step: &Step) -> String {
    let word = step.node.kind.word();
    let mut ways: Vec<String> = step.exits.on.iter().map(|(outcome, to)| format!("{outcome} > {to}")).collect();
    ways.extend(step.exits.branches.iter().map(|branch| format!("opens {branch}")));
    if !["start", "end", "fork"].contains(&word) {
        ways.push(format!("failed > {}", failing(&step.exits.failing)));
    }
    let line = format!("{} ({word}): {}", step.node.id, ways.join(", "));
    line.trim_end_matches([':', ' ']).to_owned()
}

fn failing(failing: &FailureHandling) -> String {
    match failing {
        FailureHandling::Stays => "stays".to_owned(),
        FailureHandling::Ends => "ends".to_owned(),
        FailureHandling::Leads(to) | FailureHandling::Caught(to) => to.to_string(),
        FailureHandling::Retries { to, budget, exhausted } => {
            let then = exhausted.as_ref().map_or("a person".to_owned(), ToString::to_string);
            format!("{to} {budget} times, then {then}")
        }
    }
}

fn folders(under: &str) -> Vec<PathBuf> {
    let under = Path::new(env!("CARGO_MANIFEST_DIR")).join(under);
    let mut folders: Vec<PathBuf> =
        under.read_dir().expect("the cases are there").map(|entry| entry.expect("it can be read").path()).collect();
    folders.sort();
    folders
}

/// The files of activities, as whoever reads files has them.
fn pieces(folder: &Path) -> Option<Vec<Piece>> {
    let mut paths: Vec<PathBuf> = folder.read_dir().ok()?.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    let piece = |path: PathBuf| {
        let file = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let unreadable = |_| Diagnostic::error("unreadable-file", format!("`{file}` is not UTF-8"));
        let text = match dialect::is_activity_file(&file) {
            true => std::fs::read_to_string(&path).map_err(unreadable),
            false => Err(dialect::not_an_activity(&file)),
        };
        Piece { name: format!("activities/{file}"), text }
    };
    Some(paths.into_iter().map(piece).collect())
}

/// The definitions of a folder, each as `<folder>/<file>` with its text.
fn files(folder: &Path) -> Vec<(String, String)> {
    let name = folder.file_name().expect("a folder has a name").to_string_lossy();
    let mut files = Vec::new();
    for entry in folder.read_dir().expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_some_and(|extension| extension == "json" || extension == "yaml") {
            let file = path.file_name().expect("a file has a name").to_string_lossy();
            files.push((format!("{name}/{file}"), std::fs::read_to_string(&path).expect("it is text")));
        }
    }
    files
}
