//! The list of commands, grouped by purpose.

use std::fmt::Write as _;

use clap::Command;

/// The groups of commands, in the order in which a new user needs them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Begin", &["init", "demo", "catalog", "import"]),
    ("Write definitions", &["check", "show", "test", "simulate", "eval", "export"]),
    ("Lead agents and run graphs", &["serve", "gate", "run", "runs", "worker", "store", "studio"]),
    ("Lead tasks through phases", &["flow", "autopilot", "supervisor"]),
    (
        "Set up checks, trust and hooks",
        &["trust", "people", "token", "checks", "qa", "merge-gate", "install", "doctor"],
    ),
    ("Run by other programs", &["hook", "guard", "sandbox", "builtin", "completions"]),
];

/// Adds a grouped list of subcommands to the help, since clap's list has no headings.
pub(super) fn grouped(command: Command) -> Command {
    let list = listed(&command);
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}");
    command.help_template(template)
}

fn listed(command: &Command) -> String {
    let mut list = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(list, "\n{heading}:");
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {:<11}  {about}", command.get_name());
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_stands_in_one_group_and_on_one_line_of_a_small_terminal() {
        let command = super::super::command();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        let list = super::listed(&command);
        assert!(list.lines().all(|line| line.len() <= 80), "{list}");
        assert!(list.lines().count() <= 50, "{list}");
    }
}
