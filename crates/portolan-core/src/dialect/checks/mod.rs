//! The acceptance checks and the tool rules of a node, which have the same syntax in every dialect.

mod attach;
mod evidence;
pub mod verify;

use std::sync::Arc;

use self::evidence::With;
pub(super) use self::evidence::declared;
use crate::diagnostic::{Code, Diagnostic, clip};
use crate::graph::{
    CALL_RULES, CallRules, Check, CheckBy, DEFAULT_TIMEOUT_SECONDS, Fact, GATES, Gate, MAX_TIMEOUT_SECONDS, ToolRules,
    is_check_name,
};
use crate::source::fields::{FaultList, Fields};
use crate::source::{Span, Spanned, Tree, TreeKind};

/// The codes that only this module reports.
pub(super) const CODES: &[Code] = &[
    Code {
        code: "bad-check",
        what: "An acceptance check cannot be performed as written: a field is missing, is invalid, or does not belong \
               to this kind of check.",
        fix: "Give the check exactly one of `check` (the name of a check of the project), `run` (a program and its \
              arguments), `file` (a path inside the project) and `gate`, with only the fields that belong to it.",
    },
    Code {
        code: "unknown-gate",
        what: "A check names a gate that does not exist.",
        fix: "Name one of the gates that the help lists. For a command of your own, use `run`.",
    },
    Code {
        code: "bad-pattern",
        what: "A pattern is empty or longer than 200 bytes. Patterns name tools in `allow` and `deny`, and workflows \
               and nodes in `.portolan/verify.yaml`.",
        fix: "Write the name, with `*` for any text.",
    },
    Code {
        code: "matches-nothing",
        what: "An entry of `.portolan/verify.yaml` adds nothing to any workflow: no name matches its patterns, or the \
               matching nodes are of a kind that accepts no such check or rule.",
        fix: "Correct the pattern, or remove the entry.",
    },
];

/// The maximum number of checks on one node.
const MAX_CHECKS: usize = 32;

/// The maximum timeout of a check, in seconds.
const MAX_TIMEOUT: u32 = MAX_TIMEOUT_SECONDS as u32;

/// The maximum number of tool patterns on one node.
const MAX_PATTERNS: usize = 64;

/// The maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 200;

/// A check as written.
struct CheckSyntax<'t> {
    span: Span,
    id: Option<Spanned<String>>,
    run: Option<Vec<Spanned<String>>>,
    timeout_seconds: Option<Spanned<u32>>,
    file: Option<Spanned<String>>,
    gate: Option<Spanned<String>>,
    check: Option<Spanned<String>>,
    invariant: Option<Spanned<String>>,
    with: With<'t>,
}

impl<'t> CheckSyntax<'t> {
    fn at(span: Span) -> CheckSyntax<'t> {
        CheckSyntax {
            span,
            id: None,
            run: None,
            timeout_seconds: None,
            file: None,
            gate: None,
            check: None,
            invariant: None,
            with: With::default(),
        }
    }
}

/// The fields of a key result that is checked outside of the run; their names differ between dialects.
pub(super) struct Outside {
    pub(super) run: Option<Vec<Spanned<String>>>,
    pub(super) timeout_seconds: Option<u64>,
    pub(super) file: Option<Spanned<String>>,
    pub(super) gate: Option<Spanned<String>>,
}

/// Returns the check that these fields describe.
pub(super) fn by_name(outside: &Outside, span: Span, name: &str, faults: &mut FaultList) -> Option<CheckBy> {
    let timeout_seconds = outside.timeout_seconds.and_then(|seconds| u32::try_from(seconds).ok());
    let written = CheckSyntax {
        run: outside.run.clone(),
        timeout_seconds: timeout_seconds.map(|value| Spanned { value, span }),
        file: outside.file.clone(),
        gate: outside.gate.clone(),
        ..CheckSyntax::at(span)
    };
    let by = by(&written, name, faults)?;
    if let Some(evidence) = by.evidence() {
        let gate = evidence.fact.gate();
        let message = format!("`{gate}` checks what a step has produced, but {name} is judged by its result");
        let help = "name a gate that checks the state of the repository, or write `run` or `file`";
        faults.push(Diagnostic::error("bad-check", message).at(span).help(help));
        return None;
    }
    Some(by)
}

