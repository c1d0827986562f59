//! Project checks that run at the same time in one tree, over one service and over several. What runs waits at pipes.

#![cfg(unix)]

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use crate::common::calls::Calls;
use crate::common::pair::{Pair, SCRIPT};
use crate::common::{World, agent, step, view_line, wait};
use portolan_core::present::RunStatus;
use portolan_runtime::carrier::Address;
use portolan_runtime::project_checks;
use portolan_runtime::service::{Service, View};

/// A repository whose project has one check, and a workflow whose one step ends with it.
struct Project(World, Pair);

impl Project {
    fn new() -> Project {
        let world = World::with("checked", "start -> fix; fix -> done\nfix: accept [{\"check\": \"tests\"}]");
        world.write("check.sh", SCRIPT);
        world.write(project_checks::FILE, "checks:\n  tests: {run: [sh, check.sh]}\n");
        // Where a client keeps its list of tasks is no part of the work.
        world.write(".gitignore", "tasks/\n");
        for words in [&["init", "-q"][..], &["add", "."]] {
            let git = Command::new("git").args(words).current_dir(world.project()).status();
            assert!(git.expect("git is there").success());
        }
        world.trust_checks();
        let pair = Pair::beside(&world.project());
        Project(world, pair)
    }

    /// How many verdicts are kept.
    fn kept(&self) -> usize {
        fs::read_dir(self.0.path(".portolan/verdicts")).map_or(0, Iterator::count)
    }

    /// Two runs at the step, in the store or in task files.
    fn runs(&self, in_tasks: bool) -> [Address; 2] {
        ["1", "2"].map(|task| match in_tasks {
            true => self.0.begin(task, "checked"),
            false => {
                let address = self.0.open("checked");
                self.0.start(&address).expect("it starts");
                address
            }
        })
    }

    /// Has both steps reported at once; the first check to begin is that of the first run. Once both run, each is told what
    /// to do, the second first.
    fn report(&self, runs: &[Address; 2], services: [Arc<Service>; 2], lines: [&str; 2]) -> [View; 2] {
        let report = |run: &Address, service: Arc<Service>| {
            let wanted = step(&self.0.current(run).expect("it is there"), "passed");
            thread::spawn(move || wait(service.next(&wanted, &agent())).expect("it is checked"))
        };
        let [one, two] = services;
        let first = report(&runs[0], one);
        self.1.begun(1);
        let second = report(&runs[1], two);
        self.1.begun(2);
        self.1.go(2, lines[1]);
        let second = second.join().expect("nobody panics");
        self.1.go(1, lines[0]);
        [first.join().expect("nobody panics"), second]
    }
}

/// One service for both, and one for each, which share nothing but files; with runs in the store, and in task files.
fn each(story: impl Fn(Project, [Address; 2], [Arc<Service>; 2])) {
    for in_tasks in [false, true] {
        for is_shared in [true, false] {
            let project = Project::new();
            let service = || Arc::new(project.0.service());
            let one = service();
            let services = [one.clone(), if is_shared { one } else { service() }];
            let runs = project.runs(in_tasks);
            story(project, runs, services);
        }
    }
}

fn reasons(view: &View) -> String {
    let checks = view.claim.iter().flat_map(|claim| &claim.checks);
    let told = checks.map(|check| check.reason.clone().unwrap_or_else(|| "held".to_owned()));
    told.collect::<Vec<_>>().join("; ")
}

#[test]
fn both_hold_and_it_is_known_from_then_on() {
    each(|project, runs, services| {
        let views = project.report(&runs, services, ["exit 0", "exit 0"]);
        for (view, run) in views.iter().zip(&runs) {
            assert_eq!(view.terminal, Some("success"), "{}", reasons(view));
            let history = project.0.history(run);
            assert_eq!(history.matches("checked `tests`").count(), 1, "{history}");
        }
        assert_eq!((project.1.ran(), project.kept()), (2, 1));
        let third = project.0.open("checked");
        project.0.start(&third).expect("it starts");
        assert_eq!(project.0.next(&third, "passed").expect("it is known").terminal, Some("success"));
        assert_eq!(project.1.ran(), 2, "what held is not run again");
    });
}

#[test]
fn each_has_its_own_verdict() {
    for (lines, held) in [(["exit 0", "exit 1"], [true, false]), (["exit 1", "exit 0"], [false, true])] {
        each(|project, runs, services| {
            let views = project.report(&runs, services, lines);
            assert_eq!(views.each_ref().map(|view| view.terminal == Some("success")), held, "{lines:?}");
            let failed = &views[usize::from(held[0])];
            assert_eq!(view_line(failed), "fix working\n");
            assert!(reasons(failed).contains("exited with status 1"), "{}", reasons(failed));
            assert_eq!((project.1.ran(), project.kept()), (2, 1));
        });
    }
}

#[test]
fn where_one_changes_the_files_neither_verdict_counts_and_both_may_report_again() {
    each(|project, runs, services| {
        let views = project.report(&runs, services, ["exit 0", "echo x >> new.txt"]);
        for view in &views {
            assert_eq!(view.situation.state, RunStatus::Working);
            assert!(reasons(view).contains("the files changed while"), "{}", reasons(view));
        }
        assert_eq!(project.kept(), 0);
        let services = [(); 2].map(|()| Arc::new(project.0.service()));
        project.1.anew();
        let views = project.report(&runs, services, ["exit 0", "exit 0"]);
        assert!(views.iter().all(|view| view.terminal == Some("success")));
    });
}
