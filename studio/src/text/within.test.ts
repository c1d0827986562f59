import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines } from "./diff";
import { changedWithin } from "./within";

/** The marked parts of the lines that differ. */
const partsOf = (before: string, after: string) => {
  const lines = diffLines(before, after);
  return [...changedWithin(lines)].map(([i, [from, to]]) => lines[i]?.text.slice(from, to));
};

test("in a long line that was changed only the change is marked", () => {
  assert.deepEqual(partsOf('{ "name": "Test", "maxRetries": 2, "agent": "ada" }', '{ "name": "Test", "maxRetries": 3, "agent": "ada" }'), ["2", "3"]);
  assert.deepEqual(partsOf("a\nname: Test\nb", "a\nname: Test it\nb"), [" it"]);
});

test("lines that were changed one after the other are compared in their order", () => {
  assert.deepEqual(partsOf("a: 1\nb: 2\nc", "a: 3\nb: 4\nc"), ["1", "3", "2", "4"]);
});

test("lines with nothing in common are not compared, and neither is one that only came or went", () => {
  assert.deepEqual(partsOf("  alpha", "  omeg"), []);
  assert.deepEqual(partsOf("a\nb", "a\nb\nc: 2"), []);
});
