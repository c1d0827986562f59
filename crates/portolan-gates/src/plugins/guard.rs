//! Guards that a project adds: in Rust, or as data that gives the tools, the paths, the condition and the decision.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value, json};

use super::{GuardOrigin, Total, TotalPer};
use crate::{Decision, Intent, Judgement, Tool, pattern};
use portolan_core::diagnostic::{clip, list};
use portolan_core::expr::{Expr, Jsonata, Scope};
use portolan_core::schema::Schema;

/// A guard in addition to Portolan's own. It sees data and changes nothing.
///
/// ```
/// use portolan_gates::plugins::{Guard, GuardInput};
/// use portolan_gates::{Decision, Intent, Judgement, Tool};
///
/// #[derive(Debug)]
/// struct Office;
///
/// impl Guard for Office {
///     fn id(&self) -> &str {
///         "office-hours"
///     }
///
///     fn judge(&self, intent: &Intent, around: &GuardInput<'_>) -> Option<Judgement> {
///         let deploys = matches!(intent.tool.deed(), Tool::Shell { command } if command.contains("deploy"));
///         let outside = around.phase != Some("deploy");
///         (deploys && outside).then(|| Judgement::new(self.id(), Decision::Ask, "nothing is deployed in this phase"))
///     }
/// }
///
/// assert_eq!(Office.id(), "office-hours");
/// ```
pub trait Guard: fmt::Debug + Send + Sync {
    /// Its name.
    fn id(&self) -> &str;

    /// Judges a tool call. Returns `None` if the guard does not apply.
    fn judge(&self, intent: &Intent, around: &GuardInput<'_>) -> Option<Judgement>;
}

/// A guard as data, declared in `.portolan/plugins.yaml` or in a definition.
#[derive(Clone, Debug)]
pub struct DeclaredGuard {
    /// Its name.
    pub id: String,
    /// The tools: patterns of their names at the host, or `edit`, `shell`, `read`, `mcp:<server>/<tool>`. Empty means
    /// all.
    pub tools: Vec<String>,
    /// The files: globs, relative to the project. Empty means any, and also calls that name none.
    pub paths: Vec<String>,
    /// The condition, over `tool`, `path`, `command`, `arguments`, `calls`, `called`, `steps`, `branch` and `phase`.
    pub when: Option<Jsonata>,
    /// The sum above which the guard applies. `None` if nothing is added up.
    pub total: Option<Total>,
    /// The form of the arguments for which the guard does not apply. `None` if their form does not matter.
    pub schema: Option<Schema>,
    /// Whether it applies only to calls that do not say which of several open branches of a run they are made for.
    pub exclusive: bool,
    /// The decision on the call: never [`Decision::Allow`].
    pub decision: Decision,
    /// The reason.
    pub reason: String,
    /// Where it is declared.
    pub origin: GuardOrigin,
}

impl PartialEq for DeclaredGuard {
    fn eq(&self, other: &DeclaredGuard) -> bool {
        self.is_same_rule(other) && self.origin == other.origin
    }
}

/// The context of a tool call.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuardInput<'a> {
    /// The root of the project, absolute.
    pub root: &'a str,
    /// The checked-out branch.
    pub branch: Option<&'a str>,
    /// The current phase of the task.
    pub phase: Option<&'a str>,
    /// Whether an undecidable call is blocked instead of asked about.
    pub strict: bool,
    /// The arguments of the call, an object. `None` if they are not known. They are not recorded.
    pub arguments: Option<&'a Value>,
    /// The calls that the runs have made before which decide about this call. `None` if there is no run.
    pub earlier: Option<&'a [EarlierCall]>,
    /// The calls that were made before on the same day. `None` if they are not known.
    pub today: Option<&'a CallsOfDay>,
    /// The open steps of these runs.
    pub steps: &'a [&'a str],
    /// The names of the open branches of each of these runs that has several.
    pub branches: &'a [&'a [String]],
}

/// A call that was made earlier in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierCall {
    /// The run. A call of several runs is there once for each.
    pub run: String,
    /// The names of its tool, as [`tool_names`] returns them.
    pub names: Vec<String>,
    /// The steps at which it was made, each with the revision at which the run reached it: those of all branches that it
    /// may have been made for.
    pub steps: Vec<String>,
    /// Whether it was made at the present step, since the run reached it.
    pub is_of_step: bool,
    /// The arguments that guards added up when it was made.
    pub amounts: BTreeMap<String, f64>,
    /// The numbers that guards took from its result, by their expressions. `None` if its end is not on record.
    pub results: Option<BTreeMap<String, f64>>,
}

/// The calls of a day in UTC, of all clients.
#[derive(Clone, Debug, PartialEq)]
pub struct CallsOfDay {
    /// The calls. Their run and their step do not matter.
    pub calls: Vec<EarlierCall>,
    /// The end of the day, as people read it.
    pub until: String,
}

