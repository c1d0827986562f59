//! What trust covers, and where it may be stored.

use expect_test::expect;
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::source::Source;
use portolan_core::validate;
use tempfile::TempDir;

use super::place::data_dir_from;
use super::*;

fn graph(id: &str, nodes: &str, edges: &[(&str, &str)]) -> Graph {
    let edges: Vec<_> = edges.iter().map(|(from, to)| format!(r#"{{"from":"{from}","to":"{to}"}}"#)).collect();
    let text = format!(
        r#"{{"id":"{id}","nodes":{{"start":{{"type":"start"}},{nodes},"done":{{"type":"end","result":"success"}}}},
            "edges":[{}]}}"#,
        edges.join(",")
    );
    let (graph, faults) = dialect::parse(&Source::new(format!("{id}.json"), text), Strictness::Strict).first();
    graph.unwrap_or_else(|| panic!("{faults:?}"))
}

fn checked(graph: &Graph, other: Option<&Graph>) -> Workflow {
    let library = |id: &str| other.filter(|other| other.id.value == id);
    let (workflow, faults) = validate::validate(graph, &library, Strictness::Strict);
    workflow.unwrap_or_else(|| panic!("{faults:?}"))
}

/// Returns a workflow with one task that has these further fields.
fn workflow(fields: &str) -> Workflow {
    let nodes = format!(r#""work":{{"type":"task"{fields}}}"#);
    checked(&graph("flow", &nodes, &[("start", "work"), ("work", "done")]), None)
}

fn digest(fields: &str) -> Digest {
    commands_digest(&workflow(fields)).expect("it runs something")
}

const TESTS: &str = r#","accept":[{"id":"tests","run":["cargo","test"]}]"#;

#[test]
fn without_commands_there_is_nothing_to_trust() {
    assert_eq!(commands_digest(&workflow("")), None);
    assert_eq!(commands_digest(&workflow(r#","accept":[{"id":"plan","file":"plan.md"}]"#)), None);
}

#[test]
fn words_and_files_do_not_change_the_digest() {
    let plain = digest(TESTS);
    for same in [
        r#","description":"something else","instructions":"go","accept":[{"id":"tests","run":["cargo","test"]}]"#,
        r#","accept":[{"id":"plan","file":"plan.md"},{"id":"tests","run":["cargo","test"]}]"#,
        r#","accept":[{"id":"tests","run":["cargo","test"],"timeoutSeconds":600}]"#,
    ] {
        assert_eq!(digest(same), plain, "{same}");
    }
}

#[test]
fn every_part_of_a_command_and_its_place_change_the_digest() {
    let mut digests = vec![digest(TESTS)];
    for other in [
        r#","accept":[{"id":"tests","run":["cargo","tes","t"]}]"#,
        r#","accept":[{"id":"tests","run":["cargotest"]}]"#,
        r#","accept":[{"id":"tests","run":["cargo","test",""]}]"#,
        r#","accept":[{"id":"tests","run":["cargo","test"],"timeoutSeconds":60}]"#,
        r#","accept":[{"id":"check","run":["cargo","test"]}]"#,
        r#","accept":[{"id":"tests","run":["cargo","test"]},{"id":"more","run":["true"]}]"#,
    ] {
        digests.push(digest(other));
    }
    let other_node =
        graph("flow", &format!(r#""verify":{{"type":"task"{TESTS}}}"#), &[("start", "verify"), ("verify", "done")]);
    let other_flow =
        graph("other", &format!(r#""work":{{"type":"task"{TESTS}}}"#), &[("start", "work"), ("work", "done")]);
    for graph in [other_node, other_flow] {
        digests.push(commands_digest(&checked(&graph, None)).expect("it runs something"));
    }
    let count = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

#[test]
fn the_order_of_nodes_does_not_matter() {
    let [a, b] = ["a", "b"].map(|id| format!(r#""{id}":{{"type":"task","accept":[{{"id":"c","run":["{id}"]}}]}}"#));
    let edges = [("start", "a"), ("a", "b"), ("b", "done")];
    let one = checked(&graph("flow", &format!("{a},{b}"), &edges), None);
    let other = checked(&graph("flow", &format!("{b},{a}"), &edges), None);
    assert_eq!(commands_digest(&one), commands_digest(&other));
}

#[test]
fn a_subflows_commands_count_though_they_stand_in_another_file() {
    let outer = graph("outer", r#""sub":{"type":"subflow","workflow":"inner"}"#, &[("start", "sub"), ("sub", "done")]);
    let inner = |program: &str| {
        let nodes = format!(r#""work":{{"type":"task","accept":[{{"id":"c","run":["{program}"]}}]}}"#);
        graph("inner", &nodes, &[("start", "work"), ("work", "done")])
    };
    let [fine, edited] = ["make", "curl"].map(|program| checked(&outer, Some(&inner(program))));
    assert_ne!(commands_digest(&fine), commands_digest(&edited));
    let runs = commands(&fine);
    assert_eq!(
        (runs[0].flow.as_str(), runs[0].node.as_str(), &runs[0].argv[..]),
        ("inner", "work", &["make".to_owned()][..])
    );
}

struct World {
    data: TempDir,
    project: TempDir,
}

impl World {
    fn new() -> World {
        let folder = || tempfile::tempdir().expect("a scratch folder");
        World { data: folder(), project: folder() }
    }

    fn trust(&self) -> Trust {
        Trust::open(self.data.path(), self.project.path()).expect("a good place")
    }

    fn entries(&self) -> PathBuf {
        self.data.path().join(FOLDER)
    }
}

fn entry(at: i64) -> TrustEntry {
    let workflow = workflow(TESTS);
    TrustEntry {
        project: PathBuf::new(),
        commands: commands_digest(&workflow).expect("it runs something"),
        file: Digest::of(b"the text"),
        path: ".flow/workflows/flow.json".into(),
        at: Timestamp(at),
        runs: commands(&workflow),
    }
}

#[test]
fn what_is_recorded_is_trusted_until_it_is_revoked() {
    let world = World::new();
    let commands = entry(0).commands;
    assert!(!world.trust().is_trusted(&commands).expect("readable"));
    assert!(!world.entries().exists(), "asking creates nothing");
    world.trust().record(entry(1)).expect("writable");
    world.trust().record(entry(2)).expect("writable twice");
    assert!(world.trust().is_trusted(&commands).expect("readable"));
    assert!(!world.trust().is_trusted(&Digest::of(b"others")).expect("readable"));
    let (entries, faults) = world.trust().list();
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(entries.iter().map(|entry| entry.at.0).collect::<Vec<_>>(), [2]);
    assert_eq!(entries[0].project, world.project.path().canonicalize().expect("a folder"));
    assert_eq!(entries[0].runs[0].argv, ["cargo", "test"]);
    assert!(world.trust().revoke(&entries[0].key()).expect("writable"));
    assert!(!world.trust().revoke(&entries[0].key()).expect("writable"));
    assert!(!world.trust().is_trusted(&commands).expect("readable"));
}

#[test]
fn the_same_commands_in_another_project_are_not_trusted() {
    let (here, there) = (World::new(), World::new());
    here.trust().record(entry(1)).expect("writable");
    let trust = Trust::open(here.data.path(), there.project.path()).expect("a good place");
    assert!(!trust.is_trusted(&entry(1).commands).expect("readable"));
    // A copy of the entry under the name for this project does not count either.
    let Trust { folder, project, .. } = &trust;
    let (from, to) = (here.trust().list().0[0].key(), key(project, &entry(1).commands));
    fs::copy(folder.join(format!("{from}.json")), folder.join(format!("{to}.json"))).expect("writable");
    assert!(!trust.is_trusted(&entry(1).commands).expect("readable"));
    assert_eq!(trust.list().0.len(), 2, "a listing shows every project");
}

#[test]
fn a_broken_entry_is_no_trust_and_spoils_no_other() {
    let world = World::new();
    world.trust().record(entry(1)).expect("writable");
    let commands = entry(1).commands;
    let path = world.entries().join(format!("{}.json", world.trust().list().0[0].key()));
    let good = fs::read_to_string(&path).expect("an entry");
    let bad_digest = good.replace(commands.as_str(), "../../etc");
    for bad in ["", "{}", "[", &good[..good.len() / 2], &bad_digest, &" ".repeat(2 << 20)] {
        fs::write(&path, bad).expect("writable");
        assert_eq!(world.trust().is_trusted(&commands).expect_err("broken").code(), "trust_broken");
    }
    let other = TrustEntry { commands: Digest::of(b"other"), ..entry(5) };
    world.trust().record(other.clone()).expect("writable");
    assert!(world.trust().is_trusted(&other.commands).expect("readable"));
    let (entries, faults) = world.trust().list();
    assert_eq!((entries.len(), faults.len()), (1, 1));
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_and_write_it() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    let mode = |path: &Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    let trust = Trust::open(&world.data.path().join("new/portolan"), world.project.path()).expect("a good place");
    trust.record(entry(1)).expect("writable");
    let names: Vec<_> = fs::read_dir(&trust.folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    assert_eq!(names.len(), 1, "no temporary file stays");
    assert_eq!((mode(&trust.folder), mode(&names[0])), (0o700, 0o600));
    fs::set_permissions(&trust.folder, fs::Permissions::from_mode(0o770)).expect("our own folder");
    let error =
        Trust::open(&world.data.path().join("new/portolan"), world.project.path()).expect_err("others may write");
    assert_eq!(error.code(), "trust_unguarded");
}

#[cfg(unix)]
#[test]
fn it_never_lies_inside_the_project() {
    use std::os::unix::fs::symlink;

    let world = World::new();
    let project = world.project.path();
    let outside = world.data.path();
    symlink(project, outside.join("to-project")).expect("a scratch folder");
    fs::create_dir(project.join("elsewhere")).expect("a scratch folder");
    fs::create_dir(outside.join("half")).expect("a scratch folder");
    symlink(project.join("elsewhere"), outside.join("half").join(FOLDER)).expect("a scratch folder");
    symlink("nowhere", outside.join("dangling")).expect("a scratch folder");
    let code = |dir: &Path| Trust::open(dir, project).expect_err("a bad place").code();
    for inside in [
        project.to_owned(),
        project.join(".portolan/not/yet/there"),
        outside.join("to-project"),
        outside.join("to-project/not/yet/there"),
        outside.join("half"),
    ] {
        assert_eq!(code(&inside), "trust_inside_project", "{inside:?}");
    }
    // Paths that cannot be resolved before they exist.
    assert_eq!(code(&outside.join("not-there/..").join("to-project")), "trust_unreadable");
    assert_eq!(code(&outside.join("dangling")), "trust_unreadable");
    assert!(!project.join(".portolan").exists());
    // A project whose path is only a prefix of the folder's name does not contain it.
    let neighbour = format!("{}-data", project.display());
    Trust::open(Path::new(&neighbour), project).expect("a good place");
}

#[cfg(target_os = "linux")]
#[test]
fn a_place_that_cannot_be_written_is_a_clear_error() {
    let world = World::new();
    let trust = Trust::open(Path::new("/proc/portolan"), world.project.path()).expect("nothing is there yet");
    let error = trust.record(entry(1)).expect_err("nothing can be created there");
    assert_eq!(error.code(), "trust_unwritable");
}

#[test]
fn a_project_that_is_gone_is_an_error() {
    let world = World::new();
    let error = Trust::open(world.data.path(), Path::new("/no/such/project")).expect_err("it is gone");
    assert_eq!(error.code(), "trust_unreadable");
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn the_data_folder_is_the_users() {
    let told = |variables: &[(&str, &str)], home: Option<&str>| {
        let variable = |name: &str| variables.iter().find(|(found, _)| *found == name).map(|(_, value)| value.into());
        match data_dir_from(variable, home.map(PathBuf::from)) {
            Ok(dir) => dir.display().to_string(),
            Err(error) => format!("{}: {error}", error.code()),
        }
    };
    let home = Some("/home/ada");
    let told = [
        told(&[("PORTOLAN_DATA_DIR", "/data"), ("XDG_DATA_HOME", "/xdg")], home),
        told(&[("PORTOLAN_DATA_DIR", ""), ("XDG_DATA_HOME", "/xdg")], home),
        told(&[("XDG_DATA_HOME", "relative")], home),
        told(&[], home),
        told(&[("PORTOLAN_DATA_DIR", "relative")], home),
        told(&[], None),
    ];
    expect![[r#"
        /data
        /xdg/portolan
        /home/ada/.local/share/portolan
        /home/ada/.local/share/portolan
        trust_no_place: `PORTOLAN_DATA_DIR` is `relative`, which is not an absolute path; set it to an absolute path outside the project
        trust_no_place: there is no home folder to keep trust in; set `PORTOLAN_DATA_DIR`"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn what_a_variable_holds_is_not_below_the_definition() {
    for (root, below) in [(".", true), ("./a/b", true), ("a/../b", false), ("/a", false), ("${HOME}", false)] {
        assert_eq!(stays_below(root), below, "{root}");
    }
    assert!(!stays_below("a/${PLACE:-b}"));
}
