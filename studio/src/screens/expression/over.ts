import { post, segment } from "../../api/client";
import { Store } from "../../parts/store";
import { readObject } from "../try/schema";

/** The definition whose expressions are evaluated, with its texts as they are now. */
export interface Evaluation {
  id: string;
  root: string | null;
  /** What runs of it are called. */
  workflows: string[];
  files: () => { name: string; text: string | null }[];
}

/** What an expression is evaluated over: a run, a test beside the definition, or values that stand in the form. */
export type Over = { is: "last" } | { is: "run"; run: string } | { is: "test"; test: string } | { is: "own"; text: string };

export interface Evaluated {
  names: string[];
  value?: unknown;
  type?: string;
  error?: { message: string; help?: string | null; from: number; to: number };
}

const chosen = new Map<string, Store<Over>>();

/** What was chosen for a definition, as long as the page is open. */
export function overOf(id: string): Store<Over> {
  let found = chosen.get(id);
  if (!found) chosen.set(id, (found = new Store<Over>({ is: "last" })));
  return found;
}

/** What `evaluate` is given for it; nothing while the values cannot be read. */
export function withOf(over: Over, last: string | null): Record<string, unknown> | null {
  if (over.is === "last") return last === null ? {} : { run: last };
  if (over.is === "run") return { run: over.run };
  if (over.is === "test") return { test: over.test };
  const read = readObject(over.text);
  return "value" in read ? read.value : null;
}

export function evaluate(evaluation: Evaluation, node: string | null, field: string, text: string, values: Record<string, unknown>, signal: AbortSignal): Promise<Evaluated> {
  const { id, root, files } = evaluation;
  return post<Evaluated>(`/definitions/${segment(id)}/evaluate`, { files: files(), ...(root === null ? {} : { root }), node, field, text, with: values }, signal);
}
