import assert from "node:assert/strict";
import { test } from "node:test";
import { diffStates, diffValues } from "./states";

test("values differ by path", () => {
  const frame = (value: Record<string, unknown>) => [{ frame: "", value }];
  assert.deepEqual(diffValues(frame({ a: { b: 1, c: 2 }, d: [1] }), frame({ a: { b: 1, c: 3 }, d: [1], e: null })), [
    { path: "a.c", left: 2, right: 3 },
    { path: "e", left: undefined, right: null },
  ]);
});

test("steps differ by state and by visits", () => {
  const of = (state: "done" | "here", visits: number) => ({ state, visits, failures: 0, used: 0 });
  assert.deepEqual(diffStates({ nodes: { a: of("done", 1), b: of("here", 1) }, edges: [] }, { nodes: { a: of("done", 1), b: of("done", 1), c: of("here", 1) }, edges: [] }), [
    { id: "b", left: "here", right: "done", visits: [1, 1] },
    { id: "c", left: null, right: "here", visits: [0, 1] },
  ]);
});
