import assert from "node:assert/strict";
import { test } from "node:test";
import type { Drawing, DrawnNode } from "../../api/types";
import { askedIn, exampleOf, recordedOf } from "./asked";

const node = (id: string, more: Partial<DrawnNode>) => ({ id, node: id.split("/").at(-1), name: id.split("/").at(-1), parent: null, flow: "inventory", kind: "mcp", detail: "", ...more }) as DrawnNode;
const drawing = {
  nodes: [node("list", { detail: "calls list_directory of files" }), node("sizes", { kind: "forEach", detail: "runs size_of for each item" }), node("sizes/info", { parent: "sizes", flow: "size_of", detail: "calls get_file_info of files" })],
} as Drawing;

test("what asks is told with what it calls, and inside of what", () => {
  const [list, info] = askedIn(["list", "size_of.info"], drawing);
  assert.deepEqual(list, { name: "list", words: "Calls list_directory of files.", each: false });
  assert.deepEqual(info, { name: "size_of.info", words: "Calls get_file_info of files, inside sizes, which runs size_of for each item.", each: true });
  assert.equal(askedIn(["size_of.info"], null)[0]?.words, "The node info of size_of.");
});

test("an example is what an earlier run was answered with, and else a plain one", () => {
  const [list, info] = askedIn(["list", "info"], drawing);
  assert.ok(list && info);
  assert.equal(exampleOf(list, { "inventory.list": { content: "[FILE] a" } }), '{\n  "content": "[FILE] a"\n}');
  assert.ok(JSON.parse(exampleOf(info, {})).each.length > 1);
  assert.equal(recordedOf("info", { "inventory.list": 1 }), undefined);
});
