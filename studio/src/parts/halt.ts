import type { Failed, Halt, RunStatus } from "../api/types";
import type { IconName } from "./icons";

/** Why a run does not go on, in words: who can have it go on, and what is in the way. */
export interface HaltWords {
  icon: IconName;
  look: string;
  who: string;
  why: string | null;
}

const ENDED: Partial<Record<RunStatus, string>> = { failure: "It failed", blocked: "It ended without a way on", cancelled: "It was called off" };

export function haltWords(halt: Halt, status: RunStatus): HaltWords {
  const failed = halt.failed.map(failedWords).join("; ") || null;
  switch (halt.turn) {
    case "person":
      return { icon: "person", look: "waiting", who: "Waits for a person's answer", why: [halt.asks && clipped(halt.asks), failed].filter(Boolean).join(" · ") || null };
    case "trust":
      return { icon: "lock", look: "waiting", who: "Waits for a person to trust its commands", why: halt.help };
    case "held":
      return { icon: "person", look: "waiting", who: "Waits for a person's decision", why: [halt.asks, halt.help].filter(Boolean).join(" · ") };
    case "agent":
      return { icon: "agent", look: "here", who: "An agent's turn", why: failed };
    case "engine":
      return { icon: "engine", look: "here", who: status === "checking" ? "Its checks are running" : driving(halt), why: failed };
    case "nobody":
      return { icon: status === "cancelled" ? "cancelled" : "failed", look: status === "cancelled" ? "cancelled" : "failed", who: ENDED[status] ?? "It ended", why: (status === "cancelled" ? null : failed) ?? halt.last?.text ?? null };
  }
}

const driving = ({ driven, stepName }: Halt) =>
  driven === "paused" ? `Paused before ${stepName}` : driven === "running" ? "Goes on by itself" : "Not driven by this studio";

/** The lists of runs do not know of a model's state that it waits. */
export const statusOf = (status: RunStatus, halt: Halt | undefined): RunStatus => (halt?.turn === "held" ? "waiting" : status);

/** In a line: what was printed last says more than that a command failed. */
function failedWords({ node, check, reason, output }: Failed): string {
  const last = output.trimEnd().split("\n").pop()?.trim();
  return check === null ? `${node} failed: ${reason}` : `${check} did not hold: ${last ? clipped(last) : reason}`;
}

/** The last lines of an output: what went wrong stands at its end. */
export function endOf(output: string, lines = 6): { end: string; more: number } {
  const all = output.trimEnd().split("\n");
  return { end: all.slice(-lines).join("\n"), more: Math.max(0, all.length - lines) };
}

const clipped = (text: string) => {
  const line = text.split("\n").find((line) => line.trim() !== "") ?? "";
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
};
