import type { Moment, NodeState } from "../../api/types";

export interface ValueChange {
  path: string;
  left: unknown;
  right: unknown;
}

/** The values that differ, by path; `undefined` where a side has none. */
export function diffValues(left: Moment["values"], right: Moment["values"]): ValueChange[] {
  const changes: ValueChange[] = [];
  const frames = new Set([...left, ...right].map((frame) => frame.frame));
  const valueOf = (values: Moment["values"], frame: string) => values.find((entry) => entry.frame === frame)?.value;
  for (const frame of frames) compare(frame, valueOf(left, frame), valueOf(right, frame), changes);
  return changes;
}

function compare(path: string, left: unknown, right: unknown, changes: ValueChange[]): void {
  if (Object.is(left, right)) return;
  if (isObject(left) && isObject(right)) {
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      compare(path ? `${path}.${name}` : name, left[name], right[name], changes);
    }
    return;
  }
  if (JSON.stringify(left) !== JSON.stringify(right)) changes.push({ path: path || "(run)", left, right });
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

export interface StateChange {
  id: string;
  left: NodeState | null;
  right: NodeState | null;
  visits: [number, number];
}

export function diffStates(left: Moment["overlay"], right: Moment["overlay"]): StateChange[] {
  const changes: StateChange[] = [];
  for (const id of new Set([...Object.keys(left.nodes), ...Object.keys(right.nodes)])) {
    const [a, b] = [left.nodes[id], right.nodes[id]];
    if (a?.state === b?.state && a?.visits === b?.visits) continue;
    changes.push({ id, left: a?.state ?? null, right: b?.state ?? null, visits: [a?.visits ?? 0, b?.visits ?? 0] });
  }
  return changes;
}
