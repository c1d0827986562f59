//! Other MCP servers behind the gates. Clients without hooks, such as desktop programs and agents of one's own, call the
//! tools of these servers through here, and every call is judged as a host's hook judges it: by the steps of the runs,
//! and by the project's guards.
//!
//! ```text
//! client ─call→ Gateway ─judge→ Gatekeeper: guards, steps, the log
//!                       ─allowed→ the server, whose result is recorded and returned
//! ```
//! The credentials of the servers stay in this process.

mod calls_log;
mod ending;
mod filters;
mod hiding;
mod kept_calls;
mod names;
mod offers;
mod parked_calls;
mod questions;
mod suspicious;
mod tool_pins;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use portolan_core::diagnostic::{clip, closest};
use portolan_gates::{Decision, Intent, Judgement, Tool as Deed};
use portolan_runtime::audit::Kind;
use portolan_runtime::carrier::Address;
use portolan_runtime::digest::Digest;
use portolan_runtime::disk::Stamp;
use portolan_runtime::error::ServiceError;
use portolan_runtime::servers::{
    CallClient, CallError, CallErrorKind, OfferRequest, OfferWanted, OnProgress, Servers, Tool, ToolCall,
};
use portolan_runtime::service::Service;
use portolan_runtime::store::RunId;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::hook::{Answerable, CallRecord, Gatekeeper, PERSON, QuickJudgement};
use crate::people::People;
use calls_log::CallsLog;
use ending::CallEnd;
use hiding::HiddenTools;
use kept_calls::KeptPlace;
use suspicious::ReportedWords;

pub use kept_calls::{KeptCall, KeptCallList, KeptCalls};
pub use parked_calls::{ParkResult, ParkedCall, ParkedCalls, ParkedDecision};
pub use tool_pins::{SuspiciousTool, ToolPins, Withheld, WithheldTool};

/// The name of the gateway among the hosts that call guards, in the log.
pub const HOST: &str = "gate";
/// How long clients wait at the start for servers to list their tools. Later tools are announced.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often servers are asked whether their tools have changed. A cached list costs nothing.
const LOOK: Duration = Duration::from_secs(1);
/// The time limit of a call if the server's entry has none.
const CALL_TIMEOUT: Duration = Duration::from_millis(portolan_core::graph::DEFAULT_CALL_TIMEOUT_MS);

/// Receives notes for the person who serves.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// The tools of other servers, each call of which is judged.
pub struct Gateway {
    service: Arc<Service>,
    servers: Arc<Servers>,
    keeper: Gatekeeper,
    log: Arc<CallsLog>,
    /// The run that the calls belong to, besides those that bind the clients.
    run: Option<RunId>,
    pins: ToolPins,
    kept: KeptCalls,
    /// Names of other tools that clients are offered.
    taken: BTreeSet<String>,
    listed: Mutex<ListedTools>,
    /// Held while a call is judged that others may count.
    turn: tokio::sync::Mutex<()>,
    /// The tools that are hidden. `None` if none ever are.
    hidden: Option<HiddenTools>,
    reported: ReportedWords,
    changes: watch::Sender<u64>,
    /// Counts the changes of the lists of resources and prompts.
    offer_changes: watch::Sender<u64>,
    tell: Tell,
}

/// The tools of all servers, as last listed.
#[derive(Default)]
struct ListedTools {
    /// The tools of each server, in the order of the server, with the reason for those that are withheld.
    servers: BTreeMap<String, Vec<(Tool, Option<Withheld>)>>,
    /// The tools by the names under which they are offered.
    offered: BTreeMap<String, Arc<OfferedTool>>,
    /// The resources and prompts of each server.
    offers: offers::AllOffers,
    /// The state of each server as last reported, so that it is reported once.
    reported: BTreeMap<String, ServerState>,
}

/// What is reported about a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum ServerState {
    #[default]
    Well,
    /// It does not list its tools. The reasons change with each attempt to start it.
    Away,
    /// Some of its tools are withheld, or all.
    Withheld(String),
}

/// A tool that clients are offered.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedTool {
    /// The name under which it is offered.
    pub name: String,
    /// The server.
    pub server: String,
    /// The tool as the server describes it.
    pub tool: Tool,
}

/// A call of an offered tool.
#[derive(Clone, Debug)]
pub struct GatewayCall {
    /// The tool.
    pub tool: Arc<OfferedTool>,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The client, by the name that it gives itself.
    pub client: String,
    /// The equivalent tool of a coding agent's host, if the name and the arguments show one.
    pub does: Option<Box<Deed>>,
    /// What is requested, if it is a resource or a prompt. The tool then has the name of the method.
    pub offer: Option<OfferWanted>,
    /// The branch of a run for which it is made, if the client names one.
    pub branch: Option<String>,
}

