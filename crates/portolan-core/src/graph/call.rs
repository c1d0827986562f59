//! What a function has done for it: a tool called, another workflow run for each item of an array.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::expr::Expr;
use crate::source::Spanned;

/// How many items a `forEach` may have: each of them is kept until the last one is done.
pub const MAX_ITEMS: usize = 10_000;

/// A call of a tool on an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The server.
    pub server: Spanned<String>,
    /// The tool.
    pub tool: Spanned<String>,
    /// The arguments: evaluates to an object.
    pub args: Expr,
    /// Reshapes the answer. It sees the answer under the node's own id, and as `$output`.
    pub post: Option<Expr>,
    /// How often and when a failure is tried again.
    pub retry: Retry,
    /// How long it may take, in milliseconds; nothing means what the server's entry says.
    pub timeout_ms: Option<u64>,
    /// Whether doing it twice does no harm: after a crash it is then repeated without asking.
    pub idempotent: bool,
}

/// How often and when a call that failed is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Retry {
    /// How many times, after the first.
    pub max: u32,
    /// How long to wait before the first retry, in milliseconds.
    pub backoff_ms: u64,
    /// By how much the wait grows each time, in hundredths: 200 doubles it.
    pub factor_percent: u32,
    /// The longest wait, in milliseconds.
    pub max_delay_ms: u64,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry { max: 0, backoff_ms: 500, factor_percent: 200, max_delay_ms: 30_000 }
    }
}

impl Retry {
    /// How long to wait before retry number `retry`, from 1, in milliseconds.
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
    /// The items: evaluates to an array; anything else counts as one item, nothing as none.
    pub items: Expr,
    /// The workflow.
    pub workflow: Spanned<String>,
    /// What it is given, with `$item` and `$index` bound; nothing means the item itself.
    pub args: Option<Expr>,
    /// How many may be under way at once.
    pub concurrency: NonZeroU32,
}
