//! Standard output, one line per notice. The caller formats the line.

use super::{Notice, NotificationFuture, Notifier};

/// Standard output, written by the caller's function: this crate does not write to the terminal.
pub struct Stdout<F: Fn(&Notice) + Send + Sync>(pub F);

impl<F: Fn(&Notice) + Send + Sync> Notifier for Stdout<F> {
    fn id(&self) -> &str {
        "stdout"
    }

    fn send<'a>(&'a self, notice: &'a Notice) -> NotificationFuture<'a> {
        Box::pin(async move {
            (self.0)(notice);
            Ok(())
        })
    }
}
