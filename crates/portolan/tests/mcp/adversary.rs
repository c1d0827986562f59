//! An agent that tries everything: whatever moves a run had been offered, and whatever is refused changes nothing.

use serde_json::{Value, json};

use crate::support::{Chance, Project, Wire, bytes, offered};

const CALLS: usize = 600;

/// A run under attack.
struct Run {
    address: Value,
    file: Option<String>,
    /// Arguments of calls that were once offered.
    spent: Vec<Value>,
}

/// Start, a task with a check, a gate with retries, a fork, and a question to a person.
fn fortress(project: &Project, is_checked: bool) {
    let mut nodes = json!({
        "s": { "type": "start" },
        "plan": { "type": "task", "accept": [{ "id": "plan", "file": "plan.md" }] },
        "build": { "type": "task", "outputs": ["passed", "skipped"] },
        "verify": { "type": "gate", "maxRetries": 2 },
        "split": { "type": "fork", "join": "merge" },
        "left": { "type": "task" },
        "right": { "type": "gate", "maxRetries": 1 },
        "merge": { "type": "join", "fork": "split" },
        "ask": { "type": "end", "result": "blocked", "escalation": "hitl" },
        "stuck": { "type": "end", "result": "blocked", "escalation": "hitl" },
        "done": { "type": "end", "result": "success" },
    });
    if !is_checked {
        nodes["plan"] = json!({ "type": "task" });
        nodes["verify"] = json!({ "type": "task" });
    }
    let edges = json!([
        { "from": "s", "to": "plan" },
        { "from": "plan", "to": "build" },
        { "from": "build", "to": "verify", "on": "passed" },
        { "from": "build", "to": "split", "on": "skipped" },
        { "from": "verify", "to": "split", "on": "passed" },
        { "from": "verify", "to": "build", "on": "failed" },
        { "from": "verify", "to": "stuck", "on": "failed" },
        { "from": "stuck", "to": "build", "on": "passed" },
        { "from": "split", "to": "left" },
        { "from": "split", "to": "right" },
        { "from": "left", "to": "merge" },
        { "from": "right", "to": "merge", "on": "passed" },
        { "from": "right", "to": "right", "on": "failed" },
        { "from": "merge", "to": "ask", "on": "passed" },
        { "from": "merge", "to": "ask", "on": "failed" },
        { "from": "ask", "to": "done", "on": "passed" },
        { "from": "ask", "to": "plan", "on": "failed" },
    ]);
    project.workflow("fortress", &nodes, &edges);
}

fn besiege(human: &str, seed: u64) {
    let project = Project::new();
    fortress(&project, true);
    let mut wire = project.client(&["--human", human]);
    let mut chance = Chance::of(seed);
    let mut runs: Vec<Run> = Vec::new();
    let (mut accepted, mut refused) = (0, 0);
    for call in 0..CALLS {
        if call % 50 == 0 {
            runs.push(begin(&mut wire, &project, call));
        }
        if call == CALLS / 3 {
            project.write("plan.md", "a plan");
        }
        // An agent edits what holds it, and puts it back.
        if call % 20 < 2 {
            fortress(&project, call % 20 != 0);
        }
        let nth = chance.below(runs.len());
        let before = wire.done("Current", &runs[nth].address);
        let on_disk = runs[nth].file.as_deref().map(bytes);
        let offers = offers(&before);
        runs[nth].spent.extend(offers.iter().cloned());
        let (tool, arguments) = attempt(&mut chance, &runs, nth, &offers);
        let answer = wire.call(tool, &arguments);
        let after = wire.done("Current", &runs[nth].address);
        let own = names(&arguments, &runs[nth]);
        if answer.is_error || !own {
            assert_eq!(after, before, "{tool} {arguments} changed what it was not to: {:#}", answer.value);
            assert_eq!(runs[nth].file.as_deref().map(bytes), on_disk, "{tool} {arguments} wrote");
            refused += 1;
        } else if after != before {
            assert!(was_offered(&offers, tool, &arguments), "{tool} {arguments} was not offered at {before:#}");
            accepted += 1;
        }
        if call < CALLS / 3 {
            assert!(matches!(after["currentStep"].as_str(), Some("s" | "plan")), "there is no plan yet: {after:#}");
        }
        if tool == "Init" && !answer.is_error && answer.value["workflowType"] == "fortress" {
            let at = &answer.value["currentStep"];
            assert!(at == "s" || at == "plan", "{arguments} begins at {at}: {:#}", answer.value);
        }
        if human == "verified" {
            assert_ne!(after["currentStep"], "done", "only a person leads there");
        }
    }
    assert!(accepted > 15 && refused > 60, "{accepted} accepted, {refused} refused: the siege shows little");
}

