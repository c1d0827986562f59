import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines, diffStates, diffValues } from "./diff";

const show = (left: string, right: string) => diffLines(left, right).map((line) => ({ same: " ", left: "-", right: "+" })[line.is] + line.text);

test("common lines stay once", () => {
  assert.deepEqual(show("a\nb\nc", "a\nx\nc"), [" a", "-b", "+x", " c"]);
  assert.deepEqual(show("a\nb", "a\nb"), [" a", " b"]);
  assert.deepEqual(show("a\nb\nc\nd", "b\nd\ne"), ["-a", " b", "-c", " d", "+e"]);
});

test("either text comes out again", () => {
  const left = "one\ntwo\nthree\ntwo\nfour";
  const right = "two\ntwo\nfive\nfour\none";
  const lines = diffLines(left, right);
  assert.equal(lines.filter((l) => l.is !== "right").map((l) => l.text).join("\n"), left);
  assert.equal(lines.filter((l) => l.is !== "left").map((l) => l.text).join("\n"), right);
});

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