/// Reads `accept`, an array of checks. A text in it names a gate.
pub(super) fn read(fields: &mut Fields<'_>, faults: &mut FaultList) -> Vec<Check> {
    let Some(tree) = fields.optional("accept") else { return Vec::new() };
    let TreeKind::Array(items) = &tree.kind else {
        let message = format!("`accept` must be an array of checks, but is {}", tree.describe());
        faults.push(
            Diagnostic::error("wrong-type", message)
                .at(tree.span)
                .help("write `[{\"id\": \"tests\", \"run\": [\"cargo\", \"test\"]}]`"),
        );
        return Vec::new();
    };
    let checks: Vec<CheckSyntax<'_>> = items.iter().filter_map(|item| written(item, faults)).collect();
    if let Some(extra) = checks.get(MAX_CHECKS) {
        let message = format!("a node has {} checks, more than the limit of {MAX_CHECKS}", checks.len());
        faults.push(Diagnostic::error("too-large", message).at(extra.span).help("let one command run several of them"));
    }
    let mut lowered: Vec<Check> = Vec::new();
    for check in checks.into_iter().take(MAX_CHECKS) {
        let Some(id) = check.id.clone().or_else(|| check.gate.clone()).or_else(|| check.check.clone()) else {
            continue;
        };
        if lowered.iter().any(|earlier| earlier.id.as_str() == id.value) {
            let message = format!("two checks of the node are called `{}`", clip(&id.value));
            faults.push(Diagnostic::error("duplicate-id", message).at(id.span).help("give one of them another id"));
            continue;
        }
        if let Some(by) = by(&check, &id.value, faults) {
            let usual = |gate: &Gate| gate.invariant.map(str::to_owned);
            let of_gate = check.gate.as_ref().and_then(|gate| Gate::named(&gate.value)).and_then(usual);
            let invariant = check.invariant.map(|named| named.value).or(of_gate);
            lowered.push(Check { id: id.value.into(), span: check.span, invariant, by, attached: false });
        }
    }
    lowered
}

/// Reads a check. Returns `None` if it has a fault: its intention could only be guessed.
fn written<'t>(tree: &'t Tree, faults: &mut FaultList) -> Option<CheckSyntax<'t>> {
    if let TreeKind::String(name) = &tree.kind {
        let gate = Spanned { value: name.clone(), span: tree.span };
        return Some(CheckSyntax { gate: Some(gate), ..CheckSyntax::at(tree.span) });
    }
    let before = faults.0.len();
    let mut fields = Fields::of(tree, "the check", faults)?;
    let gate = fields.string("gate", faults);
    let of_project = fields.string("check", faults);
    let id = if gate.is_some() || of_project.is_some() {
        fields.string("id", faults)
    } else {
        fields.required_string("id", faults)
    };
    let check = CheckSyntax {
        span: tree.span,
        id,
        run: fields.has("run").then(|| fields.strings("run", faults)),
        timeout_seconds: fields.count("timeoutSeconds", 1..=MAX_TIMEOUT, faults),
        file: fields.string("file", faults),
        gate,
        check: of_project,
        invariant: fields.string("invariant", faults).filter(|named| is_invariant(named, faults)),
        with: With::read(&mut fields, faults),
    };
    // `run` is a known field even if it is absent.
    fields.ignored(&["run"]);
    fields.finish(faults);
    // Leniency is for files that the original programs load, and those have no checks.
    faults.0[before..].iter_mut().for_each(|fault| fault.repair = None);
    (faults.0.len() == before).then_some(check)
}

fn is_invariant(named: &Spanned<String>, faults: &mut FaultList) -> bool {
    let is_word = (1..=64).contains(&named.value.len())
        && named.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if !is_word {
        let message = format!("`{}` cannot be the name of a rule", clip(&named.value));
        let help = "a rule has a name such as `I-4`: up to 64 letters, digits, `-`, `.` and `_`";
        faults.push(Diagnostic::error("bad-check", message).at(named.span).help(help));
    }
    is_word
}

fn by(check: &CheckSyntax<'_>, id: &str, faults: &mut FaultList) -> Option<CheckBy> {
    let wrong = |message: String, help: &str| Diagnostic::error("bad-check", message).at(check.span).help(help);
    let gate = check.gate.as_ref().and_then(|gate| Gate::named(&gate.value));
    if let Some(fault) = check.with.refused(gate.map(|gate| gate.name), id, check.span) {
        faults.push(fault);
        return None;
    }
    if let Some(name) = &check.check {
        return of_project(check, name, id, faults);
    }
    let fault = match (&check.run, &check.file, &check.gate) {
        (Some(argv), None, None) if argv.first().is_some_and(|program| !program.value.is_empty()) => {
            let limit = check.timeout_seconds.as_ref().map_or(DEFAULT_TIMEOUT_SECONDS, |limit| limit.value.into());
            let argv = argv.iter().map(|word| word.value.clone()).collect();
            return Some(CheckBy::Run { argv, timeout_seconds: limit });
        }
        (Some(_), None, None) => wrong(
            format!("check `{}` runs nothing", clip(id)),
            "write the program and its arguments, as in `\"run\": [\"cargo\", \"test\"]`; they are not passed to a shell",
        ),
        (None, Some(file), None) if stays_inside(&file.value) && check.timeout_seconds.is_none() => {
            return Some(CheckBy::File { path: file.value.clone() });
        }
        (None, Some(file), None) if !stays_inside(&file.value) => wrong(
            format!("check `{}` refers to `{}`, which may be outside the project", clip(id), clip(&file.value)),
            "write a path relative to the project, without `..`",
        ),
        (None, None, Some(written)) if check.timeout_seconds.is_none() => match gate {
            Some(gate) if Fact::GATES.contains(&gate.name) => {
                return evidence::of(gate.name, &check.with, (id, check.span), faults).map(CheckBy::Evidence);
            }
            Some(gate) => return Some(CheckBy::Gate { name: gate.name.to_owned() }),
            None => unknown_gate(written),
        },
        (None, Some(_), None) | (None, None, Some(_)) => wrong(
            format!("check `{}` has a `timeoutSeconds`, but runs nothing", clip(id)),
            "remove it: only a command can have a timeout",
        ),
        _ => wrong(format!("check `{}` must have exactly one of `{}`", clip(id), WAYS.join("`, `")), ONE_OF),
    };
    faults.push(fault);
    None
}

