import assert from "node:assert/strict";
import { test } from "node:test";
import type { DrawnEdge } from "../api/types";
import { shiftedEdge } from "./move";

const edge = (from: string, to: string): DrawnEdge => ({
  id: `${from}->${to}`,
  from,
  to,
  text: "yes",
  on: null,
  kind: "done",
  implied: false,
  back: false,
  points: [[0, 0], [0, 10], [20, 10], [20, 30]],
  labelAt: [10, 10],
});
const shift = { ids: new Set(["box", "in", "also"]), by: [5, -3] as [number, number] };

test("an edge within what is moved goes along as it is", () => {
  const { points, labelAt } = shiftedEdge(edge("in", "also"), shift);
  assert.deepEqual(points, [[5, -3], [5, 7], [25, 7], [25, 27]]);
  assert.deepEqual(labelAt, [15, 7]);
});

test("an edge with one end there leads straight from end to end", () => {
  assert.deepEqual(shiftedEdge(edge("in", "out"), shift).points, [[5, -3], [20, 30]]);
  assert.deepEqual(shiftedEdge(edge("out", "in"), shift).points, [[0, 0], [25, 27]]);
});

test("all others stay", () => {
  const other = edge("out", "far");
  assert.equal(shiftedEdge(other, shift), other);
  assert.equal(shiftedEdge(other, null), other);
});
