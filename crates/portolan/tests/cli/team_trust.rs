//! Trust that the machines of a team share through their store.
#![cfg(unix)]

use std::time::{Duration, Instant};

use expect_test::expect;
use portolan_runtime::service::{Caller, Open};

use crate::calls::Calls;
use crate::support::{Project, checked, reported};
use crate::team::{Machine, Shared, block_on};
use crate::worker::{SERVER as SLOW_SERVER, SLOW};

/// Machines whose graph calls a server of one of them, which answers at once.
fn team<const N: usize>(server: &Shared) -> [Machine; N] {
    let machines: [Machine; N] = std::array::from_fn(|_| Machine::new(&server.address("shop")));
    let first = machines[0].project.path().join("server.py");
    machines[0].project.write("server.py", SLOW_SERVER);
    machines[0].project.write("go", "");
    let graph = SLOW.replace("SERVER", &first.to_string_lossy()).replace("IDEMPOTENT", "idempotent: true");
    for machine in &machines {
        machine.project.write("slow.yaml", &graph);
    }
    machines
}

/// Begins a run that a worker drives, and returns its handle.
fn detached(machine: &Machine) -> String {
    let said = machine.says("run slow.yaml --detach");
    assert!(said.ends_with("exit: 0\n"), "{said}");
    said.lines().next().expect("a handle").to_owned()
}

/// Returns what a worker of a machine says of these runs.
fn worked(machine: &Machine, runs: &[&str]) -> String {
    let (begun, mut told) = (Instant::now(), String::new());
    // Restate's lists follow what others begin.
    while !runs.iter().all(|run| told.contains(run)) && begun.elapsed() < Duration::from_secs(30) {
        told += &machine.says("worker --once");
    }
    told
}

fn done(machine: &Machine, command: &str) -> String {
    let said = machine.says(command);
    assert!(said.ends_with("exit: 0\n"), "{command}: {said}");
    said
}

#[test]
fn what_one_machine_trusts_runs_where_its_store_was_accepted() {
    for server in Shared::all() {
        let [here, there, elsewhere] = team(&server);
        done(&there, "trust --accept-shared");
        done(&here, "trust slow.yaml --shared");
        let run = detached(&here);
        let told = worked(&there, &[&run]);
        assert!(told.contains(&format!("{run} slow done\n")), "it is trusted there: {told}");
        // A machine that did not accept it says what to do, and leaves the run.
        let run = detached(&here);
        let left = worked(&elsewhere, &[&run]);
        assert!(left.contains(&format!("{run} slow left as it is: ")) && left.contains("not trusted yet"), "{left}");
        assert!(left.contains("with `portolan trust --accept-shared`"), "{left}");
        let refused = elsewhere.says("run slow.yaml");
        assert!(refused.contains("exit: ") && refused.contains("portolan trust --accept-shared"), "{refused}");
        // A withdrawal counts on all machines, also where it was given.
        let (run, next) = (detached(&here), detached(&here));
        let withdrawn = done(&there, "trust slow.yaml --revoke --shared");
        assert!(withdrawn.contains("these commands may no longer run"), "{withdrawn}");
        let left = worked(&there, &[&run, &next]);
        for run in [&run, &next] {
            assert!(
                left.contains(&format!("{run} slow left as it is: ")) && left.contains("not trusted yet"),
                "{left}"
            );
        }
        assert!(here.says("run slow.yaml").contains("not trusted yet"), "also where it was given");
        done(&here, "trust slow.yaml");
        assert!(done(&here, "run slow.yaml").contains("said"), "its own record is not withdrawn");
        assert!(there.says("run slow.yaml").contains("not trusted yet"));
    }
}