impl Guard for DeclaredGuard {
    fn id(&self) -> &str {
        &self.id
    }

    fn judge(&self, intent: &Intent, around: &GuardInput<'_>) -> Option<Judgement> {
        if !self.is_about(&tool_names(intent)) {
            return None;
        }
        let paths = paths(intent, around.root);
        let paths: Vec<Option<&str>> = match (&self.paths[..], &paths[..]) {
            ([], []) => vec![None],
            ([], paths) => paths.iter().map(|path| Some(path.as_str())).collect(),
            (globs, paths) => {
                let hit = |path: &&String| globs.iter().any(|glob| pattern::matches(glob, path));
                paths.iter().filter(hit).map(|path| Some(path.as_str())).collect()
            }
        };
        paths.into_iter().find_map(|path| self.of(intent, around, path))
    }
}

/// The names in a condition of what is not known without further work.
pub(super) const ARGUMENTS: &str = "arguments";
pub(super) const CALLS: &str = "calls";
pub(super) const CALLED: &str = "called";

impl DeclaredGuard {
    /// Checks whether another guard states the same, wherever it is declared.
    pub(super) fn is_same_rule(&self, other: &DeclaredGuard) -> bool {
        let text = |guard: &DeclaredGuard| guard.when.as_ref().map(|when| when.text().to_owned());
        (&self.id, &self.tools, &self.paths, &self.schema, &self.total, self.decision, &self.reason)
            == (&other.id, &other.tools, &other.paths, &other.schema, &other.total, other.decision, &other.reason)
            && self.exclusive == other.exclusive
            && text(self) == text(other)
    }

    /// Checks whether it reads the arguments of calls.
    pub fn reads_arguments(&self) -> bool {
        self.schema.is_some() || self.adds_up_arguments() || self.reads(ARGUMENTS)
    }

    /// Checks whether it reads what the run has called before.
    pub fn reads_calls(&self) -> bool {
        self.total.is_some() || self.reads(CALLS) || self.reads(CALLED)
    }

    /// Checks whether it reads what was called on the same day.
    pub fn reads_day(&self) -> bool {
        self.total.as_ref().is_some_and(|total| total.per == TotalPer::Day)
    }

    /// Checks whether the names of a tool must be recorded with its call, in a run or not, so that the guard counts it.
    pub fn counts_in_day(&self, intent: &Intent) -> bool {
        self.reads_day() && self.is_about(&tool_names(intent))
    }

    fn reads(&self, name: &str) -> bool {
        self.when.as_ref().is_some_and(|when| when.roots().iter().any(|root| root == name))
    }

    /// Returns the judgement of a guard that counts the calls of a run, about a call in a run whose calls are not on record.
    pub fn uncounted(&self, intent: &Intent, strict: bool) -> Option<Judgement> {
        let counts = self.reads(CALLS) || self.reads(CALLED) || self.total.is_some() && !self.reads_day();
        let why = "the calls of a run that is not in the store are not counted";
        (counts && self.is_about(&tool_names(intent))).then(|| self.undecided(strict, why))
    }

    /// Checks whether it is about a tool with these names, as [`tool_names`] returns them.
    pub(super) fn is_about(&self, names: &[String]) -> bool {
        is_about(&self.tools, names)
    }

    /// Returns how often a run has made calls that the guard is about: since its start, and at the present step. Of several
    /// runs, the largest numbers count, so that a second run gives no further calls.
    fn counted(&self, earlier: &[EarlierCall]) -> Value {
        let mut of_runs: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for call in earlier.iter().filter(|call| self.is_about(&call.names)) {
            let (run, step) = of_runs.entry(&call.run).or_default();
            *run += 1;
            *step += usize::from(call.is_of_step);
        }
        let most = |of: fn(&(usize, usize)) -> usize| of_runs.values().map(of).max().unwrap_or_default();
        json!({ "run": most(|counts| counts.0), "step": most(|counts| counts.1) })
    }

    fn of(&self, intent: &Intent, around: &GuardInput<'_>, path: Option<&str>) -> Option<Judgement> {
        let unnamed = match self.exclusive {
            true => Some(unnamed_branches(intent, around)?),
            false => None,
        };
        let mut reason = match self.unfit(around.arguments)? {
            Ok(reason) => reason,
            Err(why) => return Some(self.undecided(around.strict, why)),
        };
        match self.total.as_ref().map(|total| self.excess(total, intent, around)) {
            None => {}
            Some(Ok(Some(used))) => reason = format!("{reason} ({used})"),
            Some(Ok(None)) => return None,
            Some(Err(why)) => return Some(self.undecided(around.strict, &why)),
        }
        if let Some(open) = unnamed {
            let open: Vec<&str> = open.iter().map(String::as_str).collect();
            reason = format!("{reason} (name your branch in `_meta` as `portolan/branch`: {})", list(&open));
        }
        let Some(when) = &self.when else { return Some(self.judgement(self.decision, reason)) };
        let mut data = condition_data(intent, around, path);
        if let Some(earlier) = around.earlier {
            data[CALLS] = self.counted(earlier);
        }
        let why = match Expr::Jsonata(when.clone()).eval(&Scope::of(&data)) {
            Ok(Some(Value::Bool(true))) => return Some(self.judgement(self.decision, reason)),
            Ok(None | Some(Value::Bool(false) | Value::Null)) => return None,
            Ok(Some(_)) => "its `when` is neither true nor false".to_owned(),
            Err(fault) => fault.to_string(),
        };
        Some(self.undecided(around.strict, &why))
    }

