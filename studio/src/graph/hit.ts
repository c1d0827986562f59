import type { DrawnNode } from "../api/types";
import type { Graph } from "./model";

/** The innermost node at a place of the drawing. */
export function hit(graph: Graph, at: { x: number; y: number }): DrawnNode | null {
  let found: DrawnNode | null = null;
  for (const node of graph.ordered) {
    if (at.x >= node.x && at.x <= node.x + node.width && at.y >= node.y && at.y <= node.y + node.height) found = node;
  }
  return found;
}
