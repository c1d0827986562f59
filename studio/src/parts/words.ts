import type { Author, DrawnNode, NodeState, RecordLine, RunStatus, NodeOverlay } from "../api/types";
import type { IconName } from "./icons";

const KINDS: Record<string, [IconName, string]> = {
  start: ["play", "start"],
  end: ["flag", "end"],
  task: ["task", "task"],
  gate: ["gate", "gate"],
  checkpoint: ["person", "checkpoint"],
  fork: ["fork", "fork"],
  join: ["join", "join"],
  subflow: ["subflow", "subflow"],
  transform: ["transform", "transform"],
  switch: ["switch", "switch"],
  activity: ["activity", "activity"],
  loop: ["loop", "loop"],
  repeat: ["loop", "repeat"],
  mcp: ["tool", "tool call"],
  forEach: ["each", "for each"],
  state: ["state", "state"],
};

const RESULTS: Record<string, IconName> = { success: "done", failure: "failed", blocked: "person", cancelled: "cancelled" };

export function kindIcon(node: DrawnNode): IconName {
  if (node.kind === "end" && node.result) return RESULTS[node.result] ?? "flag";
  return KINDS[node.kind]?.[0] ?? "task";
}

export const iconOfKind = (kind: string): IconName => KINDS[kind]?.[0] ?? "task";
export const kindWord = (kind: string) => KINDS[kind]?.[1] ?? kind;

export const stateIcon = (state: NodeState): IconName => state;
export const stateWord = (state: NodeState): string => state;

const STATUSES: Record<RunStatus, [IconName, string, string]> = {
  working: ["here", "working", "here"],
  checking: ["checking", "checking", "checking"],
  waiting: ["waiting", "waiting", "waiting"],
  success: ["done", "success", "done"],
  failure: ["failed", "failure", "failed"],
  blocked: ["blocked", "blocked", "waiting"],
  cancelled: ["cancelled", "cancelled", "cancelled"],
};

/** Icon, word and colour class of a run's status. */
export const statusLook = (status: RunStatus) => STATUSES[status] ?? (["task", status, "skipped"] as const);

/** By what it is checked that a step is done, before it is left; nothing where nobody claims anything. */
export function verifiedBy({ verification, checkedBy }: DrawnNode): string | null {
  if (checkedBy?.length) return `checked by ${checkedBy.map(({ id }) => id).join(", ")}`;
  return verification === "believed" ? "not checked: what is reported counts" : null;
}

export const arrivedWords = ({ done, of }: { done: number; of: number }) => `${done}/${of} arrived`;

/** `3: done, after a failure`: each pass of a loop or item of a list. */
export const passWords = ({ first, passes }: NonNullable<NodeOverlay["strip"]>) =>
  passes.map(({ state, failed }, i) => `${first + i}: ${state === "here" ? "under way" : stateWord(state)}${failed && state !== "failed" ? ", after a failure" : ""}`);

export const isOver = (status: RunStatus) => !["working", "checking", "waiting"].includes(status);

export const authorIcon = (by: Author): IconName => by.is;

/** What happened without who did it, where the author stands beside it anyway. */
export function withoutAuthor(text: string, by: Author): string {
  const author = by.is === "engine" ? "portolan " : by.name === null ? null : `${by.is} ${by.name} `;
  if (author === null || !text.startsWith(author)) return text;
  // By which way an author came, such as "(command line)", belongs to the author.
  return text.slice(author.length).replace(/^\([^)]*\) /, "");
}

/** What happened in few words: what a report comes to stands before its note, which may be long, and an effect alone where nothing else is said. */
export function inShort({ text, by }: Pick<RecordLine, "text" | "by">): string {
  const words = withoutAuthor(text, by).replace(/^went on → /, "");
  const [, reported, note, effects] = /^(reported [^("]*) \("([\s\S]*)"\)((?: → [\s\S]*)?)$/.exec(words) ?? [];
  return reported === undefined ? words : `${reported}${effects} · “${note}”`;
}

/** Somebody whose name is not known is no other person for it. */
export const authorWords = ({ is, name, via }: Author) => `${name && name !== "unknown" ? `${is} ${name}` : is}${via === "passkey" ? ", by passkey" : ""}`;

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** `input_tokens: 18234` as words: whatever was counted and is not nothing. */
export function spentWords(spent: Record<string, number>): string {
  return Object.entries(spent)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => {
      const words = name.replace(/([A-Z])/g, " $1").replaceAll("_", " ").toLowerCase();
      return words === "microdollars" ? dollars(count) : plural(count, words.replace(/s$/, ""), words);
    })
    .join(" · ");
}

/** An amount of money; less than a dollar is told to the hundredth of a cent. */
export const dollars = (micro: number) => `$${(micro / 1e6).toFixed(micro < 1e6 ? 4 : 2)}`;

const UNITS: [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** A short age: `12 s`, `3 min`, `2 d`. */
export function age(since: number, now: number): string {
  const passed = Math.max(0, now - since);
  for (const [ms, unit] of UNITS) if (passed >= ms) return `${Math.floor(passed / ms)} ${unit}`;
  return "now";
}

/** An age of what has passed: `3 min ago`. */
export const ago = (age: string) => (age === "now" ? "just now" : `${age} ago`);

export function duration(us: number): string {
  if (us < 1_000) return `${us} µs`;
  if (us < 1_000_000) return `${(us / 1_000).toFixed(us < 10_000 ? 1 : 0)} ms`;
  if (us < 120_000_000) return `${(us / 1_000_000).toFixed(us < 10_000_000 ? 1 : 0)} s`;
  return `${Math.round(us / 60_000_000)} min`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export const timeOf = (ms: number) => (Number.isFinite(ms) ? clock.format(ms) : "");
export const momentOf = (ms: number) => (Number.isFinite(ms) ? full.format(ms) : "");
