//! The limits and errors of an evaluation.

use std::cell::Cell;

use crate::expr::EvalFault;
use crate::expr::jsonata::{MAX_ITEMS, MAX_STRING_BYTES};

/// The maximum number of steps of one evaluation: parts of the tree, items, and scanned pieces of text.
const MAX_STEPS: usize = 2_000_000;
/// The maximum memory of all text and items that one evaluation makes, in bytes.
const MAX_MADE_BYTES: usize = 256 << 20;
/// The cost of an item, with its share of the container.
const ITEM_BYTES: usize = 64;
/// The bytes of text that are scanned in one step.
const STEP_BYTES: usize = 64;

pub(super) type Run<T> = Result<T, Raise>;

/// The reason that an evaluation has no value: an exception of Python with its name, or an exceeded limit.
#[derive(Debug)]
pub(super) struct Raise {
    exception: Option<&'static str>,
    message: String,
}

/// Fails with an exception of Python.
pub(super) fn raise<T>(exception: &'static str, message: impl Into<String>) -> Run<T> {
    Err(Raise { exception: Some(exception), message: message.into() })
}

pub(super) fn type_error<T>(message: impl Into<String>) -> Run<T> {
    raise("TypeError", message)
}

pub(super) fn value_error<T>(message: impl Into<String>) -> Run<T> {
    raise("ValueError", message)
}

/// Fails because of a limit that Python does not have.
pub(super) fn exceeds<T>(message: impl Into<String>) -> Run<T> {
    Err(Raise { exception: None, message: message.into() })
}

impl Raise {
    /// Converts it to the fault of an expression.
    pub(super) fn fault(self, expression: &str) -> EvalFault {
        match self.exception {
            Some(name) => EvalFault::error(format!("{} ({name})", self.message), expression),
            None => EvalFault::bounds(self.message, expression),
        }
    }
}

/// The resources that an evaluation has used so far.
#[derive(Default)]
pub(super) struct Meter {
    steps: Cell<usize>,
    bytes: Cell<usize>,
}

impl Meter {
    pub(super) fn step(&self) -> Run<()> {
        self.steps(1)
    }

    pub(super) fn steps(&self, steps: usize) -> Run<()> {
        let taken = self.steps.get().saturating_add(steps);
        self.steps.set(taken);
        if taken > MAX_STEPS {
            return exceeds(format!("it takes more than {MAX_STEPS} steps"));
        }
        Ok(())
    }

    /// Charges for scanning a text of this many bytes.
    pub(super) fn looks(&self, bytes: usize) -> Run<()> {
        self.steps(bytes / STEP_BYTES)
    }

    /// Charges for making a text of this many bytes.
    pub(super) fn text(&self, bytes: usize) -> Run<()> {
        self.is_short(bytes)?;
        self.looks(bytes)?;
        self.made(bytes)
    }

    /// Checks that a text of this many bytes is within the limit.
    pub(super) fn is_short(&self, bytes: usize) -> Run<()> {
        if bytes > MAX_STRING_BYTES {
            return exceeds(format!("it makes a text of more than {} MiB", MAX_STRING_BYTES >> 20));
        }
        Ok(())
    }

    /// Charges for making a list of this many items.
    pub(super) fn items(&self, items: usize) -> Run<()> {
        if items > MAX_ITEMS {
            return exceeds(format!("it makes a list of more than {MAX_ITEMS} items"));
        }
        self.made(items.saturating_mul(ITEM_BYTES))
    }

    /// Charges for making something of this many bytes.
    pub(super) fn made(&self, bytes: usize) -> Run<()> {
        let made = self.bytes.get().saturating_add(bytes);
        self.bytes.set(made);
        if made > MAX_MADE_BYTES {
            return exceeds(format!("it makes more than {} MiB of text and items in all", MAX_MADE_BYTES >> 20));
        }
        Ok(())
    }
}
