//! Budgets and their usage. Usage that was not reported is unknown, which is not zero.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::calendar::{day, month};
use super::state::SupervisorState;
use portolan_core::value::Timestamp;

/// A unit of usage. Costs are counted in millionths of a US dollar, time in milliseconds.
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
    /// All units.
    pub const ALL: [Unit; 5] = [Unit::Turns, Unit::Tokens, Unit::CostUsd, Unit::WallSeconds, Unit::ToolCalls];

    /// Returns its name in files and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Turns => "turns",
            Unit::Tokens => "tokens",
            Unit::CostUsd => "costUsd",
            Unit::WallSeconds => "wallSeconds",
            Unit::ToolCalls => "toolCalls",
        }
    }

    /// Returns the factor from the written amount to the counted one.
    fn scale(self) -> u64 {
        match self {
            Unit::CostUsd => 1_000_000,
            Unit::WallSeconds => 1_000,
            Unit::Turns | Unit::Tokens | Unit::ToolCalls => 1,
        }
    }

    /// Converts an amount as people write it. Only money and time may have fractions. Returns `None` if it is not an
    /// amount.
    pub fn counted(self, amount: f64) -> Option<u64> {
        let counted = amount * self.scale() as f64;
        let is_whole = self.scale() > 1 || amount.fract() == 0.0;
        (is_whole && (0.0..=1e15).contains(&counted)).then(|| counted.round() as u64)
    }

    /// Returns the amount as people write it.
    pub fn shown(self, counted: u64) -> Value {
        match self.scale() {
            1 => json!(counted),
            scale if counted.is_multiple_of(scale) => json!(counted / scale),
            scale => json!(counted as f64 / scale as f64),
        }
    }
}

/// The scope of a budget.
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
    /// All scopes.
    pub const ALL: [Scope; 4] = [Scope::Task, Scope::Session, Scope::Day, Scope::Month];

    /// Returns its name in files and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Task => "task",
            Scope::Session => "session",
            Scope::Day => "day",
            Scope::Month => "month",
        }
    }

    /// Returns the current window: `day:2026-11-22`. Returns `None` if there is no task or session.
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

/// A limit on usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The scope.
    pub scope: Scope,
    /// The unit.
    pub unit: Unit,
    /// The limit, in counted units.
    pub cap: u64,
    /// The percentage of the limit at which a warning is due.
    pub warn_at: u64,
}

/// The default of [`Budget::warn_at`], in percent.
pub const WARN_AT: u64 = 80;

/// The usage of a session.
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
    /// Returns the usage in a unit.
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

    /// Returns the usage as the log records it. An unknown value is `null`.
    pub fn to_json(&self) -> Value {
        json!({
            "turns": self.turns,
            "tokensIn": self.tokens_in,
            "tokensOut": self.tokens_out,
            "costUsd": self.cost_micros.map(|micros| Unit::CostUsd.shown(micros)),
            "wallMs": self.wall_ms,
            "toolCalls": self.tool_calls,
        })
    }

    /// Reads what [`to_json`](Usage::to_json) returns.
    pub fn from_json(data: &Value) -> Usage {
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

/// A sum of reported values, and the number of reports without one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageSum {
    /// The sum; `None` if no value was reported.
    pub sum: Option<u64>,
    /// The number of reports without a value.
    pub unstated: u64,
}

impl UsageSum {
    fn take(&mut self, amount: Option<u64>) {
        match amount {
            Some(amount) => self.sum = Some(self.sum.unwrap_or(0).saturating_add(amount)),
            None => self.unstated += 1,
        }
    }

    fn raise_to(&mut self, other: &UsageSum) {
        self.sum = self.sum.max(other.sum);
        self.unstated = self.unstated.max(other.unstated);
    }
}

/// The usage in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowUsage {
    /// The time of the latest record.
    pub at: Timestamp,
    /// Turns.
    pub turns: UsageSum,
    /// Tokens that models read.
    pub tokens_in: UsageSum,
    /// Tokens that models wrote.
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

    /// Raises each sum to that of `other`, which counts the same reports and others.
    pub(super) fn raise_to(&mut self, other: &WindowUsage) {
        self.at = self.at.max(other.at);
        self.turns.raise_to(&other.turns);
        self.tokens_in.raise_to(&other.tokens_in);
        self.tokens_out.raise_to(&other.tokens_out);
        self.cost_micros.raise_to(&other.cost_micros);
        self.wall_ms.raise_to(&other.wall_ms);
        self.tool_calls.raise_to(&other.tool_calls);
    }

    /// Returns the usage in a unit, or `None` if none was reported.
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

/// The usage of a budget in its current window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetStatus {
    /// The scope.
    pub scope: Scope,
    /// The unit.
    pub unit: Unit,
    /// The window.
    pub window: String,
    /// The usage; `None` if none was reported.
    pub used: Option<u64>,
    /// The limit, including a raise.
    pub cap: u64,
    /// Whether the usage has reached the warning percentage.
    pub warns: bool,
    /// Whether the usage has reached the limit.
    pub halts: bool,
}

impl BudgetStatus {
    /// Returns why work stops, as a sentence.
    pub fn sentence(&self) -> String {
        let used = self.used.map_or(Value::Null, |used| self.unit.shown(used));
        let (unit, cap) = (self.unit.name(), self.unit.shown(self.cap));
        format!("budget halt: {used} of {cap} {unit} are used in `{}`", self.window)
    }

    /// Returns the status as the log records it.
    pub fn to_json(&self) -> Value {
        json!({
            "scope": self.scope.name(),
            "unit": self.unit.name(),
            "used": self.used.map(|used| self.unit.shown(used)),
            "cap": self.unit.shown(self.cap),
            "window": self.window,
        })
    }
}

/// Returns the status of the budgets for a task and a session. Leaves out budgets without a current window.
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
