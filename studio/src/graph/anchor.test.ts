import assert from "node:assert/strict";
import { test } from "node:test";
import type { DrawnNode } from "../api/types";
import { anchorOf } from "./anchor";
import { indexDrawing } from "./model";

const graph = (places: Record<string, [number, number]>) =>
  indexDrawing({
    form: "drawing/1", width: 0, height: 0, edges: [],
    nodes: Object.entries(places).map(([id, [x, y]]) => ({ id, x, y, width: 10, height: 10, parent: null, node: id, flow: "", kind: "task", name: id, detail: "", container: null, budget: null, result: null, checks: 0 }) satisfies DrawnNode),
  });
const view = { x: 0, y: 0, zoom: 1, width: 100, height: 100 };

test("the selected node stays, also when it is renamed", () => {
  const before = graph({ a: [0, 0], b: [50, 50] });
  assert.deepEqual(anchorOf(before, graph({ a: [5, 0], b: [50, 90] }), [], { before: "a", after: "a" }, view), { dx: 5, dy: 0 });
  assert.deepEqual(anchorOf(before, graph({ n: [7, 1], b: [50, 90] }), [], { before: "a", after: "n" }, view), { dx: 7, dy: 1 });
});

test("behind an added node the one before it stays; without a selection the middle does", () => {
  const before = graph({ a: [0, 0], b: [50, 50] });
  assert.deepEqual(anchorOf(before, graph({ a: [5, 0], n: [0, 50], b: [50, 99] }), [], { before: "a", after: "n" }, view), { dx: 5, dy: 0 });
  assert.deepEqual(anchorOf(before, graph({ a: [5, 0], b: [50, 99] }), [], { before: null, after: null }, view), { dx: 0, dy: 49 });
  assert.equal(anchorOf(before, graph({ z: [5, 0] }), [], { before: null, after: null }, view), null);
});
