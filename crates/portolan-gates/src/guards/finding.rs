//! The findings of a guard, and their conversion to judgements. Levels, bypasses and remedies are the same for all
//! guards.

use std::collections::BTreeMap;

use portolan_core::run::{Bypass, BypassSource};
use portolan_core::value::NodeId;

use super::judged_call::JudgedCall;
use crate::bypass::{self, NO_REASON};
use crate::guidelines::{IssueProvider, Level};
use crate::shell::Word;
use crate::{Decision, Judgement};

/// A finding of a guard in a tool call.
pub(super) struct Finding {
    pub(super) decision: Decision,
    /// The rule that it concerns.
    pub(super) invariant: Option<&'static str>,
    pub(super) reason: String,
    pub(super) remedies: Vec<String>,
    /// The index of its command in the reading; `None` for the call as a whole.
    pub(super) at: Option<usize>,
    /// Whether it cannot be bypassed.
    pub(super) firm: bool,
}

impl Finding {
    pub(super) fn new(decision: Decision, invariant: &'static str, reason: impl Into<String>) -> Finding {
        let invariant = (!invariant.is_empty()).then_some(invariant);
        Finding { decision, invariant, reason: reason.into(), remedies: Vec::new(), at: None, firm: false }
    }

    pub(super) fn allow(invariant: &'static str, reason: impl Into<String>) -> Finding {
        Finding::new(Decision::Allow, invariant, reason)
    }

    pub(super) fn block(invariant: &'static str, reason: impl Into<String>) -> Finding {
        Finding::new(Decision::Block, invariant, reason)
    }

    /// Creates a finding about something undecidable: it is asked about, or blocked if the rules are strict.
    pub(super) fn ask(judged: &JudgedCall<'_>, invariant: &'static str, reason: impl Into<String>) -> Finding {
        let decision = if judged.guidelines.strict { Decision::Block } else { Decision::Ask };
        Finding::new(decision, invariant, reason)
            .remedy("write it out literally, without variables for programs, branches and files")
    }

    pub(super) fn at(mut self, at: usize) -> Finding {
        self.at = Some(at);
        self
    }

    pub(super) fn firm(mut self) -> Finding {
        self.firm = true;
        self
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedies.push(remedy.into());
        self
    }

    pub(super) fn remedies(mut self, remedies: impl IntoIterator<Item = String>) -> Finding {
        self.remedies.extend(remedies);
        self
    }
}

/// Returns one judgement for each rule that the findings of a guard concern. The strictest finding decides.
pub(super) fn judgements(judged: &JudgedCall<'_>, guard: &'static str, findings: Vec<Finding>) -> Vec<Judgement> {
    let mut rules: BTreeMap<Option<&'static str>, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        rules.entry(finding.invariant).or_default().push(finding);
    }
    rules.into_iter().filter_map(|(invariant, findings)| judgement(judged, guard, invariant, findings)).collect()
}

fn judgement(
    judged: &JudgedCall<'_>,
    guard: &'static str,
    invariant: Option<&'static str>,
    findings: Vec<Finding>,
) -> Option<Judgement> {
    let rule = invariant.unwrap_or(guard);
    let level = judged.guidelines.level(&[guard, rule]);
    if level == Level::Off {
        return None;
    }
    let judged = findings.into_iter().map(|finding| of_finding(judged, guard, rule, level, finding));
    // Among equals the first counts, but a bypass that was needed must be reported.
    judged.reduce(|one, other| {
        let weight = |judgement: &Judgement| (judgement.decision, judgement.bypassed_by.is_some());
        if weight(&other) > weight(&one) { other } else { one }
    })
}

