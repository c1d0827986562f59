import assert from "node:assert/strict";
import { test } from "node:test";
import type { DrawnEdge, Drawing } from "../api/types";
import { labelPlaces } from "./labels";
import { indexDrawing } from "./model";

const edge = (id: string, labelAt: [number, number], points: [number, number][]) => ({ id, from: "a", to: "b", text: "cancelled", labelAt, points }) as DrawnEdge;

test("no label stands upon another, and one that is free stays where the layout has it", () => {
  const edges = [edge("1", [100, 100], [[0, 0], [200, 200]]), edge("2", [110, 104], [[20, 0], [200, 220]]), edge("3", [400, 100], [[400, 0], [400, 200]])];
  const places = labelPlaces(indexDrawing({ form: "drawing/1", width: 500, height: 300, nodes: [], edges } as unknown as Drawing));
  assert.deepEqual(places.get("1"), [100, 100]);
  assert.deepEqual(places.get("3"), [400, 100]);
  const [x, y] = places.get("2") ?? [0, 0];
  assert.ok(Math.abs(y - 100) >= 15 || Math.abs(x - 100) >= 9 * 6.2, `${x} ${y}`);
});
