import assert from "node:assert/strict";
import { test } from "node:test";
import { Document } from "./document";

const make = () => new Document([{ name: "a", text: "one", language: "json" }, { name: "b", text: "two", language: "yaml" }], "1");
const files = (a: string | null, b: string | null) => [{ name: "a", text: a }, { name: "b", text: b }];
const typed = (from: number, inserted: string) => ({ from, removed: "", inserted });

test("one history covers all files, typing and edits", () => {
  const document = make();
  document.type(0, typed(3, "!"), "x", {});
  document.type(0, typed(4, "!"), "x", {});
  document.replace(files("one!!?", "2"), "x", "y");
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

test("what was moved by hand is in the history, and in no text", () => {
  const document = make();
  const at = (x: number) => ({ root: "main", offsets: { a: [x, 0] as [number, number] } });
  document.moves(at(0), at(10), "a");
  document.type(0, typed(3, "!"), "b", {});
  assert.equal(document.undo()?.moved, null);
  assert.deepEqual(document.undo(), { select: "a", splices: [], moved: at(0) });
  assert.equal(document.state.get().unsaved, false);
  assert.deepEqual(document.redo()?.moved, at(10));
  assert.deepEqual(document.state.get().texts, ["one", "two"]);
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
  document.replace(files("uno", "two"), null, null);
  document.rebase(files("uno", "two"), "2");
  assert.equal(document.state.get().unsaved, false);
  document.undo();
  assert.equal(document.state.get().unsaved, true);
  assert.equal(document.state.get().revision, "2");
});

test("a file comes and goes, and undo goes back over both", () => {
  const document = make();
  const texts = () => document.files().map(({ name, text }) => `${name}: ${text}`);
  document.replace([...files("one", "two"), { name: "c.json", text: "three" }], null, "c");
  document.replace([...files("one+", null), { name: "c.json", text: "three" }], null, null);
  assert.deepEqual(texts(), ["a: one+", "b: null", "c.json: three"]);
  assert.equal(document.names[2]?.language, "json");
  assert.equal(document.state.get().unsaved, true);
  document.undo();
  assert.deepEqual(texts(), ["a: one", "b: two", "c.json: three"]);
  document.undo();
  assert.deepEqual(texts(), ["a: one", "b: two", "c.json: null"]);
  assert.equal(document.state.get().unsaved, false);
  document.redo();
  document.redo();
  assert.deepEqual(texts(), ["a: one+", "b: null", "c.json: three"]);
  document.rebase(document.files(), "2");
  assert.equal(document.state.get().unsaved, false);
  document.undo();
  assert.equal(document.state.get().unsaved, true);
});

test("an empty file is there", () => {
  const document = make();
  document.replace([...files("one", "two"), { name: "c", text: "" }], null, null);
  assert.equal(document.state.get().unsaved, true);
  document.undo();
  assert.equal(document.state.get().unsaved, false);
});

test("files that others make are taken over, and those that they take away go", () => {
  const document = make();
  document.reset([{ name: "a", text: "one" }, { name: "c", text: "three" }], "2");
  assert.deepEqual(document.state.get().texts, ["one", null, "three"]);
  assert.equal(document.state.get().unsaved, false);
});