/// A call that has been judged. Its judgement is on record. If it was allowed and is dropped instead of performed, its
/// end is recorded as cancelled.
pub struct JudgedCall {
    call: GatewayCall,
    intent: Intent,
    record: CallRecord,
    /// The end that is to be recorded, if the call may be made.
    end: Option<CallEnd>,
    /// Where it is kept whole, if a rule says so.
    kept: Option<KeptPlace>,
    /// The decision.
    pub answer: Answerable,
}

impl Gateway {
    /// Creates a gateway before `servers`. `run` is the run that all calls belong to; runs that clients begin through
    /// this process bind them as well.
    ///
    /// # Errors
    /// The run is not stored, or the record of accepted tools cannot be used.
    pub async fn new(
        service: Arc<Service>,
        servers: Arc<Servers>,
        run: Option<RunId>,
        taken: BTreeSet<String>,
        tell: Tell,
    ) -> Result<Gateway, ServiceError> {
        if let Some(run) = &run {
            service.history(&Address::Stored(run.clone())).await?;
        }
        let keeper = Gatekeeper::of(Some(service.project().to_owned()), HOST, None, service.project())
            .attached_to(run.as_ref().map(|run| service.stored(run)))
            .with_clock(service.clock().clone())
            .with_service(Arc::clone(&service));
        let (pins, kept) = (ToolPins::of(&service)?, KeptCalls::of(&service)?);
        let log = CallsLog::of(keeper.clone());
        let reported = ReportedWords::default();
        let (listed, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Gateway {
            service,
            servers,
            keeper,
            log,
            run,
            pins,
            kept,
            taken,
            listed,
            turn,
            hidden: None,
            reported,
            changes: watch::Sender::new(0),
            offer_changes: watch::Sender::new(0),
            tell,
        })
    }

    /// Denies the calls that no step allows by name.
    #[must_use]
    pub fn denying_by_default(self) -> Gateway {
        Gateway { keeper: self.keeper.denying_by_default(), ..self }
    }

    /// Asks all servers for their tools, and continues to follow their lists in the background. Returns when all have
    /// answered, or after a time limit.
    pub async fn begin(self: &Arc<Self>) {
        let mut first = Vec::new();
        for server in self.servers.names() {
            let (listed, is_listed) = oneshot::channel();
            tokio::spawn(Arc::clone(self).follow(server.to_owned(), listed));
            first.push(is_listed);
        }
        let all = async {
            for is_listed in first {
                // A task that failed lists nothing.
                let _ended = is_listed.await;
            }
        };
        let _late = timeout(PATIENCE, all).await;
        if self.hidden.is_some() {
            tokio::spawn(Arc::clone(self).follow_runs());
        }
    }

