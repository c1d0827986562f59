//! The secrets of a server: the values of its variables and headers at its start.

use portolan_core::graph::Transport;

use super::ServerSetup;
use super::expand::Expander;

impl ServerSetup {
    /// Returns the texts that must never be shown: the values of `env` and `headers`, and the variables in them.
    pub fn confidential(&self) -> Vec<String> {
        let settings = match &self.server.transport {
            Transport::Stdio { env, .. } => env,
            Transport::Http { headers, .. } | Transport::Sse { headers, .. } => headers,
            Transport::Builtin(_) => return Vec::new(),
        };
        let lookup = |name: &str| std::env::var(name).ok();
        let mut expander = Expander::new(&lookup);
        // A variable that is not set is reported at the start of the server.
        let mut texts: Vec<String> = settings.values().filter_map(|text| expander.fill(text).ok()).collect();
        texts.extend(expander.used.into_iter().map(|(_, value)| value));
        texts
    }
}
