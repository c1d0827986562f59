//! A project in a scratch folder, and services over it that share nothing but its files: each call is made to a new
//! one, so that every story is also one of restarts.

#![expect(dead_code, reason = "each test file uses its own part of this")]

pub(crate) mod calls;
pub(crate) mod flow;
pub(crate) mod pair;
pub(crate) mod walk;
/// What the faces make of a situation: what is tested here is what an agent reads.
#[path = "../../../portolan/src/words/mod.rs"]
pub(crate) mod words;

use calls::{Calls, Move};
use std::fs;
use std::path::{Path, PathBuf};

use portolan_core::dialect::Strictness;
use portolan_core::present::RunStatus;
use portolan_core::run::{Actor, Channel, Human};
use portolan_core::value::Outcome;
use portolan_runtime::carrier::Address;
use portolan_runtime::catalog;
use portolan_runtime::clock::Clock;
use portolan_runtime::project_checks;
use portolan_runtime::service::{Caller, Open, Options, RunCarrier, Service, ServiceError, View};
use portolan_runtime::trust::{Digest, TrustEntry, commands, commands_digest};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use flow::flow;
use words::Action;

pub(crate) type Answer = Result<View, ServiceError>;

/// A project, a folder of task files in it, and the user's data folder outside it.
pub(crate) struct World {
    home: TempDir,
    pub(crate) options: Options,
}

impl World {
    pub(crate) fn new() -> World {
        let home = scratch();
        for folder in ["project/tasks", "project/.flow/workflows", "data"] {
            fs::create_dir_all(home.path().join(folder)).expect("there is room for a folder");
        }
        let options = Options {
            trust: Some(home.path().join("data")),
            clock: Clock::stepping(1_700_000_000_000),
            ..Options::of(home.path().join("project"))
        };
        World { home, options }
    }

    /// A world whose project has one workflow, in the notation of [`flow`].
    pub(crate) fn with(id: &str, text: &str) -> World {
        let world = World::new();
        world.define(id, text);
        world
    }

    pub(crate) fn verified(mut self) -> World {
        self.options.human = Human::Verified;
        self
    }

    pub(crate) fn lenient(mut self) -> World {
        self.options.strictness = Strictness::Lenient;
        self
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.options.project.clone()
    }

