//! The environment variables that hosts set for the processes their agents start.

use std::ffi::OsString;

/// Looks up an environment variable.
pub(super) type Variable<'v> = &'v dyn Fn(&str) -> Option<OsString>;

/// A variable and the host that sets it.
pub(super) struct Marker {
    pub(super) variable: &'static str,
    pub(super) host: &'static str,
    /// Whether only the agent's shell has the variable, and not the servers that the host itself starts.
    is_of_shell: bool,
}

const MARKERS: [Marker; 7] = [
    Marker { variable: "CLAUDECODE", host: "Claude Code", is_of_shell: true },
    Marker { variable: "CODEX_SANDBOX", host: "Codex", is_of_shell: true },
    Marker { variable: "CODEX_THREAD_ID", host: "Codex", is_of_shell: false },
    Marker { variable: "CURSOR_AGENT", host: "Cursor", is_of_shell: false },
    Marker { variable: "GEMINI_CLI", host: "Gemini CLI", is_of_shell: true },
    Marker { variable: "OPENCODE", host: "OpenCode", is_of_shell: false },
    Marker { variable: "COPILOT_CLI", host: "Copilot CLI", is_of_shell: false },
];

/// Returns the first marker that is set.
pub(super) fn marker(variable: Variable<'_>) -> Option<&'static Marker> {
    MARKERS.iter().find(|marker| variable(marker.variable).is_some_and(|value| !value.is_empty()))
}

/// Returns the first marker that is set and that only an agent's shell has.
pub(super) fn marker_of_shell(variable: Variable<'_>) -> Option<&'static Marker> {
    MARKERS.iter().find(|it| it.is_of_shell && variable(it.variable).is_some_and(|value| !value.is_empty()))
}
