//! `portolan demo`: the main job, from the first call to the journal.

use std::path::Path;

use crate::support::Project;

#[test]
fn the_agent_is_led_to_the_end_and_refused_where_it_cheats() {
    let project = Project::new();
    let said = project.says_to(&["demo"]);
    assert!(said.ends_with("exit: 0\n"), "{said}");
    let cheats = said.matches("agent cheats:").count();
    assert_eq!(cheats, 5, "{said}");
    assert!(said.matches("refused").count() >= cheats, "{said}");
    for part in [
        "refused (needs_person): a run that begins at `publish`",
        "refused: `plan-exists` did not hold",
        "refused (stale)",
        "refused: `tests` did not hold",
        "refused (needs_person): `approve` asks a person",
        "← done · ended",
        "ended at `done`: success",
    ] {
        assert!(said.contains(part), "`{part}` is missing in {said}");
    }
    let journal = said.lines().find_map(|line| line.strip_prefix("The journal is ")).expect("the journal is named");
    assert!(Path::new(journal).is_file(), "{journal}");
    let folder = Path::new(journal).ancestors().nth(3).expect("the demo's folder");
    assert!(folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("portolan-demo-")));
    std::fs::remove_dir_all(folder).expect("the demo's folder can be removed");
}
