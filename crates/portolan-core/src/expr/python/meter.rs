//! What an evaluation may use up, and how it fails.

use std::cell::Cell;

use crate::expr::EvalFault;
use crate::expr::jsonata::{MAX_ITEMS, MAX_STRING_BYTES};

/// How many steps one evaluation may take: parts of the tree, items, and pieces of text that are looked at.
const MAX_STEPS: usize = 2_000_000;
/// How much text and how many items one evaluation may make in all, in bytes.
const MAX_MADE_BYTES: usize = 256 << 20;
/// What an item costs, together with what it costs to keep it apart from others.
const ITEM_BYTES: usize = 64;
/// How much of a text is looked at in one step, in bytes.
const STEP_BYTES: usize = 64;
/// How deep a value may nest that is compared, printed or handed on.
pub(super) const MAX_VALUE_DEPTH: usize = 200;

pub(super) type Run<T> = Result<T, Raise>;

/// Why an evaluation has no value.
#[derive(Debug)]
pub(super) struct Raise {
    error: Error,
    message: String,
}

/// Python's exceptions, and our bounds.
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
    /// The failure with this error.
    pub(super) fn raise<T>(self, message: impl Into<String>) -> Run<T> {
        Err(Raise { error: self, message: message.into() })
    }

    /// The exception as Python calls it.
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
    /// The fault of an expression.
    pub(super) fn fault(self, expression: &str) -> EvalFault {
        match self.error.name() {
            Some(name) => EvalFault::error(format!("{} ({name})", self.message), expression),
            None => EvalFault::bounds(self.message, expression),
        }
    }
}

/// What an evaluation has used up so far.
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

    /// A text of so many bytes is looked at.
    pub(super) fn looks(&self, bytes: usize) -> Run<()> {
        self.steps(bytes / STEP_BYTES)
    }

    /// A text of so many bytes is made.
    pub(super) fn text(&self, bytes: usize) -> Run<()> {
        self.is_short(bytes)?;
        self.looks(bytes)?;
        self.made(bytes)
    }

    /// Whether a text of so many bytes may be made at all.
    pub(super) fn is_short(&self, bytes: usize) -> Run<()> {
        if bytes > MAX_STRING_BYTES {
            return Error::Bounds.raise(format!("it makes a text of more than {} MiB", MAX_STRING_BYTES >> 20));
        }
        Ok(())
    }

    /// A list of so many items is made.
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

/// One level deeper into a value, as far as that goes.
pub(super) fn deeper(depth: usize) -> Run<usize> {
    match depth {
        MAX_VALUE_DEPTH.. => Error::Bounds.raise(format!("a value nests deeper than {MAX_VALUE_DEPTH} levels")),
        _ => Ok(depth + 1),
    }
}