/// The fields that determine how a check is decided.
const WAYS: [&str; 4] = ["check", "run", "file", "gate"];
const ONE_OF: &str = "write `\"check\": \"tests\"` for the project's own, or `\"run\": [\"program\", \"argument\"]`, \
     `\"file\": \"path\"` or `\"gate\": \"branchMatchesPrefix\"`";

/// Returns a check by the name that the project gives it.
fn of_project(check: &CheckSyntax<'_>, name: &Spanned<String>, id: &str, faults: &mut FaultList) -> Option<CheckBy> {
    let alone = check.run.is_none() && check.file.is_none() && check.gate.is_none();
    let fault = match (alone, check.timeout_seconds.is_some(), is_check_name(&name.value)) {
        (true, false, true) => return Some(CheckBy::Project { name: name.value.clone() }),
        (false, ..) => {
            let message = format!("check `{}` must have exactly one of `{}`", clip(id), WAYS.join("`, `"));
            Diagnostic::error("bad-check", message).at(check.span).help(ONE_OF)
        }
        (_, true, _) => {
            let message =
                format!("check `{}` has a `timeoutSeconds`, but its command is defined by the project", clip(id));
            let help = "remove it: `.portolan/checks.yaml` sets how long the command may take";
            Diagnostic::error("bad-check", message).at(check.span).help(help)
        }
        _ => {
            let message = format!("`{}` cannot be the name of a check", clip(&name.value));
            let help = "write up to 64 lowercase letters, digits, `-` and `_`, as in `unit-tests`";
            Diagnostic::error("bad-check", message).at(name.span).help(help)
        }
    };
    faults.push(fault);
    None
}

fn unknown_gate(gate: &Spanned<String>) -> Diagnostic {
    let known = GATES.iter().map(|gate| gate.name);
    let names: Vec<&str> = known.clone().collect();
    Diagnostic::error("unknown-gate", format!("there is no gate `{}`", clip(&gate.value)))
        .at(gate.span)
        .help(format!("the gates are {}", crate::diagnostic::list(&names)))
        .did_you_mean(&gate.value, known)
}

/// Returns whether a path, as written, is relative and has no `..`. Its resolution is checked when it is used.
pub(super) fn stays_inside(path: &str) -> bool {
    let absolute = path.starts_with(['/', '\\', '~']) || path.get(1..2) == Some(":");
    !path.is_empty() && !path.contains('\0') && !absolute && !path.split(['/', '\\']).any(|part| part == "..")
}

/// Takes the fields with rules for calls of tools, unread.
pub(super) fn call_rules(fields: &mut Fields<'_>) -> Option<Arc<CallRules>> {
    let present = CALL_RULES.iter().filter_map(|name| Some((*name, fields.optional(name)?.clone())));
    let fields: Vec<_> = present.collect();
    (!fields.is_empty()).then(|| Arc::new(CallRules { fields }))
}

/// Reads `allow` and `deny`, patterns of tools.
pub(super) fn tools(fields: &mut Fields<'_>, faults: &mut FaultList) -> Option<Box<ToolRules>> {
    let has_allow = fields.has("allow");
    let allow = patterns("allow", fields, faults);
    let deny = patterns("deny", fields, faults);
    let is_said = has_allow || !deny.is_empty();
    is_said.then(|| Box::new(ToolRules { allow: has_allow.then_some(allow), deny }))
}

fn patterns(key: &'static str, fields: &mut Fields<'_>, faults: &mut FaultList) -> Vec<String> {
    let mut patterns = fields.strings(key, faults);
    if let Some(extra) = patterns.get(MAX_PATTERNS) {
        let message = format!("`{key}` has {} patterns, more than the limit of {MAX_PATTERNS}", patterns.len());
        faults.push(Diagnostic::error("too-large", message).at(extra.span).help("use `*` for any text"));
        patterns.truncate(MAX_PATTERNS);
    }
    let mut sound = |pattern: &Spanned<String>| {
        let is_sound = (1..=MAX_PATTERN_BYTES).contains(&pattern.value.len());
        if !is_sound {
            let message = format!("`{}` in `{key}` is not a tool pattern", clip(&pattern.value));
            let help = "write the name of a tool, such as `Bash` or `mcp:github/*`, with `*` for any text";
            faults.push(Diagnostic::error("bad-pattern", message).at(pattern.span).help(help));
        }
        is_sound
    };
    patterns.retain(|pattern| sound(pattern));
    patterns.into_iter().map(|pattern| pattern.value).collect()
}
