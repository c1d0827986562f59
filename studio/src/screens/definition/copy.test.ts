import assert from "node:assert/strict";
import { test } from "node:test";
import type { About, Edited } from "../../api/types";
import { copiedNodes, copyNode, freeName, pasteOperations } from "./copy";

const about: About = { kind: "task", word: "task", id: "plan", name: "Plan", place: null, facts: [], values: { name: "Plan", agent: null, maxRetries: 2 }, editable: true };

test("a copied node is pasted with its values, under a free name", () => {
  const nodes = copiedNodes(copyNode(about) ?? "");
  assert.ok(nodes);
  const [add, ...sets] = pasteOperations(nodes, new Set(["plan", "plan-2"]), { after: "x" } as never);
  assert.deepEqual(add, { is: "add", kind: "task", id: "plan-3", after: "x" });
  const done = { select: "drawn/plan-3" } as Edited;
  assert.deepEqual(sets.map((set) => (typeof set === "function" ? set(done) : set)), [
    { is: "set", node: "drawn/plan-3", field: "name", value: "Plan" },
    { is: "set", node: "drawn/plan-3", field: "maxRetries", value: 2 },
  ]);
});

test("what is no node is not pasted; without a clipboard the last copy is", () => {
  assert.equal(copiedNodes("some text"), null);
  assert.equal(copiedNodes('{"form":"portolan/nodes/1"}'), null);
  copyNode(about);
  assert.equal(copiedNodes("")?.[0]?.id, "plan");
});

test("free names count on", () => {
  assert.equal(freeName("a-2", new Set(["a-2"])), "a-3");
  assert.equal(freeName("b", new Set(["a"])), "b");
});
