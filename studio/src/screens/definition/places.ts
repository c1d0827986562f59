import type { About, Checked, Definition, Drawing, DrawnEdge, DrawnNode, Kind, Operation } from "../../api/types";
import { indexDrawing } from "../../graph/model";
export interface Placement {
  label: string;
  place: Partial<Extract<Operation, { is: "add" }>>;
  /** The name of the work before it, to which a gate in this place leads back. */
  work?: string;
  /** The activity that the step before it is in, with its name. */
  within?: { id: string; name: string };
  /** `true`: only for steps that stand in a row. `false`: only for others. Absent: for both. */
  inRow?: boolean;
}

/** The places for a step of this kind, of which some cannot be added just anywhere. */
export function placesFor(kind: Kind | undefined, placements: Placement[]): Placement[] {
  if (kind?.unplaced === "nowhere") return placements.filter(({ place, inRow }) => Object.keys(place).length > 0 && inRow !== false);
  const free = placements.filter(({ inRow }) => inRow !== true);
  if (kind?.unplaced === "last") return free.map((placement) => (Object.keys(placement.place).length > 0 ? placement : { ...placement, label: "At the end" }));
  return free;
}

/** Whether an edge from it names an outcome. */
export const asksOutcome = (definition: Definition, about: About | undefined) =>
  (about?.outcomes?.length ?? 0) > 0 && definition.palette.some((kind) => kind.kind === about?.word && kind.outcomes);

/** Whether an edge can lead to it: not to what stands in a row, nor to what follows from other parts of the text. */
export function isTarget(definition: Definition, shown: Checked, node: DrawnNode): boolean {
  if (node.id.includes("/") || node.kind === "start") return false;
  const about = shown.about[node.id];
  // A box and the node at its beginning are one step.
  const again = node.parent !== null && shown.about[node.parent]?.id === about?.id;
  const inRow = definition.palette.some((kind) => kind.kind === about?.word && kind.unplaced === "nowhere");
  return !again && !inRow && (about?.editable === true || node.kind === "end");
}

/** How many steps are written: what is in several places is one, and an activity is none. */
export const stepsIn = (shown: Checked) => new Set(Object.values(shown.about).flatMap(({ editable, place, word }) => (editable && place && word !== "activity" ? [`${place.file}:${place.from}`] : []))).size;

/** Whether a new edge from it may have a condition: its kind says so, or an edge that leaves it can have one. */
export const asksCondition = (definition: Definition, shown: Checked, from: string) =>
  definition.palette.some((kind) => kind.kind === shown.about[from]?.word && kind.conditions) || (shown.drawing?.edges ?? []).some((edge) => edge.from === from && shown.edges[edge.id]?.condition !== undefined);

/** The last step of those that stand in rows: of all, or of those in one box. */
function lastInRow(definition: Definition, shown: Checked, box: string | null = null): string | null {
  const rows = new Set(definition.palette.filter((kind) => kind.unplaced === "nowhere").map((kind) => kind.kind));
  const steps = (shown.drawing ? indexDrawing(shown.drawing).ordered : []).filter(
    ({ id, parent }) => shown.about[id]?.editable && rows.has(shown.about[id].word ?? "") && (box === null || parent === box),
  );
  return steps.at(-1)?.id ?? null;
}

/** The places in the row of an activity. What is added after the activity itself is its first step. */
function inActivity(definition: Definition, shown: Checked, node: DrawnNode, name: string): Placement[] {
  // The node at the beginning of the box is the same activity.
  const box = (shown.about[node.parent ?? ""]?.id === shown.about[node.id]?.id ? node.parent : null) ?? node.id;
  const last = lastInRow(definition, shown, box);
  const first: Placement = { label: last === null && node.container !== "folded" ? `In “${name}”` : `First in “${name}”`, place: { after: node.id }, inRow: true };
  if (last === null) return [first];
  const end: Placement = { label: `Last in “${name}”`, place: { after: last }, within: { id: box, name }, inRow: true };
  return box === node.id ? [end, first] : [first, end];
}

