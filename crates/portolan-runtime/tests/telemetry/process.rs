//! A process that ends right after its run: this program again, as the test [`child`] with variables in its environment.

use std::io::Write;
use std::process::{Command, Output};
use std::sync::Arc;

use serde_json::json;

use portolan_runtime::service::How;
use portolan_runtime::telemetry::Telemetry;

use crate::collector::Collector;
use crate::world::{World, answers, block_on, call, tree};

const FUNCTION: &str = "f\n entry: start > exit\n exit: end";
const ROLE: &str = "PORTOLAN_TEST_TRACED";

fn run(variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "process::child", "--nocapture"]).env(ROLE, "1");
    for (name, value) in variables {
        command.env(name, value);
    }
    command.output().expect("it runs")
}

#[test]
fn child() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let telemetry = Telemetry::from_environment(Arc::new(|_| {}));
    tell("threads before");
    let mut world = World::with(&Default::default());
    world.telemetry = telemetry.clone();
    block_on(call(&world.service(), FUNCTION, json!({}), How::with(Arc::new(answers(FUNCTION, &json!({}))))));
    tell("threads after");
    if let Some(telemetry) = telemetry {
        telemetry.close();
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "the harness would print more, and the parent reads what is printed"
    )]
    std::process::exit(0);
}

/// Tells the parent how many threads the exporter has.
fn tell(what: &str) {
    writeln!(std::io::stdout(), "{what}: {}", threads()).expect("the parent listens");
}

/// How many threads the exporter has.
fn threads() -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("comm")).ok();
    tasks.filter_map(name).filter(|name| name.starts_with("portolan-trace")).count()
}

#[test]
fn what_waits_is_sent_before_the_process_ends() {
    let collector = Collector::new(Vec::new());
    let output = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(tree(&collector.spans()).lines().count(), 3);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("threads before: 0"), "nothing is started before the first span: {told}");
}

#[test]
fn nothing_is_started_where_nothing_is_collected() {
    let collector = Collector::new(Vec::new());
    let disabled = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.url), ("OTEL_SDK_DISABLED", "true")];
    for variables in [&[][..], &disabled[..]] {
        let output = run(variables);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && told.contains("threads after: 0"), "{output:?}");
    }
    assert!(collector.all().is_empty());
}
