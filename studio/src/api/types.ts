// The shapes of `/api/v1`. The server's OpenAPI document is the source; this file follows it.

export type Dialect = "navigator" | "activity" | "toolgraph" | "states" | "phases" | "unknown";
export type RunStatus = "working" | "checking" | "waiting" | "success" | "failure" | "blocked" | "cancelled";
export type NodeState = "done" | "here" | "checking" | "waiting" | "failed" | "skipped" | "cancelled";

export interface Project {
  name: string;
  path: string;
  version: string;
  readOnly: boolean;
  observes: boolean;
  /** Why nothing can be changed here, if so. */
  onlyShows: string | null;
  inbox: number;
  /** How many passkeys are enrolled that count here. */
  passkeys: number;
}

export interface DefinitionEntry {
  id: string;
  name: string;
  description: string;
  dialect: Dialect;
  source: "project" | "external" | "catalog";
  file: string | null;
  steps: number;
  errors: number;
  warnings: number;
  led: boolean;
  /** Whether it runs commands that nobody has trusted. */
  untrusted?: boolean;
  openRuns: number;
  /** The workflows of the file, as their runs name them. */
  roots?: string[];
  /** `duplicate_id` where another file has its id, `no_definition` where its file is none; the description says more. */
  fault?: "duplicate_id" | "no_definition" | null;
  /** Whether its id leads to it. */
  opens?: boolean;
}

/** What a definition runs that nobody has trusted. */
export interface Untrusted {
  /** How a person has it trusted, with the command in backticks. */
  help: string;
  runs: { node: string; argv: string[] }[];
}

/** Why a run does not go on, or why it ended without having done what it was for. */
export interface Halt {
  /** Who can have it go on; nobody where it is over. */
  turn: "person" | "trust" | "held" | "agent" | "engine" | "nobody";
  /** How a person has its commands trusted, or a state that waits continued. */
  help: string | null;
  step: string;
  stepName: string;
  /** The step, as the drawing names it. */
  node: string;
  branch: string | null;
  since: string;
  /** What a person is asked. */
  asks: string | null;
  personOnly: boolean;
  /** How it is driven, where it is tried here; only in the list of all. */
  driven?: Driven["phase"] | null;
  failed: Failed[];
  last: { seq: number; at: number; by: Author; text: string } | null;
  /** The retries of the step, or of the gate that led back to it. */
  retries: { gate: string; used: number; budget: number; left: number } | null;
  /** What models have used in the whole run, by its names: `attempts`, `microdollars` … */
  spent: Record<string, number> | null;
}

/** A check that did not hold, or a step that failed. */
export interface Failed {
  node: string;
  check: string | null;
  reason: string;
  /** The end of what was printed. */
  output: string;
}

export interface Place {
  file: number;
  from: number;
  to: number;
  line: number;
  column: number;
}

export interface Problem {
  code: string;
  severity: "error" | "warning";
  message: string;
  help: string | null;
  place: Place | null;
  node: string | null;
}

export interface Fact {
  label: string;
  text: string;
  code?: boolean;
}

/** Whether it is checked that a step is done, or whoever works there is believed. */
export type Verification = "checked" | "believed";

/** A check that must hold before a step is left. */
export interface NodeCheck {
  id: string;
  what: string;
  /** Where the project attaches it; the definition has all others. */
  attachedBy?: { file: string; line: number | null };
}

export interface About {
  kind: string;
  id: string;
  name: string;
  place: Place | null;
  /** All of its text, where it can be edited. */
  extent?: Place | null;
  facts: Fact[];
  verification?: Verification;
  checks?: NodeCheck[];
  /** The dialect's word of its kind, as operations name it. */
  word: string | null;
  values: Values;
  editable: boolean;
  /** What an edge from it may name. */
  outcomes?: string[];
}

/** The values of fields, by their paths. */
export type Values = Record<string, unknown>;

export type Point = [number, number];

export interface DrawnNode {
  id: string;
  parent: string | null;
  node: string | null;
  flow: string;
  kind: string;
  name: string;
  detail: string;
  x: number;
  y: number;
  width: number;
  height: number;
  container: "open" | "folded" | null;
  budget: number | null;
  result: "success" | "failure" | "blocked" | "cancelled" | null;
  checks: number;
  /** Nothing where nobody claims anything: at questions, calls of tools and the like. */
  verification?: Verification;
  checkedBy?: { id: string; what: string; attached?: boolean }[];
  /** How far a person has moved it, right and down. */
  moved?: Point;
}

export interface DrawnEdge {
  id: string;
  from: string;
  to: string;
  text: string | null;
  on: string | null;
  kind: "outcome" | "done" | "guard" | "failed";
  implied: boolean;
  back: boolean;
  points: Point[];
  labelAt: Point | null;
}

