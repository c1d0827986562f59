import assert from "node:assert/strict";
import { test } from "node:test";
import type { DrawnEdge, Drawing } from "../api/types";
import { hitEdge } from "./hit";
import { indexDrawing } from "./model";

const edge = (id: string, points: [number, number][]) => ({ id, from: "a", to: "b", points }) as DrawnEdge;
const graph = indexDrawing({ form: "drawing/1", width: 300, height: 300, nodes: [], edges: [edge("down", [[50, 0], [50, 200]]), edge("bent", [[100, 0], [100, 100], [200, 100]])] } as unknown as Drawing);

test("the nearest edge is found within a distance, along each of its parts", () => {
  assert.equal(hitEdge(graph, { x: 56, y: 120 }, 8)?.id, "down");
  assert.equal(hitEdge(graph, { x: 160, y: 95 }, 8)?.id, "bent");
  assert.equal(hitEdge(graph, { x: 78, y: 50 }, 30)?.id, "bent");
});

test("what is too far from every edge, or beyond its end, is none", () => {
  assert.equal(hitEdge(graph, { x: 75, y: 150 }, 8), null);
  assert.equal(hitEdge(graph, { x: 50, y: 220 }, 8), null);
});
