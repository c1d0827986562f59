import assert from "node:assert/strict";
import { test } from "node:test";
import { aboutName, changeOf, changed, commandOf, readChanges, usedBy, valuesAt } from "./changes";

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

test("only what is another value than before is a change", () => {
  assert.deepEqual(changed({ a: 1, b: { c: 2 }, d: 3 }, { a: 1, b: { c: 1 } }), { b: { c: 2 }, d: 3 });
});

test("a name within another is explained by the one that holds it", () => {
  assert.match(aboutName("sizes.info", { sizes: [] }, null), /inside of “sizes”/);
  assert.equal(aboutName("count", { count: 1 }, null), "A variable.");
  assert.equal(aboutName("nothing", { count: 1 }, null), "");
});

test("the values that a node is made of are those that it names, else what came before it", () => {
  const values = { entry: {}, price: {}, "pri": {}, "a-b": {} };
  assert.deepEqual(usedBy(['{"a": $.price.net, "b": $.a-b}'], values), ["price", "a-b"]);
  assert.deepEqual(usedBy(['{">": [{"var": "entry.sum"}, 10]}'], values), ["entry"]);
  assert.deepEqual(usedBy([], values), ["a-b"]);
  assert.deepEqual(usedBy(["$.price"], {}), []);
});

test("a text is changed as it is, without quotes and escapes, and may be empty", () => {
  assert.deepEqual(changeOf("note", 'a "b"\nc'), { name: "note", text: 'a "b"\nc', plain: true });
  assert.deepEqual(changeOf("sum", { of: 1 }).text, '{\n  "of": 1\n}');
  assert.deepEqual(readChanges([{ name: "note", text: "", plain: true }, { name: "more", text: "{", plain: true }]), { set: { note: "", more: "{" }, problems: {} });
});

test("a visit sees the values of the innermost frame around it", () => {
  const frames = [{ frame: "", value: { a: 1 } }, { frame: "each/1", value: { a: 2 } }];
  assert.deepEqual(valuesAt("each/1/fetch", frames), { a: 2 });
  assert.deepEqual(valuesAt("fetch", frames), { a: 1 });
  assert.deepEqual(valuesAt("fetch", []), {});
});

test("the command for a terminal has the changes, quoted for a shell", () => {
  assert.equal(commandOf("r1", 3, {}), "portolan runs fork r1 --at 3 --definition current");
  assert.equal(commandOf("r1", 3, { add: { sum: 3 }, note: "it's" }), `portolan runs fork r1 --at 3 --definition current --set 'add={"sum":3}' --set 'note="it'\\''s"'`);
});
