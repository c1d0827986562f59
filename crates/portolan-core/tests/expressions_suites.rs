//! The languages' own test suites. They are not part of this repository: `JSONATA_SUITE` and `JSONLOGIC_SUITE` say
//! where they are, and a test without its suite says that it checked nothing.

#![expect(clippy::disallowed_methods, reason = "the test reads the suites; the crate reads nothing")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use portolan_core::expr::{EXPRESSION_BOUNDS, EvaluationLimits, Expr, JsonLogic, Jsonata, Scope};
use portolan_core::value::Timestamp;
use serde_json::Value;

/// How many cases the suite has.
const CASES: usize = 1_686;
/// How many rules the files of the other suite have together: 275 and 278.
const RULES: usize = 553;
/// How many of them agree at least: all but two, whose lone surrogates no text of Rust can hold.
const FLOOR: usize = 1_684;

/// The folder that a variable names.
fn suite(variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        #[expect(clippy::print_stderr, reason = "a check that is left out must be seen to be")]
        {
            eprintln!("NOT CHECKED: `{variable}` names no suite");
        }
    }
    folder
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Numbers by value, objects without regard to order.
fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| agree(a, b)))
        }
        _ => a == b,
    }
}

/// What an expression comes to: `Ok(None)` is undefined, an error has its code where there is one.
fn outcome(text: &str, scope: &Scope<'_>, limits: &EvaluationLimits) -> Result<Option<Value>, String> {
    let parsed = Jsonata::parse(text).map_err(|fault| fault.code.unwrap_or(fault.message))?;
    parsed.within(scope, limits).map_err(|fault| match fault.code {
        EXPRESSION_BOUNDS => "bounds".to_owned(),
        _ => match fault.message.rsplit_once(" (") {
            Some((_, code)) => code.trim_end_matches(')').to_owned(),
            None => fault.message,
        },
    })
}

/// One case compares `$now` with the day that the library fills in.
#[expect(clippy::disallowed_types, reason = "the suite is evaluated today")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    Timestamp(since.as_millis() as i64)
}

/// Why a case fails; nothing when it agrees.
fn disagreement(case: &Value, text: &str, data: Option<&Value>) -> Option<String> {
    let empty = serde_json::Map::new();
    let bindings = case["bindings"].as_object().unwrap_or(&empty);
    let mut scope = data.map(Scope::of).unwrap_or_default();
    scope.at = now();
    scope.bindings = bindings.iter().map(|(name, value)| (name.as_str(), value)).collect();
    // The suite means an idle machine, and a few cases more items than we do.
    let mut limits = EvaluationLimits { time_ms: 60_000, ..EvaluationLimits::default() };
    if let Some(limit) = case["timelimit"].as_u64() {
        limits = EvaluationLimits { time_ms: limit.max(1_000) * 10, items: 10_000_000, ..limits };
        limits.depth = case["depth"].as_u64().map_or(limits.depth, |depth| (depth as usize).max(100));
    }
    let found = outcome(text, &scope, &limits);
    let code = case["code"].as_str().or(case["error"]["code"].as_str());
    let agrees = match (&found, code, case.get("result")) {
        (Err(found), Some(code), _) => {
            // The bounds have one code here, and the author's own words none.
            let bounded = ["D1011", "D1012", "U1001", "D2014", "D2015"].contains(&code);
            found == code || (found == "bounds" && bounded) || ["D3137", "D3141"].contains(&code)
        }
        (Err(_), None, _) => case.get("error").is_some(),
        (Ok(_), Some(_), _) => false,
        (Ok(Some(found)), None, Some(result)) => agree(found, result),
        (Ok(found), None, None) => found.is_none(),
        (Ok(None), None, Some(_)) => false,
    };
    (!agrees).then(|| {
        format!(
            "{text}\n    found {found:?}\n    wanted {}",
            code.map_or_else(|| format!("{:?}", case.get("result")), str::to_owned)
        )
    })
}

