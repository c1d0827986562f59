import assert from "node:assert/strict";
import { test } from "node:test";
import type { Drawing, DrawnNode, Overlay } from "../api/types";
import { drawnAt, stopsOf, toggled } from "./stops";

const node = (id: string, container: DrawnNode["container"] = null) => ({ id, node: id.split("/").at(-1), container }) as DrawnNode;
const drawing = (...nodes: DrawnNode[]) => ({ nodes, edges: [] }) as unknown as Drawing;
const at = (...ids: string[]) => ({ nodes: Object.fromEntries(ids.map((id) => [id, { state: "here" }])), edges: [] }) as unknown as Overlay;

const open = drawing(node("entry"), node("sizes", "open"), node("sizes/entry"), node("sizes/info"), node("exit"));
const shut = drawing(node("entry"), node("sizes", "folded"), node("exit"));

test("the way of a node leads to it in the drawing, with or without the numbers of items", () => {
  assert.equal(drawnAt("entry", open, at("entry")), "entry");
  assert.equal(drawnAt("0/entry", open, at("sizes", "sizes/entry")), "sizes/entry");
  assert.equal(drawnAt("sizes/1/info", open, at("sizes")), "sizes/info");
  assert.equal(drawnAt("sizes/info", open, null), "sizes/info");
  assert.equal(drawnAt(null, open, null), null);
});

test("what is folded away is its container", () => {
  assert.equal(drawnAt("0/info", shut, at("sizes")), "sizes");
  assert.equal(drawnAt("sizes/0/info", shut, null), "sizes");
  assert.equal(drawnAt("0/entry", shut, at("sizes")), "sizes");
  assert.equal(drawnAt("gone", shut, null), null);
});

test("breakpoints are at nodes by their place, or by their name alone", () => {
  assert.deepEqual(stopsOf(open, [{ node: "info", when: "x" }, { node: "entry", when: null }], null).breaks, { "sizes/info": "when", entry: "always" });
  const once = toggled([], node("sizes/info"), open);
  assert.deepEqual(once, [{ node: "sizes/info", when: null }]);
  assert.deepEqual(toggled([{ node: "info", when: null }], node("sizes/info"), open), []);
});
