import type { DrawnEdge, Point } from "../api/types";
import type { Graph } from "./model";
import { meets, middle, type Box } from "./shapes";

const LETTER = 6.2;
const LINE = 15;
/** What stays free between two labels beside each other. */
const GAP = 8;
/** Places along an edge where a label may stand, the likeliest first. */
const ALONG = [0.5, 0.35, 0.65, 0.8, 0.2];
/** How far a label is moved aside where none of those is free. */
const ASIDE = [LINE, -LINE, 2 * LINE, -2 * LINE];

export const LONGEST = 42;

/** Where the labels stand: as the layout says, unless one would stand upon another. */
export function labelPlaces(graph: Graph): Map<string, Point> {
  const taken: Box[] = [];
  const places = new Map<string, Point>();
  const steps = graph.drawing.nodes.filter((node) => node.container !== "open");
  for (const edge of graph.drawing.edges) {
    if (!edge.text) continue;
    const wanted = edge.labelAt ?? middle(edge.points);
    const free = candidates(edge, wanted).find((at, i) => {
      const box = boxAt(at, edge.text ?? "");
      return !taken.some((other) => meets(box, other)) && (i === 0 || !steps.some((node) => meets(box, node)));
    });
    const at = free ?? wanted;
    taken.push(boxAt(at, edge.text));
    places.set(edge.id, at);
  }
  return places;
}

function candidates({ points }: DrawnEdge, wanted: Point): Point[] {
  return [wanted, ...ASIDE.slice(0, 2).map((by): Point => [wanted[0], wanted[1] + by]), ...ALONG.map((part) => pointAt(points, part)), ...ASIDE.slice(2).map((by): Point => [wanted[0], wanted[1] + by])];
}

function boxAt([x, y]: Point, text: string): Box {
  const width = Math.min(text.length, LONGEST) * LETTER + GAP;
  return { x: x - width / 2, y: y - LINE / 2, width, height: LINE };
}

/** The point after a part of the length of a line. */
function pointAt(points: Point[], part: number): Point {
  const lengths = points.slice(1).map(([x, y], i) => Math.hypot(x - (points[i]?.[0] ?? x), y - (points[i]?.[1] ?? y)));
  let left = lengths.reduce((sum, length) => sum + length, 0) * part;
  for (const [i, length] of lengths.entries()) {
    const [from, to] = [points[i], points[i + 1]];
    if (from && to && left <= length) return length === 0 ? from : [from[0] + ((to[0] - from[0]) * left) / length, from[1] + ((to[1] - from[1]) * left) / length];
    left -= length;
  }
  return points.at(-1) ?? [0, 0];
}