#[test]
fn jsonata_agrees_with_its_suite() {
    let Some(suite) = suite("JSONATA_SUITE") else { return };
    let datasets: BTreeMap<String, Value> =
        files(&suite.join("datasets")).iter().map(|path| (name(path), json(path))).collect();
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = String::new();
    for folder in files(&suite.join("groups")) {
        for path in files(&folder).iter().filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
            let group = groups.entry(name(&folder)).or_default();
            let text = fs::read_to_string(path).expect("a case");
            let cases = match serde_json::from_str(&text) {
                Ok(Value::Array(cases)) => cases,
                Ok(case) => vec![case],
                Err(error) => {
                    group.1 += 1;
                    let _ = writeln!(wrong, "{}/{}: {error}", name(&folder), name(path));
                    continue;
                }
            };
            for (nth, case) in cases.iter().enumerate() {
                let text = match &case["expr-file"] {
                    Value::String(file) => fs::read_to_string(folder.join(file)).expect("an expression"),
                    _ => case["expr"].as_str().expect("an expression").to_owned(),
                };
                let data = case.get("data").or_else(|| datasets.get(case["dataset"].as_str()?));
                group.1 += 1;
                match disagreement(case, &text, data) {
                    None => group.0 += 1,
                    Some(why) => {
                        let _ = writeln!(wrong, "{}/{} {nth}: {why}", name(&folder), name(path));
                    }
                }
            }
        }
    }
    let (passed, all) = groups.values().fold((0, 0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
    assert!(passed >= FLOOR, "{passed} of {all}\n{wrong}");
    assert_eq!(all, CASES, "another version of the suite");
    table_is_current(&groups, passed, all);
}

/// The table of `docs/expressions.md`, three groups a line.
fn table_is_current(groups: &BTreeMap<String, (usize, usize)>, passed: usize, all: usize) {
    const MARKS: [&str; 2] = ["<!-- the suite's table -->\n", "<!-- the end of the table -->\n"];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/expressions.md");
    let page = fs::read_to_string(&path).expect("the page");
    let [before, after] = MARKS.map(|mark| page.split_once(mark).expect("the page has its marks"));
    let mut table =
        format!("\n{passed} of {all} cases agree.\n\n| group | | group | | group | |\n|---|---|---|---|---|---|\n");
    let cells: Vec<String> = groups.iter().map(|(name, (passed, all))| format!("{name} | {passed}/{all}")).collect();
    for line in cells.chunks(3) {
        let _ = writeln!(table, "| {} |", line.join(" | "));
    }
    let found = format!("{}{}{table}\n{}{}", before.0, MARKS[0], MARKS[1], after.1);
    expect_file![path].assert_eq(&found);
}

#[test]
fn json_logic_agrees_with_its_suite() {
    let Some(suite) = suite("JSONLOGIC_SUITE") else { return };
    let (mut passed, mut wrong) = (0, String::new());
    for (file, fields) in [("tests.json", ["0", "1", "2"]), ("compat.json", ["rule", "data", "result"])] {
        for case in json(&suite.join(file)).as_array().expect("cases") {
            let field = |name: &str| name.parse().map_or_else(|_| case.get(name), |nth: usize| case.get(nth));
            let Some(rule) = field(fields[0]) else { continue };
            let (data, wanted) = (field(fields[1]).unwrap_or(&Value::Null), field(fields[2]));
            let found = JsonLogic::parse(rule)
                .map_err(|fault| fault.message)
                .and_then(|rule| Expr::Logic(rule).eval(&Scope::of(data)).map_err(|fault| fault.message));
            match (&found, wanted) {
                (Ok(Some(found)), Some(wanted)) if agree(found, wanted) => passed += 1,
                (Err(_), None) => passed += 1,
                _ => {
                    let _ = writeln!(wrong, "{file}: {case}\n    found {found:?}");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(passed, RULES, "another version of the suite");
}
