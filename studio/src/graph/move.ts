import type { Node } from "@xyflow/react";
import { useEffect, useRef, useState } from "react";
import type { DrawnEdge, Point } from "../api/types";
import type { Graph } from "./model";

/** Keeps that a node stands so far from where it is laid out, and where it stood before; false where that is refused. */
export type OnMove = (id: string, by: Point, before: Point) => Promise<boolean>;

/** A node that is moved by hand, with all that stands in it: not yet in the drawing. */
interface Shift {
  graph: Graph;
  id: string;
  ids: ReadonlySet<string>;
  /** How far it was moved before. */
  base: Point;
  by: Point;
}

/** How far a key moves a node, and how long after the last key that is kept. */
const STEP = 10;
const REST = 300;
const TO = { up: [0, -STEP], down: [0, STEP], left: [-STEP, 0], right: [STEP, 0] } as const;

/** Nodes are moved by hand: with the mouse until it is let go, with keys until they rest. */
export function useMove(graph: Graph, onMove: OnMove | null) {
  const [shift, setShift] = useState<Shift | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const pending = useRef<Shift | null>(null);
  /** The drawing that comes next shows what is on screen already. */
  const landed = useRef(false);
  const latest = useRef(onMove);
  latest.current = onMove;

  const keep = () => {
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = null;
    const done = pending.current;
    pending.current = null;
    if (!done || (done.by[0] === 0 && done.by[1] === 0)) return setShift(null);
    landed.current = true;
    void latest.current?.(done.id, [done.base[0] + done.by[0], done.base[1] + done.by[1]], done.base).then((kept) => {
      if (kept) return;
      landed.current = false;
      setShift((now) => (now === done ? null : now));
    });
  };
  const put = (id: string, by: (from: Point) => Point) => {
    const node = graph.nodes.get(id);
    if (!node) return;
    const now = pending.current?.id === id ? pending.current : { graph, id, ids: within(graph, id), base: node.moved ?? [0, 0], by: [0, 0] as Point };
    if (pending.current && pending.current !== now) keep();
    pending.current = { ...now, by: by(now.by) };
    setShift(pending.current);
  };
  useEffect(() => () => keep(), []);

  const drag = (id: string, to: { x: number; y: number }) => {
    const node = graph.nodes.get(id);
    if (node) put(id, () => [Math.round(to.x - node.x), Math.round(to.y - node.y)]);
  };
  const nudge = (id: string, direction: keyof typeof TO) => {
    const [x, y] = TO[direction];
    put(id, (by) => [by[0] + x, by[1] + y]);
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = setTimeout(keep, REST);
  };
  return { shift: shift?.graph === graph ? shift : null, landed, drag, drop: keep, nudge };
}

function within(graph: Graph, id: string): ReadonlySet<string> {
  const ids = new Set([id]);
  for (const node of graph.ordered) if (node.parent !== null && ids.has(node.parent)) ids.add(node.id);
  return ids;
}

export function shiftedNodes(nodes: Node[], shift: Shift | null): Node[] {
  if (!shift) return nodes;
  const [x, y] = shift.by;
  return nodes.map((node) => (shift.ids.has(node.id) ? { ...node, position: { x: node.position.x + x, y: node.position.y + y } } : node));
}

/** Edges follow roughly while their ends are moved; where they run in the end, the drawing says. */
export function shiftedEdge(edge: DrawnEdge, shift: Pick<Shift, "ids" | "by"> | null): DrawnEdge {
  if (!shift) return edge;
  const [from, to] = [shift.ids.has(edge.from), shift.ids.has(edge.to)];
  if (!from && !to) return edge;
  const move = ([x, y]: Point): Point => [x + shift.by[0], y + shift.by[1]];
  if (from && to) return { ...edge, points: edge.points.map(move), labelAt: edge.labelAt && move(edge.labelAt) };
  const first: Point = edge.points[0] ?? [0, 0];
  const last: Point = edge.points.at(-1) ?? first;
  return { ...edge, points: [from ? move(first) : first, to ? move(last) : last], labelAt: null };
}
