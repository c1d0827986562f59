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
/// The maximum depth of a value that is compared, printed or returned.
pub(super) const MAX_VALUE_DEPTH: usize = 200;

pub(super) type Run<T> = Result<T, Raise>;

/// The reason that an evaluation has no value.
#[derive(Debug)]
pub(super) struct Raise {
    error: Error,
    message: String,
}

/// Python's exceptions, and exceeded limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Error {
    Attribute,
    Index,
    Key,
    Name,
    Overflow,
    Type,
    Value,
    ZeroDivision,
    Bounds,
}

impl Error {
    /// Fails with this error.
    pub(super) fn raise<T>(self, message: impl Into<String>) -> Run<T> {
        Err(Raise { error: self, message: message.into() })
    }

    /// Returns Python's name of the exception.
    fn name(self) -> Option<&'static str> {
        match self {
            Error::Attribute => Some("AttributeError"),
            Error::Index => Some("IndexError"),
            Error::Key => Some("KeyError"),
            Error::Name => Some("NameError"),
            Error::Overflow => Some("OverflowError"),
            Error::Type => Some("TypeError"),
            Error::Value => Some("ValueError"),
            Error::ZeroDivision => Some("ZeroDivisionError"),
            Error::Bounds => None,
        }
    }
}

impl Raise {
    /// Converts it to the fault of an expression.
    pub(super) fn fault(self, expression: &str) -> EvalFault {
        match self.error.name() {
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
            return Error::Bounds.raise(format!("it takes more than {MAX_STEPS} steps"));
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
            return Error::Bounds.raise(format!("it makes a text of more than {} MiB", MAX_STRING_BYTES >> 20));
        }
        Ok(())
    }

    /// Charges for making a list of this many items.
    pub(super) fn items(&self, items: usize) -> Run<()> {
        if items > MAX_ITEMS {
            return Error::Bounds.raise(format!("it makes a list of more than {MAX_ITEMS} items"));
        }
        self.made(items.saturating_mul(ITEM_BYTES))
    }

    fn made(&self, bytes: usize) -> Run<()> {
        let made = self.bytes.get().saturating_add(bytes);
        self.bytes.set(made);
        if made > MAX_MADE_BYTES {
            let message = format!("it makes more than {} MiB of text and items in all", MAX_MADE_BYTES >> 20);
            return Error::Bounds.raise(message);
        }
        Ok(())
    }
}

/// Returns the depth of the next level, up to the limit.
pub(super) fn deeper(depth: usize) -> Run<usize> {
    match depth {
        MAX_VALUE_DEPTH.. => Error::Bounds.raise(format!("a value nests deeper than {MAX_VALUE_DEPTH} levels")),
        _ => Ok(depth + 1),
    }
}