/** Where a step can be added, the likeliest place first. */
export function placementsOf(definition: Definition, shown: Checked, selected: string | null, edge: string | null): Placement[] {
  const places: Placement[] = [];
  const nameOf = (id: string) => shown.about[id]?.name ?? id;
  const workOf = (id: string) => {
    const word = shown.about[id]?.word;
    if (word === "task" || word === "gate") return { work: nameOf(id) };
    const around = shown.drawing ? indexDrawing(shown.drawing).nodes.get(id)?.parent : null;
    return around && shown.about[id]?.editable && word !== "activity" && shown.about[around]?.word === "activity" ? { within: { id: around, name: nameOf(around) } } : {};
  };
  const drawn = edge === null ? undefined : shown.drawing?.edges.find((entry) => entry.id === edge);
  if (drawn && shown.edges[drawn.id]) places.push({ label: `Between “${nameOf(drawn.from)}” and “${nameOf(drawn.to)}”`, place: { edge: drawn.id }, ...workOf(drawn.from) });
  const about = selected === null ? undefined : shown.about[selected];
  const node = selected === null ? undefined : shown.drawing?.nodes.find((entry) => entry.id === selected);
  if (about?.editable && selected !== null && node?.kind !== "end") {
    const leaves = shown.drawing?.edges.filter((entry) => entry.from === selected) ?? [];
    const out = leaves.toSorted((a, b) => Number(a.kind === "failed") - Number(b.kind === "failed"));
    // A step that leads on is followed by what is put between it and where it leads: a second way on the same outcome is never taken.
    for (const entry of out.filter((entry) => entry.id !== edge && !entry.back && shown.edges[entry.id])) {
      places.push({ label: `Between “${about.name}” and “${nameOf(entry.to)}”${entry.on ? `, on ${entry.on}` : ""}`, place: { edge: entry.id }, ...workOf(selected) });
    }
    const used = new Set(out.map((entry) => entry.on));
    const on = asksOutcome(definition, about) ? about.outcomes?.find((outcome) => !used.has(outcome)) : undefined;
    const way = out.length === 0 ? "After" : "On another way out of";
    const isActivity = about.word === "activity" && node !== undefined;
    if (isActivity) places.push(...inActivity(definition, shown, node, about.name));
    places.push({ label: `${way} “${about.name}”${on ? `, on ${on}` : ""}`, place: { after: selected, ...(on ? { on } : {}) }, ...workOf(selected), ...(isActivity ? { inRow: false } : {}) });
  }
  const unconnected = { label: "Unconnected", place: {} };
  if (places.length > 0) return [...places, unconnected];
  const last = lastInRow(definition, shown);
  if (last !== null) places.push({ label: `After “${nameOf(last)}”`, place: { after: last }, ...workOf(last) });
  // Without a selection every edge is a place, except those to and from nodes that follow from other parts of the text.
  const written = (id: string) => shown.about[id]?.editable === true;
  const edges = (shown.drawing?.edges ?? []).filter((entry) => shown.edges[entry.id] && written(entry.from) && written(entry.to));
  return [...places, unconnected, ...edges.map((entry) => ({ label: `Between “${nameOf(entry.from)}” and “${nameOf(entry.to)}”${entry.on ? `, on ${entry.on}` : ""}`, place: { edge: entry.id }, ...workOf(entry.from) }))];
}

/** The innermost node whose text holds this offset. A box has the text of the node at its beginning: the selected one of both stays. */
export function nodeAt(about: Checked["about"], file: number, offset: number, selected: string | null = null): string | null {
  let found: string | null = null;
  let size = Infinity;
  for (const [id, { place, extent }] of Object.entries(about)) {
    for (const text of [place, extent]) {
      if (!text || text.file !== file || offset < text.from || offset > text.to) continue;
      const length = text.to - text.from;
      if (length > size || (length === size && id !== selected)) continue;
      size = length;
      found = id;
    }
  }
  return found;
}

/** The edge that an operation on an edge has made of it, if it still has one. */
export function edgeAfter(operation: Operation, was: DrawnEdge, drawing: Drawing | null): string | null {
  if (operation.is !== "outcome" && operation.is !== "label" && operation.is !== "reconnect") return null;
  // The name of an edge contains where it leads.
  const to = operation.is === "reconnect" ? operation.to : was.to;
  const same = drawing?.edges.filter((entry) => entry.from === was.from && entry.to === to) ?? [];
  return (same.find((entry) => entry.id === was.id) ?? same.at(-1))?.id ?? null;
}
