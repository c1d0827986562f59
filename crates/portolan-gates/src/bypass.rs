//! Bypasses of a rule by name: for one phase of one task, with a reason, on record. No bypass covers every rule at
//! once, and none covers the rule that bypasses are recorded.

use portolan_core::run::Bypass;
use portolan_core::value::{NodeId, Timestamp};

use super::guidelines::Who;
use super::{Guidelines, RULES};

/// The text that is recorded if no reason is given.
pub const NO_REASON: &str = "(none given)";

/// Checks whether `bypass` covers `invariant` in this phase.
///
/// ```
/// use portolan_core::run::{Bypass, BypassSource};
/// use portolan_core::value::Timestamp;
/// use portolan_gates::bypass::matches;
/// let bypass = Bypass {
///     id: "b1".into(), source: BypassSource::Command, identifier: "flow override".into(), invariant: "I-6".into(),
///     node: Some("qa".into()), reason: "flaky tool".into(), at: Timestamp(0), expires_at: None, once: false, used: false,
/// };
/// assert!(matches(&bypass, "I-6", Some("qa"), Timestamp(9)));
/// assert!(!matches(&bypass, "I-6", Some("commit"), Timestamp(9)));
/// ```
pub fn matches(bypass: &Bypass, invariant: &str, phase: Option<&str>, now: Timestamp) -> bool {
    let node = phase.map(NodeId::from);
    invariant != "I-13"
        && invariant != "*"
        && !bypass.reason.trim().is_empty()
        && bypass.covers(invariant, node.as_ref(), now)
}

/// A variable that requests a bypass, and the rules that it covers. Imported projects use the second name.
struct Variable {
    names: [&'static str; 2],
    invariants: &'static [&'static str],
}

const VARIABLES: [Variable; 3] = [
    Variable {
        names: ["PORTOLAN_ALLOW_INTEGRATION_EDIT", "XCODER_ALLOW_INTEGRATION_EDIT"],
        invariants: &["I-1", "I-2"],
    },
    Variable { names: ["PORTOLAN_SKIP_QA_GATE", "XCODER_SKIP_QA_GATE"], invariants: &["I-6"] },
    Variable { names: ["PORTOLAN_SKIP_ISSUE_REF", "XCODER_SKIP_ISSUE_REF"], invariants: &["I-8"] },
];

/// The variable that holds the reason.
pub const REASON: &str = "PORTOLAN_BYPASS_REASON";

/// Returns the variable that requests a bypass of `invariant`, if there is one.
pub fn variable(invariant: &str) -> Option<&'static str> {
    VARIABLES.iter().find(|variable| variable.invariants.contains(&invariant)).map(|variable| variable.names[0])
}

/// Returns every known name. Another name that begins with `PORTOLAN_` may be misspelt.
pub fn variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().flat_map(|variable| variable.names).chain([REASON])
}

/// A bypass that an environment requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedBypasses {
    /// The variable.
    pub variable: String,
    /// The reason, if given.
    pub reason: Option<String>,
}

/// Returns the bypass of `invariant` that `environment` requests. `environment` lists names with their values; the last
/// entry of a name counts. Only `1` and `true` request a bypass. A blank reason counts as none.
pub fn asked<'a>(
    invariant: &str,
    environment: impl Iterator<Item = (&'a str, Option<&'a str>)> + Clone,
) -> Option<RequestedBypasses> {
    let last = |name: &str| environment.clone().filter(|(given, _)| *given == name).last().and_then(|(_, value)| value);
    let variable = VARIABLES.iter().find(|variable| variable.invariants.contains(&invariant))?;
    let name = variable.names.iter().find(|name| matches!(last(name), Some("1" | "true")))?;
    let reason = last(REASON).map(str::trim).filter(|reason| !reason.is_empty()).map(str::to_owned);
    Some(RequestedBypasses { variable: (*name).to_owned(), reason })
}

/// Returns why a bypass is not honoured, as a sentence, or `None` if it is. `by_hand` means that a person confirmed it.
pub fn refused(
    invariant: &str,
    guard: &str,
    reason: Option<&str>,
    by_hand: bool,
    guidelines: &Guidelines,
) -> Option<String> {
    match who(invariant, guard, guidelines) {
        Who::Never => Some(format!("{invariant} cannot be bypassed")),
        Who::HumanOnly if !by_hand => Some(format!("a bypass of {invariant} is accepted here only from a person")),
        Who::HumanOnly | Who::Anyone if guidelines.strict && reason.is_none() => {
            Some(format!("a bypass of {invariant} needs a reason here; set `{REASON}`"))
        }
        Who::HumanOnly | Who::Anyone => None,
    }
}

/// Returns how to bypass a rule by name, worded for a person or an agent. An agent does not learn how to do what only a
/// person may allow. Returns `None` if nobody may bypass the rule, or if `invariant` is not a rule.
pub fn offer(invariant: &str, guard: &str, to_person: bool, guidelines: &Guidelines) -> Option<String> {
    RULES.iter().find(|known| known.id == invariant)?;
    let way = || {
        let recorded = format!("`portolan flow override {invariant} --reason \"…\"`");
        let variable = variable(invariant).map(|name| format!("`{name}=1 {REASON}=\"…\"` before the command, or "));
        format!("to bypass {invariant}, on record: {}{recorded}", variable.unwrap_or_default())
    };
    match who(invariant, guard, guidelines) {
        Who::Never => None,
        Who::HumanOnly if !to_person => Some(format!("only a person can allow what {invariant} refuses; ask them")),
        Who::HumanOnly | Who::Anyone => Some(way()),
    }
}

