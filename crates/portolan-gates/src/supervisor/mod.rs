//! Supervising: questions that hold up their task and nothing else, a queue of tasks, and budgets that stop the work when
//! they are used up. Everything is a fold over the event log: see [`Board`].

mod answer;
mod board;
mod budget;
mod calendar;
mod queue;
#[cfg(test)]
mod tests;

pub use answer::answer;
pub use board::{Board, MAX_WINDOWS};
pub use budget::{Budget, Scope, Spent, Standing, Tally, Unit, Usage, WARN_AT, standings};
pub use calendar::{day, month};
pub use queue::{Answered, Item, Progress, Question};
