import assert from "node:assert/strict";
import { test } from "node:test";
import type { Checked, Edited, Operation } from "../api/types";
import { ApiError } from "../api/client";
import { Document } from "./document";
import { Wire, type Port } from "./wire";

const said = (took: number): Checked => ({ sound: true, drawing: { form: "drawing/1", width: 0, height: 0, nodes: [], edges: [] }, problems: [], about: {}, edges: {}, own: { values: {} }, took });
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function make(port: Partial<Port>) {
  const document = new Document([{ name: "a", text: "one", language: "json" }], "1");
  const wire = new Wire(document, { check: async () => said(1), edit: async () => ({ ...said(2), files: [], select: null }), ...port }, said(0));
  wire.start();
  return { document, wire };
}

test("of many changes the newest is checked, and never two at once", async () => {
  const seen: string[] = [];
  let open = 0;
  const { document } = make({
    async check(files) {
      assert.equal(++open, 1);
      seen.push(files?.[0]?.text ?? "");
      await wait(30);
      open--;
      return said(1);
    },
  });
  for (let i = 0; i < 5; i++) document.type(0, { from: 3 + i, removed: "", inserted: "!" }, null, {});
  await wait(55);
  document.type(0, { from: 8, removed: "", inserted: "?" }, null, {});
  document.type(0, { from: 9, removed: "", inserted: "?" }, null, {});
  await wait(150);
  assert.deepEqual(seen, ["one!!!!!", "one!!!!!??"]);
});

const operation: Operation = { is: "delete", nodes: ["x"] };

test("an edit is done again on what was typed meanwhile", async () => {
  const { document, wire } = make({
    async edit([file]) {
      assert.deepEqual(Object.keys(file ?? {}), ["name", "text"]);
      await wait(20);
      return { ...said(2), files: [{ name: "a", text: `${file?.text}+`, language: "json" }], select: "n" };
    },
  });
  const done = wire.edit([operation, operation], null);
  await wait(5);
  document.type(0, { from: 0, removed: "", inserted: "-" }, null, {});
  const result = (await done) as Edited;
  assert.equal(result.select, "n");
  assert.deepEqual(document.state.get().texts, ["-one++"]);
  document.undo();
  assert.deepEqual(document.state.get().texts, ["-one"]);
});

test("a refused edit changes nothing", async () => {
  const { document, wire } = make({ edit: () => Promise.reject(new ApiError(422, "no", "It cannot be.")) });
  assert.ok((await wire.edit([operation], null)) instanceof ApiError);
  assert.deepEqual(document.state.get().texts, ["one"]);
});
