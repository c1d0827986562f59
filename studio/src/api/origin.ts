import { get, segment } from "./client";
import type { Definition, DefinitionEntry } from "./types";

export interface Origin {
  id: string;
  /** Which workflow of its file, where there are several. */
  root: string | null;
}

/**
 * The definition that a workflow stands in. One that agents are led through is called as its definition; a function has a
 * name of its own in its file.
 */
export async function originOf(workflow: string, led: boolean, signal?: AbortSignal): Promise<Origin | null> {
  const { definitions } = await get<{ definitions: DefinitionEntry[] }>("/definitions", signal);
  if (led) return definitions.some((entry) => entry.id === workflow) ? { id: workflow, root: null } : null;
  const entry = definitions.find(({ led, roots = [] }) => led === false && roots.includes(workflow));
  if (!entry) return null;
  const { roots } = await get<Definition>(`/definitions/${segment(entry.id)}`, signal);
  return { id: entry.id, root: roots.length > 1 ? workflow : null };
}
