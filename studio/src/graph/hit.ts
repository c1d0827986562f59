import type { DrawnEdge, DrawnNode, Point } from "../api/types";
import type { Graph } from "./model";

interface At {
  x: number;
  y: number;
}

/** The innermost node at a place of the drawing. */
export function hit(graph: Graph, at: At): DrawnNode | null {
  let found: DrawnNode | null = null;
  for (const node of graph.ordered) {
    if (at.x >= node.x && at.x <= node.x + node.width && at.y >= node.y && at.y <= node.y + node.height) found = node;
  }
  return found;
}

/** The nearest edge that is no further than `within` from a place of the drawing. */
export function hitEdge(graph: Graph, at: At, within: number): DrawnEdge | null {
  let found: DrawnEdge | null = null;
  let least = within;
  for (const edge of graph.drawing.edges) {
    for (let i = 1; i < edge.points.length; i++) {
      const distance = distanceTo(at, edge.points[i - 1] as Point, edge.points[i] as Point);
      if (distance <= least) [found, least] = [edge, distance];
    }
  }
  return found;
}

function distanceTo(at: At, [x, y]: Point, [right, bottom]: Point): number {
  const [dx, dy] = [right - x, bottom - y];
  const length = dx * dx + dy * dy;
  const part = length === 0 ? 0 : Math.max(0, Math.min(1, ((at.x - x) * dx + (at.y - y) * dy) / length));
  return Math.hypot(at.x - x - part * dx, at.y - y - part * dy);
}
