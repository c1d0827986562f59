//! The variables that a type checker does not receive: those with which the caller of a check could have another
//! program do its work, or another file read first.

use std::ffi::{OsStr, OsString};

/// The prefixes of such variables.
const BEGINNINGS: [&str; 14] = [
    // Variables that a git hook sets would redirect the git that a tool starts.
    "GIT_",
    "LD_",
    "DYLD_",
    "PYTHON",
    "NPM_CONFIG_",
    "TS_NODE_",
    "MYPY",
    "RUSTC",
    "CARGO_BUILD_",
    "CARGO_ALIAS_",
    "CARGO_PROFILE_",
    "PERL5",
    "RUBY",
    "BASH_",
];
/// The full names of further ones.
const NAMES: [&str; 22] = [
    "NODE_OPTIONS",
    "NODE_PATH",
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "GOFLAGS",
    "GOENV",
    "GOROOT",
    "GOTOOLDIR",
    "GOWORK",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "ZDOTDIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MFLAGS",
    "MAKEFILES",
];

/// Returns the environment without these variables.
pub(super) fn own(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    environment.iter().filter(|(name, _)| !leads(name)).cloned().collect()
}

fn leads(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    // The linker and the runner of a target are programs; the output folder is not.
    let of_target = name.starts_with("CARGO_TARGET_") && name != "CARGO_TARGET_DIR";
    of_target || NAMES.contains(&name.as_str()) || BEGINNINGS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_elsewhere_is_told_from_what_a_checker_needs() {
        let told = |names: &[&str]| names.iter().map(|name| leads(OsStr::new(name))).collect::<Vec<_>>();
        let elsewhere = [
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHOME",
            "NODE_OPTIONS",
            "npm_config_script_shell",
            "RUSTC_WRAPPER",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "LD_PRELOAD",
            "BASH_FUNC_tsc%%",
            "GIT_DIR",
            "MAKEFLAGS",
        ];
        assert_eq!(told(&elsewhere), [true; 11]);
        assert_eq!(
            told(&["PATH", "HOME", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "LANG", "NODE_ENV"]),
            [false; 7]
        );
    }
}
