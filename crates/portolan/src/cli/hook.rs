//! `portolan hook`: the command that a coding agent's host runs before and after a tool is used.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use portolan_core::run::Actor;
use portolan_gates::Decision;
use portolan_runtime::bindings::BoundRun;
use portolan_runtime::service::{Caller, Options, Request, Service};
use portolan_supervision::hook::{Answerable, Gatekeeper, PROJECT, RUN, within};
use portolan_supervision::people::remember_host;

use super::{Common, Exit};
use crate::hook::{self, Answer, Call, Host, MAX_INPUT, Reply, Stage, Unreadable};
use crate::words::tasks;

/// Answer a hook of a coding agent: may the tool be used?
///
/// The host runs this after `portolan install`.
///
/// Example: portolan hook claude-code PreToolUse < announcement.json
#[derive(Args)]
#[command(
    after_help = "The host's message is read from standard input; the host acts on standard output and the exit \
        code. A call that cannot be understood, judged in time or recorded before a tool is used is refused. \
        `PORTOLAN_PROJECT` and `PORTOLAN_RUN` in the host's own environment name the project and the run of its \
        sessions."
)]
pub(super) struct Hook {
    /// The host.
    #[arg(value_parser = host, value_name = "HOST")]
    host: Host,
    /// The event, by the host's name for it.
    #[arg(value_name = "EVENT")]
    event: String,
}

fn host(name: &str) -> Result<Host, String> {
    Host::named(name).ok_or_else(|| {
        let known: Vec<&str> = Host::ALL.into_iter().map(Host::name).collect();
        format!("the hosts are {}", portolan_core::diagnostic::list(&known))
    })
}

pub(super) fn run(args: &Hook, common: &Common) -> anyhow::Result<Exit> {
    // A panic message would be read as an answer to the host. The log has the fault instead.
    std::panic::set_hook(Box::new(|_| {}));
    let named = common.project.clone().or_else(|| absolute(PROJECT));
    let reply = replied(args.host, &args.event, named);
    std::io::stderr().write_all(reply.stderr.as_bytes())?;
    let mut stdout = std::io::stdout();
    stdout.write_all(reply.stdout.as_bytes())?;
    stdout.flush()?;
    Ok(if reply.status == 0 { Exit::Done } else { Exit::Refused })
}

fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir())
}

/// Returns the answer, before the host's timeout at the latest.
fn replied(host: Host, event: &str, named: Option<PathBuf>) -> Reply {
    let stage = host.stage(event);
    let (name, project) = (event.to_owned(), named.clone());
    match within(stage.deadline(), move || judged(host, &name, project)) {
        Ok(reply) => reply,
        Err(why) if stage.is_gating() => {
            let keeper = Gatekeeper::of(named, host.name(), None, &here());
            hook::answer(host, event, &to_answer(keeper.not_judged(None, why)))
        }
        Err(_) if stage == Stage::AfterTool => {
            let message =
                "the effects of the command could not be checked in time: something blocks portolan or its log";
            hook::answer(host, event, &to_answer(Answerable::blocked(message)))
        }
        Err(_) => hook::answer(host, event, &Answer::allowed()),
    }
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

fn judged(host: Host, event: &str, named: Option<PathBuf>) -> Reply {
    remember_host(host.name());
    let mut stdin = Vec::new();
    // Reading one byte more than the limit detects an input that is too long.
    let read = std::io::stdin().take(MAX_INPUT as u64 + 1).read_to_end(&mut stdin);
    let stdin = if read.is_ok() { stdin } else { Vec::new() };
    match hook::read(host, event, &stdin) {
        Ok(call) => match nowhere(&call) {
            Some(unreadable) => refused(host, event, named, &unreadable),
            None => hook::answer(host, event, &answered(host, &call, named)),
        },
        Err(unreadable) => refused(host, event, named, &unreadable),
    }
}

/// Refuses a gating call whose folder does not exist: it is in no project, so no rule would apply. Choosing another
/// folder would be a guess.
fn nowhere(call: &Call) -> Option<Unreadable> {
    let folder = call.folder.as_ref().filter(|folder| call.stage.is_gating() && !Path::new(folder).is_dir())?;
    let shown = portolan_core::diagnostic::clip(folder);
    Some(Unreadable { stage: call.stage, message: format!("the agent's folder `{shown}` does not exist") })
}

fn refused(host: Host, event: &str, named: Option<PathBuf>, unreadable: &Unreadable) -> Reply {
    if unreadable.stage.is_gating() {
        Gatekeeper::of(named, host.name(), None, &here()).not_understood(&unreadable.message);
    }
    hook::refuse(host, event, unreadable)
}

fn answered(host: Host, call: &Call, named: Option<PathBuf>) -> Answer {
    let folder = call.folder.as_deref().map_or_else(here, |folder| Path::new(folder).to_owned());
    let keeper = Gatekeeper::of(named, host.name(), call.session.as_deref(), &folder);
    let run = std::env::var(RUN).ok().filter(|run| !run.is_empty());
    let keeper = keeper.attached_to(run.map(BoundRun::Stored));
    let answer = match (call.stage, &call.intent) {
        (Stage::BeforeTool, Some(intent)) => with_situations(keeper.before_tool(intent, &call.input), &keeper),
        (Stage::AfterTool, Some(intent)) => keeper.after_tool(intent),
        (Stage::BeforeTool | Stage::AfterTool, None) => {
            Answerable::blocked("the host does not say which action this is about")
        }
        (Stage::SessionStart, _) => keeper.session_start(),
        (Stage::Stop, _) => keeper.stop(call.stop.is_some_and(|stop| stop.again)),
        (Stage::TaskCompleted, _) => keeper.task_completed(call.task.as_deref()),
        (Stage::BeforeToolSelection, _) => {
            let allowed_tools = keeper.allowed_tools().and_then(|names| hook::shown(&names));
            return Answer { allowed_tools, ..Answer::allowed() };
        }
        (Stage::SubagentStop | Stage::PromptSubmitted | Stage::Other, _) => Answerable::allowed(),
    };
    to_answer(answer)
}

/// Adds the situations of the runs that decided to a refusal, as the gate does: where the runs are, and what continues
/// from there. A run that cannot be read is left out, since the refusal stands without it.
fn with_situations(answer: Answerable, keeper: &Gatekeeper) -> Answerable {
    let Some(project) = keeper.project().filter(|_| answer.decision != Decision::Allow && !answer.runs.is_empty())
    else {
        return answer;
    };
    let Ok(service) = Service::new(Options::of(project)) else { return answer };
    // The agent itself has not looked at the run, which would bind it.
    let caller = Caller { by: Actor::Engine, can_ask: false };
    let viewing = async {
        let mut views = Vec::new();
        for run in &answer.runs {
            views.extend(service.view(&Request::of(run.clone()), &caller).await.ok());
        }
        views
    };
    let Ok(views) = super::block_on(viewing) else { return answer };
    let parts = answer.context.iter().cloned().chain((!views.is_empty()).then(|| tasks::of_runs(&views)));
    let context: Vec<String> = parts.collect();
    Answerable { context: (!context.is_empty()).then(|| context.join("\n\n")), ..answer }
}

fn to_answer(answer: Answerable) -> Answer {
    Answer {
        decision: answer.decision,
        reason: answer.reason,
        remedies: answer.remedies,
        context: answer.context,
        allowed_tools: None,
    }
}