    /// A path of the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.options.project.join(path)
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("there is room for a folder");
        fs::write(path, text).expect("there is room for a file");
    }

    pub(crate) fn define(&self, id: &str, text: &str) {
        self.write(&format!(".flow/workflows/{id}.json"), flow(id, text));
    }

    /// Has the project's own version of a workflow of the catalogue, at which an agent's word is enough.
    pub(crate) fn believe(&self, id: &str) {
        let entry = catalog::WORKFLOWS.iter().find(|entry| entry.id == id).expect("it is in the catalogue");
        let mut file: Value = serde_json::from_str(entry.text).expect("it is JSON");
        for node in file["nodes"].as_object_mut().expect("nodes").values_mut().filter_map(Value::as_object_mut) {
            node.retain(|field, _| field != "accept" && field != "deny");
        }
        self.write(&format!(".flow/workflows/{id}.json"), file.to_string());
    }

    /// A world whose project has such versions.
    pub(crate) fn believing(ids: &[&str]) -> World {
        let world = World::new();
        ids.iter().for_each(|id| world.believe(id));
        world
    }

    /// A service that knows only what is in the files.
    pub(crate) fn service(&self) -> Service {
        self.try_service().expect("the project can be served")
    }

    pub(crate) fn try_service(&self) -> Result<Service, ServiceError> {
        Service::new(self.options.clone())
    }

    /// The path of a task file, as calls give it.
    pub(crate) fn task(&self, name: &str) -> String {
        self.path(&format!("tasks/{name}.json")).to_string_lossy().into_owned()
    }

    pub(crate) fn write_task(&self, name: &str, task: &Value) {
        self.write(&format!("tasks/{name}.json"), task.to_string());
    }

    /// What a task file holds.
    pub(crate) fn read_task(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("a task file is JSON at all times")
    }

    /// The text of a task file.
    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.task(name)).expect("the task file is there")
    }

    /// Trusts the commands that a workflow has now.
    pub(crate) fn trust(&self, id: &str) {
        let service = self.service();
        let definition = service.library().definition(id).expect("it is sound");
        let entry = TrustEntry {
            project: self.project(),
            commands: commands_digest(&definition.workflow).expect("it has commands"),
            file: Digest::of(b""),
            path: id.to_owned(),
            at: self.options.clock.now(),
            runs: commands(&definition.workflow),
        };
        service.trust().record(entry).expect("trust is recorded");
    }

    /// Trusts the checks that the project has now.
    pub(crate) fn trust_checks(&self) {
        let checks = project_checks::load(&self.project()).expect("they are sound");
        let entry = TrustEntry {
            project: self.project(),
            commands: project_checks::digest(&checks).expect("it has commands"),
            file: Digest::of(b""),
            path: project_checks::FILE.to_owned(),
            at: self.options.clock.now(),
            runs: project_checks::commands(&checks),
        };
        self.service().trust().record(entry).expect("trust is recorded");
    }

    pub(crate) fn init(&self, wanted: &Open) -> Answer {
        wait(self.service().open(wanted, &agent()))
    }

    /// Begins a run in the store.
    pub(crate) fn open(&self, workflow: &str) -> Address {
        let wanted = Open { workflow: Some(workflow.to_owned()), ..Open::default() };
        self.init(&wanted).expect("it begins").address
    }

    /// Begins a run in a task file and starts it.
    pub(crate) fn begin(&self, name: &str, workflow: &str) -> Address {
        let address = self.init(&self.task_init(name, workflow)).expect("it begins").address;
        self.start(&address).expect("it starts");
        address
    }

    pub(crate) fn task_init(&self, name: &str, workflow: &str) -> Open {
        Open { carrier: RunCarrier::Task(self.task(name)), workflow: Some(workflow.to_owned()), ..Open::default() }
    }

    /// What `Init` is called with for a branch.
    pub(crate) fn child_init(&self, name: &str, workflow: &str, parent: &str, step: &str) -> Open {
        Open { parent: Some(parent.to_owned()), step: Some(step.to_owned()), ..self.task_init(name, workflow) }
    }

    pub(crate) fn start(&self, address: &Address) -> Answer {
        wait(self.service().start(address, None, &agent()))
    }

    pub(crate) fn current(&self, address: &Address) -> Answer {
        wait(self.service().current(address, None, &agent()))
    }

    /// Reports an outcome at the present revision, where there is one position.
    pub(crate) fn next(&self, address: &Address, outcome: &str) -> Answer {
        let now = self.current(address)?;
        self.report(&step(&now, outcome))
    }

    pub(crate) fn next_in(&self, address: &Address, branch: &str, outcome: &str) -> Answer {
        let now = wait(self.service().current(address, Some(branch), &agent()))?;
        self.report(&Move { branch: Some(branch.to_owned()), ..step(&now, outcome) })
    }

    pub(crate) fn report(&self, wanted: &Move) -> Answer {
        wait(self.service().next(wanted, &agent()))
    }

    /// Sends back an action that a situation offers.
    pub(crate) fn send(&self, action: &Action) -> Answer {
        send(&self.service(), action, &agent())
    }

    /// The history of a run, one line a record.
    pub(crate) fn history(&self, address: &Address) -> String {
        let records = wait(self.service().records(address)).expect("the run has records");
        let lines = records.iter().map(|record| {
            format!("{} {}\n", record.seq, portolan_core::present::history(&record.event, &record.changes))
        });
        lines.collect()
    }
}

/// A scratch folder, in memory where there is one: what is tested is what processes do to each other, not the disk.
pub(crate) fn scratch() -> TempDir {
    let memory = TempDir::new_in("/dev/shm");
    memory.or_else(|_| TempDir::new()).expect("there is room for a folder")
}

/// The move that reports `outcome` from a view.
pub(crate) fn step(view: &View, outcome: &str) -> Move {
    Move {
        address: view.address.clone(),
        branch: None,
        revision: Some(view.situation.position.revision),
        outcome: Outcome::from(outcome),
        note: None,
        outputs: None,
    }
}