export interface Drawing {
  form: string;
  width: number;
  height: number;
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

export interface Checked {
  sound: boolean;
  drawing: Drawing | null;
  problems: Problem[];
  about: Record<string, About>;
  edges: Record<string, EdgeText>;
  own: { values: Values };
  /** Whether the analysis of all runs was not finished in time, so that there may be more problems. */
  undecided: boolean;
  took: number;
}

export interface Field {
  path: string;
  label: string;
  help: string;
  type: "text" | "long" | "number" | "boolean" | "choice" | "list" | "expression" | "json";
  choices?: string[];
  /** The members of the objects in a list, if that is what it holds; they may have others. */
  columns?: { path: string; label: string }[];
  default?: unknown;
  required: boolean;
  /** Whether it is asked when such a node is added. */
  asked?: boolean;
}

/** Where an edge is written; with its condition, if it can have one. */
export interface EdgeText extends Place {
  condition?: string;
}

export interface Kind {
  kind: string;
  label: string;
  help: string;
  fields: Field[];
  /** Whether edges from it name an outcome. */
  outcomes: boolean;
  /** Whether edges from it may have a label of their own. */
  labels: boolean;
  /** Whether a new edge from it may have a condition. */
  conditions: boolean;
  /** Whether one can be added: a definition may have just one of a kind. */
  addable: boolean;
  /** Whether a step of it never becomes one of another kind, nor another one of it. */
  apart: boolean;
  /** Where one is added without a position. */
  unplaced: "unconnected" | "last" | "nowhere";
  /** Whether another node can be put into a new one. */
  wraps: boolean;
}

export type Operation =
  | { is: "set"; node: string | null; field: string; value: unknown }
  | { is: "add"; kind: string; id?: string; after?: string; on?: string; edge?: string; values?: Record<string, unknown> }
  | { is: "connect"; from: string; to: string; on?: string }
  | { is: "disconnect"; edge: string }
  | { is: "reconnect"; edge: string; to: string }
  | { is: "outcome"; edge: string; on: string | null }
  | { is: "label"; edge: string; text: string | null }
  | { is: "rename"; node: string; to: string }
  | { is: "delete"; nodes: string[] }
  | { is: "duplicate"; node: string }
  | { is: "kind"; node: string; kind: string }
  | { is: "wrap"; node: string; kind: string; id?: string; values?: Values }
  | { is: "move"; node: string; after: string };

export interface Edited extends Checked {
  /** In the order in which they were sent, and behind them those that are new; `null` for one that goes. */
  files: { name: string; text: string | null; language?: SourceFile["language"] }[];
  select: string | null;
}

export interface Saved extends Checked {
  revision: string;
}

export interface SourceFile {
  name: string;
  text: string;
  language: "json" | "yaml";
}

/** A workflow of a file that can be run. */
export interface Root {
  id: string;
  name: string;
  /** The JSON Schema of what a run of it is given, where there is one. */
  input?: unknown;
  /** The nodes whose answers can be written down: tools and models. */
  asks?: string[];
}

export interface Definition extends Checked {
  id: string;
  name: string;
  description: string;
  dialect: Dialect;
  source: DefinitionEntry["source"];
  writable: boolean;
  revision: string;
  files: SourceFile[];
  roots: Root[];
  palette: Kind[];
  /** The form of an edge's condition, if edges have one. */
  condition: Field | null;
  /** The fields of the definition itself. */
  fields: Field[];
  /** Whether this dialect can be edited in the graph; otherwise only the text can. */
  editable: boolean;
}

export interface RunEntry {
  run: string;
  status: RunStatus;
  workflow: string;
  step: string;
  updatedAt: string;
  description: string | null;
}

export interface Run {
  run: string;
  workflow: string;
  /** The workflow that it is a run of; agents are led through some, and others are driven. */
  definition: {
    id: string;
    name: string;
    led?: boolean;
    /** Whether its file still has it; null where the run is over, or where that cannot be told. */
    current?: boolean | null;
  };
  head: number;
  over: boolean;
  status: RunStatus;
  situation: unknown;
  words: string;
  origin: { run: string; seq: number; carried?: { seq: number; from: string; to: string }[] } | null;
  /** Why it does not go on. */
  halt?: Halt | null;
  untrusted?: Untrusted | null;
  /** How it is driven, where it is tried here. */
  driven?: Driven | null;
}

/** Where a run waits by itself, and the condition that has to hold there. */
export interface Breakpoint {
  node: string;
  when: string | null;
}

export interface Driven {
  phase: "running" | "paused" | "stopped" | "finished";
  /** The way of the node that it waits before. */
  before: string | null;
  breakpoints: (Breakpoint | string)[];
  /** Why it is not driven any more. */
  failed: string | null;
  /** A condition that could not be evaluated: it waits there. */
  fault?: string | null;
}

/** What is wanted of a run that is driven. */
export interface Control {
  do?: "pause" | "resume" | "step" | "over" | "stop";
  breakpoints?: (Breakpoint | string)[];
  set?: { frame?: string; values: Record<string, unknown> };
  interrupted?: "repeat" | "fail";
}

export interface Author {
  is: "agent" | "person" | "engine";
  name: string | null;
  via?: string;
}

export interface RecordLine {
  seq: number;
  at: number;
  by: Author;
  kind: string;
  text: string;
}

export interface RunEvent extends RecordLine {
  run: string;
  status: RunStatus;
  step: string;
  nodes: string[];
}

/** A piece of what a model says, in a run that is tried. */
export interface Said {
  run: string;
  node: string;
  text: string;
  at: number;
}

export interface NodeOverlay {
  state: NodeState;
  worst?: NodeState;
  visits: number;
  failures: number;
  used: number;
  budget?: number;
  /** Whether somebody changed what it came to. */
  altered?: boolean;
  /** The pass of a loop that is under way. */
  pass?: { number: number; of?: number };
  /** The last passes or items, the first of which has this number. */
  strip?: { first: number; passes: { state: NodeState; failed?: boolean }[] };
  arrived?: { done: number; of: number };
}

export interface Overlay {
  nodes: Record<string, NodeOverlay>;
  edges: { from: string; to: string; count: number }[];
}

export interface FrameValues {
  frame: string;
  value: Record<string, unknown>;
}

export interface Moment {
  seq: number;
  at: number;
  situation: unknown;
  words: string;
  overlay: Overlay;
  values: FrameValues[];
}

/** What the calls of a run were answered with, as it would be written down. */
export interface RecordedAnswers {
  /** By function and node: `inventory.list`. */
  answers: Record<string, unknown>;
  redacted: boolean;
}

export interface Visit {
  at: string;
  /** The record with which it began. */
  seq: number;
  began: number;
  ended?: number;
  reports?: { by: Author; outcome: string; note?: string }[];
  retries: number;
  input?: unknown;
  expression?: string;
  output?: unknown;
  /** What stands in the place of the output since. */
  altered?: { seq: number; by: Author; value: unknown }[];
  error?: { code: string; message: string };
  checks?: { id: string; held: boolean; reason?: string; output?: string }[];
  /** The checks that were not run since the last report. */
  unchecked?: string[];
  messages?: { role: unknown; text: string; tools?: unknown }[];
  /** What the judges of each attempt found. */
  attempts?: { name: string; met: boolean; reason?: string; evidence?: string }[][];
  spent?: Record<string, number>;
}

/** What has changed in the repository since a step began. */
export interface Since {
  step: string;
  at: number;
  commit: string;
  files: ChangedFile[];
  cut: boolean;
}

export interface ChangedFile {
  path: string;
  how: "added" | "changed" | "removed";
  diff: string | null;
  /** Why it is not told, or not to its end. */
  note: string | null;
}

/** A note with a reported outcome. */
export interface ReportNote {
  by: Author;
  at: string;
  step: string;
  outcome: string;
  note: string;
}

/** What waits for a person. */
export interface Inbox {
  questions: Question[];
  calls: WaitingCall[];
  requests: TerminalRequest[];
  /** Why the calls cannot be read, if so. */
  unread: { code: string; message: string; help: string } | null;
}

/** What a person decides in a terminal. The reason in the command, and the amount of a budget, are the person's. */
export type TerminalRequest = { command: string } & (
  | { is: "bypass"; rule: string; task: string; phase: string; reason: string; by: string; since: string }
  | { is: "budget"; scope: string; unit: string; used: number | null; cap: number; window: string }
);

/** A call that waits for a person at `portolan gate`. */
export interface WaitingCall {
  token: string;
  server: string;
  tool: string;
  /** Indented JSON, with invisible characters escaped; null if it is too long to be shown. */
  arguments: string | null;
  /** The name that the client gives itself. */
  client: string;
  reason: string;
  since: string;
  /** What a decision quotes. */
  digest: string;
  /** Whether a passkey may confirm a decision here. */
  passkey: boolean;
  /** The commands with which a person decides in the terminal, from any folder. */
  commands: { allow: string; refuse: string };
}

export interface Question {
  run: string;
  workflow: string;
  /** What people call it. */
  workflowName: string;
  step: string;
  stepName: string;
  /** What the run is for, as whoever began it said. */
  wanted: string | null;
  words: string;
  failures: { check: string; reason: string; output: string }[];
  untrusted?: Untrusted | null;
  options: { outcome: string; title: string; meaning: string | null }[];
  /** What led a function to the question; "cut" where only the beginning is here. */
  outputs?: { step: string; stepName: string; text: string; cut: boolean }[];
  /** The last notes of the run's reports, the newest first. */
  notes?: ReportNote[];
  /** Whether an agent follows the run: it continues with the agent's next call. */
  led?: boolean;
  person: boolean;
  /** Whether a passkey may confirm the answer here. */
  passkey: boolean;
  /** The command with which a person answers in the terminal, from any folder. */
  command: string;
  since: string;
  revision: number;
  branch: string | null;
}
