//! The `graph` toolset: each function of the served files is a tool.
//!
//! It lists the functions as written, passes calls to the service, and converts their outcomes to MCP results. The
//! files are checked before every call and once a second. The next call uses the changed version.

mod answers;
mod listing;
mod notes;
mod veil;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use portolan_core::diagnostic::clip;
use portolan_core::run::Actor;
use portolan_runtime::definition::DefinitionError;
use portolan_runtime::drive::{ExecutionObserver, Outcome, Over, TraceContext, TracedRequest};
use portolan_runtime::graphs::Graphs;
use portolan_runtime::service::{FunctionRun, How, Service, ServiceError};
use portolan_runtime::states::Workers;
use portolan_runtime::tools::Tools;
use rmcp::model::{CallToolRequestParams, CallToolResult, Implementation, ServerCapabilities, ServerConfig, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::long_calls::PATIENCE;
use super::progress::Progress;
use super::sender;
use super::several::ServedTools;
use super::toolset::{Answer, Manners, Toolset};
use super::transport::Bounds;
use crate::http::Scope;
use listing::{Entry, Listing};
use veil::Veil;

pub(crate) use listing::awaited;
pub(crate) use notes::Notes;

/// How often the files are checked without calls.
const LOOK: Duration = Duration::from_secs(1);
/// How long servers may take to end. They are killed afterwards.
pub(super) const CLOSING: Duration = Duration::from_millis(700);
/// One thread serves all calls: waking another costs more than most calls take. Long computations run beside it.
const WORKERS: usize = 1;

/// Receives the news for the person who serves.
pub(crate) type Report = Box<dyn Fn(News<'_>) + Send + Sync>;

/// News for the person who serves.
pub(crate) enum News<'n> {
    /// Files were changed, and are invalid.
    Faulty(&'n DefinitionError),
    /// A function is not served, for this reason.
    LeftOut(&'n str),
}

/// Returns the functions of the served files as tools. The servers that are started end with the toolset.
///
/// `notes` receives the servers' standard error.
pub(crate) fn serving(
    service: Arc<Service>,
    graphs: Graphs,
    workers: Workers,
    notes: &Notes,
    report: Report,
) -> ServedTools {
    let server = Arc::new(Server::new(service, graphs, workers, notes.veil(), report));
    let (looking, ending) = (Arc::clone(&server), Arc::clone(&server));
    ServedTools {
        toolset: server,
        workers: WORKERS,
        beforehand: None,
        meanwhile: Some(Box::pin(looking.look())),
        afterwards: Some(Box::pin(async move {
            let servers = Arc::clone(&ending.listing().loaded.servers);
            let _left_behind = timeout(CLOSING, servers.close()).await;
        })),
    }
}

struct Server {
    service: Arc<Service>,
    graphs: Graphs,
    /// The models and programs that work on states.
    workers: Workers,
    listing: Mutex<Arc<Listing>>,
    changes: watch::Sender<u64>,
    veil: Veil,
    report: Report,
}

impl Server {
    fn new(service: Arc<Service>, graphs: Graphs, workers: Workers, veil: Veil, report: Report) -> Server {
        let listing = Listing::of(graphs.loaded());
        listing.left_out().values().for_each(|why| report(News::LeftOut(why)));
        let listing = Mutex::new(Arc::new(listing));
        Server { service, graphs, workers, listing, changes: watch::Sender::new(0), veil, report }
    }

    fn listing(&self) -> Arc<Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the present listing. Reads the files again first if they have changed.
    fn current(&self) -> Arc<Listing> {
        if self.graphs.refresh(self.service.library()) {
            match self.graphs.faulty() {
                Some(faulty) => (self.report)(News::Faulty(&faulty)),
                None => self.take_over(),
            }
        }
        self.listing()
    }

    fn take_over(&self) {
        let mut listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = Listing::of(self.graphs.loaded());
        let differs = fresh.tools().ne(listing.tools());
        let unknown = fresh.left_out().iter().filter(|(name, why)| listing.left_out().get(*name) != Some(why));
        unknown.for_each(|(_, why)| (self.report)(News::LeftOut(why)));
        *listing = Arc::new(fresh);
        if differs {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Checks the files until the process ends, so that clients are notified of changes before they call.
    async fn look(self: Arc<Self>) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.current();
        }
    }

    async fn run(
        &self,
        listing: &Listing,
        entry: &Entry,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let progress = Progress::wanted(context);
        let input = Value::Object(request.arguments.unwrap_or_default());
        let hidden = listing.loaded.redaction(&entry.definition).learning(&input);
        let watches = [ExecutionObserver::learning(&hidden), progress.as_ref().map(Progress::watch)];
        let _veiled = self.veil.over(hidden);
        let how = How {
            watch: watches.into_iter().flatten().reduce(ExecutionObserver::and),
            trace: trace(context),
            workers: self.workers.clone(),
            ..How::with(Arc::new(Tools::of(Arc::clone(&listing.loaded.servers))))
        };
        // Boxed: a future that is awaited in two places takes its size twice, and every call is moved to its own task.
        let running = Box::pin(self.finish(entry, input, sender::agent(context), how));
        let finished = match &progress {
            Some(progress) => progress.notify_during(running, &context.peer).await,
            None => running.await,
        };
        match finished {
            // A server's last output may repeat confidential values.
            Ok(Outcome::Failed(fault)) => answers::failed(&self.veil.fault(&fault), &entry.shape),
            Ok(outcome) => answers::of(outcome, &entry.shape),
            Err(error) => answers::refused(&self.veil.error(error), &entry.shape),
        }
    }

    async fn finish(&self, entry: &Entry, input: Value, by: Actor, how: How) -> Result<Outcome, ServiceError> {
        self.service.may_start_servers(&entry.definition)?;
        let definition = Arc::clone(&entry.definition);
        let finished = self.service.drive(FunctionRun::Called { definition, input, by }, how).await?;
        Ok(finished.outcome)
    }
}

impl Toolset for Server {
    fn manners(&self) -> Manners {
        Manners { bounds: Bounds { line: 16 << 20, values: 500_000 }, parting: Duration::from_millis(200) }
    }

    fn about(&self) -> ServerConfig {
        let face = self.listing().loaded.functions.face.clone();
        // A file of states has no server information.
        let mut server = match face.name.as_str() {
            "" => Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            _ => Implementation::new(face.name, face.version),
        };
        server.title = face.title;
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_tasks().build();
        let mut about = ServerConfig::new(capabilities).with_server_info(server);
        about.instructions = face.instructions;
        about
    }

    fn tools(&self) -> Vec<Tool> {
        self.current().tools().cloned().collect()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }

    fn scope(&self, _tool: &str) -> Scope {
        Scope::Run
    }

    fn patience(&self, _tool: &str) -> Option<Duration> {
        Some(PATIENCE)
    }

    fn call(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<'_> {
        Box::pin(async move {
            let listing = self.current();
            match listing.entry(&request.name) {
                Some(entry) => Ok(self.run(&listing, entry, request, &context).await.into()),
                None => Err(unknown(&listing, &request.name)),
            }
        })
    }
}

/// Returns the trace context of the run: within the caller's trace, if it has one.
pub(super) fn trace(context: &RequestContext<RoleServer>) -> TraceContext {
    let meta: &Map<String, Value> = &context.meta;
    let protocol = context.protocol_version().map(|version| version.as_str().to_owned());
    let request = TracedRequest { id: context.id.to_string(), session: None, protocol, transport: Over::Pipe };
    TraceContext::answering(request, Some(meta))
}

fn unknown(listing: &Listing, name: &str) -> ErrorData {
    if let Some(why) = listing.left_out().get(name) {
        return ErrorData::invalid_params(why.clone(), None);
    }
    let help = listing
        .closest(name)
        .map_or_else(|| "tools/list returns them all".to_owned(), |near| format!("did you mean `{near}`?"));
    ErrorData::invalid_params(format!("there is no tool `{}`; {help}", clip(name)), None)
}