    /// Returns the reason of a judgement about these arguments, or why they cannot be checked. `None` if they have the
    /// required form. Values are not quoted, since reasons are recorded.
    fn unfit(&self, arguments: Option<&Value>) -> Option<Result<String, &'static str>> {
        let Some(schema) = &self.schema else { return Some(Ok(self.reason.clone())) };
        let Some(arguments) = arguments else { return Some(Err("the arguments are not known")) };
        let faults = schema.check(arguments);
        let first = faults.first()?;
        let place = if first.path.is_empty() { "/" } else { &first.path };
        Some(Ok(format!("{} (the argument at `{}` is not as `schema` requires)", self.reason, clip(place))))
    }

    /// Returns the judgement of a guard that cannot decide, which never allows a call.
    fn undecided(&self, strict: bool, why: &str) -> Judgement {
        let decision = if strict { Decision::Block } else { Decision::Ask };
        self.judgement(decision, format!("the guard `{}` cannot decide: {why}", self.id))
    }

    fn judgement(&self, decision: Decision, reason: String) -> Judgement {
        let remedies = vec![format!("{} defines what the guard `{}` covers", self.origin, self.id)];
        Judgement { remedies, origin: self.origin.place(), ..Judgement::new(&self.id, decision, reason) }
    }
}

/// Returns the open branches of the first run that has several, none of which the call names. `None` if there is none.
fn unnamed_branches<'a>(intent: &Intent, around: &GuardInput<'a>) -> Option<&'a [String]> {
    let names = |open: &&&[String]| intent.branch.as_ref().is_some_and(|branch| open.contains(branch));
    around.branches.iter().find(|open| !names(open)).copied()
}

/// Returns the data for the condition. An unknown value is left out, so that functions of it have no result.
fn condition_data(intent: &Intent, around: &GuardInput<'_>, path: Option<&str>) -> Value {
    let command = match intent.tool.deed() {
        Tool::Shell { command } => Some(command.as_str()),
        _ => None,
    };
    let known = [
        ("tool", Some(intent.name.as_str())),
        ("path", path),
        ("command", command),
        ("branch", around.branch),
        ("phase", around.phase),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))));
    let arguments = around.arguments.map(|arguments| (ARGUMENTS.to_owned(), arguments.clone()));
    let called = around.earlier.unwrap_or_default().iter().flat_map(|call| &call.names).collect::<BTreeSet<_>>();
    let lists = [("steps".to_owned(), Value::from(around.steps)), (CALLED.to_owned(), json!(called))];
    Value::Object(known.chain(arguments).chain(lists).collect::<Map<_, _>>())
}

/// Checks whether patterns, or none, mean a tool with these names.
pub(super) fn is_about(patterns: &[String], names: &[String]) -> bool {
    let is_meant = |wanted: &String| names.iter().any(|name| pattern::means(wanted, name));
    patterns.is_empty() || patterns.iter().any(is_meant)
}

/// Returns the names of the tool that patterns can match: its own, its kind, and that of the equivalent host tool.
pub fn tool_names(intent: &Intent) -> Vec<String> {
    let kinds = [Some(&intent.tool), Some(intent.tool.deed()).filter(|deed| **deed != intent.tool)];
    std::iter::once(intent.name.clone()).chain(kinds.into_iter().flatten().filter_map(kind)).collect()
}

fn kind(tool: &Tool) -> Option<String> {
    match tool {
        Tool::Edit { .. } => Some("edit".to_owned()),
        Tool::Shell { .. } => Some("shell".to_owned()),
        Tool::Reads => Some("read".to_owned()),
        Tool::Mcp { server, tool, .. } => Some(format!("mcp:{server}/{tool}")),
        Tool::Other => None,
    }
}

/// Returns the files of an edit, relative to the project if they lie in it.
fn paths(intent: &Intent, root: &str) -> Vec<String> {
    let Tool::Edit { paths } = intent.tool.deed() else { return Vec::new() };
    paths.iter().map(|path| relative(&intent.folder, path, root)).collect()
}

fn relative(folder: &str, path: &str, root: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
    match parts.strip_prefix(&root[..]) {
        Some(inside) => inside.join("/"),
        None => format!("/{}", parts.join("/")),
    }
}
