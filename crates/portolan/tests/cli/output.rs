//! Where output goes: readers that leave, disks that are full, colour where nobody asked for it.

use std::io::Read;
use std::process::Stdio;

use crate::support::Project;

#[test]
fn a_reader_that_leaves_has_what_it_wanted() {
    let project = Project::new();
    for words in [["show", "feature-development"], ["catalog", "list"], ["completions", "bash"]] {
        let mut child =
            project.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        assert!(child.wait().expect("it ends").success(), "{words:?}: {said}");
        assert_eq!(said, "", "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let project = Project::new();
    for format in ["text", "json"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let done = project.command(&["catalog", "list", "--format", format]).stdout(full).output().expect("it runs");
        assert_eq!(done.status.code(), Some(1));
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains("the output cannot be written: ") && !said.contains("os error"), "{said}");
    }
}

#[test]
fn there_is_no_colour_where_no_terminal_is() {
    let project = Project::small();
    project.write("bad.json", "{}");
    for line in ["check bad.json", "show small", "runs list --all", "chek", "--help"] {
        assert!(!project.says(line).contains('\u{1b}'), "{line}");
    }
}

#[test]
fn every_shell_gets_its_completions() {
    let project = Project::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = project.says_to(&["completions", shell]);
        assert!(said.contains("portolan") && said.ends_with("exit: 0\n"), "{shell}: {said}");
    }
}
