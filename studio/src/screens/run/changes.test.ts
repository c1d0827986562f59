import assert from "node:assert/strict";
import { test } from "node:test";
import { readChanges } from "./changes";

test("changes of values are one object", () => {
  assert.deepEqual(readChanges([{ name: " a ", text: "1" }, { name: "b", text: "{\"c\": null}" }]), { set: { a: 1, b: { c: null } }, problems: {} });
  assert.deepEqual(readChanges([]), { set: {}, problems: {} });
});

test("what cannot be sent is said at its row", () => {
  const { set, problems } = readChanges([{ name: "", text: "1" }, { name: "a", text: "" }, { name: "b", text: "{" }, { name: "c", text: "1" }, { name: "c", text: "2" }]);
  assert.equal(set, null);
  assert.deepEqual(Object.keys(problems), ["0", "1", "2", "4"]);
  assert.match(problems[2] ?? "", /^This is not JSON yet/);
});
