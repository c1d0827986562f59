//! Findings in the event log about how work goes. Fixed rules read the log alone, so the same lines always give the
//! same findings. Each finding names its lines. A finding changes nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::log_line::LogLine;

/// The most log lines that a finding names.
const MAX_EVIDENCE: usize = 50;
/// The fewest calls that a guard must block in one run for a finding.
const BLOCKS: usize = 3;
/// The fewest exits for which the share of bypasses is judged, and the largest share that is no finding.
const EXITS: usize = 10;
const BYPASS_SHARE: f64 = 0.2;
/// The fewest exits, without a failure or a bypass, for a check to be reported as dead.
const DEAD_EXITS: usize = 50;
/// The fewest tasks in each half for their medians to be compared.
const HALF: usize = 5;
/// The fewest tasks that are compared with the baseline.
const MIN_TASKS: usize = 5;
/// The margins of a regression: a success rate lower by 0.1, a duration longer by a quarter, or one more iteration.
const SUCCESS_MARGIN: f64 = 0.1;
const DURATION_MARGIN: f64 = 1.25;
const ITERATIONS_MARGIN: f64 = 1.0;

/// A finding in the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogFinding {
    /// Whether it is an opportunity or a regression.
    pub kind: Sort,
    /// The rule that reports it.
    pub rule: String,
    /// The subject: a guard and a run, an invariant, a check, or tasks.
    pub subject: String,
    /// The name of the measured value.
    pub metric: String,
    /// The earlier value, or the threshold.
    pub baseline: f64,
    /// The present value.
    pub now: f64,
    /// The ids of its log lines.
    pub evidence: Vec<String>,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Something could be better.
    Opportunity,
    /// Something is worse than before.
    Regression,
}

impl LogFinding {
    /// Returns the finding as the log records it.
    pub fn to_json(&self) -> Value {
        json!({
            "rule": self.rule,
            "subject": self.subject,
            "metric": self.metric,
            "baseline": self.baseline,
            "now": self.now,
            "evidence": self.evidence,
        })
    }
}

/// The measures of finished tasks, for later comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// The number of tasks.
    pub tasks: usize,
    /// The share of completed tasks.
    pub success_rate: f64,
    /// The median duration, in milliseconds.
    pub median_duration_ms: f64,
    /// The median number of iterations.
    pub median_iterations: f64,
    /// The id of the last line that it covers. Later lines are compared with it.
    pub until: Option<String>,
}