fn of_finding(judged: &JudgedCall<'_>, guard: &str, rule: &str, level: Level, finding: Finding) -> Judgement {
    let invariant = finding.invariant.map(str::to_owned);
    let mut judgement = Judgement {
        guard: guard.to_owned(),
        origin: None,
        invariant,
        decision: finding.decision,
        reason: finding.reason,
        remedies: Vec::new(),
        bypass: None,
        bypassed_by: None,
    };
    if finding.decision == Decision::Allow {
        return judgement;
    }
    if level == Level::Warn {
        judgement.decision = Decision::Allow;
        judgement.reason = format!("warned only: {}", judgement.reason);
        return judgement;
    }
    judgement.remedies = finding.remedies;
    if finding.firm {
        return judgement;
    }
    match past(judged, guard, rule, finding.at) {
        Ok(Some(bypass)) => {
            judgement.decision = Decision::Allow;
            judgement.reason = format!("{}; bypassed by `{}`: {}", judgement.reason, bypass.identifier, bypass.reason);
            judgement.remedies.clear();
            judgement.bypassed_by = Some(bypass);
        }
        Ok(None) => judgement.bypass = bypass::offer(rule, guard, judged.scene.by_person, judged.guidelines),
        Err(refused) => {
            judgement.reason = format!("{}; {refused}", judgement.reason);
            judgement.bypass = bypass::offer(rule, guard, judged.scene.by_person, judged.guidelines);
        }
    }
    judgement
}

/// Returns the bypass of `rule` that applies here, or why the requested one does not.
fn past(judged: &JudgedCall<'_>, guard: &str, rule: &str, at: Option<usize>) -> Result<Option<Bypass>, String> {
    let scene = judged.scene;
    let flow = scene.flow.as_ref();
    let phase = flow.map(|flow| flow.phase.as_str());
    let fits = |bypass: &&Bypass| {
        [rule, guard].iter().any(|name| bypass::matches(bypass, name, phase, scene.now))
            && bypass::refused(rule, guard, Some(&bypass.reason), bypass.source != BypassSource::Env, judged.guidelines)
                .is_none()
    };
    if let Some(bypass) = scene.bypasses.iter().find(fits) {
        return Ok(Some(bypass.clone()));
    }
    let given = scene.environment.iter().map(|(name, value)| (name.as_str(), Some(value.as_str())));
    let command = at.and_then(|at| judged.reading.commands.get(at));
    let set = command.into_iter().flat_map(|command| command.carried.iter().chain(&command.assignments));
    let set = set.map(|given| (given.name.as_str(), Word::known(&given.value)));
    let Some(bypass_request) = bypass::asked(rule, given.chain(set)) else { return Ok(None) };
    if let Some(refused) =
        bypass::refused(rule, guard, bypass_request.reason.as_deref(), scene.by_person, judged.guidelines)
    {
        return Err(refused);
    }
    Ok(Some(Bypass {
        id: format!("{}@{}", bypass_request.variable, scene.now.0),
        source: BypassSource::Env,
        identifier: bypass_request.variable,
        invariant: rule.to_owned(),
        node: phase.map(NodeId::from),
        reason: bypass_request.reason.unwrap_or_else(|| NO_REASON.to_owned()),
        at: scene.now,
        expires_at: None,
        once: true,
        used: false,
    }))
}

/// Returns the commands that move work to a branch of its own.
pub(super) fn own_branch(judged: &JudgedCall<'_>) -> Vec<String> {
    let flow = judged.scene.flow.as_ref();
    let prefix = judged.guidelines.branches.prefixes.first().map_or("feat/", String::as_str);
    let claimed = flow.and_then(|flow| flow.branch.as_deref());
    let issue = flow.and_then(|flow| flow.issue);
    let number = issue.map_or_else(|| "<issue>".to_owned(), |issue| issue.to_string());
    let branch = claimed.map_or_else(|| format!("-c {prefix}{number}-<slug>"), str::to_owned);
    let mut remedies = Vec::new();
    if issue.is_none() {
        remedies.extend(match &judged.guidelines.issues.provider {
            IssueProvider::GitHub => Some("gh issue create --title \"…\" --body \"…\"".to_owned()),
            IssueProvider::Files { folder } => Some(format!("write the issue into `{folder}/<number>.md`")),
            IssueProvider::Pattern { .. } => Some("open an issue in the tracker".to_owned()),
            IssueProvider::Offline => None,
        });
    }
    remedies.push(format!("git switch {branch}"));
    remedies.push("then run it again".to_owned());
    remedies
}
