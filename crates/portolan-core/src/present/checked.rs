//! A check that was performed, as everybody is told of it.

use serde::Serialize;

use crate::run::Verdict;
use crate::value::CheckId;

/// A check that was performed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The check.
    pub id: String,
    /// Whether it held.
    pub held: bool,
    /// Whether it is a person's to say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// Why it did not; what was found, where something was said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The end of what it printed, when it did not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl Checked {
    /// What a check came to.
    pub fn of(check: &CheckId, verdict: &Verdict) -> Checked {
        let (held, reason, output) = match verdict {
            Verdict::Held => (true, None, None),
            Verdict::Shown { reason, .. } => (true, Some(reason.clone()), None),
            Verdict::Excused { reason, bypass } => {
                (true, Some(format!("got past by `{bypass}`, though: {reason}")), None)
            }
            Verdict::Broken { reason, output } => {
                (false, Some(reason.clone()), Some(output.clone()).filter(|text| !text.is_empty()))
            }
            Verdict::ForPerson { reason } => (false, Some(format!("a person's to say: {reason}")), None),
            Verdict::Unknown { reason } if reason.starts_with(Verdict::CANNOT_VERIFY) => {
                (false, Some(reason.clone()), None)
            }
            Verdict::Unknown { reason } => (false, Some(format!("could not be checked: {reason}")), None),
        };
        let asked = matches!(verdict, Verdict::ForPerson { .. });
        Checked { id: check.to_string(), held, asked, reason, output }
    }
}
