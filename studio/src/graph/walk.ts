import type { DrawnNode } from "../api/types";
import type { Graph } from "./model";

export type Direction = "up" | "down" | "left" | "right";

/**
 * The node that an arrow key leads to: down along the first outgoing edge, up along the incoming one,
 * sideways to the siblings. `from` is the node that was left last, so that "up" leads back the way one came.
 */
export function walk(graph: Graph, at: string | null, direction: Direction, from: string | null = null): string | null {
  const node = at === null ? undefined : graph.nodes.get(at);
  if (!node) return firstNode(graph);
  if (direction === "down") return down(graph, node);
  if (direction === "up") return up(graph, node, from);
  return sideways(graph, node, direction === "left" ? -1 : 1, from);
}

export function firstNode(graph: Graph): string | null {
  const start = graph.ordered.find((node) => node.kind === "start" && node.parent === null);
  return (start ?? graph.ordered[0])?.id ?? null;
}

function down(graph: Graph, node: DrawnNode): string | null {
  const edges = graph.outgoing.get(node.id) ?? [];
  const forward = edges.find((edge) => !edge.back && edge.to !== node.id);
  if (forward) return forward.to;
  const inside = graph.children.get(node.id)?.[0];
  if (inside) return inside.id;
  return edges[0]?.to ?? null;
}

function up(graph: Graph, node: DrawnNode, from: string | null): string | null {
  const edges = graph.incoming.get(node.id) ?? [];
  const back = edges.find((edge) => edge.from === from);
  const first = back ?? edges.find((edge) => !edge.back && edge.from !== node.id);
  return first?.from ?? node.parent;
}

function sideways(graph: Graph, node: DrawnNode, step: -1 | 1, from: string | null): string | null {
  const siblings = siblingsOf(graph, node, from);
  const at = siblings.indexOf(node.id);
  const next = siblings[at + step];
  return next ?? neighbour(graph, node, step);
}

/** The targets of the node that one came from; without one, those of the first incoming edge. */
function siblingsOf(graph: Graph, node: DrawnNode, from: string | null): string[] {
  const edges = graph.incoming.get(node.id) ?? [];
  const source = (edges.find((edge) => edge.from === from) ?? edges.find((edge) => !edge.back))?.from;
  if (source === undefined) return (graph.children.get(node.parent) ?? []).filter((n) => overlaps(n, node)).map((n) => n.id);
  const targets = new Set((graph.outgoing.get(source) ?? []).filter((edge) => !edge.back).map((edge) => edge.to));
  return [...targets].sort((a, b) => (graph.nodes.get(a)?.x ?? 0) - (graph.nodes.get(b)?.x ?? 0));
}

/** The nearest node beside this one in the same container, whoever leads to it. */
function neighbour(graph: Graph, node: DrawnNode, step: -1 | 1): string | null {
  let best: DrawnNode | null = null;
  for (const other of graph.children.get(node.parent) ?? []) {
    const distance = (other.x - node.x) * step;
    if (other === node || distance <= 0 || !overlaps(other, node)) continue;
    if (best === null || distance < (best.x - node.x) * step) best = other;
  }
  return best?.id ?? null;
}

function overlaps(a: DrawnNode, b: DrawnNode): boolean {
  return a.y < b.y + b.height && b.y < a.y + a.height;
}
