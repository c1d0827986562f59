import type { Halt, RunEntry } from "../../api/types";
import { haltWords } from "../../parts/halt";

/** Whether each of the words stands in one of the texts. */
export function matches(words: string, ...texts: (string | null | undefined)[]): boolean {
  if (!words) return true;
  const text = texts.filter(Boolean).join(" ").toLowerCase();
  return words.split(/\s+/).every((word) => text.includes(word));
}

/** What the row of a run shows, and of a question all of it: whatever is seen is found. */
export function textsOf(run: RunEntry, name: string, halt: Halt | undefined, input?: string): (string | null | undefined)[] {
  const words = halt && haltWords(halt, run.status);
  return [run.run, name, run.workflow, run.step, run.status, run.description, halt?.stepName, halt?.asks, words?.who, words?.why, input];
}
