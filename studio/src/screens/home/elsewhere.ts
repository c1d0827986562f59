import type { DefinitionEntry, RunEntry } from "../../api/types";

/** A workflow that runs have, while no listed definition has it: its file lies elsewhere, or is gone. */
export interface Elsewhere {
  workflow: string;
  runs: number;
  /** The run of it that moved last: it shows the graph as it began. */
  last: string;
}

/** Those workflows, the one whose run moved last first, as the runs are ordered. */
export function elsewhere(definitions: DefinitionEntry[] | null, runs: RunEntry[]): Elsewhere[] {
  if (definitions === null) return [];
  const listed = new Set(definitions.flatMap(({ id, roots = [] }) => [id, ...roots]));
  const found = new Map<string, Elsewhere>();
  for (const { run, workflow } of runs) {
    if (listed.has(workflow)) continue;
    const known = found.get(workflow);
    if (known) known.runs += 1;
    else found.set(workflow, { workflow, runs: 1, last: run });
  }
  return [...found.values()];
}
