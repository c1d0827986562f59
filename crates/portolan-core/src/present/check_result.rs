//! The result of a check, as it is presented.

use serde::Serialize;

use super::Redaction;
use crate::run::Verdict;
use crate::value::CheckId;

/// A performed check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// The check.
    pub id: String,
    /// Whether it held.
    pub held: bool,
    /// Whether a person decides it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// The reason that it did not hold, or the finding if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The end of its printed output, if it did not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl CheckResult {
    /// Presents the verdict of a check.
    pub fn of(check: &CheckId, verdict: &Verdict) -> CheckResult {
        let (held, reason, output) = match verdict {
            Verdict::Held => (true, None, None),
            Verdict::Shown { reason, .. } => (true, Some(reason.clone()), None),
            Verdict::Excused { reason, bypass } => {
                (true, Some(format!("does not hold, but is bypassed by `{bypass}`: {reason}")), None)
            }
            Verdict::Broken { reason, output } => {
                (false, Some(reason.clone()), Some(output.clone()).filter(|text| !text.is_empty()))
            }
            Verdict::ForPerson { reason } => (false, Some(format!("for a person to decide: {reason}")), None),
            Verdict::Unknown { reason } if reason.starts_with(Verdict::CANNOT_VERIFY) => {
                (false, Some(reason.clone()), None)
            }
            Verdict::Unknown { reason } => (false, Some(format!("could not be checked: {reason}")), None),
        };
        let asked = matches!(verdict, Verdict::ForPerson { .. });
        CheckResult { id: check.to_string(), held, asked, reason, output }
    }

    /// Masks hidden parts: a command may print what it was given, and a judge may quote it.
    #[must_use]
    pub fn redacted(self, hidden: &Redaction) -> CheckResult {
        let text = |text: String| hidden.text(&text);
        CheckResult { reason: self.reason.map(text), output: self.output.map(text), ..self }
    }
}
