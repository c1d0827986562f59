import assert from "node:assert/strict";
import { test } from "node:test";
import { cellOf, rowsOf, withCell } from "./rows";

const PATHS = ["id", "effect.transitionTo"];

test("a list of objects has rows, and what else a value is has none", () => {
  const options = [{ id: "yes" }, { id: "no", effect: { transitionTo: "draft", setVariable: { good: false } } }];
  assert.deepEqual(rowsOf(options, PATHS), options);
  assert.deepEqual(rowsOf(undefined, PATHS), []);
  for (const other of ["shared", { ref: "shared" }, ["yes"], [{ id: 1 }], [{ id: "a", effect: "none" }], [{ id: "a", effect: { transitionTo: ["b"] } }]]) {
    assert.equal(rowsOf(other, PATHS), null, JSON.stringify(other));
  }
});

test("another text in a cell leaves everything else as it is", () => {
  const row = { id: "no", effect: { transitionTo: "draft", setVariable: { good: false } } };
  assert.equal(cellOf(row, "effect.transitionTo"), "draft");
  assert.equal(cellOf(row, "label"), "");
  assert.deepEqual(withCell(row, "effect.transitionTo", "plan"), { id: "no", effect: { transitionTo: "plan", setVariable: { good: false } } });
  assert.deepEqual(withCell(row, "effect.transitionTo", ""), { id: "no", effect: { setVariable: { good: false } } });
  assert.deepEqual(withCell({ id: "no", effect: { transitionTo: "draft" } }, "effect.transitionTo", ""), { id: "no" });
  assert.deepEqual(withCell({ id: "no" }, "effect.transitionTo", "draft"), { id: "no", effect: { transitionTo: "draft" } });
});
