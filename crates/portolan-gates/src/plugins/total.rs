//! Limits on sums over the calls of a run or a day: of the calls themselves, of an argument, or of a number that is taken
//! from the results, such as that of rows.

use std::collections::BTreeMap;

use portolan_core::diagnostic::clip;
use portolan_core::expr::{Expr, Jsonata, Scope};
use portolan_core::reply::{Prefer, output};
use serde_json::{Value, json};

use super::{DeclaredGuard, EarlierCall, GuardInput, tool_names};
use crate::Intent;

/// A limit on the calls that a guard is about, such as the money that a run may spend, or the rows that it may read.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// What is added up.
    pub of: Summand,
    /// The largest sum for which the guard does not apply.
    pub most: f64,
    /// The calls that are added up.
    pub per: TotalPer,
}

/// What a guard adds up over calls.
#[derive(Clone, Debug)]
pub enum Summand {
    /// The number of calls, with the present one.
    Calls,
    /// An argument, a number of 0 or more, with that of the present call.
    Argument(String),
    /// A number of 0 or more, by an expression over `result`. That of the present call is not known yet, so the guard
    /// applies from the call after the one that reaches the limit.
    Result(Jsonata),
}

impl PartialEq for Summand {
    fn eq(&self, other: &Summand) -> bool {
        match (self, other) {
            (Summand::Calls, Summand::Calls) => true,
            (Summand::Argument(one), Summand::Argument(other)) => one == other,
            (Summand::Result(one), Summand::Result(other)) => one.text() == other.text(),
            (Summand::Calls | Summand::Argument(_) | Summand::Result(_), _) => false,
        }
    }
}

/// The calls that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TotalPer {
    /// All of the run.
    Run,
    /// Those at its present step, since the run reached it.
    Step,
    /// All of the day in UTC, in a run or not, of all clients.
    Day,
}

/// The name of a call's result in the expression of a sum.
pub(super) const RESULT: &str = "result";

/// Returns the number that an expression of a sum takes from a result as the server wrote it. `None` if it is not a number of
/// 0 or more. An error is no result, so nothing was read.
pub fn result_amount(expression: &Jsonata, result: &Value) -> Option<f64> {
    let is_of_tool = result.get("content").is_some() || result.get("structuredContent").is_some();
    let value = match is_of_tool.then(|| output(result, Prefer::Structured)) {
        None => Some(result.clone()),
        Some(Ok(value)) => value,
        Some(Err(error)) if error.code == "tool-error" => return Some(0.0),
        Some(Err(_malformed)) => return None,
    };
    let data = value.map_or_else(|| json!({}), |value| json!({ RESULT: value }));
    let amount = Expr::Jsonata(expression.clone()).eval(&Scope::of(&data)).ok().flatten()?;
    amount.as_f64().filter(|amount| *amount >= 0.0)
}

impl DeclaredGuard {
    pub(super) fn adds_up_arguments(&self) -> bool {
        matches!(self.total, Some(Total { of: Summand::Argument(_), .. }))
    }

    /// Returns the argument that the guard adds up over calls such as this one, with its value in this call: a number of
    /// 0 or more, since a negative one would allow further calls. It must be recorded with the call.
    pub fn amount<'a>(&'a self, intent: &Intent, arguments: Option<&Value>) -> Option<(&'a str, f64)> {
        let total = self.total.as_ref().filter(|_| self.is_about(&tool_names(intent)))?;
        let Summand::Argument(argument) = &total.of else { return None };
        let amount = arguments?.get(argument)?.as_f64().filter(|amount| *amount >= 0.0)?;
        Some((argument, amount))
    }

    /// Returns the expression whose number in the result of a call such as this one must be recorded, since the guard adds
    /// it up.
    pub fn result_expression(&self, intent: &Intent) -> Option<&Jsonata> {
        match &self.total.as_ref()?.of {
            Summand::Result(expression) if self.is_about(&tool_names(intent)) => Some(expression),
            Summand::Result(_) | Summand::Calls | Summand::Argument(_) => None,
        }
    }

    /// Checks whether a call is above the limit, and returns what was used, as a part of the reason. Of several runs, the
    /// largest sum counts.
    pub(super) fn excess(
        &self,
        total: &Total,
        intent: &Intent,
        around: &GuardInput<'_>,
    ) -> Result<Option<String>, String> {
        let Total { of, most, per } = total;
        let earlier = match (per, around.today) {
            (TotalPer::Run | TotalPer::Step, _) => around.earlier.unwrap_or_default(),
            (TotalPer::Day, Some(today)) => &today.calls,
            (TotalPer::Day, None) => return Err("the calls of the day are not on record".to_owned()),
        };
        let used = self.used(total, earlier)?;
        let (is_above, what) = match of {
            Summand::Calls => (used + 1.0 > *most, "calls".to_owned()),
            Summand::Argument(argument) => {
                let amount = self.amount(intent, around.arguments).map(|(_, amount)| amount);
                let amount =
                    amount.ok_or_else(|| format!("the argument `{}` is not a number of 0 or more", clip(argument)))?;
                (used + amount > *most, format!("`{}`", clip(argument)))
            }
            Summand::Result(expression) => (used >= *most, format!("`{}`", clip(expression.text()))),
        };
        let until = match (per, around.today) {
            (TotalPer::Day, Some(today)) => format!(" today, until {}", today.until),
            (TotalPer::Step, _) => " at this step".to_owned(),
            (TotalPer::Day | TotalPer::Run, _) => String::new(),
        };
        Ok(is_above.then(|| format!("{used} of {most} {what} were used before{until}")))
    }

    /// Returns the sum over earlier calls.
    fn used(&self, total: &Total, earlier: &[EarlierCall]) -> Result<f64, String> {
        let mut of_runs: BTreeMap<&str, f64> = BTreeMap::new();
        let counts =
            |call: &&EarlierCall| (total.per != TotalPer::Step || call.is_of_step) && self.is_about(&call.names);
        for call in earlier.iter().filter(counts) {
            let amount = match &total.of {
                Summand::Calls => 1.0,
                Summand::Argument(argument) => *call
                    .amounts
                    .get(argument)
                    .ok_or_else(|| format!("a call was made before whose `{}` is not on record", clip(argument)))?,
                Summand::Result(expression) => *call
                    .results
                    .as_ref()
                    .ok_or("a call was made before whose result is not on record")?
                    .get(expression.text())
                    .ok_or_else(|| {
                        let text = clip(expression.text());
                        format!("a call was made before whose `{text}` is not a number of 0 or more on record")
                    })?,
            };
            let run = if total.per == TotalPer::Day { "" } else { &call.run };
            *of_runs.entry(run).or_default() += amount;
        }
        Ok(of_runs.into_values().fold(0.0, f64::max))
    }
}
