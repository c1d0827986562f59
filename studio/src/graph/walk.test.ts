import assert from "node:assert/strict";
import { test } from "node:test";
import type { DrawnEdge, DrawnNode } from "../api/types";
import { indexDrawing } from "./model";
import { walk } from "./walk";

const node = (id: string, x: number, y: number, more: Partial<DrawnNode> = {}): DrawnNode => ({
  id, parent: null, node: id, flow: "", kind: "task", name: id, detail: "", x, y, width: 100, height: 40, container: null, budget: null, result: null, checks: 0, ...more,
});
const edge = (from: string, to: string, back = false): DrawnEdge => ({
  id: `${from}-${to}`, from, to, text: null, on: null, kind: "done", implied: false, back, points: [], labelAt: null,
});

const graph = indexDrawing({
  form: "drawing/1", width: 500, height: 500,
  nodes: [
    node("c", 300, 100), node("a", 150, 0, { kind: "start" }), node("b", 0, 100), node("d", 150, 200),
    node("box", 0, 300, { container: "open", height: 150 }), node("in1", 10, 340, { parent: "box" }), node("in2", 10, 400, { parent: "box" }),
  ],
  edges: [edge("a", "c"), edge("a", "b"), edge("b", "d"), edge("c", "d"), edge("d", "a", true), edge("d", "box"), edge("in1", "in2")],
});

test("without a node the walk begins at the start", () => assert.equal(walk(graph, null, "down"), "a"));
test("down takes the leftmost edge", () => assert.equal(walk(graph, "a", "down"), "b"));
test("up leads back the way one came", () => {
  assert.equal(walk(graph, "d", "up", "c"), "c");
  assert.equal(walk(graph, "d", "up"), "b");
});
test("an edge that leads back is not the way on", () => assert.equal(walk(graph, "d", "down"), "box"));
test("left and right go to the siblings", () => {
  assert.equal(walk(graph, "b", "right"), "c");
  assert.equal(walk(graph, "c", "left"), "b");
  assert.equal(walk(graph, "b", "left"), null);
});
test("down enters a container that leads nowhere, up leaves it", () => {
  assert.equal(walk(graph, "box", "down"), "in1");
  assert.equal(walk(graph, "in1", "up"), "box");
});
test("reading order: containers before their contents, by row", () => {
  assert.deepEqual(graph.ordered.map((n) => n.id), ["a", "b", "c", "d", "box", "in1", "in2"]);
});