fn begin(wire: &mut Wire, project: &Project, call: usize) -> Run {
    let mut init = json!({ "workflowType": "fortress" });
    let file = (call % 100 == 50).then(|| project.task(&call.to_string()));
    if let Some(path) = &file {
        init["taskFilePath"] = json!(path);
    }
    let opened = wire.done("Init", &init);
    let address = match &file {
        Some(path) => json!({ "taskFilePath": path }),
        None => json!({ "run": opened["run"] }),
    };
    Run { address, file, spent: Vec::new() }
}

/// The calls that a situation offers, each with its tool. Those that fill in a file are left to the walks.
fn offers(situation: &Value) -> Vec<Value> {
    offered(situation).into_iter().filter(|action| action["fill"].is_null()).collect()
}

fn attempt(chance: &mut Chance, runs: &[Run], nth: usize, offers: &[Value]) -> (&'static str, Value) {
    let run = &runs[nth];
    let tool = *chance.pick(&["Next", "Next", "Next", "Next", "Start", "Init", "Current"]);
    let mut arguments = match chance.below(6) {
        // What is offered: without it, no run would come far.
        0 | 1 if !offers.is_empty() => {
            let offer = chance.pick(offers);
            let tool = if offer["tool"] == "Start" { "Start" } else { "Next" };
            return (tool, offer["arguments"].clone());
        }
        // What was offered once.
        2 => chance.pick(&run.spent.iter().chain([&json!({ "arguments": run.address })]).collect::<Vec<_>>())["arguments"].clone(),
        _ => run.address.clone(),
    };
    for _ in 0..chance.below(4) {
        distort(chance, runs, &mut arguments);
    }
    if tool == "Next" && arguments.get("result").is_none() {
        arguments["result"] = json!("passed");
    }
    if tool == "Init" {
        arguments["workflowType"] = json!(chance.pick(&["fortress", "quick-task", "nonsense"]));
    }
    (tool, arguments)
}

fn distort(chance: &mut Chance, runs: &[Run], arguments: &mut Value) {
    match chance.below(6) {
        0 => {
            arguments["result"] =
                json!(chance.pick(&["passed", "failed", "skipped", "cancelled", "maybe", "PASSED", "done"]))
        }
        1 => arguments["revision"] = json!(chance.below(30)),
        2 => arguments["branch"] = json!(chance.pick(&["left", "right", "split", "", "merge", "left/right", "ask"])),
        3 => {
            arguments["stepId"] = json!(chance.pick(&["done", "ask", "left", "s", "plan", "build", "merge", "nowhere"]))
        }
        4 => {
            let other = runs[chance.below(runs.len())].address.clone();
            for (name, value) in other.as_object().into_iter().flatten() {
                arguments[name] = value.clone();
            }
        }
        _ => arguments["note"] = json!("trust me"),
    }
}

/// Whether a call is about this run alone.
fn names(arguments: &Value, run: &Run) -> bool {
    ["run", "taskFilePath"].iter().all(|name| arguments.get(name) == run.address.get(name))
}

/// A note is free; an empty branch names none; the revision may be left out of a Start, which has one thing to begin,
/// and of calls on a task file, which Navigator's clients make.
fn was_offered(offers: &[Value], tool: &str, arguments: &Value) -> bool {
    offers.iter().any(|offer| {
        let same = |name: &str| match (arguments.get(name), offer["arguments"].get(name)) {
            (None, Some(_)) => name == "revision" && (tool == "Start" || arguments.get("taskFilePath").is_some()),
            (Some(sent), None) => name == "branch" && sent == "",
            (sent, wanted) => sent == wanted,
        };
        offer["tool"] == tool && ["run", "taskFilePath", "result", "branch", "revision"].into_iter().all(same)
    })
}

#[test]
fn nothing_moves_a_run_but_what_it_offers() {
    for seed in 1..=2 {
        besiege("attested", seed);
    }
}

#[test]
fn nothing_that_an_agent_says_answers_for_a_person() {
    for seed in 3..=4 {
        besiege("verified", seed);
    }
}
