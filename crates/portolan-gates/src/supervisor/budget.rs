//! What may be used up, by what, and how far it has come. What nobody has stated is unknown, which is not zero.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::calendar::{day, month};
use super::state::SupervisorState;
use portolan_core::value::Timestamp;

/// What is counted. Costs are counted in millionths of a US dollar, time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    /// Turns of agents.
    Turns,
    /// Tokens that models read and write.
    Tokens,
    /// Money.
    CostUsd,
    /// Time that agents worked.
    WallSeconds,
    /// Calls of tools.
    ToolCalls,
}

impl Unit {
    /// All of them.
    pub const ALL: [Unit; 5] = [Unit::Turns, Unit::Tokens, Unit::CostUsd, Unit::WallSeconds, Unit::ToolCalls];

    /// Its name in files and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Turns => "turns",
            Unit::Tokens => "tokens",
            Unit::CostUsd => "costUsd",
            Unit::WallSeconds => "wallSeconds",
            Unit::ToolCalls => "toolCalls",
        }
    }

    /// How much is counted for one.
    fn scale(self) -> u64 {
        match self {
            Unit::CostUsd => 1_000_000,
            Unit::WallSeconds => 1_000,
            Unit::Turns | Unit::Tokens | Unit::ToolCalls => 1,
        }
    }

    /// What is counted for an amount as people write it: whole, but for money and time. Nothing where it is no amount.
    pub fn counted(self, amount: f64) -> Option<u64> {
        let counted = amount * self.scale() as f64;
        let is_whole = self.scale() > 1 || amount.fract() == 0.0;
        (is_whole && (0.0..=1e15).contains(&counted)).then(|| counted.round() as u64)
    }

    /// The amount as people write it.
    pub fn shown(self, counted: u64) -> Value {
        match self.scale() {
            1 => json!(counted),
            scale if counted.is_multiple_of(scale) => json!(counted / scale),
            scale => json!(counted as f64 / scale as f64),
        }
    }
}

/// Over what is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One task.
    Task,
    /// One session of an agent.
    Session,
    /// A day in UTC.
    Day,
    /// A month in UTC.
    Month,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 4] = [Scope::Task, Scope::Session, Scope::Day, Scope::Month];

    /// Its name in files and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Task => "task",
            Scope::Session => "session",
            Scope::Day => "day",
            Scope::Month => "month",
        }
    }

    /// The window that is open now: `day:2026-11-22`. Nothing where there is no task or session.
    pub fn window(self, task: Option<&str>, session: Option<&str>, now: Timestamp) -> Option<String> {
        let of = match self {
            Scope::Task => task?.to_owned(),
            Scope::Session => session?.to_owned(),
            Scope::Day => day(now),
            Scope::Month => month(now),
        };
        Some(format!("{}:{of}", self.name()))
    }
}

/// How much may be used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Over what is counted.
    pub scope: Scope,
    /// What is counted.
    pub unit: Unit,
    /// How much there is, as it is counted.
    pub cap: u64,
    /// At how many percent somebody is warned.
    pub warn_at: u64,
}

/// The percentage of [`Budget::warn_at`] where nobody says another.
pub const WARN_AT: u64 = 80;

/// What a session has used up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Turns of the agent.
    pub turns: Option<u64>,
    /// Tokens that models read.
    pub tokens_in: Option<u64>,
    /// Tokens that models wrote.
    pub tokens_out: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
    /// Milliseconds.
    pub wall_ms: Option<u64>,
    /// Calls of tools.
    pub tool_calls: Option<u64>,
}

impl Usage {
    /// How much of a unit.
    pub fn of(&self, unit: Unit) -> Option<u64> {
        match unit {
            Unit::Turns => self.turns,
            Unit::Tokens => match (self.tokens_in, self.tokens_out) {
                (None, None) => None,
                (read, written) => Some(read.unwrap_or(0).saturating_add(written.unwrap_or(0))),
            },
            Unit::CostUsd => self.cost_micros,
            Unit::WallSeconds => self.wall_ms,
            Unit::ToolCalls => self.tool_calls,
        }
    }

    /// As the log has it: what is unknown is `null`.
    pub fn told(&self) -> Value {
        json!({
            "turns": self.turns,
            "tokensIn": self.tokens_in,
            "tokensOut": self.tokens_out,
            "costUsd": self.cost_micros.map(|micros| Unit::CostUsd.shown(micros)),
            "wallMs": self.wall_ms,
            "toolCalls": self.tool_calls,
        })
    }

