import type { DrawnEdge, DrawnNode, Drawing } from "../api/types";

/** A drawing with the indexes that walking, painting and the outline need. */
export interface Graph {
  drawing: Drawing;
  nodes: Map<string, DrawnNode>;
  children: Map<string | null, DrawnNode[]>;
  outgoing: Map<string, DrawnEdge[]>;
  incoming: Map<string, DrawnEdge[]>;
  /** Containers before their contents, so that what is inside is painted above. */
  ordered: DrawnNode[];
  depth: Map<string, number>;
}

const indexed = new WeakMap<Drawing, Graph>();

export function indexDrawing(drawing: Drawing): Graph {
  const known = indexed.get(drawing);
  if (known) return known;
  const nodes = new Map(drawing.nodes.map((node) => [node.id, node]));
  const children = new Map<string | null, DrawnNode[]>();
  for (const node of drawing.nodes) {
    const parent = node.parent !== null && nodes.has(node.parent) ? node.parent : null;
    push(children, parent, node);
  }
  for (const group of children.values()) group.sort(inReadingOrder);

  const outgoing = new Map<string, DrawnEdge[]>();
  const incoming = new Map<string, DrawnEdge[]>();
  for (const edge of drawing.edges) {
    if (!nodes.has(edge.from) || !nodes.has(edge.to)) continue;
    push(outgoing, edge.from, edge);
    push(incoming, edge.to, edge);
  }
  const at = (id: string) => nodes.get(id) as DrawnNode;
  for (const edges of outgoing.values()) edges.sort((a, b) => Number(a.back) - Number(b.back) || at(a.to).x - at(b.to).x);
  for (const edges of incoming.values()) edges.sort((a, b) => Number(a.back) - Number(b.back) || at(a.from).x - at(b.from).x);

  const ordered: DrawnNode[] = [];
  const depth = new Map<string, number>();
  const visit = (parent: string | null, level: number) => {
    for (const node of children.get(parent) ?? []) {
      if (depth.has(node.id)) continue;
      depth.set(node.id, level);
      ordered.push(node);
      visit(node.id, level + 1);
    }
  };
  visit(null, 0);

  const graph = { drawing, nodes, children, outgoing, incoming, ordered, depth };
  indexed.set(drawing, graph);
  return graph;
}

/**
 * What an edge leads to, by its name. A box and the node at its beginning are one step: whoever comes from outside, or has an
 * activity done again, is led to the box.
 */
export function targetOf(graph: Graph, edge: DrawnEdge): string {
  const node = graph.nodes.get(edge.to);
  const box = graph.nodes.get(node?.parent ?? "");
  const isBeginning = box !== undefined && node?.node != null && node.node === box.node;
  const inside = box !== undefined && graph.nodes.get(edge.from)?.parent === box.id;
  return (isBeginning && (node.kind === "activity" || !inside) ? box.name : node?.name) ?? edge.to;
}

export function inReadingOrder(a: DrawnNode, b: DrawnNode): number {
  return a.y - b.y || a.x - b.x;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
