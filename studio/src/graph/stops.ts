// Where a run waits, and where it is to wait: from the words of the server to nodes of the drawing.
import type { Breakpoint, Drawing, Driven, DrawnNode, Overlay } from "../api/types";
import type { Stops } from "./state";

export const breakpointOf = (said: Breakpoint | string): Breakpoint => (typeof said === "string" ? { node: said, when: null } : { node: said.node, when: said.when ?? null });

/** A breakpoint without a condition is its node alone. */
export const breakpointWords = ({ node, when }: Breakpoint): Breakpoint | string => (when ? { node, when } : node);

/** Whether a breakpoint is at a node: by its place in the drawing, or by its name alone. */
export function isAt(breakpoint: Breakpoint, node: DrawnNode, drawing: Drawing): boolean {
  if (breakpoint.node === node.id) return true;
  return breakpoint.node === node.node && !drawing.nodes.some((other) => other.id === breakpoint.node);
}

/** Sets a breakpoint at a node, or removes those that are there. */
export function toggled(breakpoints: Breakpoint[], node: DrawnNode, drawing: Drawing): Breakpoint[] {
  const without = breakpoints.filter((breakpoint) => !isAt(breakpoint, node, drawing));
  return without.length < breakpoints.length ? without : [...breakpoints, { node: node.id, when: null }];
}

export function stopsOf(drawing: Drawing | null, breakpoints: Breakpoint[], before: string | null): Stops {
  const breaks: Stops["breaks"] = {};
  for (const node of drawing?.nodes ?? []) {
    const found = breakpoints.find((breakpoint) => drawing && isAt(breakpoint, node, drawing));
    if (found) breaks[node.id] = found.when ? "when" : "always";
  }
  return { before, breaks };
}

/**
 * The drawn node that a way leads to. A way has the numbers of items, which drawings have not, and may begin inside of a
 * container; where the node is not drawn because its container is folded, it is the container.
 */
export function drawnAt(way: string | null, drawing: Drawing | null, overlay: Overlay | null): string | null {
  if (way === null || !drawing) return null;
  const parts = way.split("/");
  const names = parts.filter((part) => !/^\d+$/.test(part));
  const wanted = names.join("/");
  const isInside = names.length < parts.length;
  const active = (node: DrawnNode) => ["here", "checking", "waiting"].includes(overlay?.nodes[node.id]?.state ?? "");
  const depth = (node: DrawnNode) => node.id.split("/").length;
  const best = (nodes: DrawnNode[]) => nodes.sort((a, b) => Number(active(b)) - Number(active(a)) || depth(b) - depth(a))[0]?.id ?? null;
  const within = drawing.nodes.filter((node) => node.id.endsWith(`/${wanted}`));
  if (!isInside || wanted.includes("/")) {
    const exact = drawing.nodes.find((node) => node.id === wanted);
    if (exact) return exact.id;
  }
  if (within.length > 0) return best(within);
  for (let length = names.length - 1; length > 0; length--) {
    const around = drawing.nodes.find((node) => node.id === names.slice(0, length).join("/"));
    if (around) return around.id;
  }
  const folded = drawing.nodes.filter((node) => node.container === "folded" && active(node));
  return folded.length > 0 ? best(folded) : (drawing.nodes.find((node) => node.id === wanted)?.id ?? null);
}

export const isDriving = (driven: Driven | null | undefined) => driven?.phase === "running" || driven?.phase === "paused";