    /// What [`told`](Usage::told) told.
    pub fn heard(data: &Value) -> Usage {
        let number = |name: &str| data.get(name).and_then(Value::as_u64);
        Usage {
            turns: number("turns"),
            tokens_in: number("tokensIn"),
            tokens_out: number("tokensOut"),
            cost_micros: data.get("costUsd").and_then(Value::as_f64).and_then(|cost| Unit::CostUsd.counted(cost)),
            wall_ms: number("wallMs"),
            tool_calls: number("toolCalls"),
        }
    }
}

/// A sum of what was stated, and how many did not state it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageSum {
    /// The sum; nothing where nobody has stated any.
    pub sum: Option<u64>,
    /// How many have not.
    pub unstated: u64,
}

impl UsageSum {
    fn take(&mut self, amount: Option<u64>) {
        match amount {
            Some(amount) => self.sum = Some(self.sum.unwrap_or(0).saturating_add(amount)),
            None => self.unstated += 1,
        }
    }
}

/// What was used up in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowUsage {
    /// When the last of it was recorded.
    pub at: Timestamp,
    /// Turns.
    pub turns: UsageSum,
    /// Tokens that were read.
    pub tokens_in: UsageSum,
    /// Tokens that were written.
    pub tokens_out: UsageSum,
    /// Millionths of a US dollar.
    pub cost_micros: UsageSum,
    /// Milliseconds.
    pub wall_ms: UsageSum,
    /// Calls of tools.
    pub tool_calls: UsageSum,
}

impl WindowUsage {
    pub(super) fn take(&mut self, usage: &Usage, at: Timestamp) {
        self.at = at;
        self.turns.take(usage.turns);
        self.tokens_in.take(usage.tokens_in);
        self.tokens_out.take(usage.tokens_out);
        self.cost_micros.take(usage.cost_micros);
        self.wall_ms.take(usage.wall_ms);
        self.tool_calls.take(usage.tool_calls);
    }

    /// How much of a unit; nothing where nobody has stated any.
    pub fn of(&self, unit: Unit) -> Option<u64> {
        let usage = Usage {
            turns: self.turns.sum,
            tokens_in: self.tokens_in.sum,
            tokens_out: self.tokens_out.sum,
            cost_micros: self.cost_micros.sum,
            wall_ms: self.wall_ms.sum,
            tool_calls: self.tool_calls.sum,
        };
        usage.of(unit)
    }
}

/// How far a budget is used up in the window that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetStatus {
    /// Over what is counted.
    pub scope: Scope,
    /// What is counted.
    pub unit: Unit,
    /// The window.
    pub window: String,
    /// How much is used; nothing where nobody has stated any.
    pub used: Option<u64>,
    /// How much there is, with what it was raised to.
    pub cap: u64,
    /// Most of it is used.
    pub warns: bool,
    /// All of it is used.
    pub halts: bool,
}

impl BudgetStatus {
    /// Why work stops, as a sentence.
    pub fn sentence(&self) -> String {
        let used = self.used.map_or(Value::Null, |used| self.unit.shown(used));
        let (unit, cap) = (self.unit.name(), self.unit.shown(self.cap));
        format!("budget halt: {used} of {cap} {unit} are used in `{}`", self.window)
    }

    /// As the log has it.
    pub fn told(&self) -> Value {
        json!({
            "scope": self.scope.name(),
            "unit": self.unit.name(),
            "used": self.used.map(|used| self.unit.shown(used)),
            "cap": self.unit.shown(self.cap),
            "window": self.window,
        })
    }
}

/// How the budgets stand for a task and a session. Budgets without an open window are left out.
pub fn standings(
    budgets: &[Budget],
    board: &SupervisorState,
    task: Option<&str>,
    session: Option<&str>,
    now: Timestamp,
) -> Vec<BudgetStatus> {
    let standing = |budget: &Budget| {
        let window = budget.scope.window(task, session, now)?;
        let used = board.spent.get(&window).and_then(|spent| spent.of(budget.unit));
        let cap = board.raised_to(&window, budget.unit).unwrap_or(0).max(budget.cap);
        let share = u128::from(used.unwrap_or(0)) * 100;
        Some(BudgetStatus {
            scope: budget.scope,
            unit: budget.unit,
            used,
            cap,
            warns: used.is_some() && share >= u128::from(cap) * u128::from(budget.warn_at),
            halts: used.is_some_and(|used| used >= cap),
            window,
        })
    };
    budgets.iter().filter_map(standing).collect()
}