impl Baseline {
    /// Returns the measures of the tasks in these lines, or `None` if too few are finished.
    pub fn of(lines: &[LogLine<'_>]) -> Option<Baseline> {
        let tasks = over(lines);
        let until = lines.last().map(|line| line.id.to_owned());
        (tasks.len() >= MIN_TASKS).then(|| Baseline { until, ..measured(&tasks) })
    }
}

/// Returns the findings in these lines, in the order of the rules.
pub fn findings(lines: &[LogLine<'_>], baseline: Option<&Baseline>) -> Vec<LogFinding> {
    let mut findings = repeated_blocks(lines);
    findings.extend(frequent_bypasses(lines));
    findings.extend(iterations_up(lines));
    findings.extend(dead_checks(lines));
    findings.extend(baseline.into_iter().flat_map(|baseline| regressions(lines, baseline)));
    findings
}

fn opportunity(
    rule: &str,
    subject: String,
    metric: &str,
    baseline: f64,
    now: f64,
    lines: &[&LogLine<'_>],
) -> LogFinding {
    let (rule, metric) = (rule.to_owned(), metric.to_owned());
    LogFinding { kind: Sort::Opportunity, rule, subject, metric, baseline, now, evidence: evidence(lines) }
}

/// Returns the ids of the last lines. The first ones would not change as lines are added, but new ones matter more.
fn evidence(lines: &[&LogLine<'_>]) -> Vec<String> {
    lines.iter().skip(lines.len().saturating_sub(MAX_EVIDENCE)).map(|line| line.id.to_owned()).collect()
}

/// Groups the lines of these kinds by the key that `of` returns.
fn grouped<'l, 'a, K: Ord>(
    lines: &'l [LogLine<'a>],
    kinds: &[&str],
    of: impl Fn(&LogLine<'a>) -> Option<K>,
) -> BTreeMap<K, Vec<&'l LogLine<'a>>> {
    let mut groups: BTreeMap<K, Vec<&LogLine<'a>>> = BTreeMap::new();
    for line in lines.iter().filter(|line| kinds.contains(&line.kind)) {
        if let Some(key) = of(line) {
            groups.entry(key).or_default().push(line);
        }
    }
    groups
}

fn repeated_blocks(lines: &[LogLine<'_>]) -> Vec<LogFinding> {
    let groups = grouped(lines, &["flow.guard.block"], |line| Some((line.text("guardId")?, line.run?)));
    let often = groups.into_iter().filter(|(_, lines)| lines.len() >= BLOCKS);
    let finding = |((guard, run), lines): ((&str, &str), Vec<&LogLine<'_>>)| {
        let subject = format!("{guard} in {run}");
        opportunity("repeated-block", subject, "blocks", BLOCKS as f64, lines.len() as f64, &lines)
    };
    often.map(finding).collect()
}

fn frequent_bypasses(lines: &[LogLine<'_>]) -> Vec<LogFinding> {
    let exits = grouped(lines, &["flow.acceptance.passed"], |line| line.text("invariant"));
    let mut found = Vec::new();
    for (invariant, exits) in exits.into_iter().filter(|(_, exits)| exits.len() >= EXITS) {
        let is_past = |line: &&&LogLine<'_>| line.data.get("bypassedBy").is_some_and(|by| !by.is_null());
        let past: Vec<&LogLine<'_>> = exits.iter().filter(is_past).copied().collect();
        let share = past.len() as f64 / exits.len() as f64;
        if share > BYPASS_SHARE {
            let subject = invariant.to_owned();
            found.push(opportunity("frequent-bypass", subject, "bypassRate", BYPASS_SHARE, share, &past));
        }
    }
    found
}

fn iterations_up(lines: &[LogLine<'_>]) -> Option<LogFinding> {
    let tasks = over(lines);
    if tasks.len() < 2 * HALF {
        return None;
    }
    let (before, after) = tasks.split_at(tasks.len() / 2);
    let median_of = |tasks: &[Over<'_, '_>]| median(tasks.iter().map(|task| task.iterations).collect());
    let (was, is) = (median_of(before), median_of(after));
    let lines: Vec<&LogLine<'_>> = after.iter().map(|task| task.line).collect();
    (is > was).then(|| opportunity("iterations-up", "tasks".to_owned(), "medianIterations", was, is, &lines))
}

fn dead_checks(lines: &[LogLine<'_>]) -> Vec<LogFinding> {
    let kinds = ["flow.acceptance.passed", "flow.acceptance.failed"];
    let checks = grouped(lines, &kinds, |line| line.text("checkId"));
    let never_failed = |lines: &[&LogLine<'_>]| {
        let held = |line: &&LogLine<'_>| {
            line.kind == "flow.acceptance.passed" && line.data.get("bypassedBy").is_none_or(Value::is_null)
        };
        lines.iter().all(held)
    };
    let dead = checks.into_iter().filter(|(_, lines)| lines.len() >= DEAD_EXITS && never_failed(lines));
    let finding = |(check, lines): (&str, Vec<&LogLine<'_>>)| {
        opportunity("dead-check", check.to_owned(), "failures", 1.0, 0.0, &lines)
    };
    dead.map(finding).collect()
}

/// A finished task.
struct Over<'l, 'a> {
    line: &'l LogLine<'a>,
    is_done: bool,
    iterations: f64,
    duration_ms: Option<f64>,
}

fn over<'l, 'a>(lines: &'l [LogLine<'a>]) -> Vec<Over<'l, 'a>> {
    let mut begun: BTreeMap<&str, i64> = BTreeMap::new();
    let mut tasks = Vec::new();
    for line in lines {
        match (line.kind, line.run) {
            ("flow.boot", Some(run)) => drop(begun.entry(run).or_insert(line.at.0)),
            ("task.completed" | "task.failed.scoped-down" | "task.failed.escalated", Some(run)) => {
                let begin = begun.get(run);
                tasks.push(Over {
                    line,
                    is_done: line.kind == "task.completed",
                    iterations: line.number("iterations").unwrap_or(0) as f64,
                    duration_ms: begin.map(|begin| line.at.0.saturating_sub(*begin) as f64),
                });
            }
            _ => {}
        }
    }
    tasks
}

fn measured(tasks: &[Over<'_, '_>]) -> Baseline {
    Baseline {
        tasks: tasks.len(),
        success_rate: tasks.iter().filter(|task| task.is_done).count() as f64 / tasks.len().max(1) as f64,
        median_duration_ms: median(tasks.iter().filter_map(|task| task.duration_ms).collect()),
        median_iterations: median(tasks.iter().map(|task| task.iterations).collect()),
        until: None,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

fn regressions(lines: &[LogLine<'_>], baseline: &Baseline) -> Vec<LogFinding> {
    let since = baseline.until.as_deref().and_then(|until| lines.iter().position(|line| line.id == until));
    let tasks: Vec<Over<'_, '_>> = over(lines);
    let is_new = |task: &Over<'_, '_>| {
        since.is_none_or(|since| lines[since + 1..].iter().any(|line| std::ptr::eq(line, task.line)))
    };
    let tasks: Vec<Over<'_, '_>> = tasks.into_iter().filter(is_new).collect();
    if tasks.len() < MIN_TASKS || baseline.tasks < MIN_TASKS {
        return Vec::new();
    }
    let now = measured(&tasks);
    let lines: Vec<&LogLine<'_>> = tasks.iter().map(|task| task.line).collect();
    let measures = [
        (
            "successRate",
            baseline.success_rate,
            now.success_rate,
            now.success_rate <= baseline.success_rate - SUCCESS_MARGIN,
        ),
        (
            "medianDurationMs",
            baseline.median_duration_ms,
            now.median_duration_ms,
            now.median_duration_ms > baseline.median_duration_ms * DURATION_MARGIN,
        ),
        (
            "medianIterations",
            baseline.median_iterations,
            now.median_iterations,
            now.median_iterations >= baseline.median_iterations + ITERATIONS_MARGIN,
        ),
    ];
    let worse = measures.into_iter().filter(|(.., is_worse)| *is_worse);
    let finding = |(metric, was, is, _): (&str, f64, f64, bool)| LogFinding {
        kind: Sort::Regression,
        ..opportunity("worse-than-baseline", "tasks".to_owned(), metric, was, is, &lines)
    };
    worse.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_core::value::Timestamp;

    /// Returns the findings in lines of a count, kind, run and data. The lines are one second apart.
    fn found(lines: &[(usize, &str, &str, Value)], baseline: Option<&Baseline>) -> String {
        with(lines, |lines| {
            let told = |f: &LogFinding| {
                format!("{} {}: {} {} → {} ({})", f.rule, f.subject, f.metric, f.baseline, f.now, f.evidence.len())
            };
            findings(lines, baseline).iter().map(told).collect::<Vec<_>>().join("; ")
        })
    }

    fn with<T>(lines: &[(usize, &str, &str, Value)], then: impl FnOnce(&[LogLine<'_>]) -> T) -> T {
        let all: Vec<_> = lines.iter().flat_map(|line| std::iter::repeat_n(line, line.0)).collect();
        let ids: Vec<String> = (0..all.len()).map(|nth| format!("e{nth}")).collect();
        let seen: Vec<LogLine<'_>> = (0_i64..)
            .zip(&all)
            .zip(&ids)
            .map(|((at, (_, kind, run, data)), id)| {
                let at = Timestamp(at * 1_000);
                LogLine { id, kind, at, task: None, run: Some(*run), data }
            })
            .collect();
        then(&seen)
    }

    #[test]
    fn a_guard_that_stops_a_run_three_times_is_worth_a_look() {
        let block = |times, run: &'static str| (times, "flow.guard.block", run, json!({ "guardId": "g" }));
        assert_eq!(found(&[block(2, "a"), block(2, "b")], None), "");
        assert_eq!(found(&[block(2, "a"), block(3, "b")], None), "repeated-block g in b: blocks 3 → 3 (3)");
        assert!(found(&[block(200, "b")], None).ends_with("→ 200 (50)"));
    }

    #[test]
    fn more_than_a_fifth_of_ten_exits_is_often() {
        let passed =
            |times, by: Value| (times, "flow.acceptance.passed", "r", json!({ "invariant": "I-6", "bypassedBy": by }));
        assert_eq!(found(&[passed(8, Value::Null), passed(2, json!({}))], None), "");
        assert_eq!(found(&[passed(6, Value::Null), passed(3, json!({}))], None), "");
        let often = found(&[passed(7, Value::Null), passed(3, json!({}))], None);
        assert_eq!(often, "frequent-bypass I-6: bypassRate 0.2 → 0.3 (3)");
    }

    #[test]
    fn a_check_that_never_fails_in_fifty_exits_may_be_dead() {
        let check = |times, kind: &'static str| (times, kind, "r", json!({ "checkId": "c" }));
        assert_eq!(found(&[check(49, "flow.acceptance.passed")], None), "");
        let dead = "dead-check c: failures 1 → 0 (50)";
        assert_eq!(found(&[check(50, "flow.acceptance.passed")], None), dead);
        assert_eq!(found(&[check(90, "flow.acceptance.passed"), check(1, "flow.acceptance.failed")], None), "");
        let past = (1, "flow.acceptance.passed", "r", json!({ "checkId": "c", "bypassedBy": {} }));
        assert_eq!(found(&[check(60, "flow.acceptance.passed"), past], None), "");
    }

    #[test]
    fn tasks_that_go_back_more_often_and_take_longer_are_told() {
        let over = |times, kind: &'static str, n: u64| (times, kind, "r", json!({ "iterations": n }));
        let good = [(1, "flow.boot", "r", json!({})), over(5, "task.completed", 0)];
        let baseline = with(&good, Baseline::of).expect("enough");
        assert_eq!((baseline.tasks, baseline.success_rate, baseline.median_duration_ms), (5, 1.0, 3_000.0));
        assert!(with(&good[..1], Baseline::of).is_none());
        let worse = [&good[..], &[over(2, "task.completed", 2), over(3, "task.failed.escalated", 1)]].concat();
        assert_eq!(
            found(&worse, Some(&baseline)),
            "iterations-up tasks: medianIterations 0 → 1 (5); \
             worse-than-baseline tasks: successRate 1 → 0.4 (5); \
             worse-than-baseline tasks: medianDurationMs 3000 → 8000 (5); \
             worse-than-baseline tasks: medianIterations 0 → 1 (5)"
        );
        assert_eq!(found(&good, Some(&baseline)), "");
    }
}
