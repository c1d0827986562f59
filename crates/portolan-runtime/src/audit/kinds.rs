//! The types of events: a closed list, so that a reader of a log knows every one.

/// Declares the kinds, each with its name. The doc comment lists the fields of `data`; `docs/event-log.md` repeats it
/// word for word, as a test checks.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)*) => {
        /// The type of an event. The documentation of each variant lists the fields of its `data`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[doc = $doc])+ $kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// Returns the name: the `type` of a line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// Returns the documentation of the kind.
            pub fn about(self) -> &'static str {
                match self {
                    $(Kind::$kind => concat!($($doc),+).trim_ascii(),)*
                }
            }
        }
    };
}

kinds! {
    /// A run began: `version`, `workflow`, `definition`.
    Boot = "flow.boot",
    /// A rule of the project that differs from its default, when a task begins and when it changes: `name`, `value`
    /// (`usual` if it is the default again), `source`, `configDigest`.
    Config = "flow.config",
    /// A phase was left for another: `from`, `to`, `reason`, `kind` (`forward`, `iterate`, `rework` or `abort`).
    Transition = "flow.transition",
    /// A check at a phase's exit passed: `invariant`, `checkId`, `reason`, and `bypassedBy` if it was bypassed.
    AcceptancePassed = "flow.acceptance.passed",
    /// A check at a phase's exit failed: `invariant`, `checkId`, `reason`, `code`.
    AcceptanceFailed = "flow.acceptance.failed",
    /// A rule was bypassed by name: `source`, `identifier`, `invariant`, `phase`, `reason`, `by`, `stage` (`recorded`
    /// or `applied`).
    Bypass = "flow.bypass",
    /// An agent asked to bypass a rule that only a person is allowed to bypass: `invariant`, `reason`, `by`.
    OverrideRequested = "flow.override.requested",
    /// A guard let a tool call happen: `guardId`, `reason`.
    GuardAllow = "flow.guard.allow",
    /// A guard stopped a tool call: `guardId`, `reason`, `definedAt` if a definition has the guard (its workflow, or
    /// `workflow/node`), and `late` if it was noticed afterwards.
    GuardBlock = "flow.guard.block",
    /// A guard was bypassed: `guardId`, `reason`, `bypass`, and `hook` if git asked.
    GuardBypass = "flow.guard.bypass",
    /// Guards, their hooks or their rules were changed or removed: `what`, `where`, `expected`, `found`.
    GuardTamper = "flow.guard.tamper",
    /// An agent called a tool: `toolName`, `toolInputKeys` (names alone), `inputDigest`, `decision`; in a run, or
    /// if a limit of a day counts it, also `toolKinds` (its names in rules), and in a run `step` (with the revision at which the run reached it), `otherRuns` with
    /// their steps if several runs decided, `callSteps` (by run, the steps for which it may have been made, if that is
    /// not the first alone), and `amounts` (the arguments that guards add up).
    ToolInvoked = "flow.tool.invoked",
    /// A tool of another server answered through `portolan gate`: `server`, `toolName`, `outcome` (`result`, `error` if
    /// the tool says so, `failed`, or `cancelled` if the call ended before its answer), `ms`, and `bytes` and
    /// `resultDigest`, or `reason` if it failed; `recordDigest` if the call is kept whole; `resultAmounts` (by
    /// expression, the numbers of the result that guards add up).
    ToolAnswered = "flow.tool.answered",
    /// A tool of another server asked the client that called it, through `portolan gate`: `server`, `toolName`, `questions`
    /// (of each `method`, `bytes` and `digest`).
    ToolAsked = "flow.tool.asked",
    /// The client answered the questions of a tool: `server`, `toolName`, `outcome` (`answered` or `unanswered`), and
    /// `answers` (of each `bytes`, `digest`, and of a person's the `action`), or `reason` if there are none.
    ToolReplied = "flow.tool.replied",
    /// A tool of another server has a text that looks like instructions to a model; it was passed on unchanged:
    /// `server`, `toolName`, `where` (`description`, `question` or `result`), `sign` (the words).
    ToolSuspicious = "flow.tool.suspicious",
    /// A commit's message is not in the project's form: `sha`, `subject`, `expected`.
    CommitFormatViolation = "flow.commit.format.violation",
    /// A phase, guard, driver or notifier was replaced by another of its name: `registry`, `id`, `invariant`.
    RegistryReplaced = "flow.registry.replaced",
    /// A person was asked: `replyToken`, `channel`, `body`.
    QuestionSent = "supervisor.question.sent",
    /// An answer came: `replyToken`, `body`, `by`; of a person also `via` (`command_line`, `elicitation`).
    ReplyReceived = "supervisor.reply.received",
    /// An answer came that is not one of those offered: `replyToken`, `raw`.
    ReplyUnparseable = "supervisor.reply.unparseable",
    /// Most of a budget is used: `scope` (`session`, `day`, `month` or `task`), `unit`, `used`, `cap`.
    BudgetWarning = "supervisor.budget.warning",
    /// A budget is used up, and work has stopped: `scope`, `unit`, `used`, `cap`.
    BudgetHalt = "supervisor.budget.halt",
    /// A deadline passed without an answer, and there is no default: `replyToken`.
    QuestionOverdue = "supervisor.question.overdue",
    /// The usage of an agent's session: `session`, `driver`, `turns`, `tokensIn`, `tokensOut`, `costUsd`, `wallMs`,
    /// `toolCalls`; `null` if it is unknown.
    UsageRecorded = "supervisor.usage.recorded",
    /// A task was queued: `goal`, `workflow`, `at`.
    TaskQueued = "supervisor.task.queued",
    /// A task was parked, so that work on another begins: `reason`.
    TaskParked = "supervisor.task.parked",
    /// Work on a parked task continues: no fields.
    TaskResumed = "supervisor.task.resumed",
    /// Work continues: `stage` (`started`, `working` or `ended`), `driver`, `session`, `seconds`.
    Heartbeat = "supervisor.heartbeat",
    /// A task is done: `summary`, `metrics`.
    TaskCompleted = "task.completed",
    /// A task ended with a reduced result: `summary`, `metrics`.
    TaskScopedDown = "task.failed.scoped-down",
    /// A task was handed to a person: `summary`, `metrics`.
    TaskEscalated = "task.failed.escalated",
    /// A phase would have been entered more often than its limit: `iterations`, `cap`.
    IterationCapHit = "iteration.cap.hit",
    /// The log shows a possible improvement: `rule`, `evidence` (ids of lines), `metric`, `baseline`, `now`.
    Opportunity = "self-improvement.opportunity",
    /// The log shows a regression: `rule`, `evidence` (ids of lines), `metric`, `baseline`, `now`.
    RegressionDetected = "self-improvement.regression-detected",
    /// The merge gate ruled: `verdict`, `score`, `base`, `head`, `pr`, `shape`, `reasons`.
    MergeGateVerdict = "merge.gate.verdict",
    /// The end of the log was repaired after a writer died: `done` (`cut`, `terminated` or `passed-over`), `bytes`,
    /// `digest`.
    LogRepaired = "log.repaired",
}

impl Kind {
    /// Returns the kind with this name.
    pub fn of(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}