/// Returns who may bypass a rule, named by its invariant or by the guard that enforces it. If both are configured, the
/// stricter counts.
pub fn who(invariant: &str, guard: &str, guidelines: &Guidelines) -> Who {
    let named = [invariant, guard].into_iter().filter_map(|name| guidelines.named(name));
    named.max().unwrap_or(guidelines.bypass_unnamed)
}

#[cfg(test)]
mod tests {
    use portolan_core::run::BypassSource;

    use super::*;

    fn bypass(invariant: &str) -> Bypass {
        Bypass {
            id: "b1".to_owned(),
            source: BypassSource::Command,
            identifier: "flow override".to_owned(),
            invariant: invariant.to_owned(),
            node: Some("qa".into()),
            reason: "because".to_owned(),
            at: Timestamp(10),
            expires_at: Some(Timestamp(100)),
            once: false,
            used: false,
        }
    }

    fn bypass_request(pairs: &[(&'static str, &'static str)], invariant: &str) -> Option<(String, Option<String>)> {
        asked(invariant, pairs.iter().map(|(name, value)| (*name, Some(*value))))
            .map(|asked| (asked.variable, asked.reason))
    }

    #[test]
    fn it_holds_for_its_rule_and_phase_until_it_ends() {
        let given = bypass("I-6");
        let holds = |invariant, phase, now| matches(&given, invariant, phase, Timestamp(now));
        assert!(holds("I-6", Some("qa"), 99));
        assert!(!holds("I-8", Some("qa"), 99));
        assert!(!holds("I-6", Some("commit"), 99));
        assert!(!holds("I-6", None, 99));
        assert!(!holds("I-6", Some("qa"), 100));
    }

    #[test]
    fn nothing_gets_past_everything_nothing_past_the_record_and_nothing_without_a_reason() {
        for invariant in ["*", "I-13"] {
            assert!(!matches(&bypass(invariant), invariant, Some("qa"), Timestamp(11)));
            assert!(!matches(&bypass("*"), "I-6", Some("qa"), Timestamp(11)));
        }
        let blank = Bypass { reason: "  ".to_owned(), ..bypass("I-6") };
        assert!(!matches(&blank, "I-6", Some("qa"), Timestamp(11)));
    }

    #[test]
    fn only_these_variables_with_one_or_true_ask() {
        assert_eq!(
            bypass_request(&[("PORTOLAN_SKIP_QA_GATE", "1")], "I-6"),
            Some(("PORTOLAN_SKIP_QA_GATE".into(), None))
        );
        assert_eq!(
            bypass_request(&[("XCODER_SKIP_QA_GATE", "true")], "I-6"),
            Some(("XCODER_SKIP_QA_GATE".into(), None))
        );
        for value in ["0", "yes", "", "TRUE", " 1"] {
            assert_eq!(asked("I-6", [("PORTOLAN_SKIP_QA_GATE", Some(value))].into_iter()), None, "{value}");
        }
        assert_eq!(bypass_request(&[("PORTOLAN_SKIP_QA_GATES", "1")], "I-6"), None);
        assert_eq!(bypass_request(&[("PORTOLAN_SKIP_QA_GATE", "1")], "I-8"), None);
        assert_eq!(
            bypass_request(
                &[("PORTOLAN_ALLOW_INTEGRATION_EDIT", "1"), ("PORTOLAN_ALLOW_INTEGRATION_EDIT", "0")],
                "I-1"
            ),
            None
        );
        assert_eq!(asked("I-6", [("PORTOLAN_SKIP_QA_GATE", None)].into_iter()), None);
        let with = bypass_request(&[("PORTOLAN_SKIP_ISSUE_REF", "1"), (REASON, " typo ")], "I-8");
        assert_eq!(with, Some(("PORTOLAN_SKIP_ISSUE_REF".into(), Some("typo".into()))));
        assert_eq!(
            bypass_request(&[("PORTOLAN_SKIP_ISSUE_REF", "1"), (REASON, " ")], "I-8").and_then(|(_, reason)| reason),
            None
        );
    }

    #[test]
    fn who_may_is_kept_to() {
        let mut rules = Guidelines::default();
        assert!(refused("I-6", "g", Some("x"), false, &rules).is_some());
        assert_eq!(refused("I-6", "g", None, true, &rules), None);
        rules.bypass_unnamed = Who::Anyone;
        assert_eq!(refused("I-6", "g", None, false, &rules), None);
        rules.strict = true;
        assert!(refused("I-6", "g", None, false, &rules).is_some());
        assert_eq!(refused("I-6", "g", Some("x"), false, &rules), None);
        rules.bypass.insert("I-6".to_owned(), Who::HumanOnly);
        assert!(refused("I-6", "g", Some("x"), false, &rules).is_some());
        assert_eq!(refused("I-6", "g", Some("x"), true, &rules), None);
        rules.bypass.insert("g".to_owned(), Who::Never);
        assert!(refused("I-6", "g", Some("x"), true, &rules).is_some());
        assert!(refused("I-13", "other", Some("x"), true, &rules).is_some());
    }
}
