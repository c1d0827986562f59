//! What a server is told in confidence: the values of its variables and headers, as they are when it is started.

use portolan_core::graph::Transport;

use super::ServerSetup;
use super::expand::Expander;

impl ServerSetup {
    /// The texts that must never be shown: what stands in `env` and `headers`, and the variables that were filled in.
    pub fn confidential(&self) -> Vec<String> {
        let told = match &self.server.transport {
            Transport::Stdio { env, .. } => env,
            Transport::Http { headers, .. } | Transport::Sse { headers, .. } => headers,
            Transport::Builtin(_) => return Vec::new(),
        };
        let lookup = |name: &str| std::env::var(name).ok();
        let mut expander = Expander::new(&lookup);
        // A variable that is not set is said where the server is started.
        let mut texts: Vec<String> = told.values().filter_map(|text| expander.fill(text).ok()).collect();
        texts.extend(expander.used.into_iter().map(|(_, value)| value));
        texts
    }
}