/// A service that runs for long decides anew each time.
#[test]
fn the_checks_of_an_agents_work_run_where_their_store_was_accepted() {
    for server in Shared::all() {
        let [here, there]: [Machine; 2] = team(&server);
        for machine in [&here, &there] {
            machine.project.write(".flow/workflows/release.json", checked(r#"["git", "--version"]"#));
        }
        let (begun, service) = (here.service(), there.service());
        block_on(async {
            let me = Caller::agent("tester");
            let open = Open { workflow: Some("release".to_owned()), ..Open::default() };
            let view = begun.open(&open, &me).await.expect("it begins");
            let view = begun.start(&view.address, None, &me).await.expect("it starts");
            let refused = async || service.next(&reported(&view, "passed"), &me).await.expect_err("it is not trusted");
            done(&here, "trust .flow/workflows/release.json --shared");
            let before = refused().await;
            assert_eq!(before.code, "not_trusted");
            assert!(before.help.contains("`portolan trust --accept-shared`"), "{before:?}");
            done(&there, "trust --accept-shared");
            done(&here, "trust .flow/workflows/release.json --revoke --shared");
            assert_eq!(refused().await.code, "not_trusted", "it was withdrawn");
            done(&here, "trust .flow/workflows/release.json --shared");
            service.next(&reported(&view, "passed"), &me).await.expect("its check runs and holds");
        });
    }
}

#[test]
fn whoever_writes_the_database_decides_only_where_it_was_accepted() {
    let Some(Shared::Postgres(server)) = Shared::all().into_iter().next() else { return };
    let shared = Shared::Postgres(server);
    let [here, there, elsewhere] = team(&shared);
    let Shared::Postgres(server) = &shared else { return };
    done(&there, "trust --accept-shared");
    done(&here, "trust slow.yaml --shared");
    // As an intruder would: the same decision for other commands.
    let other = checked(r#"["touch", "harmed"]"#);
    for machine in [&here, &there, &elsewhere] {
        machine.project.write("other.json", &other);
    }
    done(&elsewhere, "trust other.json");
    let listed = done(&elsewhere, "trust --list --format json");
    let listed: serde_json::Value = serde_json::from_str(listed.trim_end_matches("exit: 0\n")).expect("JSON");
    let digest = listed["trusted"][0]["commands"].as_str().expect("a digest").to_owned();
    done(&elsewhere, "trust --revoke other.json");
    server.sql(&format!(
        "INSERT INTO shop.shared_entries SELECT list, 2, 'forged', '{digest}', replace(text, key, '{digest}')
         FROM shop.shared_entries WHERE number = 1"
    ));
    let trusts = |machine: &Machine| !done(machine, "trust other.json --revoke").contains("were not trusted");
    assert!(!trusts(&elsewhere) && !trusts(&here), "neither has accepted the store");
    assert!(trusts(&there), "it has: whoever can write the store decides there");
    // Damage is no trust, and is named.
    server.sql("UPDATE shop.shared_entries SET text = left(text, 20) WHERE number = 1");
    for machine in [&here, &there] {
        let said = machine.says("run slow.yaml");
        assert!(
            said.contains("entry 1 of the trust that is shared in `postgres://") && !said.contains("exit: 0"),
            "{said}"
        );
    }
    let listed = there.says("trust --list");
    assert!(listed.contains("entry 1 of the trust") && listed.contains("slow.yaml  by ada on "), "{listed}");
    assert!(listed.ends_with("exit: 1\n"), "{listed}");
}

#[test]
fn a_store_that_is_away_trusts_nothing() {
    for server in Shared::all() {
        let [here, there] = team(&server);
        done(&there, "trust --accept-shared");
        done(&here, "trust slow.yaml --shared");
        assert!(done(&there, "run slow.yaml").contains("said"), "otherwise the rest would prove nothing");
        drop(server);
        for machine in [&here, &there] {
            let said = machine.says("run slow.yaml");
            assert!(said.contains("it cannot be verified that the servers are trusted"), "{said}");
            assert!(said.contains("the trust that is shared in `") && said.contains("cannot be asked for"), "{said}");
        }
        done(&there, "trust slow.yaml");
        assert!(done(&there, "run slow.yaml").contains("said"), "its own record needs no store");
    }
}

/// The commands, as a person sees them.
#[test]
fn a_person_sees_where_trust_is_from() {
    for server in Shared::all() {
        let [here, there]: [Machine; 2] = team(&server);
        for machine in [&here, &there] {
            machine.project.write("release.json", checked(r#"["git", "--version"]"#));
        }
        let machine_name = host();
        let shown = |said: String| {
            let said = said.replace(&format!("on {machine_name},"), "on <machine>,");
            let is_address = |word: &&str| word.trim_matches('`').contains("://");
            let address = said.split_whitespace().find(is_address).map(|word| word.trim_matches('`').to_owned());
            address.map_or_else(|| said.clone(), |address| said.replace(&address, "<store>"))
        };
        let mut told = String::new();
        for (machine, command) in [
            (&here, "trust release.json --shared"),
            (&there, "trust --list"),
            (&there, "trust --list --shared"),
            (&there, "trust --accept-shared"),
            (&there, "trust --list"),
            (&there, "trust --revoke release.json"),
            (&here, "trust --list"),
            (&here, "trust --revoke release.json --shared"),
            (&there, "trust --accept-shared --revoke"),
            (&there, "trust --accept-shared --revoke"),
            (&here, "trust .portolan/checks.yaml --shared"),
        ] {
            told += &format!("$ {command}\n{}", shown(machine.says(command)));
        }
        expect![[r#"
            $ trust release.json --shared
            release.json: these commands may run in this project, here and on each machine that accepts what is trusted in the store
              work/tests: git --version  (at most 600 s)
            exit: 0
            $ trust --list
            stderr: nothing is trusted
            exit: 0
            $ trust --list --shared
            <time>  release.json  by ada on <machine>, in <store>  (not accepted on this machine)
              work/tests: git --version  (at most 600 s)
            exit: 0
            $ trust --accept-shared
            what is trusted in <store> may run in this project on this machine, now and later: whoever can write that store decides it
            <time>  release.json  by ada on <machine>, in <store>
              work/tests: git --version  (at most 600 s)
            exit: 0
            $ trust --list
            <time>  all that is trusted in <store>  in <project>
            <time>  release.json  by ada on <machine>, in <store>
              work/tests: git --version  (at most 600 s)
            exit: 0
            $ trust --revoke release.json
            release.json: these commands may still run, because the store allows them: `--revoke --shared` withdraws them there
              work/tests: git --version  (at most 600 s)
            exit: 0
            $ trust --list
            <time>  release.json  in <project>  shared in <store>
              work/tests: git --version  (at most 600 s)
            exit: 0
            $ trust --revoke release.json --shared
            release.json: these commands may no longer run
              work/tests: git --version  (at most 600 s)
            exit: 0
            $ trust --accept-shared --revoke
            what is trusted in <store> no longer counts for this project on this machine
            exit: 0
            $ trust --accept-shared --revoke
            what is trusted in <store> did not count for this project on this machine
            exit: 0
            $ trust .portolan/checks.yaml --shared
            stderr: error: `.portolan/checks.yaml` belongs to the checks of a machine, whose trust is not shared
            stderr: help: trust it without `--shared` on each machine
            exit: 2
        "#]].assert_eq(&told);
    }
}

/// Returns the name of this machine.
fn host() -> String {
    let said = std::process::Command::new("uname").arg("-n").output().expect("it starts");
    String::from_utf8(said.stdout).expect("text").trim().to_owned()
}

#[test]
fn a_store_of_one_machine_shares_no_trust() {
    let project = Project::new();
    project.write("release.json", checked(r#"["git", "--version"]"#));
    expect![[r#"
        stderr: error: this project's store belongs to this machine, and shares no trust
        stderr: help: name a database with `--store postgres://…`, or Restate with `--store restate://…`
        exit: 2
    "#]]
    .assert_eq(&project.says("trust release.json --shared"));
    for command in ["trust --accept-shared", "trust --accept-shared --revoke", "trust release.json --shared --revoke"] {
        assert!(project.says(command).contains("shares no trust"), "{command}");
    }
}