/// Makes the call that an action describes, and no other.
pub(crate) fn send(service: &Service, action: &Action, caller: &Caller) -> Answer {
    let text = |key: &str| action.arguments.get(key).and_then(Value::as_str).map(str::to_owned);
    let revision = action.arguments.get("revision").and_then(Value::as_u64);
    if action.tool == "Init" {
        let carrier = text("taskFilePath").map_or(RunCarrier::Store, RunCarrier::Task);
        let workflow = text("workflowType");
        let (description, step, parent) = (text("description"), text("stepId"), text("parentTaskId"));
        return wait(service.open(&Open { carrier, workflow, description, step, parent, ..Open::default() }, caller));
    }
    let address = Service::address(text("run").as_deref(), text("taskFilePath").as_deref())?;
    match action.tool {
        "Start" => wait(service.start(&address, revision, caller)),
        "Next" => {
            let outcome = Outcome::from(text("result").expect("a move reports something"));
            let note = action.fill.contains(&"note").then(|| "a note".to_owned());
            wait(
                service.next(&Move { address, branch: text("branch"), revision, outcome, note, outputs: None }, caller),
            )
        }
        tool => panic!("no face has the tool `{tool}`"),
    }
}

pub(crate) fn agent() -> Caller {
    Caller::agent("ann")
}

/// A person at the command line.
pub(crate) fn person() -> Caller {
    Caller { by: Actor::Person { name: "pat".to_owned(), via: Channel::CommandLine }, can_ask: true }
}

/// An answer in a few lines: where it led and what may be done there, or why it was refused.
pub(crate) fn answer_text(answer: &Answer) -> String {
    match answer {
        Ok(view) => format!("{}{}", view_line(view), actions(view)),
        Err(error) => {
            let at = error.view.as_ref().map_or(String::new(), |now| format!("\n  (at {})", now.current_step));
            format!("{}: {}\n  help: {}{at}\n", error.code, error.message, error.help)
        }
    }
}

/// A situation as Navigator's clients read it.
pub(crate) fn read(view: &View) -> words::tasks::TaskSituation {
    words::tasks::task_situation(view)
}

/// The step, its class, and what is going on there.
pub(crate) fn view_line(view: &View) -> String {
    let state = match view.situation.state {
        RunStatus::Working => "working",
        RunStatus::Checking => "checking",
        RunStatus::Waiting => "waiting",
        RunStatus::Ended => "ended",
    };
    let terminal = view.terminal.map_or(String::new(), |word| format!(" ({word})"));
    let notes: String = view.notes.iter().map(|note| format!("\n  note: {note}")).collect();
    format!("{}{terminal} {state}{notes}\n", view.current_step)
}

fn actions(view: &View) -> String {
    let actions = words::tasks::actions(view);
    let mut lines = String::new();
    for (word, list) in [("required", &actions.required), ("optional", &actions.optional)] {
        lines.extend(list.iter().map(|action| format!("  {word} {}\n", call(action))));
    }
    let blocked = actions.blocked.iter();
    lines.extend(blocked.map(|one| format!("  blocked {} until {}\n", call(&one.action), one.lifted_by)));
    lines
}

fn call(action: &Action) -> String {
    let text = |key: &str| action.arguments.get(key).and_then(Value::as_str);
    let parts = ["branch", "workflowType", "stepId", "parentTaskId", "result"].into_iter().filter_map(text);
    format!("{}({})", action.tool, parts.collect::<Vec<_>>().join(", "))
}

/// What a task list shows of a task, and what Navigator's clients read.
pub(crate) fn task_lines(task: &Value) -> String {
    let mut lines = String::new();
    for key in ["id", "subject", "activeForm", "status"] {
        lines.push_str(&format!("{key}: {}\n", task.get(key).unwrap_or(&Value::Null)));
    }
    let mut metadata = task["metadata"].clone();
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("portolan");
    }
    lines.push_str(&format!("metadata: {metadata}\n"));
    lines
}

/// The refusal of a call that must be refused.
pub(crate) fn refusal(answer: Answer) -> ServiceError {
    match answer {
        Ok(view) => panic!("it led to `{}`", view.current_step),
        Err(error) => error,
    }
}

/// A task as Navigator wrote it.
pub(crate) fn navigator_task(workflow: &str, step: &str, retries: u64, gate: Option<&str>) -> Value {
    let mut task = json!({
        "id": "1",
        "metadata": {
            "workflowType": workflow,
            "currentStep": step,
            "retryCount": retries,
            "userDescription": "mend it",
            "stepName": step,
        },
        "subject": format!("#1 mend it\n→ {workflow} · {step}"),
        "activeForm": step,
        "status": "in_progress",
        "owner": "ann",
    });
    if let Some(gate) = gate {
        task["metadata"]["retrySourceGate"] = json!(gate);
    }
    task
}

/// Everything in a folder, by name.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub(crate) fn wait<T>(answer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime needs nothing").block_on(answer)
}
