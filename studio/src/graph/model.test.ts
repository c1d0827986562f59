import assert from "node:assert/strict";
import { test } from "node:test";
import type { DrawnEdge, DrawnNode } from "../api/types";
import { indexDrawing, targetOf } from "./model";

const node = (id: string, name: string, more: Partial<DrawnNode> = {}): DrawnNode => ({
  id, parent: null, node: id, flow: "", kind: "task", name, detail: "", x: 0, y: 0, width: 100, height: 40, container: null, budget: null, result: null, checks: 0, ...more,
});
const edge = (from: string, to: string): DrawnEdge => ({
  id: `${from}-${to}`, from, to, text: null, on: null, kind: "done", implied: false, back: false, points: [], labelAt: null,
});

test("what leads to the beginning of a box is said to lead to the box", () => {
  const edges = [edge("ask", "draft"), edge("ask", "loop"), edge("a", "loop"), edge("a", "b"), edge("start", "gone")];
  const graph = indexDrawing({
    form: "drawing/1", width: 500, height: 500, edges,
    nodes: [
      node("start", "Start"),
      node("activity:draft", "Draft", { node: "draft", kind: "activity", container: "open" }),
      node("draft", "Begin", { parent: "activity:draft", kind: "activity" }),
      node("ask", "Approve?", { parent: "activity:draft", kind: "checkpoint" }),
      node("loop:each", "Each chapter", { node: "loop", kind: "loop", container: "open" }),
      node("loop", "Next pass", { parent: "loop:each", kind: "loop" }),
      node("a", "A", { parent: "loop:each" }),
      node("b", "B", { parent: "loop:each" }),
    ],
  });
  assert.deepEqual(edges.map((edge) => targetOf(graph, edge)), ["Draft", "Each chapter", "Next pass", "B", "gone"]);
});
