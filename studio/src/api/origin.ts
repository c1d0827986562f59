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
  const named = definitions.filter((entry) => entry.id === workflow);
  if (led) return named[0] ? { id: workflow, root: null } : null;
  const others = definitions.filter((entry) => entry.led === false && entry.id !== workflow);
  for (const { id } of [...named, ...others]) {
    const { roots } = await get<Definition>(`/definitions/${segment(id)}`, signal);
    const root = roots.find((root) => root.id === workflow) ?? roots.find((root) => root.name === workflow);
    if (root) return { id, root: roots.length > 1 ? root.id : null };
  }
  return null;
}
