import assert from "node:assert/strict";
import { test } from "node:test";
import { Document } from "./document";

const make = () => new Document([{ name: "a", text: "one", language: "json" }, { name: "b", text: "two", language: "yaml" }], "1");
const typed = (from: number, inserted: string) => ({ from, removed: "", inserted });

test("one history covers all files, typing and edits", () => {
  const document = make();
  document.type(0, typed(3, "!"), "x", {});
  document.type(0, typed(4, "!"), "x", {});
  document.replace(["one!!?", "2"], "x", "y");
  assert.deepEqual(document.state.get().texts, ["one!!?", "2"]);
  assert.equal(document.undo()?.select, "x");
  assert.deepEqual(document.state.get().texts, ["one!!", "two"]);
  document.undo();
  assert.deepEqual(document.state.get().texts, ["one", "two"]);
  assert.equal(document.state.get().unsaved, false);
  assert.equal(document.undo(), null);
  document.redo();
  assert.equal(document.redo()?.select, "y");
  assert.deepEqual(document.state.get().texts, ["one!!?", "2"]);
});

test("a change after undo forgets what was undone", () => {
  const document = make();
  document.type(0, typed(0, "a"), null, {});
  document.undo();
  document.type(1, typed(0, "b"), null, {});
  assert.equal(document.redo(), null);
  assert.deepEqual(document.state.get().texts, ["one", "btwo"]);
});

test("saved is what equals the base, also after undo", () => {
  const document = make();
  document.replace(["uno", "two"], null, null);
  document.rebase(["uno", "two"], "2");
  assert.equal(document.state.get().unsaved, false);
  document.undo();
  assert.equal(document.state.get().unsaved, true);
  assert.equal(document.state.get().revision, "2");
});