    /// Follows the list of a server.
    async fn follow(self: Arc<Self>, server: String, listed: oneshot::Sender<()>) {
        let mut last = None;
        self.list(&server, &mut last).await;
        self.list_offers(&server).await;
        // The caller may wait no longer.
        let _late = listed.send(());
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.list(&server, &mut last).await;
            self.list_offers(&server).await;
        }
    }

    /// Lists the tools of a server. If that fails, the last list stays: calls report why the server is not available.
    /// Nothing is done if neither its list nor the record of accepted tools has changed since `last`.
    async fn list(&self, server: &str, last: &mut Option<(Arc<[Tool]>, Option<Stamp>)>) {
        let stamp = self.pins.stamp();
        let found = match self.servers.tools(server).await {
            Ok(tools) if last.as_ref().is_some_and(|(known, at)| Arc::ptr_eq(known, &tools) && *at == stamp) => return,
            Ok(tools) => self.pins.compare(server, &tools).map(|withheld| (tools, withheld)),
            // Nobody is served any more.
            Err(error) if error.kind == CallErrorKind::Closed => return,
            Err(error) => {
                return self.report(server, ServerState::Away, &format!("{}; {}", error.message, error.help));
            }
        };
        match found {
            Ok((tools, mut withheld)) => {
                *last = Some((Arc::clone(&tools), stamp));
                self.report_descriptions(server, &tools);
                let names: Vec<String> =
                    withheld.iter().map(|(name, why)| format!("`{}` ({})", clip(name), why.reason())).collect();
                let tools = tools.iter().map(|tool| (tool.clone(), withheld.remove(&tool.name))).collect();
                self.replace(server, tools);
                if names.is_empty() {
                    return self.report(server, ServerState::Well, "");
                }
                let what = format!(
                    "tools of `{}` are withheld: {}; a person can see them with `portolan gate diff`",
                    clip(server),
                    names.join(", ")
                );
                self.report(server, ServerState::Withheld(what.clone()), &what);
            }
            // What cannot be compared is not offered.
            Err(error) => {
                self.replace(server, Vec::new());
                let what = format!("no tool of `{}` is offered: {error}", clip(server));
                self.report(server, ServerState::Withheld(what.clone()), &what);
            }
        }
    }

    /// Reports the state of a server to the person, unless it was reported last.
    fn report(&self, server: &str, state: ServerState, what: &str) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let last = listed.reported.entry(server.to_owned()).or_default();
        if *last != state {
            if state != ServerState::Well {
                (self.tell)(what);
            }
            *last = state;
        }
    }

    fn replace(&self, server: &str, tools: Vec<(Tool, Option<Withheld>)>) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if listed.servers.get(server) == Some(&tools) {
            return;
        }
        listed.servers.insert(server.to_owned(), tools);
        let all: Vec<(&str, &Tool)> = listed
            .servers
            .iter()
            .flat_map(|(server, tools)| tools.iter().map(|(tool, why)| (server.as_str(), tool, why)))
            .filter(|(_, _, why)| why.is_none())
            .map(|(server, tool, _)| (server, tool))
            .collect();
        let pairs: Vec<(&str, &str)> = all.iter().map(|(server, tool)| (*server, tool.name.as_str())).collect();
        let named = names::names(&pairs, &self.taken).into_iter().zip(all);
        let offered = named.filter_map(|(name, (server, tool))| {
            let name = name?;
            Some((name.clone(), Arc::new(OfferedTool { name, server: server.to_owned(), tool: tool.clone() })))
        });
        let offered: BTreeMap<String, Arc<OfferedTool>> = offered.collect();
        if offered != listed.offered {
            listed.offered = offered;
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Returns the tools that clients are offered, sorted by name.
    pub fn offered(&self) -> Vec<Arc<OfferedTool>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).offered.values().cloned().collect()
    }

    /// Returns a receiver that changes with the list of tools.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns the tool of a name. The name with the server before it is understood as well.
    ///
    /// # Errors
    /// There is no such tool, or it is withheld until a person has accepted it.
    pub fn find(&self, name: &str) -> Result<Arc<OfferedTool>, ServiceError> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |tool: &&Arc<OfferedTool>| names::full(&tool.server, &tool.tool.name) == name;
        if let Some(tool) = listed.offered.get(name).or_else(|| listed.offered.values().find(is_full)) {
            return Ok(Arc::clone(tool));
        }
        let mut withheld = listed.servers.iter().flat_map(|(server, tools)| {
            tools.iter().filter_map(move |(tool, why)| Some((server.as_str(), tool, (*why)?)))
        });
        let is_meant = |server: &str, tool: &Tool| tool.name == name || names::full(server, &tool.name) == name;
        if let Some((server, tool, why)) = withheld.find(|(server, tool, _)| is_meant(server, tool)) {
            let message =
                format!("the tool `{}` of `{}` is withheld: {}", clip(&tool.name), clip(server), why.reason());
            let help = "a person must see it with `portolan gate diff`, and can then accept it";
            return Err(ServiceError::refused("withheld", message, help));
        }
        let near = closest(name, listed.offered.keys().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let message = format!("there is no tool `{}`", clip(name));
        Err(ServiceError::refused("unknown_tool", message, format!("{near}tools/list returns them all")))
    }

    /// Judges a call. The judgement is on record when this returns.
    pub async fn judge(self: &Arc<Self>, call: GatewayCall) -> JudgedCall {
        let mut judged = self.decide(call).await;
        match self.keep(&judged).await {
            Ok(kept) => judged.kept = kept,
            Err(error) => {
                judged.answer = judged.answer.unrecorded(&error);
                // The log has that it may be made, and now that it is not.
                judged.end = None;
            }
        }
        judged
    }

    /// Keeps the arguments of a call, if a rule says so.
    async fn keep(&self, judged: &JudgedCall) -> Result<Option<KeptPlace>, ServiceError> {
        let Some(rule) = self.keeper.record_rule(&judged.intent).await? else { return Ok(None) };
        let (kept, now) = (self.kept.clone(), self.service.now());
        let id = judged.intent.call.clone().expect("each call of a gateway has an identifier");
        let OfferedTool { server, tool, .. } = judged.tool();
        let arguments = Value::Object(judged.arguments().clone());
        let call = KeptCall::of(server, &tool.name, &arguments);
        let kept = task::spawn_blocking(move || kept.begin(&id, &rule, call, now)).await;
        let kept = kept.unwrap_or_else(|_panicked| Err(std::io::ErrorKind::Other.into()));
        kept.map(Some).map_err(|error| {
            let message = format!("the call cannot be kept, as a rule of `records` wants it: {error}");
            ServiceError::failed("not_recorded", message, "make the user's data folder writable")
        })
    }

    /// Judges a call, and records that.
    async fn decide(self: &Arc<Self>, call: GatewayCall) -> JudgedCall {
        let intent = self.intent(&call);
        let input = serde_json::to_string(&call.arguments).expect("JSON");
        if let Some(QuickJudgement { answer, record, entries }) = self.keeper.judge_at_once(&intent, &input).await {
            let appending = self.log.append(entries);
            let mut judged = self.judged(call, intent, record, answer);
            if let Err(error) = appending.done().await {
                judged.answer = judged.answer.unrecorded(&error.into());
                if let Some(end) = judged.end.take() {
                    end.forget();
                }
            }
            return judged;
        }
        let gateway = Arc::clone(self);
        // The judgement is completed, and its call ended, if the caller no longer waits.
        let judging = tokio::spawn(async move {
            let (keeper, call_intent) = (gateway.keeper.clone(), intent.clone());
            let _turn = gateway.turn.lock().await;
            // Guards read files, and wait for locks.
            let judged = task::spawn_blocking(move || keeper.judge_call(&call_intent, &input)).await;
            let (answer, record) = judged.unwrap_or_else(|_panicked| gateway.not_judged());
            gateway.judged(call, intent, record, answer)
        });
        match judging.await {
            Ok(judged) => judged,
            Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
            // The runtime ends, and the caller with it.
            Err(_ended) => std::future::pending().await,
        }
    }

    fn not_judged(&self) -> (Answerable, CallRecord) {
        (Answerable::blocked("it cannot be judged: a guard failed"), self.keeper.blank_record())
    }

    fn judged(&self, call: GatewayCall, intent: Intent, record: CallRecord, answer: Answerable) -> JudgedCall {
        let mut judged = JudgedCall { call, intent, record, end: None, kept: None, answer };
        if judged.answer.decision == Decision::Allow {
            judged.end = Some(self.end_of(&judged));
        }
        judged
    }

    fn end_of(&self, judged: &JudgedCall) -> CallEnd {
        CallEnd::of(&self.log, &judged.record, &judged.intent, &judged.call.tool)
    }

    /// Judges a call again, after a person was asked about it: the run may have moved while they thought.
    pub async fn judge_again(self: &Arc<Self>, judged: &JudgedCall) -> JudgedCall {
        self.judge(judged.call.clone()).await
    }

    /// Performs a call that was allowed, by its judgement or by a person. Returns the result as the server wrote it, after the
    /// progress that the server reports, and after the answers of the client to what it asks.
    ///
    /// # Errors
    /// The server did not answer, or the filters of results cannot be read. What it answered is no error, whatever it
    /// says.
    pub async fn perform(
        self: &Arc<Self>,
        mut judged: JudgedCall,
        meta: Map<String, Value>,
        progress: Option<OnProgress>,
        client: Option<CallClient>,
    ) -> Result<Value, CallError> {
        let end = judged.end.take().unwrap_or_else(|| self.end_of(&judged)).begun();
        let JudgedCall { call: GatewayCall { tool, arguments, offer, .. }, intent, record, kept, .. } = judged;
        let server = tool.server.as_str();
        let timeout = self.servers.timeout_ms(server).map_or(CALL_TIMEOUT, Duration::from_millis);
        let result = match offer {
            Some(wanted) => self.servers.request(OfferRequest { server, wanted, timeout, meta, progress }).await,
            None => {
                let client = client.map(|client| self.with_recorded_questions(client, &record, &intent, &tool));
                let tool = &tool.tool.name;
                let call = ToolCall { server, tool, arguments, timeout, in_all: None, meta, progress };
                self.servers.call_for(call, client).await
            }
        };
        self.record_end(end, kept, &result).await;
        let result = result?;
        self.report_result(&record, &tool, &result);
        match self.keeper.result_filters(&intent, &record).await {
            Ok(filters) => Ok(filters::apply(&filters, result)),
            Err(error) => Err(CallError::unfiltered(&tool.server, &error)),
        }
    }

    /// Records what a server answered to a call, and keeps it if the call is kept.
    async fn record_end(&self, end: CallEnd, kept: Option<KeptPlace>, result: &Result<Value, CallError>) {
        let kept = match (kept, result) {
            (Some(place), Ok(result)) => self.keep_result(place, result).await,
            _ => None,
        };
        if end.answered(result, kept).done().await.is_err() {
            (self.tell)("the answer of a call could not be recorded: check `portolan flow events --verify`");
        }
    }

    /// Adds the result to a call that is kept. Returns the digest of what is kept. The server has already acted, so a
    /// result that cannot be kept is reported and passed on.
    async fn keep_result(&self, place: KeptPlace, result: &Value) -> Option<Digest> {
        let masked = kept_calls::masked(result);
        let kept = task::spawn_blocking(move || place.finish(&masked)).await;
        let kept = kept.unwrap_or_else(|_panicked| Err(std::io::ErrorKind::Other.into()));
        let report = |error| (self.tell)(&format!("the result of a call could not be kept: {error}"));
        kept.map_err(report).ok()
    }

    /// Records that a person allowed a call about which they were asked.
    ///
    /// # Errors
    /// It cannot be recorded, so the call must not be performed.
    pub async fn allowed_by_person(&self, judged: &mut JudgedCall, person: &str) -> Result<(), ServiceError> {
        let data = json!({ "guardId": PERSON, "reason": format!("{person} allowed it: {}", judged.answer.reason) });
        let entry = judged.record.entry(Kind::GuardAllow, Some(&judged.intent), data);
        let appending = self.log.append(vec![entry]);
        judged.end = Some(self.end_of(judged));
        appending.done().await.map_err(|error| {
            if let Some(end) = judged.end.take() {
                end.forget();
            }
            ServiceError::failed("not_recorded", error.message, error.help)
        })
    }

    /// Returns the runs whose steps restrict the calls, the given one first.
    ///
    /// # Errors
    /// The note of the project's task cannot be read.
    pub async fn runs(&self) -> Result<Vec<Address>, ServiceError> {
        let mut found: Vec<Address> = self.run.iter().cloned().map(Address::Stored).collect();
        found.extend(self.service.flow().active().await?.map(|active| Address::Stored(active.run)));
        found.extend(self.service.binding_runs());
        let mut distinct = BTreeSet::new();
        found.retain(|address| distinct.insert(address.to_string()));
        Ok(found)
    }

    /// Ends the servers, once what was recorded is in the log.
    pub async fn close(&self) {
        self.log.flush().await;
        self.servers.close().await;
    }

    /// Returns the call as guards see it: under the name that hosts give to tools of servers.
    fn intent(&self, call: &GatewayCall) -> Intent {
        let GatewayCall { tool: offered, arguments, client, does, branch, .. } = call;
        let OfferedTool { server, tool, .. } = &**offered;
        Intent {
            session: None,
            call: Some(RunId::random().to_string()),
            agent: Some(clip(client)),
            folder: self.service.project().to_string_lossy().into_owned(),
            name: format!("mcp__{server}__{}", tool.name),
            tool: Deed::Mcp { server: server.clone(), tool: tool.name.clone(), does: does.clone() },
            arguments: arguments.keys().cloned().collect(),
            branch: branch.clone(),
        }
    }
}

