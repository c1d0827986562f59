//! Supervision: questions that block only their own task, a queue of tasks, and budgets that stop the work when they
//! are exhausted. Everything is a fold over the event log: see [`SupervisorState`].

mod answer;
mod budget;
mod calendar;
mod queue;
mod state;
#[cfg(test)]
mod tests;

pub use answer::answer;
pub use budget::{Budget, BudgetStatus, Scope, Unit, Usage, UsageSum, WARN_AT, WindowUsage, standings};
pub use calendar::{day, month};
pub use queue::{Item, Progress, Question, QuestionAnswer};
pub use state::{MAX_WINDOWS, SupervisorState};
