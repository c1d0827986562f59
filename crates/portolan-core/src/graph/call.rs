//! Calls of a function: a tool, or another workflow for each item of an array.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::expr::Expr;
use crate::source::Spanned;

/// The maximum number of items of a `forEach`: all of them are kept until the last one is done.
pub const MAX_ITEMS: usize = 10_000;

/// A call of a tool on an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The server.
    pub server: Spanned<String>,
    /// The tool.
    pub tool: Spanned<String>,
    /// The arguments, an expression that evaluates to an object.
    pub args: Expr,
    /// Transforms the answer, which it sees under the node's own id and as `$output`.
    pub post: Option<Expr>,
    /// How often and when a failure is retried.
    pub retry: Retry,
    /// The timeout in milliseconds; `None` means that of the server's entry.
    pub timeout_ms: Option<u64>,
    /// Whether repeating it is harmless: after a crash it is then repeated without asking.
    pub idempotent: bool,
}

/// How often and when a failed call is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Retry {
    /// The maximum number of retries, after the first call.
    pub max: u32,
    /// The delay before the first retry, in milliseconds.
    pub backoff_ms: u64,
    /// The growth of the delay with each retry, in percent: 200 doubles it.
    pub factor_percent: u32,
    /// The longest delay, in milliseconds.
    pub max_delay_ms: u64,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { max: 0, backoff_ms: 500, factor_percent: 200, max_delay_ms: 30_000 }
    }
}

impl Retry {
    /// Returns the delay before retry number `retry`, from 1, in milliseconds.
    ///
    /// ```
    /// use portolan_core::graph::Retry;
    /// let retry = Retry { max: 5, backoff_ms: 100, factor_percent: 200, max_delay_ms: 1_000 };
    /// assert_eq!([1, 2, 3, 4, 5].map(|n| retry.delay_ms(n)), [100, 200, 400, 800, 1_000]);
    /// ```
    pub fn delay_ms(&self, retry: u32) -> u64 {
        let mut delay = self.backoff_ms.min(self.max_delay_ms);
        for _ in 1..retry {
            if delay >= self.max_delay_ms || self.factor_percent <= 100 {
                break;
            }
            delay = (delay.saturating_mul(u64::from(self.factor_percent)) / 100).min(self.max_delay_ms);
        }
        delay
    }
}

/// One call of another workflow for each item of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Each {
    /// The items, an expression that evaluates to an array. Any other value counts as one item, and no value as none.
    pub items: Expr,
    /// The workflow.
    pub workflow: Spanned<String>,
    /// The input, with `$item` and `$index` bound; `None` means the item itself.
    pub args: Option<Expr>,
    /// The maximum number of items under way at once.
    pub concurrency: NonZeroU32,
}