impl JudgedCall {
    /// Returns the tool.
    pub fn tool(&self) -> &OfferedTool {
        &self.call.tool
    }

    /// Returns the judgements that ask a person, or that refuse.
    pub fn objections(&self) -> impl Iterator<Item = &Judgement> {
        self.answer.judgements.iter().filter(|judgement| judgement.decision != Decision::Allow)
    }

    /// Returns a text that identifies the call with its arguments.
    pub fn about(&self) -> String {
        about(&self.call.tool, &self.call.arguments)
    }

    /// Returns the arguments.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.call.arguments
    }
}

/// Returns the place of something that the gateways of a project keep in the user's data folder.
fn place_of(service: &Service, kind: &str, suffix: &str) -> Result<PathBuf, ServiceError> {
    let data = People::of(service).data_folder()?;
    let folder = portolan_runtime::trust::outside(&data.join("gateway"), service.project())
        .map_err(|error| ServiceError::failed(error.code(), error.message, error.help))?;
    let name = Digest::of_parts([kind.as_bytes(), service.project().as_os_str().as_encoded_bytes()]);
    Ok(folder.join(format!("{name}{suffix}")))
}

/// Returns a text that identifies a call with its arguments.
pub fn about(offered: &OfferedTool, arguments: &Map<String, Value>) -> String {
    let OfferedTool { server, tool, .. } = offered;
    let arguments = serde_json::to_string(arguments).expect("JSON");
    format!("{server}/{} {}", tool.name, Digest::of(arguments).as_str())
}
