//! On standard output, a line each; whoever draws the line says how.

use super::{Notice, Notifier, Telling};

/// Standard output, written by whoever has it: this crate knows no terminal.
pub struct Stdout<F: Fn(&Notice) + Send + Sync>(pub F);

impl<F: Fn(&Notice) + Send + Sync> Notifier for Stdout<F> {
    fn id(&self) -> &str {
        "stdout"
    }

    fn send<'a>(&'a self, notice: &'a Notice) -> Telling<'a> {
        Box::pin(async move {
            (self.0)(notice);
            Ok(())
        })
    }
}
